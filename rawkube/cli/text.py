"""Pure: text from a cluster, made safe for a terminal; errors in kubectl's words, with the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rawkube._typing import Any
from rawkube.errors import (
    ConfigError,
    ConnectionRefused,
    CredentialError,
    PreferencesError,
    RawkubeError,
    StatusError,
    TransportError,
)

# C0 but TAB and LF, DEL, and C1: what a terminal may act on; C1 also as the bytes that "surrogateescape" keeps.
_CONTROL = {code: f"\\x{code:02x}" for code in [*range(0x20), *range(0x7F, 0xA0)] if code not in (0x09, 0x0A)}
# The marks that turn the direction of text, by which a line can be made to read as another.
_CONTROL |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_CONTROL |= {0xDC00 + code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}


def escape(text: str) -> str:
    """The text with control characters shown as `\\x1b`, TAB and line feeds aside."""
    return text.translate(_CONTROL)


def error_text(errors: Sequence[RawkubeError]) -> str:
    """What kubectl prints for these errors: whole lines, each ended by a line feed.

    One error keeps its prefix; several are a line each, and plain ones lose theirs (`cmdutil.CheckErr`).
    """
    if len(errors) == 1:
        text = _single(errors[0])
        return text if text.endswith("\n") else text + "\n"
    return "".join(plain_text(error) + "\n" for error in errors)


def _single(error: RawkubeError) -> str:
    if isinstance(error, PreferencesError):
        return str(error)
    if isinstance(error, StatusError) and error.reason == "Invalid":
        return _invalid(error.status)
    if isinstance(error, ConfigError):
        return _configuration(error)
    text = plain_text(error)
    if _has_own_words(error) or text.startswith("error: "):
        return text
    return f"error: {text}"


def _has_own_words(error: RawkubeError) -> bool:
    if isinstance(error, StatusError):
        return error.reason != "Unauthorized"
    return isinstance(error, TransportError)


def plain_text(error: RawkubeError) -> str:
    """kubectl's words for an error, without a prefix."""
    if isinstance(error, StatusError):
        return _status(error)
    if isinstance(error, ConnectionRefused):
        return f"The connection to the server {error.server} was refused - did you specify the right host or port?"
    if isinstance(error, CredentialError):
        return "\n".join((f"Unable to connect to the server: {error}", *error.help))
    if isinstance(error, TransportError):
        return f"Unable to connect to the server: {error}"
    return str(error)


def _status(error: StatusError) -> str:
    if error.reason == "Unauthorized":
        return f"You must be logged in to the server ({error})"
    if error.reason:
        return f"Error from server ({error.reason}): {error}"
    return f"Error from server: {error}"


def _configuration(error: ConfigError) -> str:
    if len(error.problems) > 1:
        return "Error in configuration: \n" + "".join(f"* {problem}\n" for problem in error.problems)
    return f"Error in configuration: {error}" if error.in_configuration else f"error: {error}"


def _invalid(status: Mapping[str, Any]) -> str:
    details = status.get("details")
    if not isinstance(details, dict):
        message = status.get("message")
        return f"The request is invalid: {message}" if message else "The request is invalid"
    text = _invalid_object(details, str(status.get("message") or ""))
    causes = _causes(details)
    if not causes:
        return text
    if len(causes) == 1:
        return f"{text}: {causes[0]}"
    return f"{text}: \n" + "".join(f"* {cause}\n" for cause in causes)


def _invalid_object(details: Mapping[str, Any], message: str) -> str:
    kind, name = str(details.get("kind") or ""), str(details.get("name") or "")
    if kind or name:
        return f'The {kind} "{name}" is invalid'
    return f"The request is invalid: {message}" if message and not details.get("causes") else "The request is invalid"


def _causes(details: Mapping[str, Any]) -> list[str]:
    causes = details.get("causes")
    found: dict[str, None] = {}
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, dict):
            found[f"{cause.get('field') or ''}: {cause.get('message') or ''}"] = None
    return list(found)
