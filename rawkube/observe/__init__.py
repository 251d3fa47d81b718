"""What can be done with the traffic of the wire."""
