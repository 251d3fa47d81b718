"""`rawkube ws`: a WebSocket as it is: each message of either side a line, the lines of stdin messages."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl

from rawkube._typing import TYPE_CHECKING
from rawkube._version import user_agent
from rawkube.api.client import ApiClient
from rawkube.api.upgrade import Upgraded, accepted
from rawkube.cli.output import Output, die_of
from rawkube.cli.raw import headers_given
from rawkube.cli.sessions import STDIN, open_standard_streams
from rawkube.errors import RawkubeError, TransportError, UsageError
from rawkube.gotext import go_quote
from rawkube.observe.conversation import CLIENT, SERVER, Happening, is_watch
from rawkube.observe.line_session import NORMAL, Ended, LineSession
from rawkube.observe.story import json_of
from rawkube.observe.trace import lines_of
from rawkube.remotecommand import protocols
from rawkube.remotecommand.protocols import HALF_CLOSE
from rawkube.remotecommand.terminal import Stopped, StopSignals
from rawkube.wire.http import Request, Response
from rawkube.wire.stream import Stream
from rawkube.wire.websocket import new_key, request_headers

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed

_FRAMES = 2  # of the levels of a trace
_ON_ITS_WAY = 0.3
"""Seconds for an answer that was on its way when Ctrl-C came."""


def ws(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`ws`: 0 for a clean end, the exit code of a command whose status came, else 1; 130 for Ctrl-C."""
    _check(parsed)
    open_standard_streams()
    with connect() as client:
        talk = _Talk(client, parsed, out)
        try:
            with StopSignals():
                return talk.run()
        except Stopped as stopped:
            talk.tell_left()
            if stopped.number == signal.SIGINT:
                return 130
            die_of(stopped.number)


def _check(parsed: Parsed) -> None:
    values = parsed.values
    path = _path(parsed.args)
    if values["output"] not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not {go_quote(values["output"])}')
    if not 0 <= values["channel"] < HALF_CLOSE:
        raise UsageError(f"--channel must be 0 to 254, not {values['channel']}")
    found = [protocol for name in _offered(values["protocol"], path) if (protocol := protocols.find(name))]
    digits = [protocol.name for protocol in found if protocol.base64]
    if digits and values["channel"] > 9:
        raise UsageError(f"--channel must be 0 to 9 with {digits[0]}, which names it by one digit")
    if "sec-websocket-protocol" in {name.lower() for name, _ in headers_given(values["header"])}:
        raise UsageError("a subprotocol is offered with --protocol NAME, not as a header")


class _Talk:
    """The handshake, then the session.

    The handshake runs in a thread of its own: where Ctrl-C comes after the server has switched protocols, and before
    that is known here, the connection still gets its close.
    """

    def __init__(self, client: ApiClient, parsed: Parsed, out: Output) -> None:
        self._client = client
        self._parsed = parsed
        self._out = out
        self._path = _path(parsed.args)
        self._answered = threading.Event()
        self._response: Response | None = None
        self._stream: Stream | None = None
        self._session: LineSession | None = None
        self._error: Exception | None = None

    def run(self) -> int:
        """To the end; the exit code. Raises RawkubeError."""
        try:
            self._authorize()
            threading.Thread(target=self._open, name="handshake", daemon=True).start()
            self._answered.wait()
            if self._response is not None and self._parsed.values["include"]:
                _show_head(self._response, self._out)
            if self._session is None:
                raise self._error or RawkubeError("unable to upgrade connection")
            return _code(self._session.run(), self._out, is_command=not _is_portforward(self._path))
        except Stopped:
            if self._answered.wait(_ON_ITS_WAY) and self._session is not None:
                self._session.leave()
            raise
        finally:
            if self._stream is not None:
                self._stream.close()

    def tell_left(self) -> None:
        """Behind a Stopped."""
        if self._session is not None:
            self._session.tell_left()

    def _authorize(self) -> None:
        """Have the credentials at hand: a plugin is run by the main thread, which alone ends it at Ctrl-C."""
        names = {name.lower() for name, _ in headers_given(self._parsed.values["header"])}
        self._client.credentials.headers(now=self._client.clock(), authorized="authorization" in names)

    def _open(self) -> None:
        values = self._parsed.values
        try:
            upgraded = self._upgrade()
            self._stream = upgraded.stream
            stdin = STDIN if "channel" in self._parsed.given or _takes_input(self._path) else None
            show = _Show(self._out, self._path, as_json=values["output"] == "json")
            self._session = LineSession(upgraded, show, stdin, values["channel"], self._out.note)
        except Exception as error:  # raised again by the main thread
            self._error = error
        finally:
            self._answered.set()

    def _upgrade(self) -> Upgraded:
        client, values = self._client, self._parsed.values
        offered, key = _offered(values["protocol"], self._path), new_key(os.urandom(16))
        headers = _headers(client, self._path, request_headers(key, offered), headers_given(values["header"]))
        limit = client.access.request_timeout
        deadline = client.clock() + limit if limit else None
        try:
            self._response = client.exchange(
                Request("GET", client.address.prefix + self._path, headers), deadline=deadline
            )
        except TransportError as error:
            # As exec has it.
            text = "unexpected EOF" if str(error) == "EOF" else str(error)
            raise RawkubeError(text, detail=error.detail) from None
        return accepted(self._response, key, offered)


