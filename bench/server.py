"""A TLS API server on loopback, in a process of its own, that answers at once: one finished Deployment.

    python -m bench.server DIRECTORY

writes `kubeconfig` into DIRECTORY, prints one line when it listens, and serves until its stdin ends.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import sys
import threading
from pathlib import Path

import trustme

DEPLOYMENT = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"name": "web", "namespace": "demo", "uid": "u1", "resourceVersion": "9", "generation": 1},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {}},
    "status": {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
    },
}
LIST = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "9"}}
BOOKMARK = {
    "kind": "Deployment",
    "apiVersion": "apps/v1",
    "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}},
}
GROUPS = {
    "/api": [("", "v1", "pods", "Pod")],
    "/apis": [("apps", "v1", "deployments", "Deployment")],
}
DISCOVERY_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def discovery(path: str) -> bytes:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": plural,
                            "responseKind": {"group": group, "version": version, "kind": kind},
                            "scope": "Namespaced",
                            "singularResource": kind.lower(),
                            "verbs": ["get", "list", "watch"],
                        }
                    ],
                }
            ],
        }
        for group, version, plural, kind in GROUPS[path]
    ]
    return json.dumps(
        {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}
    ).encode()


def answer(target: str) -> bytes:
    path, _, query = target.partition("?")
    if path in GROUPS:
        return _plain(discovery(path), DISCOVERY_TYPE)
    if "watch=true" in query:
        events = [{"type": "ADDED", "object": DEPLOYMENT}, {"type": "BOOKMARK", "object": BOOKMARK}]
        body = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"%x\r\n%b\r\n" % (len(body), body)
    if path.endswith("/web"):
        return _plain(json.dumps(DEPLOYMENT).encode())
    return _plain(json.dumps({**LIST, "items": [DEPLOYMENT]}).encode())


def _plain(body: bytes, content_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def serve(sock: socket.socket, context: ssl.SSLContext) -> None:
    try:
        stream = context.wrap_socket(sock, server_side=True)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                piece = stream.recv(65536)
                if not piece:
                    return
                data += piece
            head, data = data.split(b"\r\n\r\n", 1)
            stream.sendall(answer(head.split(b" ", 2)[1].decode()))
    except OSError:
        pass


def main() -> None:
    directory = Path(sys.argv[1])
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    ca = base64.b64encode(authority.cert_pem.bytes()).decode()
    config = {
        "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench", "namespace": "demo"}}],
        "users": [{"name": "bench", "user": {"token": "bench"}}],
        "clusters": [
            {
                "name": "bench",
                "cluster": {
                    "server": f"https://127.0.0.1:{listener.getsockname()[1]}",
                    "certificate-authority-data": ca,
                },
            }
        ],
    }
    (directory / "kubeconfig").write_text(json.dumps(config))
    print("listening", flush=True)

    def accept() -> None:
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
