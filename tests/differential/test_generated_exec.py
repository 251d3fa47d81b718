"""Generated sessions of `exec`: the same stdout, last line of stderr and exit code from both programs.

Frames, fragments, channels, pings, Status contents and the ends of a session are drawn by a seeded generator. What
rawkube knowingly does otherwise is stated by rule: a clean close without a status is no success, and the line of an
abnormal end names the status that had come.
"""

from __future__ import annotations

import json
import random
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rawkube.remotecommand.result import INCOMPLETE
from tests.differential.test_exec import READING, Outcome, addresses_away
from tests.support.examples import EVERY_WAY
from tests.support.exec_process import KUBECTL, Ended, run_exec
from tests.support.here import own_streams, run_at
from tests.support.run import kubectl_command
from tests.support.warm import warm
from tests.support.websocket import (
    BINARY,
    CONTINUATION,
    PING,
    PONG,
    SUCCESS,
    TEXT,
    ExecServer,
    close_frame,
    exit_status,
    fragments,
    frame,
    message,
    says,
)

pytestmark = pytest.mark.kubectl

# The more are tried when RAWKUBE_TEST_EVERY_WAY is set.
SEEDS = 60 if EVERY_WAY else 2
EACH = 16 if EVERY_WAY else 6
EXITS: list[int | str] = [0, 1, 7, 255, 256, "", "x", " 1", "+1", "007"]
CODES = [1000] * 12 + [
    1001,
    1002,
    1003,
    1004,
    1005,
    1007,
    1008,
    1009,
    1010,
    1011,
    1012,
    1013,
    1014,
    1015,
    3000,
    4000,
    999,
]


def status(pick: random.Random) -> bytes:
    """A Status as API servers send it, or one with parts that are missing or of another type."""
    if pick.random() < 0.5:
        return pick.choice([SUCCESS, SUCCESS, exit_status(pick.choice(EXITS))])
    causes = [
        {
            "reason": pick.choice(["ExitCode", "ExitCode", "Other", ""]),
            "message": pick.choice(["3", "4", "", "-1", "1e1"]),
        }
        for _ in range(pick.randrange(3))
    ]
    fields = {
        "status": pick.choice(["Failure", "Failure", "Failure", "Success", "success", "", None]),
        "reason": pick.choice(["NonZeroExitCode", "NonZeroExitCode", "InternalError", "", None]),
        "message": pick.choice(["what happened", "", "two\nlines", "é", None]),
        "details": pick.choice([{"causes": causes}, {"causes": causes}, {}, {"causes": None}, None]),
        "code": pick.choice([500, 0, None]),
        "kind": "Status",
    }
    value = {name: field for name, field in fields.items() if pick.random() < 0.9}
    return json.dumps(value).encode()


def pieces(pick: random.Random, data: bytes) -> list[bytes]:
    cuts = sorted(pick.randrange(len(data) + 1) for _ in range(pick.randrange(1, 4)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def one_message(pick: random.Random, channel: int, data: bytes) -> bytes:
    """Whole, as fragments with pings between them, or as several messages."""
    form = pick.randrange(4)
    if form == 0:
        return fragments(channel, *pieces(pick, data), between=pick.choice([b"", frame(PING, b"p"), frame(PONG)]))
    if form == 1:
        return b"".join(message(channel, piece) for piece in pieces(pick, data))
    return message(channel, data)


def broken(pick: random.Random) -> bytes:
    """What no server should send."""
    return pick.choice([
        frame(BINARY), frame(TEXT, b"\x01x"), frame(CONTINUATION, b"x"), frame(pick.choice([3, 4, 5, 6, 7, 11, 15])),
        b"\x82\x81\0\0\0\0\x01", b"\xc2\x01\x01", b"\xa2\x01\x01", b"\x92\x01\x01", b"\x09\x00", b"\x89\x7e\x00\x7e" + b"x" * 126,
        frame(BINARY, b"\x01a", fin=False) + frame(BINARY, b"\x01b"), b"\x88\x01\x03", frame(TEXT),
    ])  # fmt: skip


def session(pick: random.Random) -> tuple[bytes, bytes | None]:
    """All that the server sends, and the status within it (None: none that is whole)."""
    sent, found = [], None
    for _ in range(pick.randrange(5)):
        channel, size = pick.choice([1, 1, 2, 2, 0, 4, 5, 9]), pick.choice([0, 1, 5, 125, 126, 70000])
        line = pick.choice([b"text\n", b"x", b"\xff\0", b"\n", "é\n".encode()])
        sent.append(one_message(pick, channel, (line * size)[:size] if channel != 2 else b"said\n" * pick.randrange(3)))
        if pick.random() < 0.1:
            sent.append(frame(PING, b"x" * pick.choice([0, 1, 125])))
    if pick.random() < 0.1:
        sent.insert(pick.randrange(len(sent) + 1), broken(pick))
    if pick.random() < 0.9:
        found = status(pick)
        sent.insert(pick.randrange(max(len(sent) - 1, 0), len(sent) + 1), one_message(pick, 3, found))
    reason = pick.choice([b"", b"", b"why", b"x" * 123])
    return b"".join(sent) + close_frame(pick.choice(CODES), reason), found


def outcome(ended: Ended) -> Outcome:
    return Outcome(ended.stdout, addresses_away(ended), ended.code)


def kubectl(data: bytes) -> Outcome:
    with tempfile.TemporaryDirectory() as home, ExecServer(says(data)) as server:
        warm(Path(home), server.url)
        return outcome(run_exec("p", "--", "x", url=server.url, home=Path(home), program=KUBECTL, stdin=b""))


def rawkube(data: bytes) -> Outcome:
    with tempfile.TemporaryDirectory() as home, ExecServer(says(data)) as server, own_streams():
        ran = run_at(server.url, "exec", "p", "--", "x", home=Path(home), stdin=b"")
    return outcome(Ended(ran.data, ran.stderr, ran.code))


def expected(told: Outcome, found: Outcome, status: bytes | None) -> Outcome:
    """What rawkube's outcome is to be, when this is kubectl's."""
    if status is None and told.code == 0:
        return Outcome(told.stdout, f"error: {INCOMPLETE}", 1)
    before, had, _ = found.last.partition(" (the command's status had come before: ")
    if had and status is not None and told.last.startswith(READING):
        return told._replace(last=found.last) if before == told.last else told
    return told


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_end(seed: int) -> None:
    pick = random.Random(seed)
    kubectl_command()
    sessions = [session(pick) for _ in range(EACH)]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda made: kubectl(made[0]), sessions))
    for (data, status), theirs in zip(sessions, told, strict=True):
        found = rawkube(data)
        assert found == expected(theirs, found, status), f"seed {seed}: {status!r} in {data[:300]!r} … {data[-150:]!r}"
