"""A user's `exec` of a kubeconfig → how its plugin is run. Pure."""

from __future__ import annotations

import os

from rawkube._typing import Any
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote
from rawkube.kubeconfig.access import ExecConfig
from rawkube.kubeconfig.draft import Draft
from rawkube.kubeconfig.exec_info import API_VERSIONS, EXTENSION, IF_AVAILABLE
from rawkube.kubeconfig.executables import cleaned, has_separator
from rawkube.kubeconfig.load import Entry

_path = os.path  # pathlib imports urllib, which every start of a command would pay for


def exec_config(draft: Draft, user: Entry | None, cluster: Entry | None) -> ExecConfig:
    """The draft's `exec`, as it stands in the file and has been validated.

    A command with a separator starts at the folder of its kubeconfig; a bare name stays one. Raises ConfigError for
    an apiVersion that client-go does not speak.
    """
    value: dict[str, Any] = draft.get("exec")
    version = value["apiVersion"]
    if version not in API_VERSIONS:
        detail = [f"set by {draft.origins['exec']}", f"what there is: {', '.join(API_VERSIONS)}"]
        raise ConfigError(f"exec plugin: invalid apiVersion {go_quote(version)}", detail=detail)
    told = bool(value.get("provideClusterInfo"))
    return ExecConfig(
        command=_command(value["command"], user),
        args=tuple(argument or "" for argument in value.get("args") or ()),
        env=tuple((variable["name"], variable.get("value") or "") for variable in value.get("env") or ()),
        api_version=version,
        install_hint=value.get("installHint") or "",
        provide_cluster_info=told,
        interactive_mode=value.get("interactiveMode") or IF_AVAILABLE,
        cluster_config=_extension(cluster) if told and cluster else None,
    )


def _command(text: str, user: Entry | None) -> str:
    if user is not None and has_separator(text) and not _path.isabs(text):
        text = _path.join(user.base, text)
    return cleaned(text)


def _extension(cluster: Entry) -> Any:  # noqa: ANN401 - what YAML can hold
    for extension in cluster.value.get("extensions") or ():
        if (extension or {}).get("name") == EXTENSION:
            return extension.get("extension")
    return None
