"""The kubeconfig that leads a client to a server on loopback."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any


def write_kubeconfig(
    folder: str, name: str, url: str, *, namespace: str = "", ca: bytes | None = None, token: str = ""
) -> str:
    """Write `kubeconfig`, the owner's alone, into a folder, and give its path.

    `name`: of its cluster, its user and its context. An empty `namespace`: the client's default. `ca`: PEM, where the
    server speaks TLS.
    """
    cluster = {"server": url}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode("ascii")
    context = {"cluster": name, "user": name, **({"namespace": namespace} if namespace else {})}
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": context}],
        "users": [{"name": name, "user": {"token": token} if token else {}}],
    }
    file = Path(folder) / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config, indent=2) + "\n")
    return str(file)
