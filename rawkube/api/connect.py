"""From files, environment and overrides to a client: `connect()`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from rawkube.api.client import ApiClient
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Overrides
from rawkube.wire.dial import Timeouts
from rawkube.wire.tap import Tap


def connect(
    *,
    kubeconfig: str = "",
    context: str = "",
    namespace: str = "",
    overrides: Overrides | None = None,
    environ: Mapping[str, str] | None = None,
    tap: Tap | None = None,
    timeouts: Timeouts | None = None,
    on_warning: Callable[[str], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> ApiClient:
    """A client for the API server that kubectl would speak to. Nothing is opened before its first request.

    `kubeconfig`: one file, instead of `$KUBECONFIG`, `~/.kube/config` or the Pod's service account; `context` and
    `namespace`: as kubectl's flags; `overrides`: all other flags; `environ`: instead of the process's own.
    Raises ConfigError.
    """
    wanted = overrides or Overrides()
    if context:
        wanted = wanted._replace(context=context)
    if namespace:
        wanted = wanted._replace(namespace=namespace)
    found = access_from(kubeconfig, wanted, environ=os.environ if environ is None else environ)
    return ApiClient(found.access, tap=tap, timeouts=timeouts, on_warning=on_warning, on_note=on_note)
