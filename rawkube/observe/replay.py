"""A recording as a server: answers on loopback as the recorded API server did.

    with Replay("rollout.jsonl") as server:
        subprocess.run(["kubectl", "rollout", "status", "deployment/web"], env={"KUBECONFIG": …})
    server.requests, server.unmatched, server.unasked

One thread a connection, plain HTTP/1.1, keep-alive. Answers are sent in the pieces in which they were
recorded. Delays count from the request and are divided by the speed; without a speed nothing waits. What
follows a recorded client's own end is not known: such an answer stays open until the client goes, its
`timeoutSeconds` has passed (in real seconds), or the server stops. WebSocket sessions (`exec`, `attach`) are
replayed too: see `sessions`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import h11

from rawkube.errors import RecordingError
from rawkube.gotext import one_line
from rawkube.observe import derive
from rawkube.observe.accept import accepts_encoding
from rawkube.observe.ask import ask_of
from rawkube.observe.exchanges import (
    COMPLETE,
    OPEN,
    RESET,
    Answer,
    Chunk,
    Exchange,
    Headers,
    head_of,
    read_exchanges,
)
from rawkube.observe.match import MISSING, Matcher, Reply
from rawkube.observe.recording import Recording

MAX_HEAD = 256 * 1024
MAX_BODY = 64 * 1024 * 1024
BAD = "bad"
LONGEST = 1_000_000.0
"""The longest wait, in seconds."""

# Whether the client has gone before so many seconds have passed (None: however long it takes).
Wait = Callable[[socket.socket, float | None], bool]


class Asked(NamedTuple):
    """A request that came. `how` it was answered: `recorded`, `derived`, `discovery`, `missing`, or `bad`."""

    method: str
    target: str
    headers: Headers
    body: bytes
    how: str


class _Request(NamedTuple):
    head: h11.Request
    body: bytes
    rest: bytes

    @property
    def old(self) -> bool:
        """Whether the client may not understand chunks (HTTP/1.0)."""
        return self.head.http_version < b"1.1"

    @property
    def last(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        return self.old or b"close" in self.header(b"connection").lower()

    def header(self, name: bytes) -> bytes:
        return next((bytes(value) for key, value in self.head.headers if key == name), b"")


class Replay:
    """A recording as a server; a context manager that serves while it is entered.

    `recording`: the path of a file, or exchanges. `speed`: how many times as fast as recorded, None: no
    waiting. `discovery`: a folder with recordings of discovery documents; by default the `discovery/` folder
    beside the recording or further up, else that of the checkout. `clock` gives seconds, `wait` waits for a
    client to go.

    Raises RecordingError where the recording cannot be read, and ValueError for a speed that is not above 0.
    """

    def __init__(
        self,
        recording: str | os.PathLike[str] | Sequence[Exchange],
        *,
        speed: float | None = None,
        discovery: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait | None = None,
    ) -> None:
        if speed is not None and not 0 < speed < float("inf"):
            raise ValueError("speed must be a number above 0")
        path = recording if isinstance(recording, (str, os.PathLike)) else None
        self.exchanges = list(load(recording) if isinstance(recording, (str, os.PathLike)) else recording)
        self._discovery = Path(discovery) if discovery else discovery_folder(path)
        name = "the recording" if path is None else f"the recording {Path(path).name}"
        self._matcher = Matcher(self.exchanges, name=name, discovery=self._load_discovery)
        self._speed = speed
        self._clock = clock
        self._wait = wait or self._gone_within
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self.requests: list[Asked] = []
        self.url = ""
        self.kubeconfig = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

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
        lines = [f"not recorded: {asked.method} {asked.target}" for asked in self.unmatched]
        lines += [f"not asked for: {exchange.method} {exchange.target}" for exchange in self.unasked]
        return [one_line(line) for line in lines]

    # Start and stop

    def start(self) -> None:
        """Listen on a free port of 127.0.0.1 and write the kubeconfig, in a private temporary directory."""
        import tempfile

        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="rawkube-replay-")
            self.kubeconfig = str(Path(self._folder.name) / "kubeconfig")
            self._write_kubeconfig()
        except BaseException:
            self._listener.close()
            raise
        self._acceptor = threading.Thread(target=self._accept, name="replay", daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Close every connection, wait for the threads, remove the temporary directory."""
        self._stopping.set()
        _wake(self._listener)
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            for sock in self._sockets:
                _shut(sock)
        for thread in self._threads:
            thread.join(5)
        self._folder.cleanup()

    @property
    def folder(self) -> str:
        """The private temporary directory, there while the server runs."""
        return self._folder.name

    def _write_kubeconfig(self) -> None:
        context = {"cluster": "replay", "user": "replay"}
        if self.namespace:
            context["namespace"] = self.namespace
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "replay",
            "clusters": [{"name": "replay", "cluster": {"server": self.url}}],
            "contexts": [{"name": "replay", "context": context}],
            "users": [{"name": "replay", "user": {}}],
        }
        Path(self.kubeconfig).write_text(json.dumps(config, indent=2) + "\n")

    def _load_discovery(self) -> list[Exchange]:
        found: list[Exchange] = []
        for file in sorted(self._discovery.glob("*.jsonl")) if self._discovery else ():
            try:
                found += load(file)
            except RecordingError:
                continue  # another program's file: the folder is only looked through
        return found

    # Connections

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            if self._stopping.is_set():
                sock.close()
                return
            thread = threading.Thread(target=self._connection, args=(sock,), name="replay", daemon=True)
            with self._lock:
                self._sockets.add(sock)
                self._threads = [t for t in self._threads if t.is_alive()]
                self._threads.append(thread)
            thread.start()

    def _connection(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._serve(sock)
        except OSError:
            pass  # the client went away, or the server stops
        finally:
            with self._lock:
                self._sockets.discard(sock)
            sock.close()

    def _serve(self, sock: socket.socket) -> None:
        rest = b""
        while not self._stopping.is_set():
            try:
                request = _read_request(sock, rest)
            except h11.RemoteProtocolError as error:
                self._refuse(sock, str(error))
                return
            if request is None or not self._answer(sock, request):
                return
            rest = request.rest

    def _refuse(self, sock: socket.socket, why: str) -> None:
        with self._lock:
            self.requests.append(Asked("", "", (), b"", BAD))
        answer = derive.status_answer(400, "Bad Request", f"not an HTTP/1.1 request: {one_line(why)}")
        sock.sendall(b"".join(chunk.data for chunk in derive.framed(answer, chunked=False).raw))
        # Closing with unread input would reset the connection and take the answer with it.
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(1)
        for _ in range(256):
            if not sock.recv(65536):
                return

    def _answer(self, sock: socket.socket, request: _Request) -> bool:
        """Answer a request; whether the connection may carry another one."""
        method, target = request.head.method.decode("latin-1"), request.head.target.decode("latin-1")
        headers = head_of(request.head)
        start = self._clock()
        with self._lock:
            reply = self._matcher.reply(method, target, headers)
            self.requests.append(Asked(method, target, headers, request.body, reply.how))
            self._used.update(id(exchange) for exchange in reply.sources)
        if reply.answer.status == 101:
            self._play(sock, reply, request.rest, start)
            return False
        answer = suited(reply.answer, request.header(b"accept-encoding").decode("latin-1"), old=request.old)
        limit = watch_limit(target) if method == "GET" else None
        return self._send(sock, answer, limit) and not request.last

    def _play(self, sock: socket.socket, reply: Reply, early: bytes, start: float) -> None:
        """Replay an upgraded connection to its end. `early`: what the client sent behind its request."""
        from rawkube.observe.play import play
        from rawkube.observe.sessions import Session

        session = Session(reply.sources[0], reply.answer.raw[0], speed=self._speed, now=start)
        session.receive(early, start)
        play(sock, session, clock=self._clock)

    def _send(self, sock: socket.socket, answer: Answer, limit: float | None) -> bool:
        start = self._clock()
        whole = True
        for due, chunk in schedule(answer, self._speed):
            if limit is not None and whole and due > limit and answer.ends != RESET:
                return self._stay(sock, answer, start + limit)
            if self._gone_before(sock, start + due):
                return False
            sock.sendall(chunk.data)
            whole = chunk.whole
        if answer.ends == OPEN:
            return self._stay(sock, answer, None if limit is None or not whole else start + limit)
        if answer.ends != COMPLETE:
            self._break_off(sock, answer, start)
        return answer.ends == COMPLETE and answer.header("connection").lower() != "close"

    def _gone_within(self, sock: socket.socket, seconds: float | None) -> bool:
        """Wait for the client to go. What it sends meanwhile is left for later."""
        # A recording, slowed down, may wait longer than the system can; nobody sees the end of that.
        seconds = None if seconds is None else min(seconds, LONGEST)
        end = None if seconds is None else time.monotonic() + seconds
        sock.settimeout(seconds)
        try:
            gone = not sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        finally:
            sock.settimeout(None)
        # A request that came early hides the end that may follow it.
        left = None if end is None else max(0.0, end - time.monotonic())
        return gone or self._stopping.wait(left)

    def _gone_before(self, sock: socket.socket, until: float) -> bool:
        """Wait; whether the client went first."""
        seconds = until - self._clock()
        return seconds > 0 and self._wait(sock, seconds)

    def _stay(self, sock: socket.socket, answer: Answer, until: float | None) -> bool:
        """Keep an answer open; at its end (seconds of the clock, None: never) finish it as a server does."""
        if until is None:
            self._wait(sock, None)
            return False
        if self._gone_before(sock, until) or answer.header("transfer-encoding").lower() != "chunked":
            return False
        sock.sendall(b"0\r\n\r\n")
        return True

    def _break_off(self, sock: socket.socket, answer: Answer, start: float) -> None:
        """Close, or reset, at the time at which the recorded server did."""
        end = 0.0 if self._speed is None else answer.end / self._speed
        if not self._gone_before(sock, start + end) and answer.ends == RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


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


def _read_request(sock: socket.socket, data: bytes) -> _Request | None:
    """The next request, None at the end of the connection. Raises h11.RemoteProtocolError."""
    http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    if data:
        http.receive_data(data)
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            if http.they_are_waiting_for_100_continue:
                sock.sendall(http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            http.receive_data(sock.recv(65536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                raise h11.RemoteProtocolError(f"a body longer than {MAX_BODY} bytes")
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _Request(head, bytes(body), http.trailing_data[0])
        else:
            return None


def _wake(listener: socket.socket) -> None:
    """Let a thread return from accept: by shutdown where that does it (Linux), else by a connection."""
    _shut(listener)
    try:
        socket.create_connection(listener.getsockname(), timeout=1).close()
    except OSError:
        pass


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
