"""metav1.Status: what an API server says when it says no, and what stands in for it. Pure.

An answer that is no `Status` (a proxy's HTML page, plain text of the API server itself) becomes the
substitute that client-go builds for it (`rest.Request.newUnstructuredResponseError`, apimachinery
`NewGenericServerResponse`), so that one type, `StatusError`, is all that callers see. The texts are those of
kubectl 1.37.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from rawkube._typing import Any
from rawkube.errors import StatusError
from rawkube.gotext import SPACE, go_quote

Headers = Iterable[tuple[str, str]]

# client-go, maxUnstructuredResponseTextBytes: how much of a foreign body goes into a message.
MAX_TEXT = 2048

# Code → reason and message, None: the server's own text. apimachinery, NewGenericServerResponse.
_GENERIC: dict[int, tuple[str, str | None]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", None),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", None),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", None),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}
# Verbs of the API whose HTTP method has another name; messages show the method.
_METHODS = {"list": "get", "watch": "get", "create": "post", "update": "put"}
_NOT_ACCEPTABLE = "the server was unable to respond with a content type that the client supports"


def header(headers: Headers, name: str) -> str:
    """The first header of that name (any case), or an empty string."""
    name = name.lower()
    return next((value for key, value in headers if key.lower() == name), "")


def is_failure(obj: object) -> bool:
    """Whether a decoded body is a `Status` that is not a success: an error, even after an HTTP 200."""
    return isinstance(obj, dict) and obj.get("kind") == "Status" and obj.get("status") != "Success"


def status_error(
    code: int,
    headers: Headers,
    body: bytes,
    *,
    verb: str = "",
    resource: str = "",
    group: str = "",
    name: str = "",
) -> StatusError:
    """The error that an HTTP answer outside 200 to 206 is.

    `verb` (the HTTP method in any case; `list` and `watch` are a GET), `resource` (plural), `group` and
    `name` say what was asked for, and stand at the end of a substitute's message. A `Status` in the body is
    taken as it is; the message of either may hold line feeds and whatever else the server sent.
    """
    headers = list(headers)
    status = _own_status(headers, body)
    if status is None:
        what = {"group": group, "kind": resource, "name": name}
        status = _substitute(code, _server_text(headers, body), what, verb)
        if seconds := retry_after(headers):
            status["details"]["retryAfterSeconds"] = seconds
    return StatusError(status)


def retry_after(headers: Headers) -> int | None:
    """The seconds of a `Retry-After` header (RFC 9110, 10.2.3), or None.

    A date is not understood, as in client-go: without a decimal integer there is no retry.
    """
    return _seconds(header(headers, "retry-after"))


def retry_after_seconds(status: Mapping[str, Any]) -> int | None:
    """The seconds in a Status's `details.retryAfterSeconds`, or None where there are none (absent or 0)."""
    details = status.get("details")
    seconds = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds <= 0:
        return None
    return seconds


def _seconds(text: str) -> int | None:
    # More digits than this are no time that anybody waits for.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_json(content_type: str) -> bool:
    """Whether client-go decodes it: JSON, or no Content-Type at all. `application/x+json` is not decoded."""
    return _media_type(content_type) in ("", "application/json")


def _own_status(headers: Headers, body: bytes) -> dict[str, Any] | None:
    """The body's own Status, if it is a failure whose fields have the types of metav1.Status."""
    if not _is_json(header(headers, "content-type")):
        return None
    try:
        status = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(status, dict) or status.get("kind") != "Status" or status.get("status") != "Failure":
        return None
    return status if _well_typed(status) else None


def _well_typed(status: Mapping[str, Any]) -> bool:
    fields: dict[str, type] = {"message": str, "reason": str, "code": int, "details": dict, "metadata": dict}
    values = {key: status.get(key) for key in fields}
    return all(
        value is None or (isinstance(value, fields[key]) and not isinstance(value, bool))
        for key, value in values.items()
    )


def _server_text(headers: Headers, body: bytes) -> bytes:
    """The body as a person may read it: text only (or no Content-Type), at most `MAX_TEXT` bytes, trimmed."""
    media_type = _media_type(header(headers, "content-type"))
    if media_type and not media_type.startswith("text/"):
        return b"unknown"
    text = body[:MAX_TEXT].decode("utf-8", "surrogateescape")
    return text.strip(SPACE).encode("utf-8", "surrogateescape")


def _substitute(code: int, server_text: bytes, what: dict[str, str], verb: str) -> dict[str, Any]:
    """What apimachinery's NewGenericServerResponse builds; `what` is the `details` without causes."""
    readable = server_text.decode("utf-8", "replace")
    reason, message = _reason_and_message(code, server_text, verb)
    if message is None:
        message = readable
    if what["kind"]:
        qualified = f"{what['kind']}.{what['group']}" if what["group"] else what["kind"]
        asked = (_METHODS.get(verb.lower(), verb.lower()), qualified, what["name"])
        message += f" ({' '.join(filter(None, asked))})"
    cause = {"reason": "UnexpectedServerResponse", "message": readable}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {**what, "causes": [cause]},
        "code": code,
    }


def _reason_and_message(code: int, server_text: bytes, verb: str) -> tuple[str, str | None]:
    if code in _GENERIC:
        reason, message = _GENERIC[code]
        if code == 409 and _METHODS.get(verb.lower(), verb.lower()) == "post":
            reason = "AlreadyExists"
        if code == 406 and server_text in (b"", b"unknown"):
            message = _NOT_ACCEPTABLE
        return reason, message
    if code >= 500:
        text = go_quote(server_text)
        return "InternalError", f"an error on the server ({text}) has prevented the request from succeeding"
    return "", f"the server responded with the status code {code} but did not return more information"
