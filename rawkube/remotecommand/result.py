"""How a command ended, from the bytes of the error channel. Pure.

The rules for v4 and v5 and their texts are those of client-go 1.37 (`remotecommand`, errorDecoderV4), including
the words of Go's encoding/json for what is no JSON. One rule is stricter than kubectl's: with v4 and v5 an empty
error channel is no success, since every server sends a Status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.gotext import go_quote, one_line
from rawkube.remotecommand.protocols import Protocol

INCOMPLETE = "connection closed before the command's status was received; its output may be incomplete"

# How much of an undecodable error channel is shown, in bytes: where it is the error, and beside another one.
_LONG, _SHORT = 4096, 200


class Success(NamedTuple):
    """The command ended with exit code 0."""

    text: str = ""

    @property
    def exit_code(self) -> int:
        """0."""
        return 0

    @property
    def line(self) -> str:
        """What kubectl prints last on stderr: nothing."""
        return ""


class ExitCode(NamedTuple):
    """The command ended with this exit code (0 to 255). `message`: kubectl's line, which has no `error: ` prefix."""

    code: int
    message: str

    @property
    def exit_code(self) -> int:
        """The command's own code."""
        return self.code

    @property
    def line(self) -> str:
        """What kubectl prints last on stderr, without a line feed."""
        return self.message


class Failure(NamedTuple):
    """The command could not be run, or its status cannot be read. `message` is as the server sent it.

    `status`: the `metav1.Status` as decoded from JSON; empty where the error channel holds none.
    """

    message: str
    status: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        """1."""
        return 1

    @property
    def line(self) -> str:
        """What kubectl prints last on stderr, without a line feed."""
        return f"error: {self.message}"


class NoStatus(NamedTuple):
    """The connection ended, and how the command ended is not known; it may have run.

    `close_code`: how the connection ended (RFC 6455, 7.4), 1006 without a close frame, 0 while it is open.
    """

    text: str = INCOMPLETE
    close_code: int = 0

    @property
    def exit_code(self) -> int:
        """1."""
        return 1

    @property
    def line(self) -> str:
        """What is printed last on stderr, without a line feed."""
        return f"error: {self.text}"


class Interrupted(NamedTuple):
    """A status had come (`had`), but then the connection did not end cleanly: output may be missing.

    `close_code`: as in NoStatus.
    """

    text: str
    had: Success | ExitCode | Failure
    close_code: int = 0

    @property
    def exit_code(self) -> int:
        """1."""
        return 1

    @property
    def line(self) -> str:
        """What is printed last on stderr, without a line feed."""
        return f"error: {self.text}"


Result = Success | ExitCode | Failure | NoStatus | Interrupted


def decode(protocol: Protocol, data: bytes) -> Success | ExitCode | Failure | NoStatus:
    """What the whole of the error channel says. Nothing at all: Success in v1, NoStatus in v4 and v5."""
    if not data:
        return NoStatus() if protocol.json_status else Success()
    if not protocol.json_status:
        return Failure(f"error executing remote command: {data.decode('utf-8', 'replace')}", {})
    try:
        return _of_status(_parse(data))
    except _Undecodable as error:
        return Failure(f"error stream protocol error: {error} in {_shown(data, _LONG)}", {})


def interrupted(text: str, protocol: Protocol, data: bytes, close_code: int) -> NoStatus | Interrupted:
    """The result of a connection that did not end cleanly; the text names the status that had come, if any."""
    had = decode(protocol, data)
    if not data or isinstance(had, NoStatus):
        return NoStatus(text, close_code)
    if isinstance(had, Failure) and protocol.json_status and not had.status:
        return NoStatus(f"{text} (on the error channel: {_shown(data, _SHORT)})", close_code)
    if isinstance(had, Success):
        said = "success"
    else:
        said = f"exit code {had.code}" if isinstance(had, ExitCode) else one_line(had.message)
    return Interrupted(f"{text} (the command's status had come before: {said})", had, close_code)


