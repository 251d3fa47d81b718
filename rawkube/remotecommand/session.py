"""One command in a container, from behind the handshake to its end: a loop over socket, stdin, stdout and stderr.

One thread, one selector. Nothing is read that cannot be passed on: while stdout or stderr takes nothing, the socket
is not read; while the socket takes nothing, stdin is not read. So memory stays constant, and the back-pressure of a
slow reader reaches the command itself. The end is the server's to say: this side closes only after the command's
status, when the server then stays silent.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from itertools import groupby
from types import TracebackType

from rawkube._typing import NamedTuple
from rawkube.errors import TransportError
from rawkube.remotecommand.channels import Channels, Closed, Event, Output, Ping, Pong, Violation
from rawkube.remotecommand.life_signs import CLOSING, GRACE, SIGN_OF_LIFE, SILENCE, UNANSWERED, LifeSigns, Timing
from rawkube.remotecommand.protocols import STDOUT
from rawkube.remotecommand.pump import PIECES, Wakeup, Writer, is_ready
from rawkube.remotecommand.result import Result
from rawkube.remotecommand.terminal import STOPPING, Resizes
from rawkube.wire.stream import Stream

STDIN_PIECE = 32 * 1024
"""The most of stdin that one message carries, in bytes (as kubectl)."""

_READ = 256 * 1024
_READS_IN_A_ROW = 16
_LONGEST_WAIT = 3600.0


class Local(NamedTuple):
    """What the session reads and writes on this side. Descriptors; `stdin` None: nothing is sent."""

    stdin: int | None
    stdout: int
    stderr: int
    resizes: Resizes | None = None
    size: tuple[int, int] | None = None


class StdinEnded(Exception):
    """The input ended, the subprotocol cannot say so, and the caller wants that to be an error."""


class Session:
    """Runs one session.

    `data`: bytes that came with the 101. `on_stdin_end()` is called once when the input ends and the subprotocol
    cannot say so; it may raise StdinEnded, or return False to go on, or True to close the connection.
    """

    def __init__(
        self,
        stream: Stream,
        channels: Channels,
        local: Local,
        *,
        data: bytes = b"",
        timing: Timing = Timing(),  # noqa: B008 - plain data
        on_stdin_end: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._channels = channels
        self._local = local
        self._early = data
        self._on_stdin_end = on_stdin_end
        self._clock = clock
        self._unsent = memoryview(b"")
        self._stdin_open = local.stdin is not None
        self._outputs = {STDOUT: Writer(local.stdout)}
        self._stderr = Writer(local.stderr)
        self._writers = (*self._outputs.values(), self._stderr)
        self._wakeup = Wakeup()
        self._woken = clock()
        self._life = LifeSigns(timing, self._woken)
        self._has_status = False

    # The whole of it.

    def run(self) -> Result:
        """Run to the end, and give how the command ended.

        Raises BrokenPipeError when a reader of the output has gone, OSError when the output cannot be written, and
        whatever a signal handler raises. The stream is left open: close() it.
        """
        try:
            self._start()
            with self._wakeup, select_files() as selector:
                while not self._channels.closed:
                    self._wait(selector)
                self._send_rest()
                self._drain_outputs(selector)
        finally:
            for writer in self._writers:
                writer.close()
        return self._channels.result()

    def interrupt(self) -> None:
        """Leave early: say the end of the input and of the connection, as far as that needs no long waiting."""
        if self._channels.protocol.half_close:
            self._queue(self._channels.close_stdin())
        self._queue(self._channels.close(1000))
        self._send_rest()

    def _start(self) -> None:
        if self._local.size is not None:
            self._queue(self._channels.resize(*self._local.size))
        if self._early:
            self._take(self._channels.feed(self._early))
        self._flush()

    # Waiting.

    def _wait(self, selector: selectors.BaseSelector) -> None:
        self._flush()
        # What TLS has decrypted already, no selector sees.
        pending = bool(self._stream.pending()) and not self._stalled
        _interest(selector, self._wanted())
        timeout = 0.0 if pending else self._timeout()
        ready = {key.fd: mask for key, mask in selector.select(timeout)}
        now = self._clock()
        if now - self._woken > timeout + 1.0:
            self._life.heard = now  # this process was stopped (Ctrl-Z): nobody listened
        self._woken = now
        self._write_outputs(ready)
        if self._wakeup.fileno() in ready:
            self._wakeup.drain()
        if pending or self._stream.fileno() in ready:
            self._flush()
            if not self._stalled:
                self._receive()
        if self._local.resizes is not None and self._local.resizes.fileno() in ready:
            self._resized()
        if self._stdin_open and self._local.stdin in ready and not self._unsent:
            self._read_stdin()
        self._keep_alive(now)

    @property
    def _stalled(self) -> bool:
        """Whether some output is not taken: then the socket is not read."""
        return any(writer.waiting for writer in self._writers)

    def _wanted(self) -> dict[int, int]:
        wanted = self._wanted_by_outputs()
        socket_events = (0 if self._stalled else selectors.EVENT_READ) | (selectors.EVENT_WRITE if self._unsent else 0)
        if socket_events:
            wanted[self._stream.fileno()] = socket_events
        if self._local.resizes is not None:
            wanted[self._local.resizes.fileno()] = selectors.EVENT_READ
        if self._stdin_open and self._local.stdin is not None and not self._unsent:
            wanted[self._local.stdin] = selectors.EVENT_READ
        return wanted

    def _wanted_by_outputs(self) -> dict[int, int]:
        wanted = {writer.fileno(): selectors.EVENT_WRITE for writer in self._writers if writer.waiting}
        if self._wakeup.fileno() >= 0:
            wanted[self._wakeup.fileno()] = selectors.EVENT_READ
        return wanted

    def _timeout(self) -> float:
        now = self._clock()
        due = self._life.next_ping if self._stalled else self._life.next(has_status=self._has_status)
        return max(0.0, min(due - now, _LONGEST_WAIT))

    # The socket.

    def _receive(self) -> None:
        for _ in range(_READS_IN_A_ROW):
            try:
                data = self._stream.recv_now(_READ)
            except TransportError as error:
                self._take(self._channels.eof(str(error)))
                return
            if data is None:
                return
            self._life.heard = self._clock()
            self._take(self._channels.feed(data) if data else self._channels.eof())
            if self._channels.closed or self._stalled:
                return

    def _take(self, events: list[Event]) -> None:
        told = not events  # a part of a message
        for channel, run in groupby(events, lambda event: event.channel if type(event) is Output else None):
            if channel is not None:
                self._write(channel, [event.data for event in run if type(event) is Output])
                told = True
                continue
            for event in run:
                if isinstance(event, Closed | Violation):
                    self._stdin_open = False
                told = told or not isinstance(event, Ping | Pong)
        if not self._has_status and self._channels.holds_status:
            self._has_status = told = True
        if told:
            self._life.told = self._life.heard

    def _write(self, channel: int, pieces: list[bytes]) -> None:
        """Pieces of one channel that follow each other, in one write: joined only where they are many, and so small."""
        writer = self._outputs.get(channel, self._stderr)
        if len(pieces) > PIECES:
            writer.write(b"".join(pieces))
        else:
            writer.write(*pieces)

    def _queue(self, data: bytes) -> None:
        if data:
            self._unsent = memoryview(bytes(self._unsent) + data) if self._unsent else memoryview(data)

    def _flush(self) -> None:
        if not self._unsent:  # else the answers to pings pile up in the channels, which keep only the newest
            self._queue(self._channels.data_to_send())
        if not self._unsent:
            return
        try:
            with _Undisturbed():
                while self._unsent and (taken := self._stream.send_now(self._unsent)):
                    self._unsent = self._unsent[taken:]
                    if taken > SIGN_OF_LIFE:
                        self._life.heard = self._clock()
        except TransportError:
            # Nobody takes input any more. What the server has said before may still be readable.
            self._unsent = memoryview(b"")
            self._stdin_open = False

    def _send_rest(self) -> None:
        """What is still owed, the answer to a close above all, if the socket takes it soon."""
        self._queue(self._channels.data_to_send())
        if self._unsent:
            try:
                self._stream.send_by(self._unsent, self._clock() + CLOSING)
            except TransportError:
                pass
            self._unsent = memoryview(b"")

    # This side.

    def _read_stdin(self) -> None:
        """Read as long as more is there at once and the socket takes it."""
        assert self._local.stdin is not None
        for _ in range(_READS_IN_A_ROW):
            try:
                data = os.read(self._local.stdin, _READ)
            except BlockingIOError:
                return
            except OSError:  # closed, or a terminal that is not ours any more
                data = b""
            if data:
                self._queue_stdin(data)
            else:
                self._stdin_ended()
            self._flush()
            if self._unsent or not self._stdin_open or not is_ready(self._local.stdin, write=False):
                return

    def _queue_stdin(self, data: bytes) -> None:
        messages: list[bytes] = []
        view = memoryview(data)
        try:
            for at in range(0, len(data), STDIN_PIECE):
                messages.append(self._channels.stdin(view[at : at + STDIN_PIECE]))
        finally:  # the keys that leave a session raise
            self._queue(b"".join(messages))

    def _stdin_ended(self) -> None:
        self._stdin_open = False
        if self._channels.protocol.half_close:
            self._queue(self._channels.close_stdin())
        elif self._on_stdin_end():
            self._close()

    def _resized(self) -> None:
        assert self._local.resizes is not None
        size = self._local.resizes.take()
        if size is not None:
            self._queue(self._channels.resize(*size))

    def _write_outputs(self, ready: dict[int, int]) -> None:
        for writer in self._writers:
            if writer.waiting and writer.fileno() in ready:
                writer.flush()

    def _drain_outputs(self, selector: selectors.BaseSelector) -> None:
        """Whatever was received is delivered, however long the readers take."""
        while self._stalled:
            _interest(selector, self._wanted_by_outputs())
            self._write_outputs({key.fd: mask for key, mask in selector.select()})
            self._wakeup.drain()

    # Time.

    def _keep_alive(self, now: float) -> None:
        if self._stalled:
            self._life.listening_since(now)
        due = "" if self._stalled else self._life.due(now, has_status=self._has_status)
        if due == UNANSWERED:
            self._take(self._channels.eof())
        elif due == SILENCE:
            self._take(self._channels.eof(f"read tcp {self._stream.names}: i/o timeout"))
        elif due == GRACE:
            self._close()
        if self._life.must_ping(now) and not self._unsent:
            self._queue(self._channels.ping())
            self._flush()

    def _close(self) -> None:
        if self._life.closing(self._clock()):
            self._queue(self._channels.close(1000))


class _Undisturbed:
    """The signals that end a session wait until its block is done: how much was sent must not be forgotten."""

    def __enter__(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def select_files() -> selectors.BaseSelector:
    """A selector that takes regular files and terminals too, where the system has one."""
    # poll() takes regular files and /dev/null, which epoll() refuses; on macOS it refuses terminals.
    if sys.platform == "linux" and hasattr(selectors, "PollSelector"):
        return selectors.PollSelector()
    return selectors.SelectSelector()


def _interest(selector: selectors.BaseSelector, wanted: dict[int, int]) -> None:
    """Make the selector wait for exactly these."""
    known = {key.fd: key.events for key in selector.get_map().values()}
    for descriptor in known.keys() - wanted.keys():
        selector.unregister(descriptor)
    for descriptor, events in wanted.items():
        if descriptor not in known:
            selector.register(descriptor, events)
        elif known[descriptor] != events:
            selector.modify(descriptor, events)
