"""`exec`: one scripted WebSocket server, two programs. What kubectl prints and sends is what rawkube prints and sends."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.remotecommand.result import INCOMPLETE
from tests.support.examples import chosen
from tests.support.exec_process import KUBECTL, RAWKUBE, Ended, run_exec
from tests.support.here import own_streams, run_at
from tests.support.run import find_kubectl
from tests.support.script import Answer, failure
from tests.support.warm import warm
from tests.support.websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    HALF_CLOSE,
    PING,
    PONG,
    STDIN,
    SUCCESS,
    ExecServer,
    Far,
    Script,
    close_frame,
    exit_status,
    fragments,
    frame,
    message,
    says,
    switching,
    words,
)

READING = "error: error reading from error stream: "
STREAM = "error: error stream protocol error: "
UNABLE = "error: unable to upgrade connection: "
HAD = " (the command's status had come before: {})"


class Outcome(NamedTuple):
    """All of stdout, the last line of stderr, the exit code."""

    stdout: bytes = b""
    last: str = ""
    code: int = 0


class Ours(NamedTuple):
    """Where rawkube knowingly ends otherwise."""

    why: str
    outcome: Outcome


class Case(NamedTuple):
    """`stdin`: bytes through a pipe, with `-i`; None: without. `sends`: whether what is sent is compared too."""

    id: str
    script: Script
    outcome: Outcome
    ours: Ours | None = None
    stdin: bytes | None = None
    server: Callable[[Script], ExecServer] = ExecServer
    sends: bool = True

    def expected(self, program: str) -> Outcome:
        return self.ours.outcome if self.ours and program == RAWKUBE else self.outcome


class Observed(NamedTuple):
    outcome: Outcome
    stderr: str
    sent: list[tuple[str, bytes]]


def observe(program: str, case: Case) -> Observed:
    args = [*(["-i"] if case.stdin is not None else []), "p", "--", "x"]
    with tempfile.TemporaryDirectory() as home, case.server(case.script) as server:
        if program == RAWKUBE:
            ran = run_at(server.url, "exec", *args, home=Path(home), stdin=case.stdin or b"")
            ended = Ended(ran.data, ran.stderr, ran.code)
        else:
            warm(Path(home), server.url)
            ended = run_exec(*args, url=server.url, home=Path(home), program=program, stdin=case.stdin or b"")
    return Observed(Outcome(ended.stdout, addresses_away(ended), ended.code), ended.stderr, sent(server))


def addresses_away(ended: Ended) -> str:
    return re.sub(r"127\.0\.0\.1:\d+->127\.0\.0\.1:\d+", "A->B", ended.last)


def sent(server: ExecServer) -> list[tuple[str, bytes]]:
    """What the client has sent behind the handshake, without its pings; where it cut stdin is its own matter."""
    names = {BINARY: "message", CLOSE: "close", PONG: "pong"}
    found: list[tuple[str, bytes]] = []
    for far in server.far:
        for got in far.seen:
            name, payload = names.get(got.opcode, ""), got.payload
            if name == "message" and payload[0] == STDIN and found and found[-1][0] == "stdin":
                found[-1] = ("stdin", found[-1][1] + payload[1:])
            elif name:
                found.append(("stdin", payload[1:]) if name == "message" and payload[0] == STDIN else (name, payload))
    return found


def status(data: bytes | str) -> Script:
    """This on the error channel, and a clean close."""
    return says(message(3, data.encode() if isinstance(data, str) else data), close_frame())


def exits(causes: str, more: str = "") -> Script:
    details = f'"details":{{"causes":{causes}}}' if causes else '"x":1'
    return status(f'{{"status":"Failure","reason":"NonZeroExitCode","message":"m",{details}{more}}}')


def failed(last: str, code: int = 1, stdout: bytes = b"") -> Outcome:
    return Outcome(stdout, last, code)


def copies(*channels: int) -> Script:
    """Stdin comes back on these channels."""

    def script(far: Far) -> None:
        while True:
            channel, payload = far.next()
            if channel == HALF_CLOSE:
                break
            for out in channels:
                far.send(out, payload)
        far.end()

    return script


def early(far: Far) -> None:
    far.stdin(1)
    far.raw(message(3, exit_status(7)) + close_frame())


def drop(*data: bytes, reset: bool = False) -> Script:
    """These bytes, and then the end of the connection without a close."""

    def script(far: Far) -> None:
        far.raw(b"".join(data))
        if reset:
            far.ping(b"seen")
            far.wait_for(PONG)
            far.peer.reset()
        else:
            far.peer.close()

    return script


def handshake(**changed: str) -> Callable[[Script], ExecServer]:
    return lambda script: ExecServer(script, handshake=lambda request: switching(request, **changed))


def refusing(answer: Answer) -> Callable[[Script], ExecServer]:
    return lambda script: ExecServer(script, refusals=[answer])


MEGABYTE = os.urandom(1 << 20)
UNKNOWN = Outcome(b"", STREAM + "unknown error", 1)
NEEDS_A_STATUS = "success needs a status"
NAMES_THE_STATUS = "the line names the status that had come"
WHOLE = '{"status":"Success"}'


def ours(outcome: Outcome, said: str) -> Ours:
    return Ours(NAMES_THE_STATUS, outcome._replace(last=outcome.last + HAD.format(said)))


def ends(id_: str, script: Script, said: str, *, had: str = "", stdout: bytes = b"") -> Case:
    """Ends as no session should."""
    outcome = failed(READING + said, stdout=stdout)
    return Case(id_, script, outcome, ours(outcome, had) if had else None)


DECODER = [
    Case("success", status(SUCCESS), Outcome()),
    Case("success-and-more-keys", status('{"kind":"Status","status":"Success","code":9}'), Outcome()),
    Case("nothing", says(close_frame()), Outcome(), Ours(NEEDS_A_STATUS, failed(f"error: {INCOMPLETE}"))),
    Case("empty-object", status("{}"), UNKNOWN),
    Case("null", status("null"), UNKNOWN),
    Case("half", status("{"), failed(STREAM + 'unexpected end of JSON input in "{"')),
    Case("failure", status('{"status":"Failure","message":"foobar"}'), failed("error: foobar")),
    Case("failure-without-a-message", status('{"status":"Failure"}'), failed("error: ")),
    Case(
        "not-zero", exits('[{"reason":"ExitCode","message":"42"}]'), failed("command terminated with exit code 42", 42)
    ),
    Case("zero", exits('[{"reason":"ExitCode","message":"0"}]'), failed("command terminated with exit code 0", 0)),
    Case("255", status(exit_status(255)), failed("command terminated with exit code 255", 255)),
    Case("no-exit-cause", exits('[{"reason":"foo"}]'), failed(STREAM + "no ExitCode cause given")),
    Case("no-code", exits('[{"reason":"ExitCode"}]'), failed(STREAM + 'invalid exit code value ""')),
    *(
        Case(f"code-{word}", status(exit_status(word)), failed(f'{STREAM}invalid exit code value "{word}"'))
        for word in ("256", "-1", "abc")
    ),
    Case("no-details", exits(""), failed(STREAM + "details must be set")),
    Case(
        "text",
        status("plain text"),
        failed(STREAM + """invalid character 'p' looking for beginning of value in "plain text\""""),
    ),
    Case(
        "two-objects",
        status(WHOLE * 2),
        failed(
            STREAM + "invalid character '{' after top-level value in " + '"' + (WHOLE * 2).replace('"', '\\"') + '"'
        ),
    ),
    Case(
        "internal-error",
        status('{"status":"Failure","reason":"InternalError","code":500,"message":"Internal error occurred: no c1"}'),
        failed("error: Internal error occurred: no c1"),
    ),
]

