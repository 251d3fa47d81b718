"""A server with one line per misbehaviour. A behaviour answers one request, in its own way, by what is right.

    with FaultServer(HTTP["within a chunk"], "watch") as server:
        ...

The server knows one Deployment (`web`) and any Pod. Requests of the kind that was named (`get`, `list`, `watch`,
`exec`) meet the behaviour, as often as `times` says; all others, and those that follow, are answered well.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.support.discovery import recorded
from tests.support.script import status
from tests.support.server import Peer, PeerGone, ScriptedServer, SeenRequest
from tests.support.websocket import (
    BINARY,
    PING,
    SUCCESS,
    TEXT,
    Far,
    close_frame,
    exit_status,
    fragments,
    frame,
    message,
    pod,
    switching,
)
from tests.support.workloads import deployment

MIB = 1 << 20
EVER = 10**9
SHORT = 1.0
"""Seconds that a server may say nothing to the commands of these tests."""
OUT = b"out\x00\xff\n"


def at(version: int, thing: dict[str, Any]) -> dict[str, Any]:
    """The object as the server stores it."""
    return thing | {"metadata": thing["metadata"] | {"uid": "u", "resourceVersion": str(version)}}


STARTED, DONE = at(101, deployment(u=1)), at(102, deployment())
OTHER = at(103, deployment("other"))


def event(thing: dict[str, Any], kind: str = "MODIFIED") -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


def kind_of(request: SeenRequest) -> str:
    last = request.path.rsplit("/", 1)[1]
    if "/namespaces/" not in request.path:
        return "discovery"
    if last == "exec":
        return "exec"
    if last not in ("deployments", "pods"):
        return "get"
    return "watch" if request.query.get("watch") == "true" else "list"


class Exchange(NamedTuple):
    """One request, its connection, and what a good answer would be: its head (with `Transfer-Encoding`), its body."""

    server: FaultServer
    peer: Peer
    request: SeenRequest
    kind: str
    body: bytes

    @property
    def head(self) -> bytes:
        if self.kind == "exec":
            return switching(self.request)
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

    def with_length(self, *headers: str, code: str = "200 OK", body: bytes | None = None) -> None:
        """A whole answer; a Content-Type of JSON unless another one is given."""
        body = self.body if body is None else body
        lines = [f"HTTP/1.1 {code}", f"Content-Length: {len(body)}", *headers]
        if not any(line.lower().startswith("content-type") for line in headers):
            lines.append("Content-Type: application/json")
        self.server.sent = body
        self.peer.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def chunked(self, *pieces: bytes, end: bool = True) -> None:
        self.peer.send(self.head)
        for piece in pieces:
            self.peer.chunk(piece)
        if end:
            self.peer.end_chunked()

    def good(self) -> None:
        if self.kind == "exec":
            self.peer.send(self.head)
            session(Far(self.peer, self.request))
        self.chunked(self.body, end=self.kind != "watch")
        if self.kind == "watch":
            self.peer.stall()
            raise PeerGone


def session(far: Far) -> None:
    """A good one."""
    far.out(OUT)
    far.end()
    raise PeerGone


Behaviour = Callable[[Exchange], None]


class FaultServer(ScriptedServer):
    """See above. `asked`: the kinds of the requests, in order. `first`: what a LIST shows. `sent`: the last whole body."""

    def __init__(
        self,
        behaviour: Behaviour,
        kind: str,
        *,
        times: int = EVER,
        first: Mapping[str, Any] = STARTED,
        window: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self._connection, tls=tls)
        if window:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.asked: list[str] = []
        self.sent = b""
        self._behaviour, self._kind, self._left = behaviour, kind, times
        self._first = dict(first)

    def stop_listening(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            kind = kind_of(request)
            self.asked.append(kind)
            exchange = Exchange(self, peer, request, kind, self._body(kind, request))
            if kind == "discovery":
                body, media = recorded(request.path)
                peer.reply(body, content_type=media)
            elif kind == self._kind and self._left > 0:
                self._left -= 1
                self._behaviour(exchange)
            else:
                exchange.good()

    def _body(self, kind: str, request: SeenRequest) -> bytes:
        if kind == "watch":
            return event(DONE)
        if kind == "list":
            listing = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "101"}}
            return json.dumps(listing | {"items": [self._first]}).encode()
        return json.dumps(pod() if "/pods/" in request.path else DONE).encode()


# Pieces of behaviours


def gone(exchange: Exchange) -> None:
    """The connection ends."""
    raise PeerGone


def silent(exchange: Exchange) -> None:
    exchange.peer.stall()
    raise PeerGone


def deaf(exchange: Exchange) -> None:
    """Nothing is said, and even the client's FIN is not answered."""
    exchange.server.stopping.wait(20)
    raise PeerGone


