"""A TLS API server on loopback, in a process of its own, that answers at once: one finished Deployment, and exec.

    python -m bench.server DIRECTORY

writes `kubeconfig` into DIRECTORY, prints one line when it listens, and serves until its stdin ends. The command that
is executed in a pod says what it does: `true`; `source N`: N bytes on stdout; `sink`: takes stdin to its end. The
namespace `many` has as many Deployments as the label `size` says. `/counters` tells what was asked and sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import yaml

from bench.measure import MIB, ROOT

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
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "demo", "uid": "u2", "resourceVersion": "9"},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    "status": {"phase": "Running"},
}
GROUPS = {
    "/api": [("", "v1", "pods", "Pod")],
    "/apis": [("apps", "v1", "deployments", "Deployment")],
}
DISCOVERY_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
STATUS = b'{"metadata":{},"status":"Success"}'
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
PIECE = 32 * 1024


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


def many(query: str) -> bytes:
    """The list of Deployments, or a watch of them, in the namespace `many`."""
    asked = {key: values[0] for key, values in parse_qs(query).items()}
    size = int(asked.get("labelSelector", "size=500").partition("=")[2])
    names = [f"web-{i}" for i in range(size)]
    if (name := asked.get("fieldSelector", "").removeprefix("metadata.name=")) in names:
        names = [name]
    found = [_named(name) for name in names]
    if asked.get("watch") == "true":
        initial = found if "sendInitialEvents" in asked else []
        return _watched(initial)
    return _plain(json.dumps({**LIST, "items": found}).encode())


def _named(name: str) -> dict[str, object]:
    metadata = {**DEPLOYMENT["metadata"], "name": name, "namespace": "many", "uid": f"u-{name}"}  # type: ignore[dict-item]
    return {**DEPLOYMENT, "metadata": metadata}


def _watched(objects: list[dict[str, object]]) -> bytes:
    added: list[dict[str, object]] = [{"type": "ADDED", "object": found} for found in objects]
    events: list[object] = [*added, {"type": "BOOKMARK", "object": BOOKMARK}]
    body = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n" % (len(body), body)


COUNTERS = {"requests": 0, "bytes": 0}


def answer(target: str) -> bytes:
    path, _, query = target.partition("?")
    if path == "/counters":
        return _plain(json.dumps(COUNTERS).encode())
    found = _answer(path, query)
    COUNTERS["requests"] += 1
    COUNTERS["bytes"] += len(found)
    return found


def _answer(path: str, query: str) -> bytes:
    if path == "/apis/apps/v1/namespaces/many/deployments":
        return many(query)
    if path.startswith("/apis/apps/v1/namespaces/many/deployments/"):
        return _plain(json.dumps(_named(path.rpartition("/")[2])).encode())
    if path in GROUPS:
        return _plain(discovery(path), DISCOVERY_TYPE)
    if "watch=true" in query:
        return _watched([{**DEPLOYMENT}])
    if path.startswith("/version"):
        return _plain(b'{"major":"1","minor":"36","gitVersion":"v1.36.2"}')
    if "/pods/" in path:
        return _plain(json.dumps(POD).encode())
    if path.endswith("/web"):
        return _plain(json.dumps(DEPLOYMENT).encode())
    return _plain(json.dumps({**LIST, "items": [DEPLOYMENT]}).encode())


def _plain(body: bytes, content_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


# exec


def frame(channel: int, payload: bytes) -> bytes:
    size = 1 + len(payload)
    length = bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    return b"\x82" + length + bytes((channel,)) + payload


def execute(stream: ssl.SSLSocket, head: bytes, rest: bytes) -> None:
    """Switch to v5.channel.k8s.io and be the command."""
    target = head.split(b" ", 2)[1].decode()
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    key = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    accept = base64.b64encode(hashlib.sha1(key.split(b":", 1)[1].strip() + GUID).digest())
    assert b"websocket" in lines[b"upgrade"]
    stream.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: %b\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n" % accept
    )
    what, *words = parse_qs(target.partition("?")[2])["command"]
    if what == "source":
        _source(stream, int(words[0]))
    elif what == "sink":
        _sink(stream, rest)
    stream.sendall(frame(3, STATUS) + b"\x88\x02\x03\xe8")
    while stream.recv(65536):
        pass


def _source(stream: ssl.SSLSocket, size: int) -> None:
    block = os.urandom(MIB)
    frames = b"".join(frame(1, block[at : at + PIECE]) for at in range(0, MIB, PIECE))
    for _ in range(size // MIB):
        stream.sendall(frames)


def _sink(stream: ssl.SSLSocket, data: bytes) -> None:
    """Take frames until the one that ends stdin (channel 255); payloads are not looked at but for their first byte."""
    skip = 0
    while True:
        if skip:
            step = min(skip, len(data))
            data, skip = data[step:], skip - step
        elif len(data) >= 16 or (len(data) >= 2 and len(data) >= 2 + (data[1] & 0x7F) + 4):
            length, at = data[1] & 0x7F, 2
            if length > 125:
                at = 4 if length == 126 else 10
                length = int.from_bytes(data[2:at], "big")
            if data[0] & 0x0F == 2 and data[at] ^ data[at + 4] == 255:
                return
            skip = at + 4 + length
            continue
        if not data or not skip:
            piece = stream.recv(256 * 1024)
            if not piece:
                return
            data += piece


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
            target = head.split(b" ", 2)[1].decode()
            if "/exec?" in target:
                execute(stream, head, data)
                return
            stream.sendall(answer(target))
    except OSError:
        pass


def accept_for_ever(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as servers in Go have it
        threading.Thread(target=serve, args=(sock, context), daemon=True).start()


def main() -> None:
    import trustme

    directory = Path(sys.argv[1])
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    ca = base64.b64encode(authority.cert_pem.bytes()).decode()
    write_kubeconfig(directory / "kubeconfig", listener.getsockname()[1], ca)
    threading.Thread(target=accept_for_ever, args=(listener, context), daemon=True).start()
    print("listening", flush=True)
    sys.stdin.read()


def write_kubeconfig(path: Path, port: int, ca: str) -> None:
    """As `kubectl config` writes it: block YAML, keys in order."""
    path.write_text(f"""\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca}
    server: https://127.0.0.1:{port}
  name: bench
contexts:
- context:
    cluster: bench
    namespace: demo
    user: bench
  name: bench
current-context: bench
kind: Config
users:
- name: bench
  user:
    token: bench
""")


@contextmanager
def started(*command: str) -> Iterator[str]:
    """A helper process, and the line that it says when it is ready; it ends with its stdin."""
    child = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin and child.stdout
    line = child.stdout.readline().strip()
    try:
        yield line
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


@contextmanager
def api_server(delay: float = 0.0) -> Iterator[dict[str, str]]:
    """The environment in which a client finds the server. `delay`: seconds that a round trip to it takes."""
    with tempfile.TemporaryDirectory() as directory, started("bench.server", directory):
        config = Path(directory, "kubeconfig")
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": directory,
            "KUBECONFIG": str(config),
            "PYTHONPATH": str(ROOT),
        }
        if not delay:
            yield env
            return
        cluster = yaml.safe_load(config.read_text())["clusters"][0]["cluster"]
        port = cluster["server"].rpartition(":")[2]
        with started("bench.delay", port, str(delay / 2)) as slow:
            write_kubeconfig(config, int(slow), cluster["certificate-authority-data"])
            yield env


if __name__ == "__main__":
    main()