SESSIONS = [
    Case("ok", says(message(1), message(1, b"hello"), message(2, b"err\n"), message(3, SUCCESS), close_frame()),
         Outcome(b"hello", "err")),
    Case("exit-3", says(message(1, b"out"), message(3, exit_status(3)), close_frame()),
         failed("command terminated with exit code 3", 3, b"out")),
    Case("late-output", says(message(3, exit_status(9)), message(1, b"late"), message(2, b"lateerr\n"), close_frame()),
         failed("command terminated with exit code 9", 9, b"late")),
    Case("no-status", says(message(1, b"out"), close_frame()), Outcome(b"out"),
         Ours(NEEDS_A_STATUS, failed(f"error: {INCOMPLETE}", stdout=b"out"))),
    Case("split-status", says(message(3, SUCCESS[:5]), message(3), message(3, SUCCESS[5:]), close_frame()), Outcome()),
    Case("fragments", says(fragments(1, b"", b"he", b"", b"llo", between=frame(PING, b"p")), message(3, SUCCESS),
                           close_frame()), Outcome(b"hello")),
    Case("first-fragment-empty", says(frame(BINARY, fin=False), frame(CONTINUATION, b"\x01he", fin=False),
                                      frame(CONTINUATION, b"llo"), message(3, SUCCESS), close_frame()),
         Outcome(b"hello")),
    Case("half-close", copies(1), Outcome(b"hello world\n"), stdin=b"hello world\n"),
    Case("empty-stdin", copies(1), Outcome(), stdin=b""),
    Case("early-end", early, failed("command terminated with exit code 7", 7), stdin=b"x" * 5_000_000, sends=False),
    Case("loopback", copies(1), Outcome(MEGABYTE), stdin=MEGABYTE),
    Case("loopback-to-stderr", copies(2), Outcome(b"", "line"), stdin=b"line\n" * 5000),
    Case("two-readers", copies(1, 2), Outcome(b"line\n" * 5000, "line"), stdin=b"line\n" * 5000),
    Case("unknown-channels", says(*(message(channel, b"noise") for channel in (0, 4, 5, 7, 255)), message(1, b"x"),
                                  message(3, SUCCESS), close_frame()), Outcome(b"x")),
    Case("one-large-message", says(message(1, MEGABYTE), message(3, SUCCESS), close_frame()), Outcome(MEGABYTE)),
    Case("pings", says(frame(PING, b"test heartbeat message"), frame(PING), frame(PONG, b"unasked"), message(3, SUCCESS),
                       close_frame()), Outcome()),
    Case("with-the-101", Far.until_gone, Outcome(b"x"), server=lambda script: ExecServer(
        script, handshake=lambda r: switching(r) + message(1, b"x") + message(3, SUCCESS) + close_frame())),
    Case("list-in-connection", status(SUCCESS), Outcome(), server=handshake(Connection="keep-alive, Upgrade")),
]  # fmt: skip

