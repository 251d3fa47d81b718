"""From files, environment and overrides to a client: `connect()`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.kuberc import load as load_preferences
from rawkube.kubeconfig.load import home_directory
from rawkube.wire.dial import Timeouts

if TYPE_CHECKING:
    from rawkube.wire.tap import Tap


def connect(  # noqa: PLR0913 - each is asked for by name
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
    kuberc: str = "",
    stdin_reserved: str = "",
    plugin_timeout: float = 60.0,
) -> ApiClient:
    """A client for the API server that kubectl would speak to. Nothing is opened before its first request.

    `kubeconfig`: one file, instead of `$KUBECONFIG`, `~/.kube/config` or the Pod's service account; `context` and
    `namespace`: as kubectl's flags; `overrides`: all other flags; `environ`: instead of the process's own.

    A credential plugin that the kubeconfig names is run when the first request needs it, within `plugin_timeout`
    seconds (0: no limit), if `kuberc` (a file, instead of `$KUBERC` or `~/.kube/kuberc`) allows it. Its stderr is this
    process's. Where stdin is a terminal it may ask there, unless its kubeconfig says `interactiveMode: Never` or
    `stdin_reserved` names what else reads stdin (`used by …`): a program that must never see a prompt sets it.
    Raises ConfigError.
    """
    variables = os.environ if environ is None else environ
    preferences = load_preferences(kuberc, environ=variables, home=home_directory(variables))
    wanted = overrides or Overrides()
    if context:
        wanted = wanted._replace(context=context)
    if namespace:
        wanted = wanted._replace(namespace=namespace)
    access = access_from(kubeconfig, wanted, environ=variables).access
    if preferences.notes:
        access = access._replace(notes=access.notes + preferences.notes)
    plugins = None
    if access.exec is not None:
        from rawkube.kubeconfig.exec_plugin import PluginOptions
        from rawkube.kubeconfig.plugin_policy import Policy

        policy = preferences.policy or Policy()
        plugins = PluginOptions(environ, stdin_reserved, max(plugin_timeout, 0.0), policy)
    return ApiClient(
        access,
        tap=tap,
        timeouts=timeouts,
        on_warning=on_warning,
        on_note=on_note,
        plugins=plugins,
        environ=environ,
    )
