"""The channel protocol against recordings of a real API server, with kubectl and other clients."""

from __future__ import annotations

import hashlib
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.remotecommand.channels import Channels, Closed, Discarded, Event, Output, Ping
from rawkube.remotecommand.protocols import V1, Protocol, find
from rawkube.remotecommand.result import ExitCode, Failure, NoStatus, Success
from tests.remotecommand.test_channels import chopped, frame, joined, sent, typed
from tests.support.examples import some
from tests.support.recordings import expected, name_of, recordings, sides
from tests.support.rows import looped


class Session(NamedTuple):
    """What passed behind the 101."""

    name: str
    path: Path
    protocol: Protocol
    tty: bool
    client: bytes
    server: bytes


def header(head: bytes, name: str) -> str:
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    return next((value.strip().decode() for key, _, value in lines if key.decode().lower() == name), "")


def upgrades(path: Path) -> list[tuple[bytes, bytes, bytes, bytes]]:
    """(request head, response head, client bytes, server bytes) of each connection that switched protocols."""
    found = []
    for both in sides(path).values():
        request, _, client = both["client"].partition(b"\r\n\r\n")
        answer, _, server = both["server"].partition(b"\r\n\r\n")
        if answer.startswith(b"HTTP/1.1 101 "):
            found.append((request, answer, client, server))
    return found


def sessions() -> list[Session]:
    found = []
    for path in recordings("exec"):
        for request, answer, client, server in upgrades(path):
            # A server that is offered nothing names nothing, and speaks v1.
            protocol = find(header(answer, "sec-websocket-protocol") or V1.name)
            if protocol and header(answer, "upgrade").lower() == "websocket":
                tty = b"tty=true" in request.partition(b"\r\n")[0]
                found.append(Session(name_of(path), path, protocol, tty, client, server))
    return found


SESSIONS = sessions()
each = pytest.mark.parametrize("session", SESSIONS, ids=[session.name for session in SESSIONS])


def play(session: Session, pieces: list[bytes]) -> tuple[Channels, list[Event]]:
    """All of the server's bytes, then the end of the stream."""
    channels = Channels(session.protocol, tty=session.tty)
    events = [event for piece in pieces for event in channels.feed(piece)]
    return channels, events + channels.eof()


def test_every_subprotocol_is_among_the_recordings() -> None:
    names = {session.protocol.name for session in SESSIONS}
    assert len(SESSIONS) >= 25
    assert names == {
        "v5.channel.k8s.io",
        "v4.channel.k8s.io",
        "channel.k8s.io",
        "v4.base64.channel.k8s.io",
        "base64.channel.k8s.io",
    }


def test_spdy_is_told_apart_by_its_upgrade() -> None:
    heads = {
        name_of(path): [header(answer, "upgrade") for _, answer, *_ in upgrades(path)] for path in recordings("exec")
    }
    assert heads["exec/spdy-1.27"] == ["SPDY/3.1"]
    assert [name for name, found in heads.items() if "SPDY/3.1" in found] == ["exec/spdy-1.27"]
    assert not any(session.name == "exec/spdy-1.27" for session in SESSIONS)


@each
def test_wherever_the_reads_cut_the_events_are_the_same(session: Session) -> None:
    data = session.server
    channels, events = play(session, [data])
    whole, owed = typed(joined(events)), sent(channels.data_to_send())
    assert not any(isinstance(event, Discarded) for event in events)
    chance = random.Random(session.name)
    if len(data) <= 1000:
        cuts = [[cut] for cut in some(session.name, range(1, len(data)))] + [list(range(1, len(data)))]
    else:
        cuts = [sorted(chance.sample(range(1, len(data)), 20)) for _ in range(10)]
    for cut in cuts:
        other, found = play(session, chopped(data, cut))
        assert typed(joined(found)) == whole
        assert other.result() == channels.result()
        assert sent(other.data_to_send()) == owed


def refragmented(data: bytes, chance: random.Random) -> bytes:
    """The same messages in more frames, with pings between them. `data`: whole, short unmasked frames."""
    out, at = b"", 0
    while at < len(data):
        first, size, head = data[at], data[at + 1], 2
        if size == 126:
            size, head = int.from_bytes(data[at + 2 : at + 4], "big"), 4
        payload = data[at + head : at + head + size]
        at += head + size
        if first & 8:
            out += frame(first & 15, payload)
            continue
        assert first & 0x80, "a recorded message in several frames: this helper does not know them"
        edges = [0, *sorted(chance.choices(range(len(payload) + 1), k=chance.randrange(4))), len(payload)]
        for number, (start, end) in enumerate(pairwise(edges)):
            out += frame(9, b"between") if chance.random() < 0.5 else b""
            out += frame(0 if number else first & 15, payload[start:end], fin=number == len(edges) - 2)
    return out


