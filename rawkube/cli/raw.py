"""`rawkube raw`: one request on the resolved connection, its answer as it comes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rawkube._typing import TYPE_CHECKING
from rawkube._version import user_agent
from rawkube.api.client import ApiClient
from rawkube.api.status import status_error
from rawkube.cli.output import Output
from rawkube.errors import ConnectionLost, RawkubeError, TransportError, UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.wire.http import Request, Response

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_BODY_OF_AN_ERROR = 1 << 20


def raw(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`raw`: 0 for an answer of 2xx, whole; else 1."""
    values = parsed.values
    if len(parsed.args) != 1:
        raise UsageError("raw takes one PATH, such as /api/v1/nodes\nSee 'rawkube raw --help' for usage.")
    path = parsed.args[0]
    if not path.startswith("/"):
        raise UsageError(f"a PATH begins with /: {go_quote(path)}")
    body = _body(values["data"]) if "data" in parsed.given else b""
    method = values["request"] or ("POST" if "data" in parsed.given else "GET")
    headers = _headers(values["header"], has_body="data" in parsed.given)
    with connect() as client:
        target = client.address.prefix + path
        deadline = client.clock() + client.access.request_timeout if client.access.request_timeout else None
        with client.exchange(Request(method.upper(), target, headers, body), deadline=deadline) as response:
            return _show(response, out, method, include=values["include"])


def _show(response: Response, out: Output, method: str, *, include: bool) -> int:
    if include:
        out.line(f"HTTP/1.1 {response.status} {response.reason}".rstrip())
        for name, value in response.headers:
            out.line(f"{name}: {value}")
        out.write("\n")
    if not 200 <= response.status < 300:
        raise _refused(response, out, method, include=include)
    try:
        for piece in response.chunks():
            out.data(piece)
    except ConnectionLost as error:
        raise RawkubeError(str(error), detail=["the answer is not whole", *error.detail]) from None
    return 0


def _refused(response: Response, out: Output, method: str, *, include: bool) -> Exception:
    """kubectl's words for the answer, whose body is shown where the head was."""
    try:
        body = response.read(limit=_BODY_OF_AN_ERROR)
    except TransportError:
        body = b""
    if include:
        out.data(body)
    if 300 <= response.status < 400:
        from rawkube.wire import redact

        where = go_quote(redact.target(response.header("location")))
        return TransportError(f"the server answered {response.status} and redirects to {where}; it is not followed")
    return status_error(response.status, response.headers, body, verb=method.lower(), resource="", group="", name="")


def _body(text: str) -> bytes:
    """`TEXT`, `@FILE`, or `@-` for stdin."""
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    if text == "@-":
        return sys.stdin.buffer.read() if sys.stdin else b""
    try:
        with open(text[1:], "rb") as file:  # noqa: PTH123 - the name stays as it was typed
            return file.read()
    except OSError as error:
        raise UsageError(f"open {one_line(text[1:])}: {(error.strerror or str(error)).lower()}") from None


def headers_given(given: Sequence[str]) -> list[tuple[str, str]]:
    """Names and values of `Name: value` each. Raises UsageError."""
    pairs = []
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"a header is 'Name: value', not {go_quote(text)}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _headers(given: Sequence[str], *, has_body: bool) -> list[tuple[str, str]]:
    """What was given, and what curl and kubectl send by themselves."""
    pairs = headers_given(given)
    names = {name.lower() for name, _ in pairs}
    usual = [("Accept", "*/*"), ("User-Agent", user_agent())]
    if has_body:
        usual.append(("Content-Type", "application/json"))
    return [pair for pair in usual if pair[0].lower() not in names] + pairs
