"""What a credential plugin is told: the document in KUBERNETES_EXEC_INFO, and whether it may ask on the terminal.
Pure.

client.authentication.k8s.io; KEP-541 (external credential providers), KEP-2718 (interactive mode).
"""

from __future__ import annotations

from rawkube._typing import Any
from rawkube.go_json import encode
from rawkube.gotext import go_quote
from rawkube.kubeconfig.access import Access, ExecConfig

VARIABLE = "KUBERNETES_EXEC_INFO"
GROUP = "client.authentication.k8s.io"
API_VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
"""What client-go speaks; v1alpha1 is gone."""
EXTENSION = f"{GROUP}/exec"
"""The extension of a cluster that its plugins are given as `config`."""

NEVER, IF_AVAILABLE, ALWAYS = "Never", "IfAvailable", "Always"


class NotInteractive(ValueError):
    """Why a plugin that has to ask on the terminal cannot; the text is client-go's."""


def is_interactive(mode: str, *, terminal: bool, reserved: bool = False, reserved_for: str = "") -> bool:
    """Whether the plugin gets this process's stdin.

    `terminal`: stdin is one. `reserved`: something else reads stdin; `reserved_for`: what, in words. Raises
    NotInteractive for the mode `Always` where stdin is not to be had, and for a mode that there is not.
    """
    if mode == NEVER:
        return False
    if mode == IF_AVAILABLE:
        return terminal and not reserved
    if mode != ALWAYS:
        raise NotInteractive(f"unknown interactiveMode: {go_quote(mode)}")
    if not terminal:
        raise NotInteractive("standard input is not a terminal")
    if reserved:
        why = f": {reserved_for}" if reserved_for else ""
        raise NotInteractive(f"standard input is unavailable{why}")
    return True


def cluster_info(access: Access, ca_pem: bytes | None) -> dict[str, Any]:
    """`spec.cluster`: the API server as a plugin that asks for it is told (`provideClusterInfo`).

    `ca_pem`: what `Access.ca_file` or `ca_data` holds. A proxy of the environment is not told: the plugin has the
    same environment.
    """
    origin = access.origins.get("proxy_url")
    proxy = access.proxy_url if origin is None or origin.source in ("file", "flag") else ""
    told = {
        "server": access.server,
        "tls-server-name": access.tls_server_name,
        "insecure-skip-tls-verify": access.insecure,
        "certificate-authority-data": _base64(ca_pem or b""),
        "proxy-url": proxy,
        "disable-compression": access.disable_compression,
    }
    config = access.exec.cluster_config if access.exec else None
    return {**{key: value for key, value in told.items() if value}, "config": _sorted(config)}


def exec_info(config: ExecConfig, *, interactive: bool, cluster: dict[str, Any] | None = None) -> str:
    """The value of KUBERNETES_EXEC_INFO, byte for byte client-go's: one line of JSON and its line feed."""
    spec: dict[str, Any] = {"cluster": cluster} if cluster is not None else {}
    spec["interactive"] = interactive
    return encode({"kind": "ExecCredential", "apiVersion": config.api_version, "spec": spec}) + "\n"


def _base64(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode("ascii")


def _sorted(value: Any) -> Any:  # noqa: ANN401 - what YAML can hold
    """As Go has it, where an extension is a map on its way: keys in their order."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value
