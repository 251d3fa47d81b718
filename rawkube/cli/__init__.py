"""The command line: arguments, calls, lines on the screen, exit codes."""
