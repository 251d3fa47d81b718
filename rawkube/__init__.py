"""A low-level Kubernetes wire-protocol toolkit.

The names below are loaded when they are first used, so that `import rawkube` costs next to nothing.

    connect()       the API server that kubectl would speak to, as an ApiClient
    ApiClient       get, list, watch on one resolved connection
    Client          the same connection as an httpx.Client
    follow()        the states of a workload's rollout, one after the other
    evaluate()      pure: is this workload's rollout done?
    WatchDecoder    pure: bytes of a watch in, events out
    exec()          run a command in a container, as subprocess.run does
    open_exec()     start one and speak with it: a RemoteCommand
    Channels        pure: bytes of an exec or attach session in, events out; and back (V5, V4, V1, … name its dialects)
    lookup()        pure: `deploy`, `deployments.v1.apps` → the built-in resource
    RawkubeError    the root of all errors (`rawkube.errors` has the tree)
"""

from __future__ import annotations

from rawkube._version import __version__

TYPE_CHECKING = False  # type checkers know the name; importing `typing` would cost more than all of this module

if TYPE_CHECKING:
    from rawkube.api.builtin import lookup
    from rawkube.api.client import ApiClient
    from rawkube.api.connect import connect
    from rawkube.api.httpx_client import Client
    from rawkube.api.resource import Resource
    from rawkube.api.watch import WatchDecoder, WatchEvent
    from rawkube.errors import RawkubeError
    from rawkube.remotecommand.call import CommandFailed, Completed, exec, open_exec
    from rawkube.remotecommand.channels import Channels, Output
    from rawkube.remotecommand.protocols import V1, V1_BASE64, V4, V4_BASE64, V5, Protocol
    from rawkube.remotecommand.remote import RemoteCommand
    from rawkube.rollout.follow import Workload, follow
    from rawkube.rollout.status import Progress, evaluate

__all__ = [
    "V1",
    "V1_BASE64",
    "V4",
    "V4_BASE64",
    "V5",
    "ApiClient",
    "Channels",
    "Client",
    "CommandFailed",
    "Completed",
    "Output",
    "Progress",
    "Protocol",
    "RawkubeError",
    "RemoteCommand",
    "Resource",
    "WatchDecoder",
    "WatchEvent",
    "Workload",
    "__version__",
    "connect",
    "evaluate",
    "exec",
    "follow",
    "lookup",
    "open_exec",
]

_HOMES = {
    "ApiClient": "rawkube.api.client",
    "Channels": "rawkube.remotecommand.channels",
    "Client": "rawkube.api.httpx_client",
    "CommandFailed": "rawkube.remotecommand.call",
    "Completed": "rawkube.remotecommand.call",
    "Output": "rawkube.remotecommand.channels",
    "Progress": "rawkube.rollout.status",
    "Protocol": "rawkube.remotecommand.protocols",
    "RawkubeError": "rawkube.errors",
    "RemoteCommand": "rawkube.remotecommand.remote",
    "Resource": "rawkube.api.resource",
    "V1": "rawkube.remotecommand.protocols",
    "V1_BASE64": "rawkube.remotecommand.protocols",
    "V4": "rawkube.remotecommand.protocols",
    "V4_BASE64": "rawkube.remotecommand.protocols",
    "V5": "rawkube.remotecommand.protocols",
    "WatchDecoder": "rawkube.api.watch",
    "WatchEvent": "rawkube.api.watch",
    "Workload": "rawkube.rollout.follow",
    "connect": "rawkube.api.connect",
    "evaluate": "rawkube.rollout.status",
    "exec": "rawkube.remotecommand.call",
    "follow": "rawkube.rollout.follow",
    "lookup": "rawkube.api.builtin",
    "open_exec": "rawkube.remotecommand.call",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