def _shown(data: bytes, limit: int) -> str:
    return go_quote(data if len(data) <= limit else data[:limit] + b"...")


def holds_status(protocol: Protocol, data: bytes) -> bool:
    """Whether the error channel holds a whole status by now. Text (v1) has no end: False."""
    try:
        return protocol.json_status and isinstance(_load(data), dict)
    except (ValueError, RecursionError):
        return False


class _Undecodable(Exception):
    """The error channel holds no Status: the text is that of Go's encoding/json."""


# What client-go decodes of a Status: JSON path → Python type, Go type.
_STATUS_TYPES: dict[str, tuple[type, str]] = {
    "status": (str, "string"),
    "message": (str, "string"),
    "reason": (str, "v1.StatusReason"),
    "details": (dict, "v1.StatusDetails"),
    "details.causes": (list, "[]v1.StatusCause"),
    "details.causes.reason": (str, "v1.CauseType"),
    "details.causes.message": (str, "string"),
}


def _of_status(status: Mapping[str, Any]) -> Success | ExitCode | Failure:
    word, reason = _member(status, "status"), _member(status, "reason")
    details, message = _member(status, "details"), _member(status, "message")
    causes = [_cause(each) for each in _member(details or {}, "details.causes") or []]
    if word == "Success":
        return Success()
    if word != "Failure":
        return Failure("error stream protocol error: unknown error", status)
    if reason != "NonZeroExitCode":
        return Failure(message or "", status)
    if details is None:
        return Failure("error stream protocol error: details must be set", status)
    codes = [text for kind, text in causes if kind == "ExitCode"]
    if not codes:
        return Failure("error stream protocol error: no ExitCode cause given", status)
    if (code := _exit_code(codes[0])) is None:
        return Failure(f"error stream protocol error: invalid exit code value {go_quote(codes[0])}", status)
    return ExitCode(code, f"command terminated with exit code {code}")


def _cause(value: object) -> tuple[str, str]:
    """(reason, message) of one of `details.causes`."""
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        raise _mismatch(value, "Go struct field Status.details.causes", "v1.StatusCause")
    return _member(value, "details.causes.reason") or "", _member(value, "details.causes.message") or ""


def _member(value: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - a JSON value
    """A member by the last name of its path, in any case, as Go finds it; None where it is null or absent."""
    name = path.rpartition(".")[2]
    found = value.get(name)
    if found is None:
        found = next((value[key] for key in value if key.lower() == name and value[key] is not None), None)
    kind, go_type = _STATUS_TYPES[path]
    if found is not None and not isinstance(found, kind):
        raise _mismatch(found, f"Go struct field Status.{path}", go_type)
    return found


def _exit_code(text: str) -> int | None:
    """strconv.ParseUint(text, 10, 8): ASCII digits, at most 255; else None."""
    digits = text.lstrip("0")
    if not (text.isascii() and text.isdigit()) or len(digits) > 3:
        return None
    code = int(digits or "0")
    return code if code <= 255 else None


_JSON_KINDS = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def _mismatch(value: object, where: str, go_type: str) -> _Undecodable:
    return _Undecodable(f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into {where} of type {go_type}")


def _parse(data: bytes) -> dict[str, Any]:
    """The members of the one JSON object (null has none). Raises _Undecodable."""
    try:
        value = _load(data)
    except (ValueError, RecursionError):
        from rawkube.go_json import syntax_error

        raise _Undecodable(syntax_error(data)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(value, "Go value", "v1.Status")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _integer(digits: str) -> int | float:
    # int() refuses very long numbers, which are allowed in JSON.
    return int(digits) if len(digits) <= 20 else float(digits)


def _load(data: bytes) -> Any:  # noqa: ANN401 - a JSON value
    """As json.loads, but only what is JSON; bytes that are no UTF-8 are replaced, as in Go."""
    return json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant, parse_int=_integer)
