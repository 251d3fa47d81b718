"""A container's log over the API: read once, or followed over as many streams as it takes.

A followed stream ends cleanly when its container has ended, and also when something on the way ends it: a load
balancer's idle time, a kubelet or an API server that restarts. The Pod's status tells which it was. Where the
container still runs, or the stream broke, the log is asked for again from the last line's time (`sinceTime`), and
what was shown already is left out (`log_lines.Position`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from rawkube._typing import NamedTuple
from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object
from rawkube.api.paths import resource_path
from rawkube.errors import DeadlineExceeded, RawkubeError, StatusError, TransportError, WaitTimeout
from rawkube.remotecommand.log_end import GONE, RESTARTED, RUNS, fate, instance
from rawkube.remotecommand.log_lines import Lines, Piece, Position
from rawkube.wire.http import Response

_Answer = TypeVar("_Answer")


class LogBroken(RawkubeError):
    """A log's stream broke, and what was still to come cannot be had."""


class Source(NamedTuple):
    """One container's log. `pod`: the Pod as it was found."""

    namespace: str
    name: str
    container: str
    pod: Object

    @property
    def label(self) -> str:
        """`pod/NAME/CONTAINER`, as `--prefix` shows it."""
        return f"pod/{self.name}/{self.container}"


class Wanted(NamedTuple):
    """What of a log is wanted (PodLogOptions, core/v1). `tail`: -1 for all; `limit`: bytes, 0 for all."""

    follow: bool = False
    previous: bool = False
    tail: int = -1
    since_seconds: int = 0
    since_time: str = ""
    timestamps: bool = False
    limit: int = 0
    insecure: bool = False


class Timing(NamedTuple):
    """Seconds. `silence`: after so long without a byte a followed log is asked for anew, in case the stream is dead.

    `grace`: how long a Pod's status is given to tell that its container has ended, looked at every `look`; `wait`:
    between attempts that bring nothing, doubled up to `longest`; `patience`: for how long nothing but failures is
    borne, and streams that break within `brief`.
    """

    silence: float = 300.0
    grace: float = 2.0
    look: float = 0.5
    wait: float = 1.0
    longest: float = 10.0
    patience: float = 300.0
    brief: float = 5.0


_USUAL = Timing()


def log_query(container: str, wanted: Wanted) -> list[tuple[str, str]]:
    """The parameters of `pods/log`, in the order of their names, as kubectl sends them. Pure."""
    pairs = [
        ("container", container),
        ("follow", "true" if wanted.follow else ""),
        ("insecureSkipTLSVerifyBackend", "true" if wanted.insecure else ""),
        ("limitBytes", str(wanted.limit or "")),
        ("previous", "true" if wanted.previous else ""),
        ("sinceSeconds", str(wanted.since_seconds or "")),
        ("sinceTime", wanted.since_time),
        ("tailLines", str(wanted.tail) if wanted.tail >= 0 else ""),
        ("timestamps", "true" if wanted.timestamps else ""),
    ]
    return [pair for pair in pairs if pair[1]]


def _open(client: ApiClient, source: Source, wanted: Wanted) -> Response:
    path = resource_path(known("pods"), source.namespace, source.name, "log")
    response = client.send("GET", path, log_query(source.container, wanted), accept="application/json, */*")
    if not 200 <= response.status <= 206:
        raise client.failure(response, verb="get", resource=known("pods"), name=source.name)
    return response


def read(client: ApiClient, source: Source, wanted: Wanted) -> Iterator[bytes]:
    """The log as it is now, byte for byte, in pieces as they come.

    Raises StatusError, TransportError (no answer), LogBroken (the answer was cut off, after what came of it).
    """
    with _open(client, source, wanted) as response:
        try:
            yield from response.chunks()
        except TransportError as error:
            raise _broken(source, error, "the server's answer did not come to its end") from None


def _broken(source: Source, error: TransportError, why: str) -> LogBroken:
    return LogBroken(str(error), detail=[f"the log of {source.label} is not whole: {why}", *error.detail])


