"""What a program may hand to `exec`: input of every kind, words, names and times; and how soon it is let go."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.upgrade import Upgraded
from rawkube.errors import UsageError, WaitTimeout
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand.call import exec, open_exec
from rawkube.remotecommand.remote import RemoteCommand
from rawkube.remotecommand.source import check_source, messages
from rawkube.wire.stream import Stream
from tests.support.rows import looped
from tests.support.websocket import HALF_CLOSE, ExecServer, Far, far_pair

MESSAGE = 32 * 1024


# Input


def sizes(source: Iterable[bytes]) -> list[int]:
    return [len(each) for each in messages(source)]


def test_a_file_is_read_and_not_cut_into_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"\n" * 100_000)
    whole = [MESSAGE] * 3 + [100_000 - 3 * MESSAGE]
    with path.open("rb") as file:
        assert sizes(file) == whole
    with path.open("rb", buffering=0) as file:
        assert sizes(file) == whole
    assert sizes(io.BytesIO(path.read_bytes())) == whole


def test_a_reader_without_lines_is_enough() -> None:
    class Reader:
        def __init__(self) -> None:
            self.left = [b"ab", b"c"]

        def read(self, size: int) -> bytes:
            assert size == MESSAGE
            return self.left.pop(0) if self.left else b""

    assert list(messages(check_source(Reader()))) == [b"ab", b"c"]  # type: ignore[arg-type]


def test_small_pieces_are_joined() -> None:
    pieces = [b"\n"] * 200_000
    joined = list(messages(pieces, clock=lambda: 0.0))
    assert b"".join(joined) == b"\n" * 200_000
    # Not one by one: how many there are is a matter of how busy the machine is.
    assert len(joined) < 2_000


def test_large_pieces_are_cut() -> None:
    assert sizes([bytes(2 * MESSAGE + 1)]) == [MESSAGE, MESSAGE, 1]
    assert sizes([b"", b""]) == []


def test_pieces_that_come_slowly_go_one_by_one() -> None:
    times = itertools.count()
    slow = messages([b"a", b"b", b"c"], clock=lambda: float(next(times)))
    assert list(slow) == [b"a", b"b", b"c"]


def test_a_piece_goes_before_the_next_one_is_asked_for() -> None:
    far, client = far_pair()
    stream = Stream(client)

    def source() -> Iterator[bytes]:
        yield b"first"
        assert far.next()[1] == b"first"
        yield b"second"
        assert far.next()[1] == b"second"
        far.status()
        far.close()

    with RemoteCommand(Upgraded(stream, b"", "v5.channel.k8s.io")) as command:
        command.feed(source())
        assert list(command) == []
    far.peer.close()


@pytest.mark.parametrize(
    "given",
    [bytearray(b"abc"), memoryview(b"abc"), memoryview(b"cba")[::-1], io.BytesIO(b"abc"), (b"a", bytearray(b"bc"))],
    ids=["bytearray", "memoryview", "strided", "file", "tuple"],
)
def test_all_that_holds_bytes_is_input(given: Any) -> None:
    def script(far: Far) -> None:
        far.out(far.stdin())
        far.end()

    with ExecServer(script) as server, ApiClient(Access(server=server.url)) as client:
        assert exec(client, "p", ["cat"], stdin=given, timeout=20).stdout == b"abc"
    assert server.far[0].messages()[-1][0] == HALF_CLOSE


@pytest.mark.parametrize("given", [bytearray(), memoryview(b"")], ids=["bytearray", "memoryview"])
def test_no_bytes_are_no_input(given: Any) -> None:
    with ExecServer() as server, ApiClient(Access(server=server.url)) as client:
        assert exec(client, "p", ["true"], stdin=given, timeout=20).exit_code == 0
    assert server.upgrades[0].query.get("stdin") is None


def test_a_piece_that_is_no_bytes_ends_it() -> None:
    with (
        ExecServer(lambda far: far.until_gone()) as server,
        ApiClient(Access(server=server.url)) as client,
        pytest.raises(TypeError, match="input must be bytes, not str"),
    ):
        exec(client, "p", ["cat"], stdin=iter(["text"]), timeout=0.1)  # type: ignore[arg-type]


# What is wrong is said before anything is sent.

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"stdin": "text"}, TypeError, "stdin must be bytes, or give bytes, and is a text"),
    ({"stdin": io.StringIO("x")}, TypeError, "a file opened for text"),
    ({"stdin": None}, TypeError, "not NoneType"),
    ({"stdin": 5}, TypeError, "not int"),
    ({"stdin": [b"a", "b"]}, TypeError, "input must be bytes, not str"),
    ({"command": [b"ls"]}, TypeError, "a word of a command is a str, not bytes: b'ls'"),
    ({"command": ["sleep", 5]}, TypeError, "a word of a command is a str, not int: 5"),
    ({"command": {"ls", "-l"}}, TypeError, "a command is a list of words"),
    ({"command": None}, TypeError, "a command is a list of words"),
    ({"command": bytearray(b"ls")}, TypeError, "a command is a list of words"),
    ({"command": ()}, UsageError, "you must specify at least one command"),
    ({"timeout": "5"}, TypeError, "timeout must be a number of seconds or None, not str"),
    ({"timeout": True}, TypeError, "not bool"),
    ({"timeout": float("nan")}, ValueError, "zero or more: nan"),
    ({"timeout": -1}, ValueError, "zero or more: -1"),
    ({"pod": "../x"}, UsageError, r'invalid resource name "\.\./x": \[may not contain \'/\'\]'),
    ({"pod": "./x"}, UsageError, r'invalid resource name "\./x"'),
    ({"pod": ".."}, UsageError, r'invalid resource name "\.\.": \[may not be \'\.\.\'\]'),
    ({"pod": "pod/.."}, UsageError, r'invalid resource name "\.\."'),
    ({"pod": "/x"}, UsageError, "arguments in resource/name form must have a single resource and name"),
    ({"pod": "a/b/c"}, UsageError, "may not have more than one slash"),
    ({"pod": ""}, UsageError, "resource name may not be empty"),
    ({"pod": None}, TypeError, "a pod is named by a str, not NoneType"),
]


@looped(("given", "kind", "text"), WRONG, ids=[f"{i}-{row[2]}" for i, row in enumerate(WRONG)])
def test_what_cannot_be_meant(given: dict[str, Any], kind: type[Exception], text: str) -> None:
    with ApiClient(Access(server="http://127.0.0.1:1")) as client, pytest.raises(kind, match=text):
        exec(client, **{"pod": "p", "command": ["true"], **given})


def test_endless_time_is_no_limit() -> None:
    with ExecServer() as server, ApiClient(Access(server=server.url)) as client:
        assert exec(client, "p", ["true"], timeout=float("inf")).exit_code == 0


# The end comes in time.


def test_a_timeout_is_kept_though_the_server_does_not_answer() -> None:
    with ExecServer(lambda far: far.until_gone()) as server, ApiClient(Access(server=server.url)) as client:
        began = time.monotonic()
        with pytest.raises(WaitTimeout, match=r"^the command was still running after 300ms$"):
            exec(client, "p", ["sleep", "9"], timeout=0.3)
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_not_held_up(kind: type[BaseException]) -> None:
    with ExecServer(lambda far: far.until_gone()) as server, ApiClient(Access(server=server.url)) as client:
        with pytest.raises(kind), open_exec(client, "p", ["sleep", "9"]) as command:
            began = time.monotonic()
            raise kind
        assert time.monotonic() - began < 1.5
        assert command.close_code == 1006