@each
def test_other_frames_and_pings_between_them_change_nothing(session: Session) -> None:
    channels, events = play(session, [session.server])
    chance = random.Random(session.name)
    for _ in range(5):
        data = refragmented(session.server, chance)
        other, found = play(session, chopped(data, chance.choices(range(len(data)), k=10)))
        assert typed(joined(e for e in found if not isinstance(e, Ping))) == typed(joined(events))
        assert other.result() == channels.result()


@each
def test_the_actions_produce_what_the_client_had_sent(session: Session) -> None:
    """stdin, half-close, resize, ping and the answer to the close, frame by frame (the masks differ)."""
    channels = Channels(session.protocol, tty=session.tty)
    echoed = False
    for opcode, payload in sent(session.client):
        if opcode == 8:
            channels.feed(session.server)
            ours = channels.data_to_send()
            echoed = True
        elif opcode == 9:
            ours = channels.ping(payload)
        else:
            ours = act(channels, payload)
        assert sent(ours) == [(opcode, payload)]
    assert echoed or not any(isinstance(event, Closed) for event in channels.feed(session.server))


def act(channels: Channels, message: bytes) -> bytes:
    channel, payload = message[0], message[1:]
    if channel == 0:
        return channels.stdin(payload)
    if channel == 255:
        assert payload == b"\0"
        return channels.close_stdin()
    assert channel == 4
    size = json.loads(payload)
    return channels.resize(size["Width"], size["Height"])


def test_stdin_half_close_and_resize_are_all_among_the_recorded_messages() -> None:
    channels = {payload[:1] for session in SESSIONS for opcode, payload in sent(session.client) if opcode == 2}
    assert channels == {b"\0", b"\4", b"\xff"}


KUBECTL = [
    session
    for session in SESSIONS
    if session.path.with_name(f"{session.path.stem}.expected.json").exists() and "args" in expected(session.path)
]


@looped("session", KUBECTL, ids=[session.name for session in KUBECTL])
def test_output_and_exit_code_are_those_of_kubectl(session: Session) -> None:
    want = expected(session.path)
    channels, events = play(session, [session.server])
    stdout, stderr = (b"".join(e.data for e in events if isinstance(e, Output) and e.channel == n) for n in (1, 2))
    if "stdout" in want:
        assert stdout.decode() == want["stdout"]
    else:
        assert hashlib.sha256(stdout).hexdigest() == want["stdout_sha256"]
    result = channels.result()
    assert result.exit_code == want["exit_code"]
    # What kubectl says before the session (such as the container it chose) stands above.
    assert want["stderr"].endswith(stderr.decode() + (f"{result.line}\n" if result.line else ""))


def test_all_of_kubectls_transcripts_are_compared() -> None:
    assert len(KUBECTL) >= 12


OTHERS: list[tuple[str, type, str, int]] = [
    ("v4-exit-3", ExitCode, "command terminated with exit code 3", 3),
    ("v4-base64-exit-3", ExitCode, "command terminated with exit code 3", 3),
    ("v4-tty-resize", ExitCode, "command terminated with exit code 7", 7),
    ("v5-tty-resize", ExitCode, "command terminated with exit code 7", 7),
    ("v5-stdin-close", Success, "", 0),
    ("pod-deleted", ExitCode, "command terminated with exit code 137", 137),
    ("v1-exit-3", Failure, "error: error executing remote command: command terminated with non-zero exit code: error executing command [sh -c echo out; echo err >&2; exit 3], exit code 3", 1),
    ("base64-exit-3", Failure, "error: error executing remote command: command terminated with non-zero exit code: error executing command [sh -c echo out; echo err >&2; exit 3], exit code 3", 1),
    ("v4-stdin-cat", NoStatus, "error: error reading from error stream: next reader: websocket: close 1006 (abnormal closure): unexpected EOF", 1),
]  # fmt: skip


@looped(("name", "kind", "line", "code"), OTHERS, ids=[row[0] for row in OTHERS])
def test_how_the_other_sessions_ended(name: str, kind: type, line: str, code: int) -> None:
    (session,) = (session for session in SESSIONS if session.path.stem == name)
    channels, _ = play(session, [session.server])
    result = channels.result()
    assert isinstance(result, kind)
    assert (result.line, result.exit_code) == (line, code)
