"""Running a command in a container: the channel protocol of `exec` and `attach`, and the session around it."""