class Followed:
    """One container's log, followed to the container's end.

    `on_note` is told, in a line, when a broken stream is taken up again. `sleep(seconds)` is the client's unless
    given; it may raise to end everything. `starting`: for how many seconds a server that has no log yet is asked
    again.
    """

    def __init__(
        self,
        client: ApiClient,
        source: Source,
        wanted: Wanted,
        *,
        on_note: Callable[[str], None] = lambda text: None,
        sleep: Callable[[float], None] | None = None,
        starting: float = 0.0,
        timing: Timing = _USUAL,
    ) -> None:
        self._client = client
        self._starting = starting
        self._source = source
        self._wanted = wanted
        self._on_note = on_note
        self._sleep = sleep or client.sleep
        self._timing = timing
        self._position = Position()
        self._instance = instance(source.pod, source.container)
        self._left = wanted.limit
        self._previous = wanted.previous
        self._started = ""
        self._idle = 0
        self._noted = -1
        self._vain_since: float | None = None
        self._gap_noted = False
        self._response: Response | None = None

    def interrupt(self) -> None:
        """From any thread: the stream that is being read ends."""
        if self._response is not None:
            self._response.interrupt()

    def chunks(self) -> Generator[bytes, None, None]:
        """The log's bytes: whole lines, and of those that are too long to keep what has come of them.

        Raises StatusError, TransportError (no first answer), WaitTimeout (there was no log in time), LogBroken.
        """
        response = self._first()
        if self._wanted.tail == 0:
            self._started = _time_of(response.header("date"))
        while True:
            lines = Lines()
            before, opened = self._position.lines, self._client.clock()
            error: TransportError | None = None
            try:
                yield from self._stream(response, lines)
            except TransportError as caught:
                error = caught
            if self._limit_reached:
                return
            self._idle = 0 if self._position.lines > before else self._idle + 1
            try:
                self._check_progress(opened, error)
                goes_on = self._goes_on(error)
            except RawkubeError:
                yield self._shown(lines.rest(cut=error is not None))
                raise
            if not goes_on:
                yield self._shown(lines.rest())
                return
            response = self._again(error)

    def _first(self) -> Response:
        """The first stream; kubectl asks every second until the container has a log."""
        end = self._client.clock() + self._starting
        said = ""
        while True:
            try:
                return _open(self._client, self._source, self._asked())
            except StatusError as error:
                if not self._starting or error.code in (401, 403):
                    raise
                if str(error) != said:
                    said = str(error)
                    self._on_note(said)
                if self._client.clock() + self._timing.wait > end:
                    raise WaitTimeout("context deadline exceeded") from None
            self._sleep(self._timing.wait)

    def _asked(self) -> Wanted:
        """The request: with timestamps, and without the limit, which would count their bytes too."""
        asked = self._wanted._replace(timestamps=True, limit=0, previous=self._previous)
        if self._position.since:
            return asked._replace(tail=-1, since_seconds=0, since_time=self._position.since)
        if self._wanted.tail == 0 and self._started:
            # Nothing has come yet that tells the time: what was written since the first answer is new.
            return asked._replace(tail=-1, since_seconds=0, since_time=self._started)
        return asked

    def _stream(self, response: Response, lines: Lines) -> Iterator[bytes]:
        response.set_silence(self._timing.silence)
        self._response = response
        with response:
            for data in response.chunks():
                if shown := self._shown(lines.feed(data)):
                    yield shown
                if self._limit_reached:
                    return
                self._say_gap()

    def _shown(self, pieces: list[Piece]) -> bytes:
        out = bytearray()
        stamped = self._wanted.timestamps
        for piece in pieces:
            shown = self._position.show(piece)
            if shown is not None:
                out += shown[0] + shown[1] if stamped else shown[1]
        if self._wanted.limit:
            del out[self._left :]
            self._left -= len(out)
        return bytes(out)

    @property
    def _limit_reached(self) -> bool:
        return bool(self._wanted.limit) and self._left <= 0

    def _say_gap(self) -> None:
        if self._position.gap and not self._gap_noted:
            self._gap_noted = True
            self._on_note(f"the log of {self._source.label} was rotated meanwhile: lines may be missing")

    # The end of a stream, or of the log

    def _check_progress(self, opened: float, error: TransportError | None) -> None:
        """Raises LogBroken when for too long each stream has broken at once and brought nothing."""
        now = self._client.clock()
        if not self._idle or now - opened >= self._timing.brief:
            self._vain_since = None
            return
        self._vain_since = opened if self._vain_since is None else self._vain_since
        if error is not None and now - self._vain_since >= self._timing.patience:
            raise _broken(self._source, error, "the stream breaks again and again")

    def _goes_on(self, error: TransportError | None) -> bool:
        """Whether the log is to be asked for again. Raises LogBroken where that would be in vain."""
        if isinstance(error, DeadlineExceeded) and error.step == "request":
            raise _broken(self._source, error, "the time of --request-timeout is over")
        if error is None:
            return not self._previous and self._runs_on()
        self._sleep(0)  # somebody may have ended it
        became = self._fate(error)
        if became == GONE or (became == RESTARTED and self._wanted.previous):
            raise _broken(self._source, error, "the stream broke, and that run of the container is gone")
        self._previous = self._previous or became == RESTARTED
        return True

    def _runs_on(self) -> bool:
        """Whether the container runs although its log ended.

        It is given some time: the kubelet ends the stream before it tells the API server of the container's end.
        """
        left = self._timing.grace
        while self._fate(None) == RUNS:
            if left <= 0:
                return True
            self._sleep(self._timing.look)
            left -= self._timing.look
        return False

    def _fate(self, error: TransportError | None) -> str:
        source = self._source
        try:
            pod = self._insist(lambda: self._client.get(known("pods"), source.namespace, source.name), error)
        except StatusError as refused:
            if refused.code == 404:
                return GONE
            raise
        became = fate(pod, source.container, self._instance, of=source.pod)
        self._instance = self._instance or instance(pod, source.container)
        return became

    def _again(self, error: TransportError | None) -> Response:
        """The next stream."""
        if self._idle > 1:
            self._sleep(self._pause(self._idle - 2))
        asked = self._asked()
        response = self._insist(lambda: _open(self._client, self._source, asked), error)
        try:
            self._say_resumed(asked, error)
        except BaseException:
            response.close()
            raise
        self._position.resume()
        return response

    def _say_resumed(self, asked: Wanted, error: TransportError | None) -> None:
        """A line for a person; none after mere silence, nor again before something new has come."""
        is_silence = isinstance(error, DeadlineExceeded) and error.step == "silence"
        if not is_silence and self._noted != self._position.lines:
            self._noted = self._position.lines
            why = str(error) if error is not None else "it ended, but the container runs"
            where = f" from {asked.since_time}" if asked.since_time else ""
            self._on_note(f"the log of {self._source.label} broke off ({why}): taken up again{where}")

    def _insist(self, ask: Callable[[], _Answer], broken: TransportError | None) -> _Answer:
        """The answer, however often it takes. Raises LogBroken after too long, StatusError for a refusal."""
        since = self._client.clock()
        attempt = 0
        while True:
            try:
                return ask()
            except StatusError as error:
                if error.code != 429 and error.code < 500:
                    raise
                failed: RawkubeError = error
            except TransportError as error:
                failed = error
            if self._client.clock() - since >= self._timing.patience:
                why = str(broken) if broken is not None else "it ended, but the container may still run"
                text = f"the log of {self._source.label} broke off ({why}) and could not be taken up again"
                raise LogBroken(str(failed), detail=[text, *failed.detail])
            self._sleep(self._pause(attempt))
            attempt += 1

    def _pause(self, attempt: int) -> float:
        return float(min(self._timing.longest, self._timing.wait * 2 ** min(attempt, 16)))


def _time_of(date: str) -> str:
    """An HTTP date (RFC 9110, section 5.6.7) in RFC 3339; empty for none."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return ""