ENDS = [
    ends("fin", drop(message(1, b"out"), message(3, exit_status(4))),
         "next reader: websocket: close 1006 (abnormal closure): unexpected EOF", had="exit code 4", stdout=b"out"),
    ends("fin-without-a-status", drop(message(1, b"out")),
         "next reader: websocket: close 1006 (abnormal closure): unexpected EOF", stdout=b"out"),
    ends("fin-in-a-message", drop(message(1, b"outp")[:-1]),
         "read message: websocket: close 1006 (abnormal closure): unexpected EOF", stdout=b"out"),
    ends("fin-in-a-header", drop(message(1, b"outp")[:1]),
         "next reader: websocket: close 1006 (abnormal closure): unexpected EOF"),
    ends("rst", drop(message(1, b"out"), reset=True), "next reader: read tcp A->B: read: connection reset by peer",
         stdout=b"out"),
    ends("1001", says(message(3, SUCCESS), close_frame(1001, b"why")),
         "next reader: websocket: close 1001 (going away): why", had="success"),
    ends("1011", says(message(3, exit_status(5)), close_frame(1011)),
         "next reader: websocket: close 1011 (internal server error)", had="exit code 5"),
    ends("4000", says(close_frame(4000, b"why")), "next reader: websocket: close 4000: why"),
    ends("1005", says(message(3, SUCCESS), close_frame(1005)), "next reader: websocket: close 1005 (no status)",
         had="success"),
    ends("text-frame", says(frame(1, b"\x01x")), "unexpected message type: 1"),
    ends("empty-message", says(frame(BINARY)), "read stream id: EOF"),
    ends("masked", says(b"\x82\x81\0\0\0\0\x01"), "next reader: websocket: bad MASK"),
    ends("rsv1", says(b"\xc2\x01\x01"), "next reader: websocket: RSV1 set"),
    ends("opcode-3", says(b"\x83\x01\x01"), "next reader: websocket: bad opcode 3"),
    ends("close-code-1006", says(b"\x88\x02\x03\xee"), "next reader: websocket: bad close code 1006"),
    ends("continuation-first", says(frame(CONTINUATION, b"x")), "next reader: websocket: continuation after FIN"),
    ends("long-ping", says(b"\x89\x7e\x00\x7e" + b"x" * 126), "next reader: websocket: len > 125 for control"),
    ends("ping-in-two", says(b"\x09\x00"), "next reader: websocket: FIN not set on control"),
]  # fmt: skip

REFUSALS = [
    Case(f"refused-{name}", Far.until_gone, failed(UNABLE + said), server=refusing(answer))
    for name, answer, said in [
        ("status", failure(403, 'pods "p" is forbidden: no'), 'pods "p" is forbidden: no'),
        ("text", Answer("502 Bad Gateway", "bad gateway\n", content_type="text/plain"), "bad gateway"),
        ("html", Answer("403 Forbidden", "<h3>Unauthorized</h3>", content_type="text/html"), "<h3>Unauthorized</h3>"),
        ("empty", Answer("403 Forbidden", ""), "empty server response"),
        ("404", failure(404, 'pods "p" not found'), 'pods "p" not found'),
        ("500", failure(500, "container not found"), "container not found"),
        ("401", failure(401, "Unauthorized"), "Unauthorized"),
        ("200", Answer("200 OK", "hello", content_type="text/plain"), "hello"),
        ("error-of-json", Answer("500 Oops", '{"error":"no route"}'), "no route"),
    ]
] + [
    Case("hung-up", Far.until_gone, failed("error: unexpected EOF"), server=refusing(Answer(how="close"))),
    Case(
        "reset",
        Far.until_gone,
        failed("error: read tcp A->B: read: connection reset by peer"),
        server=refusing(Answer(how="reset")),
    ),
    Case(
        "compression",
        Far.until_gone,
        failed("error: websocket: invalid compression negotiation"),
        Ours("it says what it was about", failed(UNABLE + "websocket: invalid compression negotiation")),
        server=handshake(Sec_WebSocket_Extensions="permessage-deflate"),
    ),
]

