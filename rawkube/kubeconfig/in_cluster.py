"""The account that a pod is given: where its API server is, and the files that say who it is (client-go,
InClusterConfig)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rawkube._typing import NamedTuple
from rawkube.errors import ConfigError
from rawkube.gotext import one_line
from rawkube.kubeconfig.files import Unreadable, read
from rawkube.kubeconfig.server_url import join_host_port

_path = os.path  # pathlib imports urllib, which every start of a command would pay for

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The folder that the kubelet mounts into a pod."""


class InCluster(NamedTuple):
    """A pod's own connection. `ca_file` is empty where the system's roots are used instead; `notes`: lines
    for a person."""

    server: str
    token_file: str
    ca_file: str
    namespace: str
    namespace_from: str
    notes: tuple[str, ...] = ()


def detect(environ: Mapping[str, str], *, folder: str = SERVICE_ACCOUNT) -> InCluster | None:
    """The pod's own connection, None where this is no pod: both variables and the token file have to be
    there."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    token_file = _path.join(folder, "token")
    if not host or not port or not _path.exists(token_file) or _path.isdir(token_file):
        return None
    ca_file, notes = _ca(_path.join(folder, "ca.crt"))
    namespace, namespace_from = _namespace(environ, _path.join(folder, "namespace"))
    return InCluster(f"https://{join_host_port(host, port)}", token_file, ca_file, namespace, namespace_from, notes)


def require(environ: Mapping[str, str], *, folder: str = SERVICE_ACCOUNT) -> InCluster:
    """The pod's own connection. Raises ConfigError where this is no pod."""
    if not environ.get("KUBERNETES_SERVICE_HOST") or not environ.get("KUBERNETES_SERVICE_PORT"):
        raise ConfigError(
            "unable to load in-cluster configuration, "
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        )
    found = detect(environ, folder=folder)
    if found is None:
        raise ConfigError(f"open {one_line(_path.join(folder, 'token'))}: no such file or directory")
    return found


def why_not(environ: Mapping[str, str], *, folder: str = SERVICE_ACCOUNT) -> str:
    """Why this is a pod without an account of its own; empty where it is no pod, or has one."""
    if not environ.get("KUBERNETES_SERVICE_HOST") or detect(environ, folder=folder) is not None:
        return ""
    if not environ.get("KUBERNETES_SERVICE_PORT"):
        return "KUBERNETES_SERVICE_HOST is set and KUBERNETES_SERVICE_PORT is not: the pod's own account is not used"
    file = one_line(_path.join(folder, "token"))
    reason = "is a directory" if _path.isdir(file) else "no such file or directory"
    return (
        f"KUBERNETES_SERVICE_HOST is set, but the pod has no account of its own: open {file}: {reason} "
        "(automountServiceAccountToken: false?)"
    )


def _ca(file: str) -> tuple[str, tuple[str, ...]]:
    try:
        if b"-----BEGIN CERTIFICATE-----" in read(file):
            return file, ()
        reason = "no certificate in it"
    except Unreadable as error:
        reason = str(error)
    return "", (f"Expected to load root CA config from {one_line(file)}, using the system's roots: {reason}",)


def _namespace(environ: Mapping[str, str], file: str) -> tuple[str, str]:
    """`$POD_NAMESPACE`, else the file of the service account, else `default`; and which of them."""
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"], "$POD_NAMESPACE"
    try:
        text = read(file).decode("utf-8", "replace").strip()
    except Unreadable:
        text = ""
    return (text, file) if text else ("default", "default")