def sends(make: Callable[[Exchange], bytes], then: Behaviour = gone) -> Behaviour:
    """These bytes, and then `then`."""

    def play(exchange: Exchange) -> None:
        exchange.peer.send(make(exchange))
        then(exchange)

    return play


def chunks(make: Callable[[bytes], list[bytes]], *, end: bool = True, then: Behaviour = gone) -> Behaviour:
    """The body, made into chunks; with the last chunk or without."""

    def play(exchange: Exchange) -> None:
        exchange.chunked(*make(exchange.body), end=end)
        then(exchange)

    return play


def refuses(exchange: Exchange) -> None:
    exchange.server.stop_listening()
    exchange.peer.reset()
    raise PeerGone


def resets(exchange: Exchange) -> None:
    exchange.peer.reset()
    raise PeerGone


def slowly(exchange: Exchange) -> None:
    """A byte at a time, each well within what silence may take, until all together are beyond it; then the rest."""
    data = exchange.head + b"%x\r\n%b\r\n" % (len(exchange.body), exchange.body)
    beyond = time.monotonic() + 1.3 * SHORT
    sent = 0
    while sent < len(data) - 1 and time.monotonic() < beyond:
        exchange.server.stopping.wait(0.001)
        exchange.peer.send(data[sent : sent + 1])
        sent += 1
    exchange.peer.send(data[sent:])
    if exchange.kind == "exec":
        session(Far(exchange.peer, exchange.request))
    exchange.peer.end_chunked()


def answers(code: str, *headers: str, body: bytes | None = None) -> Behaviour:
    """A whole answer of that status; without a body its Status."""

    def play(exchange: Exchange) -> None:
        number = int(code.split(" ", maxsplit=1)[0])
        said = json.dumps(status(number, "scripted")).encode() if body is None else body
        exchange.with_length(*headers, code=code, body=said)

    return play


def labelled(*headers: str, body: Callable[[bytes], bytes] = bytes) -> Behaviour:
    """The good body, or what is made of it, under other headers."""
    return lambda exchange: exchange.with_length(*headers, body=body(exchange.body))


def instead(make: Callable[[Exchange], bytes]) -> Behaviour:
    """Another body, then a good end."""
    return lambda exchange: exchange.with_length(body=make(exchange))


def edited(old: bytes, new: bytes) -> Behaviour:
    """The good body with a place in it replaced."""

    def make(exchange: Exchange) -> bytes:
        body = exchange.body
        if exchange.kind != "exec":
            assert old in body, body
        return body.replace(old, new, 1)

    return instead(make)


def noted(value: bytes) -> Behaviour:
    """The good body whose object has this JSON in a field that nobody reads."""
    return edited(b'"spec": {', b'"spec": {"x": ' + value + b", ")


def other(exchange: Exchange) -> bytes:
    if exchange.kind == "watch":
        return event(OTHER) + event(at(104, deployment("other", u=0)), "DELETED")
    return exchange.body.replace(b'"web"', b'"other"')


def expired_event(exchange: Exchange) -> bytes:
    said = status(410, "too old resource version")
    return event(said, "ERROR") if exchange.kind == "watch" else json.dumps(said).encode()


