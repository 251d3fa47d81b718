"""Bytes in and out, through one door: dial, TLS, HTTP/1.1, a pool. Knows nothing of Kubernetes."""