CASES = [*DECODER, *SESSIONS, *ENDS, *REFUSALS]


class Runs:
    """Runs the cases several at a time: nearly all that they do is wait for a process to start."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._started: dict[tuple[str, str], Future[Observed]] = {}

    def __call__(self, program: str, case: Case) -> Observed:
        return self.start(program, case).result()

    def start(self, program: str, case: Case) -> Future[Observed]:
        key = (program, case.id)
        if key not in self._started:
            self._started[key] = self._pool.submit(observe, program, case)
        return self._started[key]


def with_kubectl(case: Case) -> bool:
    return bool(chosen(case.id) and find_kubectl())


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest) -> Iterator[Runs]:
    with ThreadPoolExecutor(6) as pool, own_streams():
        runs = Runs(pool)
        if "PYTEST_XDIST_WORKER" not in os.environ:
            for item in request.session.items:
                params = getattr(getattr(item, "callspec", None), "params", {})
                if item.path == request.path and "case" in params:
                    for program in (RAWKUBE, KUBECTL) if with_kubectl(params["case"]) else (RAWKUBE,):
                        runs.start(program, params["case"])
        yield runs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_both_end_so_and_send_the_same(case: Case, observed: Runs) -> None:
    """One test for both programs, so that under several workers each runs once. Without kubectl: rawkube alone."""
    ours = observed(RAWKUBE, case)
    assert ours.outcome == case.expected(RAWKUBE), ours.stderr[-500:]
    if with_kubectl(case):
        theirs = observed(KUBECTL, case)
        assert theirs.outcome == case.expected(KUBECTL), theirs.stderr[-500:]
        assert not case.sends or ours.sent == theirs.sent


# The request

SAME_BYTES: list[tuple[str, Sequence[str], Sequence[str]]] = [
    ("plain", (), ("sh", "-c", 'echo "a b&c=d"')),
    (
        "odd",
        (),
        ("a;b", "c&d", "e+f", "g#h", "i\nj", "", "é€\U0001f600", "a=b", "%41", "~*'()!-._/?:@", '\t"<>\\^`{|}'),
    ),
    ("no-text", (), ("\udcff\udc80x",)),
    ("stdin", ("-i",), ("cat",)),
    ("namespace", ("-n", "other", "-c", "main"), ("x",)),
    ("tty-from-a-pipe", ("-i", "-t"), ("x",)),
    ("tty-alone", ("-t",), ("x",)),
    ("request-timeout", ("--request-timeout=7s",), ("x",)),
    ("like-flags", (), ("ls", "-l", "--all", "--", "-it")),
]


@pytest.mark.kubectl
@pytest.mark.parametrize(("flags", "command"), [row[1:] for row in SAME_BYTES], ids=[row[0] for row in SAME_BYTES])
def test_the_request_is_kubectls(flags: Sequence[str], command: Sequence[str], tmp_path: Path) -> None:
    requests = []
    for program in (KUBECTL, RAWKUBE):
        with ExecServer() as server:
            words_of = (*flags, "p", "--", *command)
            if program == RAWKUBE:
                with own_streams():
                    assert run_at(server.url, "exec", *words_of, home=tmp_path / program, stdin=b"").code == 0
            else:
                warm(tmp_path / program, server.url)
                ended = run_exec(*words_of, url=server.url, home=tmp_path / program, program=program)
                assert ended.code == 0, ended
        (request,) = server.upgrades
        assert words(request) == [
            word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in command
        ]
        assert request.header("Host") == f"127.0.0.1:{server.port}"
        requests.append(request)
        if program == RAWKUBE:
            assert server.on == [1, 1]
    kubectl, rawkube = requests
    assert (rawkube.method, rawkube.target, rawkube.body) == (kubectl.method, kubectl.target, kubectl.body)
    own = {"Host", "User-Agent", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol", "Kubectl-Command", "Kubectl-Session"}
    assert dict(rawkube.headers).keys() - own == dict(kubectl.headers).keys() - own
    assert {n: v for n, v in rawkube.headers if n not in own} == {n: v for n, v in kubectl.headers if n not in own}
    assert len(rawkube.header("Sec-WebSocket-Key") or "") == len(kubectl.header("Sec-WebSocket-Key") or "") == 24
    assert (rawkube.header("Sec-WebSocket-Protocol") or "").startswith(kubectl.header("Sec-WebSocket-Protocol") or "-")
