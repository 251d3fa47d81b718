"""The limit of what Python's ssl can do: `exec`'s request, then receive N bytes and throw them away.

python -m bench.receive N
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml


def main() -> None:
    size = int(sys.argv[1])
    cluster = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())["clusters"][0]["cluster"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    where = urlsplit(cluster["server"])
    with (
        socket.create_connection((where.hostname, where.port)) as sock,
        context.wrap_socket(sock, server_hostname=where.hostname) as stream,
    ):
        stream.sendall(
            f"GET /api/v1/namespaces/demo/pods/p/exec?command=source&command={size}&stdout=true HTTP/1.1\r\n"
            "Host: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n".encode()
        )
        buffer = bytearray(256 * 1024)
        came = 0
        while came < size:
            came += stream.recv_into(buffer)


if __name__ == "__main__":
    main()
