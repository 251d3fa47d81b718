"""Kubeconfig files, flags and the pod's own account → one resolved connection."""

from __future__ import annotations

from collections.abc import Mapping

from rawkube._typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rawkube.kubeconfig.access import Access, Overrides
    from rawkube.kubeconfig.in_cluster import InCluster
    from rawkube.kubeconfig.load import Config


class Found(NamedTuple):
    """The connection, the merged files, and the pod's own account (None outside a pod)."""

    access: Access
    config: Config
    in_cluster: InCluster | None


def access_from(
    explicit: str = "",
    overrides: Overrides | None = None,
    *,
    environ: Mapping[str, str],
    home: str | None = None,
    service_account: str = "",
) -> Found:
    """Reads the files and resolves the connection.

    `explicit`: the one file of `--kubeconfig`; `environ`: the environment (`KUBECONFIG`, `HOME`,
    `KUBERNETES_*`, proxies); `home`: the home folder, None to find it there; `service_account`: the folder
    that a pod finds its account in, empty for the usual one. Raises ConfigError.
    """
    from rawkube.kubeconfig import load, resolve
    from rawkube.kubeconfig.access import Overrides
    from rawkube.kubeconfig.files import why_unreadable

    config = load.load(explicit, environ=environ, home=home)
    pod, why = _pod(environ, service_account) if environ.get("KUBERNETES_SERVICE_HOST") else (None, "")
    access = resolve.resolve(
        config, overrides or Overrides(), environ=environ, in_cluster=pod, unreadable=why_unreadable
    )
    if why and access.server == resolve.DEFAULT_SERVER and access.origins["server"].source == "default":
        access = access._replace(notes=(*access.notes, why))
    return Found(access, config, pod)


def _pod(environ: Mapping[str, str], folder: str) -> tuple[InCluster | None, str]:
    """The pod's own account; where it has none, why."""
    from rawkube.kubeconfig import in_cluster

    folder = folder or in_cluster.SERVICE_ACCOUNT
    return in_cluster.detect(environ, folder=folder), in_cluster.why_not(environ, folder=folder)
