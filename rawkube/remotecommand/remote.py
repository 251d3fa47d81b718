"""A command that runs in a container, for programs that speak with it.

    with open_exec(client, "web-0", ["sh"], stdin=True) as command:
        command.write(b"date\\n")
        command.close_stdin()
        for channel, data in command:
            ...
    command.result

One thread at a time. Whoever waits for output sends what is still to be sent meanwhile, and whoever waits until
input is taken reads meanwhile, so neither side can hold the other up; pings go out during every wait.
"""

from __future__ import annotations

import math
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from rawkube._typing import Self
from rawkube.api.upgrade import Upgraded
from rawkube.duration import format_duration
from rawkube.errors import RawkubeError, TransportError, WaitTimeout
from rawkube.remotecommand import life_signs, protocols
from rawkube.remotecommand.channels import Channels, Closed, Event, Output
from rawkube.remotecommand.life_signs import GRACE, SIGN_OF_LIFE, SILENCE, UNANSWERED, LifeSigns, Timing
from rawkube.remotecommand.protocols import Protocol
from rawkube.remotecommand.result import Result
from rawkube.remotecommand.source import as_bytes, check_source, messages, pieces

MAX_UNREAD = 16 * 1024 * 1024
"""How many bytes of output may wait while input is written, before `write` gives up."""

_MAX_UNSENT = 256 * 1024
_READ = 256 * 1024
# For how long, in seconds, a server's answer to the close is awaited where there is no time left.
_HURRIED = 0.2
# How long the source may take, in seconds, before the socket is looked at again.
_DRAWING = 0.01
_USUAL = Timing()


class OutputNotRead(RawkubeError):
    """Input is written, and neither is it taken nor the output read, of which more than MAX_UNREAD bytes wait."""


