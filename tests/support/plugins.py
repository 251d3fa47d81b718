"""Credential plugins for tests: small programs, and an API server over TLS that keeps what it was shown."""

from __future__ import annotations

import json
import ssl
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rawkube.kubeconfig.access import Access, ExecConfig
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority, server_context

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def credential(version: str = V1, **status: str) -> str:
    """An ExecCredential as a plugin prints it."""
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def program(path: Path, text: str) -> str:
    """An executable file; its name."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def shell(folder: Path, body: str, *, name: str = "plugin") -> str:
    return program(folder / name, f"#!/bin/sh\n{body}\n")


def says(folder: Path, output: str | bytes, *, name: str = "plugin") -> str:
    """A plugin that prints what stands in the file `output`, and adds a line to the file `runs`."""
    (folder / "output").write_bytes(output.encode() if isinstance(output, str) else output)
    return shell(folder, f'echo run >> "{folder}/runs"\ncat "{folder}/output"', name=name)


def runs(folder: Path) -> int:
    """How often the plugin of `says` has run."""
    file = folder / "runs"
    return len(file.read_text().splitlines()) if file.exists() else 0


def config(command: str, **more: Any) -> ExecConfig:
    return ExecConfig(**{"command": command, "api_version": V1, "interactive_mode": "Never", **more})


def user(command: str, **more: Any) -> dict[str, Any]:
    """A kubeconfig's user with that plugin."""
    return {"exec": {"command": command, "apiVersion": V1, "interactiveMode": "Never", **more}}


class Shown(NamedTuple):
    """What a request showed: on which connection, its Authorization, the common name of its certificate."""

    connection: int
    authorization: str | None
    certificate: str


class TokenServer(ScriptedServer):
    """Answers 200 and an empty object to a token of `accepts`, else 401; with `clients`, to any certificate of it.

    `refuse`: a container of tokens may be replaced while it runs (`server.accepts = …`).
    """

    def __init__(self, *, accepts: Container[str] = (), clients: Authority | None = None) -> None:
        self.authority = Authority()
        pair = self.authority.issue("127.0.0.1")
        context = server_context(pair)
        if clients is not None:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(cadata=clients.pem.decode())
        super().__init__(self._serve_all, tls=context)
        self.accepts = accepts
        self.shown: list[Shown] = []
        self.bodies: list[bytes] = []

    def _serve_all(self, peer: Peer) -> None:
        name = _common_name(peer)
        while True:
            request = peer.read_request()
            authorization = request.header("authorization")
            self.shown.append(Shown(peer.number, authorization, name))
            self.bodies.append(request.body)
            if name or (authorization or "").removeprefix("Bearer ") in self.accepts:
                peer.reply('{"kind": "Thing", "apiVersion": "v1"}')
            else:
                status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401}
                status |= {"reason": "Unauthorized", "message": "Unauthorized"}
                peer.reply(json.dumps(status), status="401 Unauthorized")

    def access(self, plugin: ExecConfig, **more: Any) -> Access:
        return Access(self.url, ca_data=self.authority.pem, exec=plugin, **more)

    def cluster(self) -> Mapping[str, str]:
        """A kubeconfig's cluster, apart from its server."""
        from base64 import b64encode

        return {"certificate-authority-data": b64encode(self.authority.pem).decode()}

    @property
    def tokens(self) -> list[str | None]:
        return [seen.authorization for seen in self.shown]


def _common_name(peer: Peer) -> str:
    found: Any = peer.sock.getpeercert() if isinstance(peer.sock, ssl.SSLSocket) else None
    subject = (found or {}).get("subject", ())
    return next((str(value) for pairs in subject for key, value in pairs if key == "commonName"), "")
