"""What an API server says: requests, discovery of what it serves, watches."""