class RemoteCommand:
    """A command that runs in a container: write its input, iterate its output, then ask for its `result`.

    A context manager; leaving it early says the end of the input and of the connection, which does not end the
    command itself; an exception that is to end the program (KeyboardInterrupt) waits for next to nothing. `stdin`,
    `tty`: what was asked for. `timeout`: seconds until it has to be over, counted from `since` (a time of `clock`,
    else now); None for no limit.
    """

    def __init__(
        self,
        upgraded: Upgraded,
        *,
        stdin: bool = True,
        tty: bool = False,
        timeout: float | None = None,
        since: float | None = None,
        timing: Timing = _USUAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        protocol = protocols.find(upgraded.protocol)
        if protocol is None:
            raise ValueError(f"unknown protocol {upgraded.protocol!r}")
        self._stream = upgraded.stream
        self._channels = Channels(protocol, tty=tty)
        self._takes_stdin = stdin
        self._tty = tty
        self._clock = clock
        self._timeout = timeout
        self._deadline = None if timeout is None else (clock() if since is None else since) + timeout
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._unread: deque[Output] = deque()
        self._unread_bytes = 0
        self._source: Iterator[bytes] | None = None
        self._close_code = 0
        self._left = clock()
        self._life = LifeSigns(timing, self._left)
        self._selector: selectors.BaseSelector | None = selectors.DefaultSelector()
        self._selector.register(self._stream, selectors.EVENT_READ)
        self._take(self._channels.feed(upgraded.data))

    # What a caller does.

    @property
    def protocol(self) -> Protocol:
        """The subprotocol that the server chose."""
        return self._channels.protocol

    def write(self, data: bytes) -> None:
        """Send input; waits until nearly all of it is taken. Ignored once the command has ended, as kubectl does.

        Raises OutputNotRead, WaitTimeout (the command's time is over), ValueError behind close_stdin(), and where
        no stdin was asked for, TypeError for anything but bytes.
        """
        self._check_stdin()
        for piece in pieces(as_bytes(data)):
            self._queue(self._channels.stdin(piece))
            while self._unsent_bytes > _MAX_UNSENT and not self._channels.closed:
                self._check_time()
                self._step(self._deadline)
                if self._unread_bytes > MAX_UNREAD:
                    raise OutputNotRead(
                        f"more than {MAX_UNREAD} bytes of output wait to be read, and no input is taken"
                    )
        self._flush()

    def feed(self, source: Iterable[bytes]) -> None:
        """Take the input from here while the output is iterated, piece by piece, then end it.

        What has `read` is read; small pieces of other sources are joined while they come quickly. Where the
        subprotocol cannot end the input (all but v5), the command waits for more. ValueError where no stdin was asked
        for, TypeError for a source that cannot give bytes, and later, from the iteration, for a piece that is none.
        """
        self._check_stdin()
        checked = check_source(source)
        self._source = messages([checked] if isinstance(checked, bytes) else checked)

    def close_stdin(self) -> None:
        """Say the end of the input, once (v5). Raises NoHalfClose where the subprotocol cannot, ValueError."""
        self._check_stdin()
        self._queue(self._channels.close_stdin())
        self._flush()

    def _check_stdin(self) -> None:
        if not self._takes_stdin:
            raise ValueError("no stdin was asked for")

    def resize(self, width: int, height: int) -> None:
        """Tell the size of the terminal, in characters. ValueError without a tty."""
        if not self._tty:
            raise ValueError("no terminal was asked for")
        self._queue(self._channels.resize(width, height))
        self._flush()

    def receive(self, timeout: float | None = None) -> Output | None:
        """The next piece of output; None at the end.

        Raises WaitTimeout when none came within `timeout` seconds (then it may be called again), or when the
        command's own time is over (then the connection is closed).
        """
        until = None if timeout is None else self._clock() + timeout
        while not self._unread:
            if self._channels.closed:
                self._finish()
                return None
            self._check_time()
            late = until is not None and self._clock() >= until
            self._step(_earlier(until, self._deadline))  # what is there already comes without any time to wait
            if late and not self._unread and not self._channels.closed:
                raise WaitTimeout(f"no output came within {format_duration(timeout or 0.0)}")
        output = self._unread.popleft()
        self._unread_bytes -= len(output.data)
        return output

    def __iter__(self) -> Iterator[Output]:
        """(channel, data) as they come: 1 is stdout, 2 stderr; until the end. Raises WaitTimeout."""
        while (output := self.receive()) is not None:
            yield output

    @property
    def result(self) -> Result:
        """How the command ended. RuntimeError before the output was iterated to its end, or `close()`."""
        if not self._channels.closed:
            raise RuntimeError("the command has not ended: iterate its output to the end first")
        return self._channels.result()

    @property
    def close_code(self) -> int:
        """How the connection ended (RFC 6455, 7.4): 1006 without a close frame, 0 while it is open."""
        return self._close_code

    def close(self) -> None:
        """Leave: what has come is dropped, the ends of input and connection are said, the answer awaited for 2 s.

        It is not awaited beyond the time that the command has, except for 0.2 s.
        """
        self._leave(life_signs.CLOSING)

    def _leave(self, patience: float) -> None:
        try:
            if not self._channels.closed:
                self._source = None
                if self._takes_stdin and self._channels.protocol.half_close:
                    self._queue(self._channels.close_stdin())
                self._close()
                self._life.close_by = min(self._life.close_by, self._end_of(patience))
                while not self._channels.closed:
                    self._step(self._life.close_by)
                    self._unread.clear()
            self._finish(patience)
        finally:
            self._release()  # whatever came between

    def _end_of(self, patience: float) -> float:
        """The end of so many seconds, or that of the command's time, if it comes first."""
        now = self._clock()
        end = now + patience
        return end if self._deadline is None else min(end, max(self._deadline, now + _HURRIED))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ending = kind is not None and not issubclass(kind, Exception | GeneratorExit)
        self._leave(_HURRIED if ending else life_signs.CLOSING)

    # One round: send what is taken, read what is there.

    def _check_time(self) -> None:
        if self._deadline is not None and self._clock() >= self._deadline:
            self.close()
            raise WaitTimeout(f"the command was still running after {format_duration(self._timeout or 0.0)}")

    def _step(self, until: float | None) -> None:
        """Wait for the socket until a point in time, or less, and do what it lets do."""
        assert self._selector is not None
        self._come_back()
        drawn = self._draw()
        sent = self._flush() or drawn
        # What TLS has decrypted already, no selector sees.
        pending = self._stream.pending() > 0
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        self._selector.modify(self._stream, wanted)
        # Where something was taken, there may be more to send now.
        ready = self._selector.select(0 if pending or sent else self._wait(until))
        mask = ready[0][1] if ready else 0
        if pending or mask & selectors.EVENT_READ:
            self._read()
        self._flush()
        self._keep_alive(self._clock())
        self._left = self._clock()

    def _come_back(self) -> None:
        """The time that the caller has spent elsewhere is not the server's silence."""
        self._life.away(self._clock() - self._left)

    def _wait(self, until: float | None) -> float | None:
        end = self._life.next(has_status=self._channels.holds_status)
        end = end if until is None else min(end, until)
        return None if end == math.inf else max(0.0, end - self._clock())

    def _draw(self) -> bool:
        """Take from the source as much as the socket is about to take: whether any was sent already.

        Each piece goes before the next is asked for, which may take its time.
        """
        sent = False
        end = self._clock() + _DRAWING
        while self._source is not None and self._unsent_bytes < _MAX_UNSENT and self._clock() <= end:
            piece = next(self._source, None)
            if piece is not None:
                self._queue(self._channels.stdin(piece))
                sent = self._flush() or sent
                continue
            self._source = None
            if self._channels.protocol.half_close:
                self._queue(self._channels.close_stdin())
        return sent

    def _queue(self, data: bytes) -> None:
        if data:
            self._unsent.append(memoryview(data))
            self._unsent_bytes += len(data)

    def _flush(self) -> bool:
        """Send what is taken now: whether anything was."""
        sent = False
        before = self._unsent_bytes
        try:
            while self._unsent:
                taken = self._stream.send_now(self._unsent[0])
                if not taken:
                    break
                sent = True
                self._unsent_bytes -= taken
                rest = self._unsent[0][taken:]
                if rest:
                    self._unsent[0] = rest
                else:
                    self._unsent.popleft()
        except TransportError:
            # Nobody takes input any more. What the server has said before may still be readable.
            self._drop_unsent()
        if before - self._unsent_bytes > SIGN_OF_LIFE:
            self._life.heard = self._clock()
        return sent

    def _drop_unsent(self) -> None:
        self._unsent.clear()
        self._unsent_bytes = 0
        self._source = None

    def _read(self) -> None:
        read = 0
        while not self._channels.closed and read < _READ:
            try:
                data = self._stream.recv_now(_READ)
            except TransportError as error:
                self._take(self._channels.eof(str(error)))
                return
            if data is None:
                return
            read += len(data)
            self._life.heard = self._clock()
            self._take(self._channels.feed(data) if data else self._channels.eof())

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Output):
                self._unread.append(event)
                self._unread_bytes += len(event.data)
                self._life.told = self._life.heard
            elif isinstance(event, Closed):
                self._close_code = event.code
        if not events:
            self._life.told = self._life.heard  # a part of the status; pongs are events
        if self._channels.closed:
            self._close_code = self._close_code or getattr(self._channels.result(), "close_code", 0) or 1006
            self._source = None
        self._queue(self._channels.data_to_send())

    def _keep_alive(self, now: float) -> None:
        if self._channels.closed:
            return
        due = self._life.due(now, has_status=self._channels.holds_status)
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

    def _finish(self, patience: float = life_signs.CLOSING) -> None:
        """Send the answer to the close, if the socket takes it soon, and let the connection go."""
        if self._selector is None:
            return
        end = min(self._life.close_by or math.inf, self._end_of(patience))
        try:
            while self._unsent and self._stream.send_by(self._unsent[0], end):
                self._unsent.popleft()
        except TransportError:
            pass
        finally:
            self._release()

    def _release(self) -> None:
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        self._drop_unsent()
        self._stream.close()


def _earlier(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)
