"""One tree of exceptions.

    RawkubeError
    ├── UsageError            a command line that cannot be read
    ├── ConfigError           a kubeconfig that cannot be read, or asks for what cannot be
    │   └── PreferencesError      a kuberc that cannot be read, or contradicts itself
    ├── TransportError        no usable answer came
    │   ├── ResolveError          the name has no address
    │   ├── ConnectError          no connection to any address
    │   │   └── ConnectionRefused     somebody answered: nobody listens there
    │   ├── TLSError              the handshake failed
    │   ├── CredentialError       whoever is asked for the user's credential gave none
    │   ├── ProxyError            a proxy does not let the connection through
    │   ├── DeadlineExceeded      a step took longer than it may
    │   ├── ConnectionLost        the connection ended before the answer did
    │   └── ProtocolError         what came is not what HTTP/1.1 allows, or is larger than the bound
    ├── StatusError           the API server answered with a failure (metav1.Status)
    ├── UpgradeRefused        a WebSocket was asked for, and not given
    ├── DecodeError           an answer came whole, but is not what was asked for
    ├── RolloutFailed         the rollout cannot finish (kubectl's status error)
    ├── ObjectDeleted         the object that was waited for is gone
    ├── WaitTimeout           --timeout passed
    └── RecordingError        a recording that cannot be read

The type is for programs. `str(error)` is for people, in kubectl's wording where kubectl has one, without its
prefix (`error: `), which the command line adds. `detail` holds further lines: what was tried, where a value
came from, what to do; the command line prints them above the error itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rawkube._typing import Any


class RawkubeError(Exception):
    """What every error of rawkube is.

    `detail`: further lines for a person, each one line of text, may be empty.
    """

    def __init__(self, text: str, *, detail: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.detail: tuple[str, ...] = tuple(detail)


class UsageError(RawkubeError):
    """A command line that cannot be read. The text is whole: it may hold a second line (`See '…' for usage.`)."""


class ConfigError(RawkubeError):
    """A kubeconfig that cannot be read, or that asks for what cannot be.

    `problems`: every problem found, one text each, in kubectl's order (clientcmd collects them).
    `in_configuration`: kubectl prints this one as `Error in configuration: …` instead of `error: …`.
    """

    def __init__(
        self,
        text: str,
        *,
        problems: Iterable[str] = (),
        in_configuration: bool = False,
        detail: Iterable[str] = (),
    ) -> None:
        super().__init__(text, detail=detail)
        self.problems: tuple[str, ...] = tuple(problems) or (text,)
        self.in_configuration = in_configuration


class PreferencesError(ConfigError):
    """A kuberc that cannot be read, or whose rules for credential plugins contradict themselves."""


class TransportError(RawkubeError):
    """No usable answer came. The text is the innermost cause, as Go words it where Go has words for it.

    `server`: `HOST:PORT` that was spoken to, as in the server URL (IPv6 in brackets), or empty.
    """

    def __init__(self, text: str, *, server: str = "", detail: Iterable[str] = ()) -> None:
        super().__init__(text, detail=detail)
        self.server = server


class ResolveError(TransportError):
    """The host name has no address (getaddrinfo)."""


class ConnectError(TransportError):
    """No address of the host could be connected to."""


class ConnectionRefused(ConnectError):
    """Every address that answered said that nobody listens there (ECONNREFUSED)."""


class TLSError(TransportError):
    """The TLS handshake failed: `detail` says what was wrong with which certificate."""


class CredentialError(TransportError):
    """The credential plugin (or whoever else is asked for the user's credential) gave none that can be used.

    `help`: further lines that belong below the error, where kubectl has them (how to install the plugin). Nothing
    of what the plugin printed is in the text.
    """

    def __init__(self, text: str, *, help: Iterable[str] = (), detail: Iterable[str] = ()) -> None:
        super().__init__(text, detail=detail)
        self.help: tuple[str, ...] = tuple(help)


class ProxyError(TransportError):
    """A proxy does not let the connection through: `detail` holds what it said.

    `status`: the code of its answer (HTTP, or SOCKS 5), 0 where there was none.
    """

    def __init__(self, text: str, *, status: int = 0, server: str = "", detail: Iterable[str] = ()) -> None:
        super().__init__(text, server=server, detail=detail)
        self.status = status


class DeadlineExceeded(TransportError):
    """A step took longer than it may.

    `step` is `resolve`, `connect`, `proxy`, `tls`, `send`, `first byte`, `silence` or `request` (the whole exchange).
    """

    def __init__(self, text: str, *, step: str, server: str = "", detail: Iterable[str] = ()) -> None:
        super().__init__(text, server=server, detail=detail)
        self.step = step


class ConnectionLost(TransportError):
    """The connection was closed or reset before the answer was whole.

    `answered`: whether any byte of the answer had come (if not, a request that may be repeated can be).
    """

    def __init__(self, text: str, *, answered: bool = False, server: str = "", detail: Iterable[str] = ()) -> None:
        super().__init__(text, server=server, detail=detail)
        self.answered = answered


class ProtocolError(TransportError):
    """What came is not HTTP/1.1 (RFC 9112), cannot be decoded (gzip), or is larger than the bound."""


class StatusError(RawkubeError):
    """The API server answered with a failure.

    `status`: the `metav1.Status` as decoded from JSON, or the substitute that client-go builds for an answer
    without one (same keys: `message`, `reason`, `code`, `details`).
    """

    def __init__(self, status: Mapping[str, Any], *, detail: Iterable[str] = ()) -> None:
        super().__init__(str(status.get("message") or ""), detail=detail)
        self.status = status

    @property
    def code(self) -> int:
        """The HTTP status code, 0 where the Status has none."""
        code = self.status.get("code")
        return code if isinstance(code, int) else 0

    @property
    def reason(self) -> str:
        """The machine-readable reason (`NotFound`, `Forbidden`, …), empty where the Status has none."""
        return str(self.status.get("reason") or "")


class UpgradeRefused(RawkubeError):
    """A WebSocket was asked for, and not given. `code`: the HTTP status of the answer (101: an unsound one)."""

    def __init__(self, code: int, text: str, *, detail: Iterable[str] = ()) -> None:
        super().__init__(text, detail=detail)
        self.code = code


class DecodeError(RawkubeError):
    """An answer came whole, but is not what was asked for (not JSON, no kind, an unknown watch event)."""


class RolloutFailed(RawkubeError):
    """The rollout cannot finish, or cannot be told: kubectl's status errors (`… exceeded its progress deadline`)."""


class ObjectDeleted(RawkubeError):
    """The object that was waited for is gone, or another one stands in its place."""

    def __init__(self, text: str = "object has been deleted", *, detail: Iterable[str] = ()) -> None:
        super().__init__(text, detail=detail)


class WaitTimeout(RawkubeError):
    """`--timeout` passed before the rollout was done. `answered`: whether the server has said anything at all."""

    def __init__(
        self,
        text: str = "timed out waiting for the condition",
        *,
        answered: bool = True,
        detail: Iterable[str] = (),
    ) -> None:
        super().__init__(text, detail=[*detail, *(() if answered else ("the server has not answered",))])


class RecordingError(RawkubeError):
    """A recording that cannot be read, or is none (format `rawkube-wire/1`)."""