def half(body: bytes) -> bytes:
    return body[: len(body) // 2]


HTML = b"<html><title>\x1b[31mlogin</title></html>"

# What any request may meet.

HTTP: dict[str, Behaviour] = {
    "refuses": refuses,
    "silent": silent,
    "deaf": deaf,
    "closes before the head": gone,
    "resets before the head": resets,
    "closes within the head": sends(lambda x: x.head[:30]),
    "closes after the head": sends(lambda x: x.head),
    "resets after the head": sends(lambda x: x.head, resets),
    "silent within the head": sends(lambda x: x.head[:30], silent),
    "silent after the head": sends(lambda x: x.head, silent),
    "deaf after the head": sends(lambda x: x.head, deaf),
    "closes within a chunk": sends(lambda x: x.head + b"%x\r\n%b" % (len(x.body), half(x.body))),
    "silent within a chunk": sends(lambda x: x.head + b"%x\r\n%b" % (len(x.body), half(x.body)), silent),
    "ends within the value": chunks(lambda body: [half(body)]),
    "closes within the value": chunks(lambda body: [half(body)], end=False),
    "no last chunk": chunks(lambda body: [body], end=False),
    "chunk size that is none": sends(lambda x: x.head + b"zz\r\n" + x.body + b"\r\n0\r\n\r\n"),
    "chunk longer than its size": sends(lambda x: x.head + b"%x\r\n%b\r\n" % (len(x.body) - 9, x.body)),
    "chunks of one byte": chunks(lambda body: [body[at : at + 1] for at in range(len(body))]),
    "a byte at a time": slowly,
    "429": answers("429 Too Many"),
    "500": answers("500 Oops"),
    "503": answers("503 Away"),
    "429 Retry-After": answers("429 Too Many", "Retry-After: 1"),
    "500 Retry-After": answers("500 Oops", "Retry-After: 1"),
    "503 Retry-After": answers("503 Away", "Retry-After: 1"),
    "401": answers("401 Unauthorized"),
    "403": answers("403 Forbidden"),
    "404": answers("404 Not Found"),
    "410": answers("410 Gone"),
    "410 in a 200": instead(expired_event),
    "redirect": answers("302 Found", "Location: https://elsewhere.example/x?token=s3cr3t", body=b""),
    "HTML": answers("200 OK", "Content-Type: text/html", body=HTML),
    "HTML of an error": answers("502 Bad Gateway", "Content-Type: text/html", body=HTML),
    "JSON as text/plain": labelled("Content-Type: text/plain"),
    "protobuf": labelled("Content-Type: application/vnd.kubernetes.protobuf", body=lambda body: b"k8s\0" + body),
    "gzip": labelled("Content-Encoding: gzip", body=gzip.compress),
    "gzip cut short": labelled("Content-Encoding: gzip", body=lambda body: gzip.compress(body)[:-9]),
    "gzip that is none": labelled("Content-Encoding: gzip"),
    "unknown coding": labelled("Content-Encoding: br"),
    "oversized header": labelled("X-Large: " + "x" * 300_000),
    "endless header": sends(lambda x: x.head[:-2] + b"X: " + b"x" * MIB),
    "many interim answers": sends(lambda x: b"HTTP/1.1 103 Hints\r\nLink: %b\r\n\r\n" % (b"x" * 400) * 1000),
    "no HTTP": sends(lambda x: b"SSH-2.0-OpenSSH_9.6\r\n"),
    "HTTP/2": sends(lambda x: b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64"),
    "101 unasked": sends(lambda x: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    "two lengths": labelled("Content-Length: 5"),
    "length and chunks": labelled("Transfer-Encoding: chunked"),
    "a second answer": sends(lambda x: x.head + b"%x\r\n%b\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" % (len(x.body), x.body)),
    "204": answers("204 No Content", body=b""),
    "206": lambda x: x.with_length(code="206 Partial Content"),
    "empty": instead(lambda x: b""),
    "null": instead(lambda x: b"null"),
    "NaN": edited(b'"replicas": 3', b'"replicas": NaN'),
    "two values": instead(lambda x: x.body + x.body),
    "2 MiB": noted(b'"' + b"x" * 2 * MIB + b'"'),
    "another object": instead(other),
    "version backwards": edited(b'"resourceVersion": "10', b'"resourceVersion": "5'),
    "version that is a number": edited(b'"resourceVersion": "10', b'"resourceVersion": 7, "x": "10'),
    "duplicate keys": edited(b'"status": {', b'"status": {"observedGeneration": 0}, "status": {'),
    "deep": noted(b'{"a":' * 900 + b"1" + b"}" * 900),
    "far too deep": noted(b"[" * 200_000 + b"]" * 200_000),
    "huge integer": edited(b'"replicas": 3', b'"replicas": 1' + b"0" * 5000),
    "huge float": edited(b'"replicas": 3', b'"replicas": 1e999'),
    "NUL": noted(b'"a\\u0000b"'),
    "a raw NUL": noted(b'"a\0b"'),
    "no UTF-8": noted(b'"\xff\xc3(\xed\xa0\x80"'),
    "half a surrogate pair": noted(b'"\\ud83d"'),
    "byte order mark": instead(lambda x: b"\xef\xbb\xbf" + x.body),
}  # fmt: skip


# What an upgrade may meet beside; what is left of a session then.


def switched(protocol: str = "v5.channel.k8s.io", *, omit: str = "", **headers: str) -> Behaviour:
    def play(exchange: Exchange) -> None:
        exchange.peer.send(switching(exchange.request, protocol, omit=omit, **headers))
        session(Far(exchange.peer, exchange.request))

    return play


def far(script: Callable[[Far], None]) -> Behaviour:
    """A good handshake, and then this."""

    def play(exchange: Exchange) -> None:
        exchange.peer.send(exchange.head)
        script(Far(exchange.peer, exchange.request))
        raise PeerGone

    return play


def frames(*data: bytes, until_gone: bool = True) -> Behaviour:
    """These bytes behind a good handshake; then the client has the word, or (`until_gone` false) the end comes."""

    def script(there: Far) -> None:
        there.raw(b"".join(data))
        if until_gone:
            there.until_gone()

    return far(script)


def within_the_handshake(exchange: Exchange) -> None:
    """Everything in one segment with the 101."""
    exchange.peer.send(exchange.head + message(1, OUT) + message(3, SUCCESS) + close_frame())
    Far(exchange.peer, exchange.request).until_gone()
    raise PeerGone


def flood(there: Far) -> None:
    """Half a megabyte of pings, whose answers nobody reads, then the output and the end."""
    there.raw(frame(PING, b"p" * 100) * 5_000)
    there.out(OUT)
    there.end()


def zero_window(there: Far) -> None:
    """Nothing is read and nothing is said."""
    there.peer.stopping.wait(20)


def zero_window_for_a_while(there: Far) -> None:
    """Nothing is read for longer than silence may take, but signs of life come; then all of it is."""
    for _ in range(15):
        there.peer.stopping.wait(0.1)
        there.ping()
    there.out(b"%d" % len(there.stdin()))
    there.end()


def says_and_stalls(data: bytes, there: Far) -> None:
    """Not even pings are answered."""
    there.raw(data)
    there.peer.stall()


def byte_by_byte(there: Far) -> None:
    data = message(1, OUT) + message(2, b"err\n") + message(3, exit_status(3)) + close_frame()
    for at in range(len(data)):
        there.raw(data[at : at + 1])
    there.until_gone()


STATUS, CLOSE_1000, SAYS = message(3, SUCCESS), close_frame(), message(1, OUT)
PING_FRAME = frame(PING, b"?")

SESSIONS: dict[str, Behaviour] = {
    "good": frames(SAYS, STATUS, CLOSE_1000),
    "all with the 101": within_the_handshake,
    "byte by byte": far(byte_by_byte),
    "wrong Accept": switched(Sec_WebSocket_Accept="s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    "no Accept": switched(omit="Sec-WebSocket-Accept"),
    "no Upgrade": switched(omit="Upgrade"),
    "unoffered protocol": switched("v9.channel.k8s.io"),
    "no protocol": switched(omit="Sec-WebSocket-Protocol"),
    "an extension": switched(Sec_WebSocket_Extensions="permessage-deflate"),
    "close 1000 alone": frames(SAYS, CLOSE_1000),
    "close without a code": frames(SAYS, STATUS, close_frame(1005)),
    "close 1001": frames(SAYS, STATUS, close_frame(1001, b"\x1b[2Jbye")),
    "close 1011": frames(SAYS, close_frame(1011, b"boom")),
    "close 1006": frames(SAYS, STATUS, close_frame(1006)),
    "close of one byte": frames(SAYS, STATUS, frame(8, b"\x03")),
    "close that is no text": frames(SAYS, STATUS, close_frame(1000, b"\xff")),
    "no close": frames(SAYS, STATUS, until_gone=False),
    "nothing": frames(until_gone=False),
    "status, then nothing": frames(SAYS, STATUS),
    "silence": far(functools.partial(says_and_stalls, SAYS)),
    "open without an end": far(functools.partial(says_and_stalls, STATUS)),
    "data after the status": frames(STATUS, SAYS, message(2, b"late\n"), CLOSE_1000),
    "data after the close": frames(STATUS, CLOSE_1000, SAYS),
    "two statuses": frames(SAYS, STATUS, message(3, exit_status(3)), CLOSE_1000),
    "exit code 300": frames(SAYS, message(3, exit_status(300)), CLOSE_1000),
    "a status that is none": frames(SAYS, message(3, b'{"status":"Maybe"}'), CLOSE_1000),
    "a status that is HTML": frames(SAYS, message(3, HTML), CLOSE_1000),
    "half a status": frames(SAYS, message(3, SUCCESS[:20]), CLOSE_1000),
    "an endless status": frames(*[message(3, b'{"a":"' + b"x" * 65536)] * 17, CLOSE_1000),
    "a status in fragments": frames(SAYS, fragments(3, SUCCESS[:7], SUCCESS[7:], between=PING_FRAME), CLOSE_1000),
    "output in fragments": frames(fragments(1, OUT[:1], b"", OUT[1:], between=PING_FRAME), STATUS, CLOSE_1000),
    "cut within a frame": frames(message(1, OUT)[:-2], until_gone=False),
    "cut within a message": frames(frame(BINARY, b"\x01" + OUT, fin=False), STATUS[:0], until_gone=False),
    "close within a message": frames(frame(BINARY, b"\x01" + OUT, fin=False), CLOSE_1000),
    "a frame without an end": frames(SAYS, b"\x82\x7f\x7f" + b"\xff" * 7 + b"\x01", until_gone=False),
    "a length with its first bit": frames(SAYS, b"\x82\x7f\xff" + b"\xff" * 7),
    "a masked frame": frames(SAYS, b"\x82\x82\0\0\0\0\x01x", CLOSE_1000),
    "a reserved bit": frames(SAYS, b"\xc2\x02\x01x", CLOSE_1000),
    "opcode 3": frames(SAYS, b"\x83\x02\x01x", CLOSE_1000),
    "a long ping": frames(SAYS, b"\x89\x7e\x00\x80" + b"x" * 128, CLOSE_1000),
    "a ping in pieces": frames(SAYS, frame(PING, b"x", fin=False), CLOSE_1000),
    "text": frames(SAYS, frame(TEXT, b"\x01x"), CLOSE_1000),
    "a continuation of nothing": frames(SAYS, frame(0, b"\x01x"), CLOSE_1000),
    "a message without a channel": frames(SAYS, frame(BINARY), CLOSE_1000),
    "an unknown channel": frames(message(7, b"?"), SAYS, message(0, b"?"), STATUS, CLOSE_1000),
    "pongs unasked": frames(frame(10, b"a") * 1000, SAYS, STATUS, CLOSE_1000),
    "a flood of pings": far(flood),
    "HTTP behind the 101": frames(b"HTTP/1.1 200 OK\r\n\r\n"),
}

# Of a session with much input.
WINDOW: dict[str, Behaviour] = {
    "zero window": far(zero_window),
    "zero window for a while": far(zero_window_for_a_while),
}
