"""Every misbehaviour × every command: how it ends, in one table.

A cell is the last line of stderr. The rest follows from it: `OK`, `LOST`, `AGAIN` and `NOTED` are exit code 0 and everything
there is on stdout; every other cell is exit code 1, and on stdout is what was known before, nothing more. A cell that
ends in `…` is the beginning of the line.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.behaviours import DONE, EVER, HTTP, MIB, OUT, SESSIONS, STARTED, WINDOW, Exchange, FaultServer
from tests.faults.in_process import COMMANDS, DEADLINE, Outcome, all_at_once, impatient, run
from tests.faults.rig import OK as COMPLETE
from tests.faults.rig import UPDATED_1
from tests.support.examples import EVERY_WAY
from tests.support.tls import Authority

pytestmark = pytest.mark.usefixtures("impatient")
__all__ = ["impatient"]

COLUMNS = tuple(COMMANDS)
GOOD = (
    "",
    "the connection to the server is back",
    "listed again: no differences",
    "the watch gave what is no watch event: …",
)
OK, LOST, AGAIN, NOTED = GOOD

REACH = "Unable to connect to the server: "
BODY = "error: unexpected error when reading response body. Please retry. Original error: "
VERSION = "error: couldn't get version/kind; json parse error: "
READING = "error: error reading from error stream: next reader: "
REFUSED = "error: unable to upgrade connection: "
FROM = "Error from server "
TIME = "error: timed out waiting for the condition"
RESET = "read tcp CLIENT->SERVER: read: connection reset by peer"
LATE = "read tcp CLIENT->SERVER: i/o timeout"
WAITING = "net/http: timeout awaiting response headers"
CUT = "unexpected EOF"
SHORT_JSON = "unexpected end of JSON input"
NO_FRAMES = READING + "websocket: …"
NO_SOCKET = REFUSED + '{"apiVersion": "v1", "kind": "Pod", …'
NOTHING = REFUSED + "empty server response"
LONG = "net/http: server response headers exceeded 262144 bytes; aborted"

Row = tuple[str, str, str, str, str]


def row(asked: str, watched: str, session: str, *, list: str | None = None, rollout: str | None = None) -> Row:
    """By command: `get` and `list` (a rollout's first request), `watch` and `rollout` (its watch), `exec`."""
    return asked, asked if list is None else list, watched, watched if rollout is None else rollout, session


TABLE: dict[str, Row] = {
    "refuses": row("The connection to the server SERVER was refused - did you specify …", TIME, "error: " + RESET),
    "silent": row(REACH + WAITING, LOST, "error: " + WAITING),
    "deaf": row(REACH + WAITING, LOST, "error: " + WAITING),
    "closes before the head": row(REACH + "EOF", OK, "error: " + CUT),
    "resets before the head": row(REACH + RESET + "…", OK, "error: " + RESET),
    "closes within the head": row(REACH + CUT, LOST, "error: " + CUT),
    "closes after the head": row(BODY + CUT, OK, READING + "websocket: close 1006 (abnormal closure): unexpected EOF"),
    "resets after the head": row(BODY + RESET, OK, READING + RESET),
    "silent within the head": row(REACH + WAITING, LOST, "error: " + WAITING),
    "silent after the head": row(REACH + LATE, OK, READING + LATE),
    "deaf after the head": row(REACH + LATE, OK, READING + LATE),
    "closes within a chunk": row(BODY + CUT, OK, NO_FRAMES),
    "silent within a chunk": row(REACH + LATE, OK, NO_FRAMES),
    "ends within the value": row(VERSION + SHORT_JSON, OK, NO_FRAMES),
    "closes within the value": row(BODY + CUT, OK, NO_FRAMES),
    "no last chunk": row(BODY + CUT, OK, NO_FRAMES),
    "chunk size that is none": row(REACH + "malformed chunked encoding (illegal chunk header)", OK, NO_FRAMES),
    "chunk longer than its size": row(REACH + "malformed chunked encoding (malformed chunk footer)", OK, NO_FRAMES),
    "chunks of one byte": row(OK, OK, NO_FRAMES),
    "a byte at a time": row(OK, OK, NO_FRAMES),
    "429": row(FROM + "(TooManyRequests): scripted", LOST, REFUSED + "scripted"),
    "500": row(FROM + "(InternalError): scripted", LOST, REFUSED + "scripted"),
    "503": row(FROM + "(ServiceUnavailable): scripted", LOST, REFUSED + "scripted"),
    "429 Retry-After": row(FROM + "(TooManyRequests): scripted", OK, REFUSED + "scripted"),
    "500 Retry-After": row(FROM + "(InternalError): scripted", OK, REFUSED + "scripted"),
    "503 Retry-After": row(FROM + "(ServiceUnavailable): scripted", OK, REFUSED + "scripted"),
    "401": row(
        "error: You must be logged in to the server (scripted)",
        "error: You must be logged in to the server (scripted)",
        REFUSED + "scripted",
    ),
    "403": row(FROM + "(Forbidden): scripted", FROM + "(Forbidden): scripted", REFUSED + "scripted", list=OK),
    "404": row(FROM + "(NotFound): scripted", FROM + "(NotFound): scripted", REFUSED + "scripted"),
    "410": row(FROM + "(Expired): scripted", AGAIN, REFUSED + "scripted", rollout=OK),
    "410 in a 200": row(
        "Error from server (Expired): too old resource version", AGAIN, REFUSED + "too old resource version", rollout=OK
    ),
    "redirect": row(REACH + "the server answered 302 and redirects to…", LOST, NOTHING),
    "HTML": row(
        "error: serializer for text/html doesn't exist",
        AGAIN,
        REFUSED + "<html><title>\\x1b[31mlogin</title></html>",
        rollout=NOTED,
    ),
    "HTML of an error": row(
        'Error from server (InternalError): an error on the server ("<html>…',
        LOST,
        REFUSED + "<html><title>\\x1b[31mlogin</title></html>",
    ),
    "JSON as text/plain": row("error: serializer for text/plain doesn't exist", OK, NO_SOCKET),
    "protobuf": row(
        "error: serializer for application/vnd.kubernetes.protobuf doesn't …",
        AGAIN,
        REFUSED + 'k8s\\x00{"apiVersion": "v1", "kind": "Pod…',
        rollout=NOTED,
    ),
    "gzip": row(OK, OK, NO_SOCKET),
    "gzip cut short": row(REACH + "gzip: unexpected EOF", OK, NOTHING),
    "gzip that is none": row(REACH + "gzip: invalid header", OK, NOTHING),
    "unknown coding": row(REACH + "unsupported Content-Encoding 'br'", OK, NOTHING),
    "oversized header": row(REACH + LONG, LOST, "error: " + LONG),
    "endless header": row(REACH + LONG, LOST, "error: " + LONG),
    "many interim answers": row(REACH + LONG, LOST, "error: " + LONG),
    "no HTTP": row(
        REACH + "net/http: HTTP/1.x transport connection …",
        LOST,
        "error: net/http: HTTP/1.x transport connection broken: malformed H…",
    ),
    "HTTP/2": row(
        REACH + "net/http: HTTP/1.x transport connection …",
        LOST,
        "error: net/http: HTTP/1.x transport connection broken: malformed H…",
    ),
    "101 unasked": row(
        REACH + "malformed HTTP response (101 Switching P…",
        LOST,
        REFUSED + "its 101 does not name websocket in Upgrade",
    ),
    "two lengths": row(
        REACH + "malformed HTTP response (conflicting Content-Length headers)",
        LOST,
        "error: malformed HTTP response (conflicting Content-Length headers)",
    ),
    "length and chunks": row(REACH + LATE, OK, NOTHING),
    "a second answer": row(OK, OK, NO_FRAMES),
    "204": row(VERSION + SHORT_JSON, "Error from server: the server responded with the status code 204 b…", NOTHING),
    "206": row(OK, "Error from server: the server responded with the status code 206 b…", NO_SOCKET),
    "empty": row(VERSION + SHORT_JSON, OK, NOTHING),
    "null": row(VERSION + "the answer is no JSON object", AGAIN, REFUSED + "null", rollout=NOTED),
    "NaN": row(VERSION + "invalid character 'N' looking for beginning of value", AGAIN, NO_SOCKET, rollout=NOTED),
    "two values": row(VERSION + "invalid character '{' after top-level value", OK, NO_SOCKET),
    "2 MiB": row(OK, OK, NOTHING),
    "another object": row(OK, OK, NO_SOCKET, list=TIME),
    "version backwards": row(OK, OK, NO_SOCKET),
    "version that is a number": row(OK, OK, NO_SOCKET),
    "duplicate keys": row(OK, OK, NO_SOCKET),
    "deep": row(OK, OK, NO_SOCKET),
    "far too deep": row(VERSION + "exceeded max depth", AGAIN, NO_SOCKET, rollout=NOTED),
    "huge integer": row(VERSION + "a number is too long", AGAIN, NO_SOCKET, rollout=NOTED),
    "huge float": row(VERSION + "json: cannot unmarshal number 1e999 into…", AGAIN, NO_SOCKET, rollout=NOTED),
    "NUL": row(OK, OK, NO_SOCKET),
    "a raw NUL": row(
        VERSION + "invalid character '\\x00' at character 173",
        AGAIN,
        NO_SOCKET,
        list=VERSION + "invalid character '\\x00' at character 275",
        rollout=NOTED,
    ),
    "no UTF-8": row(OK, OK, NO_SOCKET),
    "half a surrogate pair": row(OK, OK, NO_SOCKET),
    "byte order mark": row(
        VERSION + "invalid character 'ï' looking for beginning of value",
        AGAIN,
        REFUSED + '\\ufeff{"apiVersion": "v1", "kind": "Pod"…',
        rollout=NOTED,
    ),
}


class Case(NamedTuple):
    name: str
    column: str
    wanted: str


def cells() -> list[Case]:
    """All with RAWKUBE_TEST_EVERY_WAY=1; by default each fault with every other command, as on a chessboard."""
    assert TABLE.keys() == HTTP.keys()
    return [
        Case(name, column, cell)
        for at, (name, row) in enumerate(TABLE.items())
        for to, (column, cell) in enumerate(zip(COLUMNS, row, strict=True))
        if EVERY_WAY or (at + to) % 2 == 0
    ]


def played(case: Case) -> tuple[Outcome, bytes]:
    """The outcome, and the last whole body that the server has sent."""
    kind = "watch" if case.column == "rollout" else case.column
    first, times = DONE if case.column == "list" else STARTED, 1 if kind == "watch" else EVER
    with FaultServer(HTTP[case.name], kind, times=times, first=first) as server:
        return run(server.url, COMMANDS[case.column]), server.sent


def fits(line: str, cell: str) -> bool:
    return line.startswith(cell[:-1]) if cell.endswith("…") else line == cell


def problems(outcome: Outcome, wanted: str, stdout: Sequence[bytes]) -> list[str]:
    """What is wrong, in words; `stdout` is what may have been printed."""
    code = 0 if wanted in GOOD else 1
    found = [f"exit code {outcome.code}, not {code}"] if outcome.code != code else []
    found += [] if fits(outcome.last, wanted) else [f"the last line is {outcome.last!r}, not {wanted!r}"]
    found += [] if outcome.stdout in stdout else [f"stdout is {outcome.stdout[:500]!r}"]
    found += [] if outcome.seconds < DEADLINE else [f"it took {outcome.seconds} s"]
    found += ["it failed itself"] if "itself failed" in outcome.stderr or "Traceback" in outcome.stderr else []
    found += ["a secret of the server's is told"] if "s3cr3t" in outcome.stderr else []
    rest = outcome.stderr.replace("\n", "").replace("\t", "")
    return found + (["stderr holds control characters"] if not rest.isprintable() else [])


def printed(case: Case, outcome: Outcome) -> Outcome:
    """The outcome with a stdout of JSON in one form."""
    if case.column == "get" and outcome.stdout:
        return outcome._replace(stdout=canonical(json.loads(outcome.stdout)))
    if case.column == "watch":
        told = [json.loads(line) for line in outcome.stdout.splitlines()]
        return outcome._replace(stdout=canonical([[one["type"], one["object"]] for one in told]))
    return outcome


def canonical(value: object) -> bytes:
    return (
        json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace").replace(b"?", b"\xef\xbf\xbd")
    )


def allowed(case: Case, sent: bytes) -> list[bytes]:
    """What stdout may be: exactly what was sent."""
    good, column = case.wanted in GOOD, case.column
    if column == "list":
        return [COMPLETE.encode() if good else b""]
    if column == "rollout":
        last = COMPLETE if good else ""
        return [(UPDATED_1 * times + last).encode() for times in ((1, 2) if good else (1, 2, 3, 4))]
    if column == "get":
        return [canonical(told(sent, DONE)), canonical(DONE)] if good else [b""]
    if column == "watch":
        after = told(sent, {"type": "MODIFIED", "object": DONE})
        ends = [[["MODIFIED", thing]] for thing in (after.get("object"), DONE)] if good else [[]]
        return [canonical([["ADDED", STARTED], *end]) for end in ends]
    return [b""]


def told(sent: bytes, otherwise: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(sent.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return otherwise
    return found if isinstance(found, dict) else otherwise


def test_every_fault() -> None:
    """`get`, `list` and `exec` meet it each time, a watch once: then it goes on."""

    def check(case: Case) -> list[str]:
        outcome, sent = played(case)
        wrong = problems(printed(case, outcome), case.wanted, allowed(case, sent))
        return [f"{case.name}, {case.column}: {one}\n{outcome.stderr[-1000:]}" for one in wrong]

    failures = [line for found in all_at_once(check, cells()) for line in found]
    assert not failures, "\n".join(failures)


def test_a_fault_for_ever_is_no_success() -> None:
    """A watch that always meets it: it ends in time, with 1, and tells only what it knows."""

    def check(name: str) -> list[str]:
        with FaultServer(HTTP[name], "watch") as server:
            outcome = run(server.url, [*COMMANDS["rollout"], "--timeout=500ms"])
        wrong = [] if outcome.seconds < DEADLINE else [f"it took {outcome.seconds} s"]
        if outcome.code == 0:
            wrong += [] if COMPLETE.encode() in outcome.stdout else ["a success that says nothing"]
        elif not set(outcome.stdout.decode().splitlines(keepends=True)) <= {UPDATED_1}:
            wrong.append(f"stdout is {outcome.stdout[:500]!r}")
        return [f"{name}: {one}" for one in wrong]

    failures = [line for found in all_at_once(check, HTTP) for line in found]
    assert not failures, "\n".join(failures)


SESSION_TABLE: dict[str, tuple[int, str, bytes]] = {
    "good": (0, "", OUT),
    "all with the 101": (0, "", OUT),
    "byte by byte": (3, "command terminated with exit code 3", OUT),
    "wrong Accept": (1, REFUSED + "its Sec-WebSocket-Accept does not answer the key that was sent", b""),
    "no Accept": (1, REFUSED + "its Sec-WebSocket-Accept does not answer the key that was sent", b""),
    "no Upgrade": (1, REFUSED + "its 101 does not name websocket in Upgrade", b""),
    "unoffered protocol": (1, REFUSED + "it chose a subprotocol that was not offered: v9.channel.k8s.io", b""),
    "no protocol": (1, REFUSED + "it chose no subprotocol (offered: v5.channel.k8s.io, v4.channel.k8s.io)", b""),
    "an extension": (1, REFUSED + "websocket: invalid compression negotiation", b""),
    "close 1000 alone": (
        1,
        "error: connection closed before the command's status was received; its output may be incom…",
        OUT,
    ),
    "close without a code": (
        1,
        READING + "websocket: close 1005 (no status) (the command's status had come befor…",
        OUT,
    ),
    "close 1001": (1, READING + "websocket: close 1001 (going away): \\x1b[2Jbye (the command's status h…", OUT),
    "close 1011": (1, READING + "websocket: close 1011 (internal server error): boom", OUT),
    "close 1006": (1, READING + "websocket: bad close code 1006 (the command's status had come before: …", OUT),
    "close of one byte": (1, READING + "websocket: close 1005 (no status) (the command's status had come befor…", OUT),
    "close that is no text": (
        1,
        READING + "websocket: invalid utf8 payload in close frame (the command's status h…",
        OUT,
    ),
    "no close": (1, READING + "websocket: close 1006 (abnormal closure): unexpected EOF (the command'…", OUT),
    "nothing": (1, READING + "websocket: close 1006 (abnormal closure): unexpected EOF", b""),
    "status, then nothing": (0, "", OUT),
    "silence": (1, READING + "read tcp CLIENT->SERVER: i/o timeout", OUT),
    "open without an end": (0, "", b""),
    "data after the status": (0, "late", OUT),
    "data after the close": (0, "", b""),
    "two statuses": (
        1,
        "error: error stream protocol error: invalid character '{' after top-level value in \"{\\\"met…",
        OUT,
    ),
    "exit code 300": (1, 'error: error stream protocol error: invalid exit code value "300"', OUT),
    "a status that is none": (1, "error: error stream protocol error: unknown error", OUT),
    "a status that is HTML": (
        1,
        "error: error stream protocol error: invalid character '<' looking for beginning of value i…",
        OUT,
    ),
    "half a status": (
        1,
        'error: error stream protocol error: unexpected end of JSON input in "{\\"metadata\\":{},\\"st…',
        OUT,
    ),
    "an endless status": (
        1,
        "error: error reading from error stream: more than 1048576 bytes on the error channel (on t…",
        b"",
    ),
    "a status in fragments": (0, "", OUT),
    "output in fragments": (0, "", OUT),
    "cut within a frame": (
        1,
        "error: error reading from error stream: read message: websocket: close 1006 (abnormal clos…",
        b"out\x00",
    ),
    "cut within a message": (
        1,
        "error: error reading from error stream: read message: websocket: close 1006 (abnormal clos…",
        OUT,
    ),
    "close within a message": (
        1,
        "error: error reading from error stream: read message: websocket: close 1000 (normal)",
        OUT,
    ),
    "a frame without an end": (
        1,
        "error: error reading from error stream: read message: websocket: close 1006 (abnormal clos…",
        OUT,
    ),
    "a length with its first bit": (1, READING + "websocket: bad frame length", OUT),
    "a masked frame": (1, READING + "websocket: bad MASK", OUT),
    "a reserved bit": (1, READING + "websocket: RSV1 set", OUT),
    "opcode 3": (1, READING + "websocket: bad opcode 3", OUT),
    "a long ping": (1, READING + "websocket: len > 125 for control", OUT),
    "a ping in pieces": (1, READING + "websocket: FIN not set on control", OUT),
    "text": (1, "error: error reading from error stream: unexpected message type: 1", OUT),
    "a continuation of nothing": (1, READING + "websocket: continuation after FIN", OUT),
    "a message without a channel": (1, "error: error reading from error stream: read stream id: EOF", OUT),
    "an unknown channel": (0, "", OUT),
    "pongs unasked": (0, "", OUT),
    "a flood of pings": (0, "", OUT),
    "HTTP behind the 101": (1, READING + "websocket: RSV1 set, FIN not set on control", b""),
}


def test_every_session() -> None:
    """What a server may do behind the handshake, or instead of it: exit code, last line of stderr, stdout."""
    assert SESSION_TABLE.keys() == SESSIONS.keys()

    def check(name: str) -> list[str]:
        code, last, stdout = SESSION_TABLE[name]
        with FaultServer(SESSIONS[name], "exec") as server:
            outcome = run(server.url, COMMANDS["exec"])
        wrong = problems(outcome, last, [stdout])
        wrong = [one for one in wrong if not one.startswith("exit code")]
        wrong += [] if outcome.code == code else [f"exit code {outcome.code}, not {code}"]
        wrong += [] if server.asked.count("exec") == 1 else ["the command was run more than once"]
        return [f"{name}: {one}\n{outcome.stderr[-1000:]}" for one in wrong]

    failures = [line for found in all_at_once(check, SESSIONS) for line in found]
    assert not failures, "\n".join(failures)


def test_a_server_that_reads_nothing() -> None:
    """A window that stays shut is silence; one that opens late costs no byte."""

    def outcome_of(name: str) -> Outcome:
        with tempfile.TemporaryFile() as stdin, FaultServer(WINDOW[name], "exec", window=1 << 16) as server:
            stdin.write(b"i" * MUCH)
            stdin.seek(0)
            return run(server.url, ["exec", "-i", "p", "--", "x"], stdin=stdin.fileno())

    for (name, wanted), outcome in zip(WINDOWS.items(), all_at_once(outcome_of, WINDOWS), strict=True):
        assert outcome[:3] == wanted, (name, outcome)
        assert outcome.seconds < DEADLINE, (name, outcome)


# More than both sides' buffers take.
MUCH = 10 * MIB

WINDOWS = {
    "zero window": (1, READING + LATE, b""),
    "zero window for a while": (0, "", b"%d" % MUCH),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_401_once_is_answered_with_the_new_token(column: str, tmp_path: Path) -> None:
    """The token's file has another one by now. A second 401 is final."""
    token, authority = tmp_path / "token", Authority()
    (tmp_path / "ca").write_bytes(authority.pem)
    for times, code in ((1, 0), (EVER, 1)):
        token.write_text("old")
        seen: list[str | None] = []

        def refuse(exchange: Exchange, seen: list[str | None] = seen) -> None:
            seen.append(exchange.request.header("Authorization"))
            token.write_text(f"new-{len(seen)}")
            HTTP["401"](exchange)

        kind = "watch" if column == "rollout" else column
        first, tls = DONE if column == "list" else STARTED, authority.server("127.0.0.1")
        with FaultServer(refuse, kind, times=times, first=first, tls=tls) as server:
            cluster, user = {"certificate-authority": str(tmp_path / "ca")}, {"tokenFile": str(token)}
            outcome = run(server.url, COMMANDS[column], cluster=cluster, user=user)
        assert outcome.code == code, outcome
        assert seen == ["Bearer old", "Bearer new-1"][: len(seen)] and len(seen) == min(times, 2), seen


def test_how_often_is_asked() -> None:
    """A GET that is not answered ten times more, as by kubectl; a watch that is overdue once more; an upgrade never."""
    for name, column, asked in (
        ("closes before the head", "get", ["get"] * 11),
        ("closes before the head", "list", ["list"] * 11),
        ("closes before the head", "exec", ["get", "exec"]),
        ("deaf after the head", "rollout", ["list", "watch", "watch"]),
        ("no last chunk", "rollout", ["list", "watch"]),
    ):
        kind, times = ("watch", 1) if column == "rollout" else (column, EVER)
        with FaultServer(HTTP[name], kind, times=times) as server:
            run(server.url, COMMANDS[column])
        assert server.asked == asked, (name, column)


def test_http_to_a_tls_port() -> None:
    tls = Authority().server("127.0.0.1")
    for column, args in COMMANDS.items():
        with FaultServer(HTTP["429"], "none", tls=tls) as server:
            outcome = run(server.url.replace("https:", "http:"), args)
        assert (outcome.code, outcome.stdout) == (1, b""), (column, outcome)
        assert outcome.last and "Traceback" not in outcome.stderr, (column, outcome)