def _code(ended: Ended, out: Output, *, is_command: bool) -> int:
    if is_command and ended.line:
        out.note(ended.line)
    if ended.closed is None:
        out.note(ended.error or "the connection ended without a close")
        return 1
    if is_command and ended.exit_code:
        return ended.exit_code
    return 0 if ended.closed == NORMAL else 1


def _is_portforward(path: str) -> bool:
    """Whether the channels are ports, two each."""
    return path.partition("?")[0].endswith("/portforward")


def _path(args: Sequence[str]) -> str:
    if len(args) != 1:
        raise UsageError("ws takes one PATH, such as '/api/v1/pods?watch=true'\nSee 'rawkube ws --help' for usage.")
    if not args[0].startswith("/"):
        raise UsageError(f"a PATH begins with /: {go_quote(args[0])}")
    return args[0]


def _takes_input(path: str) -> bool:
    """Whether whoever serves this path reads what is sent."""
    query = path.partition("?")[2]
    asked = {name: value.lower() for name, value in parse_qsl(query, keep_blank_values=True)}
    return _is_portforward(path) or asked.get("stdin", "false") not in ("false", "0", "f")


def _offered(names: Sequence[str], path: str) -> list[str]:
    if names:
        return [name for name in names if name not in ("", "none")]
    # A watch chooses no subprotocol, and refuses who offers several (golang.org/x/net/websocket).
    return [] if is_watch(path) else [protocol.name for protocol in protocols.OFFERED]


def _headers(
    client: ApiClient, path: str, handshake: Sequence[tuple[str, str]], given: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The usual ones, less those for which others are given, and these."""
    usual = [("User-Agent", user_agent()), *handshake]
    if is_watch(path):  # which is given only to those who say where they come from
        usual.append(("Origin", f"{client.address.scheme}://{client.pool.endpoint.host_header}"))
    names = {name.lower() for name, _ in given}
    return [*(pair for pair in usual if pair[0].lower() not in names), *given]


def _show_head(response: Response, out: Output) -> None:
    out.line(f"HTTP/1.1 {response.status} {response.reason}".rstrip())
    for name, value in response.headers:
        out.line(f"{name}: {value}")
    out.write("\n")


class _Show:
    """Prints what happens. `path`: of the request, which tells what the channels are."""

    def __init__(self, out: Output, path: str, *, as_json: bool) -> None:
        self._out = out
        self._json = as_json
        self._ports = _is_portforward(path)
        self._pieces = {CLIENT: 0, SERVER: 0}

    def __call__(self, happening: Happening) -> None:
        """Print one."""
        data = happening.data
        if happening.kind == "message" and self._ports and data["channel"] is not None:
            number, of_error = divmod(data["channel"], 2)
            data = {**data, "name": f"{'error' if of_error else 'data'} of port {number + 1}"}
            happening = happening._replace(data=data)
        if happening.kind == "frame":
            happening = self._fragment(happening)
        if self._json:
            self._out.write(json_of(happening._replace(conn=1), None, contents=True) + "\n")
            return
        if happening.kind == "frame":
            self._frame(happening)
            return
        for line in lines_of(happening, _FRAMES):
            arrow, rest = line[:2], line[2:]
            kind = ("text " if data["text"] else "binary ") if happening.kind == "message" else ""
            self._out.line(f"{happening.t:8.3f}  {arrow}{kind}{rest}")

    def _fragment(self, happening: Happening) -> Happening:
        """With the number of the frame within its message, 0 where that is whole."""
        data, side = happening.data, happening.side
        if data["opcode"] not in ("text", "binary", "continuation"):
            return happening._replace(data={**data, "piece": 0})
        alone = data["final"] and not self._pieces[side]
        piece = 0 if alone else self._pieces[side] + 1
        self._pieces[side] = 0 if data["final"] else piece
        return happening._replace(data={**data, "piece": piece})

    def _frame(self, happening: Happening) -> None:
        """A line for a frame that is only a piece of a message; others are told by what they hold."""
        data = happening.data
        if data["piece"]:
            arrow = "→" if happening.side == CLIENT else "←"
            last = ", the last" if data["final"] else ""
            text = f"{arrow} {data['opcode']} {data['size']} B, piece {data['piece']} of a message{last}"
            self._out.line(f"{happening.t:8.3f}  {text}")
