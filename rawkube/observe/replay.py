"""A recording as a server: answers on loopback as the recorded API server did.

    with Replay("rollout.jsonl") as server:
        subprocess.run(["kubectl", "rollout", "status", "deployment/web"], env={"KUBECONFIG": …})
    server.requests, server.unmatched, server.unasked

One thread a connection, HTTP/1.1, plain or inside TLS, keep-alive. Answers are sent in the pieces in which they were
recorded. Delays count from the request and are divided by the speed; without a speed nothing waits. What
follows a recorded client's own end is not known: such an answer stays open until the client goes, its
`timeoutSeconds` has passed (in real seconds), or the server stops. WebSocket sessions (`exec`, `attach`) are
replayed too: see `sessions`.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import h11

from rawkube._typing import TYPE_CHECKING, NamedTuple
from rawkube.errors import RecordingError, TransportError
from rawkube.gotext import one_line
from rawkube.observe import derive
from rawkube.observe.connections import Connections
from rawkube.observe.deliver import Delivery, Wait
from rawkube.observe.exchanges import Answer, Exchange, Headers, read_exchanges
from rawkube.observe.faults import Fault, FaultPlan
from rawkube.observe.incoming import Incoming, read_request
from rawkube.observe.link import Link
from rawkube.observe.loopback import stranger
from rawkube.observe.loopback_config import write_kubeconfig
from rawkube.observe.loopback_server import LoopbackServer
from rawkube.observe.match import MISSING, Matcher
from rawkube.observe.recording import Recording
from rawkube.observe.stored import StoredRecording

if TYPE_CHECKING:
    import ssl

    from rawkube.observe.strict import StrictMatcher

BAD = "bad"
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Asked(NamedTuple):
    """A request that came. `how` it was answered: `recorded`, `derived`, `discovery`, `missing`, or `bad`."""

    method: str
    target: str
    headers: Headers
    body: bytes
    how: str


class Replay(LoopbackServer):
    """A recording as a server; a context manager that serves while it is entered.

    `recording`: the path of a file, or exchanges. `speed`: how many times as fast as recorded, None: no
    waiting. `discovery`: a folder with recordings of discovery documents; by default the `discovery/` folder
    beside the recording or further up, else that of the checkout. `tls`: inside TLS, with a certificate that is made at
    the start, and named in the kubeconfig. `loop`: what has been asked for to its end starts anew. `strict`: only what
    is recorded, in its order, see `strict`. `faults`: see `faults`. `clock` gives seconds, `wait` waits for a client to
    go.

    Raises RecordingError where the recording cannot be read, ValueError for a speed that is not above 0, and, when it
    is started, RawkubeError where no certificate can be made.
    """

    def __init__(
        self,
        recording: str | os.PathLike[str] | Sequence[Exchange],
        *,
        speed: float | None = None,
        discovery: str | os.PathLike[str] | None = None,
        tls: bool = False,
        loop: bool = False,
        strict: bool = False,
        faults: Sequence[Fault] = (),
        clock: Callable[[], float] = time.monotonic,
        wait: Wait | None = None,
    ) -> None:
        if speed is not None and not 0 < speed < float("inf"):
            raise ValueError("speed must be a number above 0")
        path = recording if isinstance(recording, (str, os.PathLike)) else None
        self.exchanges = (
            StoredRecording(recording).exchanges if isinstance(recording, (str, os.PathLike)) else list(recording)
        )
        self._discovery = Path(discovery) if discovery else discovery_folder(path)
        name = "the recording" if path is None else f"the recording {Path(path).name}"
        self._matcher = self._matcher_for(name, loop=loop, strict=strict)
        self.faults = FaultPlan(faults)
        self._delivery = Delivery(speed=speed, clock=clock, wait=wait or self._gone_within, faults=self.faults)
        self._clock = clock
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._ca = b""
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._connections = Connections("replay", self._connection, busy=b"" if tls else _BUSY)
        self.requests: list[Asked] = []

    def _matcher_for(self, name: str, *, loop: bool, strict: bool) -> Matcher | StrictMatcher:
        if strict:
            from rawkube.observe.strict import StrictMatcher

            return StrictMatcher(self.exchanges, name=name, discovery=self._load_discovery, loop=loop)
        return Matcher(self.exchanges, name=name, discovery=self._load_discovery, loop=loop)

    # What is known afterwards

    @property
    def namespace(self) -> str:
        """The namespace that most recorded requests name, empty where none does."""
        return self._matcher.namespace

    @property
    def unmatched(self) -> list[Asked]:
        """The requests that the recording does not answer."""
        with self._lock:
            return [asked for asked in self.requests if asked.how in (MISSING, BAD)]

    @property
    def unasked(self) -> list[Exchange]:
        """The recorded exchanges that no request was answered from."""
        with self._lock:
            return [exchange for exchange in self.exchanges if id(exchange) not in self._used]

    def report(self) -> list[str]:
        """Lines for a person: what came and is not recorded, what is recorded and did not come."""
        lines = self.refused()
        lines += [f"not asked for: {exchange.method} {exchange.target}" for exchange in self.unasked]
        return [one_line(line) for line in lines]

    def refused(self) -> list[str]:
        """Lines for a person: what came and is not recorded."""
        return [
            one_line(f"not recorded: {a.method} {a.target}" if a.how == MISSING else f"refused: {a.target}")
            for a in self.unmatched
        ]

    # Start and stop

    def start(self) -> None:
        """Listen on a free port of 127.0.0.1 and write the kubeconfig, in a private temporary directory."""
        import tempfile

        port = self._connections.listen()
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="rawkube-replay-")
            if self._tls:
                self._make_certificate(self._folder.name)
            # kubectl asks for a user's name where a server speaks TLS and the user has nothing.
            token = "replay" if self._tls else ""
            self.kubeconfig = write_kubeconfig(
                self._folder.name, "replay", self.url, namespace=self.namespace, ca=self._ca, token=token
            )
        except BaseException:
            self._connections.abandon()
            raise
        self._connections.start()

    def _make_certificate(self, folder: str) -> None:
        from rawkube.observe import certificate

        pair = certificate.make(folder)
        self._ca = pair.ca
        self._context = certificate.context_of(pair, folder)

    def _load_discovery(self) -> list[Exchange]:
        found: list[Exchange] = []
        for file in sorted(self._discovery.glob("*.jsonl")) if self._discovery else ():
            try:
                found += load(file)
            except RecordingError:
                continue  # another program's file: the folder is only looked through
        return found

    # Connections

    def _connection(self, sock: socket.socket) -> None:
        try:
            link = Link(sock)
        except OSError:  # it has gone already
            sock.close()
            return
        try:
            with self._connections.held(link):
                if self._context is None or link.secure(self._context):
                    self._serve(link)
                else:
                    self._note(Asked("", "an HTTP request on a TLS connection", (), b"", BAD))
        except (OSError, TransportError):
            pass  # the client went away, or the server stops
        except RecordingError as error:
            self._note(Asked("", str(error), (), b"", BAD))
        finally:
            link.close()

    def _note(self, asked: Asked) -> None:
        with self._lock:
            self.requests.append(asked)

    def _serve(self, link: Link) -> None:
        rest = b""
        while not self._connections.stopping.is_set():
            try:
                link.idle_since = None if rest else time.monotonic()
                request = read_request(link, rest)
                link.idle_since = None
            except h11.RemoteProtocolError as error:
                self._note(Asked("", f"not an HTTP/1.1 request: {error}", (), b"", BAD))
                self._refuse(link, 400, "Bad Request", f"not an HTTP/1.1 request: {one_line(str(error))}")
                return
            if request is None or not self._answer(link, request):
                return
            rest = request.rest

    def _refuse(self, link: Link, code: int, phrase: str, why: str) -> None:
        answer = derive.framed(derive.status_answer(code, phrase, why), chunked=False)
        link.send(_raw(answer))
        link.finish(1)

    def _answer(self, link: Link, request: Incoming) -> bool:
        """Answer a request; whether the connection may carry another one."""
        method, target, headers = request.method, request.target, request.headers
        if host := stranger(target, request.header("host")):
            self._note(Asked(method, f"{target} of the host {host}", headers, request.body, BAD))
            why = f"the host {host} is not this machine: a recording is served to 127.0.0.1 and localhost only"
            self._refuse(link, 403, "Forbidden", one_line(why))
            return False
        start = self._clock()
        with self._lock:
            reply = self._matcher.reply(method, target, headers)
            self.requests.append(Asked(method, target, headers, request.body, reply.how))
            self._used.update(id(exchange) for exchange in reply.sources)
        return self._delivery.answer(link, request, reply, start)

    def _gone_within(self, link: Link, seconds: float | None) -> bool:
        return link.gone_within(seconds, self._connections.stopping)


def load(path: str | os.PathLike[str]) -> list[Exchange]:
    """The exchanges of a recording. Raises RecordingError, also where it holds none."""
    with Recording(path) as recording:
        found = read_exchanges(recording)
    if not found:
        raise RecordingError(f"{one_line(os.fspath(path))}: holds no HTTP/1.1 request")
    return found


def discovery_folder(recording: str | os.PathLike[str] | None) -> Path | None:
    """Recordings of discovery: `discovery/` beside a recording or further up, else the checkout's."""
    folders = list(Path(recording).resolve().parents) if recording is not None else []
    candidates = [folder / "discovery" for folder in folders]
    candidates.append(Path(__file__).resolve().parents[2] / "fixtures" / "discovery")
    return next((folder for folder in candidates if any(folder.glob("*.jsonl"))), None)


def _raw(answer: Answer) -> bytes:
    return b"".join(chunk.data for chunk in answer.raw)
