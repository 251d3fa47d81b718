"""A WebSocket that somebody looks at and types to: what passes is told, lines of a file are sent as messages."""

from __future__ import annotations

import binascii
import os
import selectors
import time
from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.api.upgrade import Upgraded
from rawkube.errors import TransportError
from rawkube.kubeconfig.signals import Deferred
from rawkube.observe.conversation import CLIENT, SERVER, Happening, WebSocket
from rawkube.remotecommand import protocols
from rawkube.remotecommand.protocols import HALF_CLOSE
from rawkube.remotecommand.session import select_files
from rawkube.wire.frames import BINARY, MAX_CONTROL, PONG, TEXT, encode, encode_close, encode_control

NORMAL = 1000
_NONE = 1005  # a close without a code (RFC 6455, 7.4.1)
_READ = 65536
_LONGEST_LINE = 32 * 1024
_GOODBYE_SECONDS = 1.0
_LISTEN_SECONDS = 0.3


class Ended(NamedTuple):
    """How it ended. `closed`: the code of the server's close, None where there was none, `error` then says why.

    `exit_code`, `line`: of the status on the error channel; None and empty where none came.
    """

    closed: int | None = None
    error: str = ""
    exit_code: int | None = None
    line: str = ""


class LineSession:
    """Both directions, until the server has closed, or the connection ended.

    `tell` is given what happens, on either side; `stdin` is the descriptor to read lines from, None for none, which
    are sent on `channel` (0 to 9 for a subprotocol in base64, else to 254); `note` is told what a person should know.
    """

    def __init__(
        self,
        upgraded: Upgraded,
        tell: Callable[[Happening], None],
        stdin: int | None,
        channel: int,
        note: Callable[[str], None],
    ) -> None:
        self._stream = upgraded.stream
        self._early = upgraded.data
        self._protocol = protocols.find(upgraded.protocol)
        self._name = upgraded.protocol
        self._tell = tell
        self._stdin = stdin
        self._channel = channel
        self._note = note
        self._socket = WebSocket(upgraded.protocol)
        self._start = time.monotonic()
        self._typed = b""
        self._unsent = bytearray()
        self._goodbye = b""
        self._ended = Ended()
        self._over = self._deaf = False

    def run(self) -> Ended:
        """To the end. Raises what `tell` raises."""
        if self._early:
            self._came(self._early)
        with select_files() as selector:
            while not self._over:
                self._wait(selector)
        self._finish()
        return self._ended

    def leave(self) -> None:
        """Say goodbye, wherever an exception has interrupted `run`; tells nothing.

        What still comes is read and dropped for a moment: closed upon it, TCP would reset, and the goodbye be lost.
        """
        if not self._over:
            self._goodbye = encode_close(NORMAL)
            self._unsent += self._goodbye
        self._finish()
        try:
            self._stream.end_writing()
            end = time.monotonic() + _LISTEN_SECONDS
            while self._stream.recv_by(_READ, end):
                pass
        except TransportError:
            pass

    def tell_left(self) -> None:
        """Tell what `leave` has sent: apart, since whoever is told may be what does not go on."""
        if self._goodbye and not self._deaf:
            self._passed(CLIENT, self._goodbye)

    def _wait(self, selector: selectors.BaseSelector) -> None:
        """For whatever comes next. Nothing is read from stdin while the server does not take what was read before."""
        socket = self._stream.fileno()
        wanted = {socket: selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)}
        if self._stdin is not None and not self._unsent:
            wanted[self._stdin] = selectors.EVENT_READ
        for descriptor in [*selector.get_map()]:
            selector.unregister(descriptor)
        for descriptor, events in wanted.items():
            selector.register(descriptor, events)
        ready = {key.fd: events for key, events in selector.select(0 if self._stream.pending() else None)}
        if self._unsent:
            self._transmit()
        if self._stdin is not None and self._stdin in ready:
            self._read(self._stdin)
        if self._stream.pending() or socket in ready:
            self._receive()

    # What comes

    def _receive(self) -> None:
        try:
            data = self._stream.recv_now(_READ)
        except TransportError as error:
            self._ended = self._ended._replace(error=str(error))
            self._over = True
            return
        if data:
            self._came(data)
        elif data is not None:
            self._over = True

    def _came(self, data: bytes) -> None:
        for happening in self._passed(SERVER, data):
            if happening.kind == "ping":
                self._send(encode_control(PONG, happening.data["data"][:MAX_CONTROL]))
            elif happening.kind == "status":
                code, line = int(happening.data["exit_code"]), str(happening.data["line"])
                self._ended = self._ended._replace(exit_code=code, line=line)
            elif happening.kind == "close":
                code = int(happening.data["code"])
                self._ended = self._ended._replace(closed=code)
                self._over = True
                self._send(encode_close(code if code != _NONE else NORMAL))
                return

    def _passed(self, side: str, data: bytes) -> list[Happening]:
        found = self._socket.feed(time.monotonic() - self._start, side, data)
        for happening in found:
            self._tell(happening)
        return found

    # What is typed

    def _read(self, stdin: int) -> None:
        try:
            data = os.read(stdin, _READ)
        except OSError:
            data = b""
        self._typed += data
        while (end := self._typed.find(b"\n") + 1) or len(self._typed) > _LONGEST_LINE:
            end = min(end or _LONGEST_LINE, _LONGEST_LINE)
            self._say(self._typed[:end])
            self._typed = self._typed[end:]
        if data:
            return
        self._stdin = None
        if self._typed:
            self._say(self._typed)
        self._end_of_input()

    def _say(self, line: bytes) -> None:
        if self._protocol is None:
            self._send(encode(TEXT if _is_text(line) else BINARY, line))
        elif self._protocol.base64:
            text = binascii.b2a_base64(line, newline=False)
            self._send(encode(TEXT, b"%d" % self._channel + text))
        else:
            self._send(encode(BINARY, bytes((self._channel,)) + line))

    def _end_of_input(self) -> None:
        if self._protocol is not None and self._protocol.half_close:
            self._send(encode(BINARY, bytes((HALF_CLOSE, self._channel))))
        else:
            self._note(f"the input ended, which {self._name or 'a WebSocket without a subprotocol'} cannot say")

    # What goes

    def _send(self, data: bytes) -> None:
        if not self._deaf:
            self._unsent += data
            self._passed(CLIENT, data)

    def _transmit(self) -> None:
        try:
            with Deferred():  # so that what has been sent is known wherever this is left
                sent = self._stream.send_now(bytes(self._unsent))
                del self._unsent[:sent]
        except TransportError:
            self._stop_sending()

    def _finish(self) -> None:
        try:
            self._stream.send_by(bytes(self._unsent), time.monotonic() + _GOODBYE_SECONDS)
        except TransportError:
            self._stop_sending()

    def _stop_sending(self) -> None:
        """What the server has said before may still be readable."""
        self._deaf = True
        self._stdin = None
        self._unsent.clear()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
