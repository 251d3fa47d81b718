"""Sends answers: in the pieces and at the times in which they were recorded, with the faults that are due."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from http import HTTPStatus

from rawkube._typing import NamedTuple
from rawkube.observe import derive
from rawkube.observe.accept import accepts_encoding
from rawkube.observe.ask import ask_of
from rawkube.observe.exchanges import COMPLETE, OPEN, RESET, Answer, Chunk
from rawkube.observe.faults import (
    BEFORE_STREAMS,
    CLOSE,
    GARBAGE,
    GARBAGE_BYTES,
    IN_STREAMS,
    KINDS,
    STALL,
    STATUS,
    TRUNCATE,
    Fault,
    FaultPlan,
)
from rawkube.observe.faults import RESET as RESET_FAULT
from rawkube.observe.incoming import Incoming
from rawkube.observe.link import Link
from rawkube.observe.match import Reply
from rawkube.observe.pieces import Messages, by_line

# Whether the client has gone before so many seconds have passed (None: however long it takes).
Wait = Callable[[Link, float | None], bool]

_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # Go's strconv.ParseBool


class _Streamed(NamedTuple):
    """An answer whose `raw` pieces are counted: those at `pieces`."""

    answer: Answer
    pieces: range


class Delivery:
    """How one server sends its answers. `speed`: as of a replay; `clock`: seconds; `wait`: waits for a client to go."""

    def __init__(
        self,
        *,
        speed: float | None,
        wait: Wait,
        clock: Callable[[], float] = time.monotonic,
        faults: FaultPlan | None = None,
    ) -> None:
        self._speed = speed
        self._wait = wait
        self._clock = clock
        self._faults = faults or FaultPlan()

    def answer(self, link: Link, request: Incoming, reply: Reply, start: float) -> bool:
        """Answer a request; whether the connection may carry another one. `start`: when it had come."""
        streams = reply.answer.status == 101 or is_stream(request, reply.answer)
        kinds = BEFORE_STREAMS if streams else KINDS
        answer = reply.answer
        if answer.status != 101:
            answer = suited(answer, request.header("accept-encoding") or "", old=request.old)
        if self._faults.concerns(request.target) and (fault := self._faults.due(request.method, request.target, kinds)):
            return self._strike(link, fault, _half(answer)) and not request.last
        if answer.status == 101:
            self._play(link, request, reply, start)
            return False
        limit = watch_limit(request.target) if request.method == "GET" else None
        if streams and self._faults.concerns(request.target):
            try:
                found = _Streamed(*by_line(answer, chunked=not request.old))
            except ValueError:
                found = _Streamed(answer, range(0))
            return self._send(link, request, found, limit) and not request.last
        kept = self._send(link, request, _Streamed(answer, range(0)), limit)
        self._faults.sent(request.target)
        return kept and not request.last

    def _play(self, link: Link, request: Incoming, reply: Reply, start: float) -> None:
        """Replay an upgraded connection to its end."""
        from rawkube.observe.play import play, uncut
        from rawkube.observe.sessions import Session

        head = reply.answer.raw[0]
        session = Session(reply.sources[0], head, speed=self._speed, now=start)
        session.receive(request.rest, start)
        if not self._faults.concerns(request.target):
            play(link, session, clock=self._clock)
            return
        found: list[Fault] = []

        def due(*kinds: str) -> bool:
            fault = self._faults.due(request.method, request.target, kinds)
            found.extend([fault] if fault else [])
            return fault is not None

        def sent() -> bool:
            self._faults.sent(request.target)
            return due(*IN_STREAMS)

        messages = Messages(len(head.data), sent=sent, half=lambda: due(TRUNCATE))
        cut = messages.feed if reply.answer.header("upgrade").lower() == "websocket" else uncut
        if play(link, session, cut=cut, clock=self._clock):
            self._strike(link, found[0], b"")

    # Answers

    def _send(self, link: Link, request: Incoming, streamed: _Streamed, limit: float | None) -> bool:
        answer, pieces = streamed
        start = self._clock()
        whole = True
        for i, (due, chunk) in enumerate(schedule(answer, self._speed)):
            if limit is not None and whole and due > limit and answer.ends != RESET:
                return self._stay(link, answer, start + limit)
            if self._gone_before(link, start + due):
                return False
            if i in pieces and (fault := self._faults.due(request.method, request.target, (TRUNCATE,))):
                return self._strike(link, fault, chunk.data[: len(chunk.data) // 2])
            link.send(chunk.data)
            whole = chunk.whole
            if i in pieces:
                self._faults.sent(request.target)
                if fault := self._faults.due(request.method, request.target, IN_STREAMS):
                    return self._strike(link, fault, b"")
        if answer.ends == OPEN:
            return self._stay(link, answer, None if limit is None or not whole else start + limit)
        if answer.ends != COMPLETE:
            self._break_off(link, answer, start)
        return answer.ends == COMPLETE and answer.header("connection").lower() != "close"

    def _gone_before(self, link: Link, until: float) -> bool:
        """Wait; whether the client went first."""
        seconds = until - self._clock()
        return seconds > 0 and self._wait(link, seconds)

    def _stay(self, link: Link, answer: Answer, until: float | None) -> bool:
        """Keep an answer open; at its end (seconds of the clock, None: never) finish it as a server does."""
        if until is None:
            self._wait(link, None)
            return False
        if self._gone_before(link, until) or answer.header("transfer-encoding").lower() != "chunked":
            return False
        link.send(b"0\r\n\r\n")
        return True

    def _break_off(self, link: Link, answer: Answer, start: float) -> None:
        """Close, or reset, at the time at which the recorded server did."""
        end = 0.0 if self._speed is None else answer.end / self._speed
        if not self._gone_before(link, start + end) and answer.ends == RESET:
            link.reset()

    def _strike(self, link: Link, fault: Fault, half: bytes) -> bool:
        """Let a fault happen; whether the connection may carry another request. `half`: of what was to come."""
        if fault.kind == STATUS:
            link.send(b"".join(chunk.data for chunk in status_of(fault).raw))
        elif fault.kind == RESET_FAULT:
            link.reset()
        elif fault.kind == STALL:
            link.outlast()
        else:
            link.send({TRUNCATE: half, GARBAGE: GARBAGE_BYTES, CLOSE: b""}[fault.kind])
            link.finish()
        return fault.kind == STATUS


def status_of(fault: Fault) -> Answer:
    """The answer of a fault: a `metav1.Status`. With 429 comes a Retry-After, as from the API server."""
    try:
        phrase = HTTPStatus(fault.status).phrase
    except ValueError:
        phrase = "Status"
    message = f"rawkube replay --fault {fault.text}"
    answer = derive.status_answer(fault.status, phrase, message)
    if fault.status != HTTPStatus.TOO_MANY_REQUESTS:
        return answer
    return derive.framed(answer._replace(headers=(*answer.headers, ("Retry-After", "1"))), chunked=True)


def schedule(answer: Answer, speed: float | None) -> Iterator[tuple[float, Chunk]]:
    """The pieces of an answer, each with its time in seconds after the request."""
    for chunk in answer.raw:
        yield (0.0 if speed is None else chunk.delay / speed), chunk


def suited(answer: Answer, accept_encoding: str, *, old: bool) -> Answer:
    """The answer as a client can read it: without gzip if it takes none, without chunks for HTTP/1.0.

    What cannot be decoded is sent as it was recorded.
    """
    unzip = answer.header("content-encoding").lower() == "gzip" and not accepts_encoding(accept_encoding, "gzip")
    if answer.status and (unzip or old or not answer.raw):
        try:
            return derive.framed(answer, chunked=not old)
        except ValueError:
            return answer
    return answer


def watch_limit(target: str) -> float | None:
    """The seconds that a watch asks for, None where it does not, or is none."""
    ask = ask_of("GET", target, ())
    seconds = derive.number(ask.params.get("timeoutSeconds"))
    return float(seconds) if ask.watch and seconds > 0 else None


def is_stream(request: Incoming, answer: Answer) -> bool:
    """Whether an answer is a watch, or a log that is followed."""
    if request.method != "GET" or answer.status != 200:
        return False
    ask = ask_of("GET", request.target, ())
    return ask.watch or (ask.path.endswith("/log") and ask.params.get("follow", "") in _TRUE)


def _half(answer: Answer) -> bytes:
    """The head of an answer and half of its body; half of the head where there is no body."""
    data = b"".join(chunk.data for chunk in answer.raw)
    head, end, body = data.partition(b"\r\n\r\n")
    return head + end + body[: len(body) // 2] if body else head[: len(head) // 2]
