"""One command in many containers: lines stay whole, nobody waits for nobody, everybody's end is told."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.client import ApiClient
from rawkube.errors import UpgradeRefused
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand import life_signs
from rawkube.remotecommand.many import Ended, Job, LineCutter, Lines, label_of, run_many
from rawkube.remotecommand.result import ExitCode, NoStatus, Success
from rawkube.remotecommand.target import Target
from tests.support.examples import examples
from tests.support.pods_server import PodsServer
from tests.support.rows import looped
from tests.support.script import failure
from tests.support.server import PeerGone
from tests.support.websocket import Far, Script, exit_status


def target(name: str, container: str = "main", **pod: object) -> Target:
    return Target("default", name, container, None, {"spec": {"containers": [{"name": container}]}, **pod})


def jobs(*names: str) -> list[Job]:
    return [Job(name, target(name)) for name in names]


def run(scripts: dict[str, Script], *, parallel: int = 4) -> tuple[list[Lines], dict[str, Ended]]:
    server = PodsServer(scripts, [])
    with server, ApiClient(Access(server=server.url)) as client:
        items = list(run_many(client, jobs(*scripts), ["x"], parallel=parallel))
    lines = [item for item in items if isinstance(item, Lines)]
    return lines, {item.label: item for item in items if isinstance(item, Ended)}


def text(lines: list[Lines], channel: int) -> list[bytes]:
    return b"".join(each.data for each in lines if each.channel == channel).splitlines(keepends=True)


# Lines


@looped(
    ("pieces", "lines"),
    [
        ([b"a\n"], b"[p] a\n"),
        ([b"a\nb\n"], b"[p] a\n[p] b\n"),
        ([b"a", b"b\nc", b"d"], b"[p] ab\n[p] cd\n"),
        ([b"\n\n"], b"[p] \n[p] \n"),
        ([b"no end"], b"[p] no end\n"),
        ([b"\x00\xff\r\x1b[1m\n"], b"[p] \x00\xff\r\x1b[1m\n"),
        ([b"12345678\n"], b"[p] 12345678\n"),
        ([b"1234567890"], b"[p] 12345678\n[p] 90\n"),
        ([b"12345678", b"90\nx\n"], b"[p] 12345678\n[p] 90\n[p] x\n"),
        ([b"12345678901234567890\n"], b"[p] 12345678\n[p] 90123456\n[p] 7890\n"),
        ([], b""),
    ],
)
def test_lines_are_cut_where_they_end(pieces: list[bytes], lines: bytes) -> None:
    cutter = LineCutter("p", longest=8)
    assert b"".join(map(cutter.feed, pieces)) + cutter.end() == lines


@settings(max_examples=examples(100))
@given(st.lists(st.text("ab\n").map(str.encode)))
def test_however_the_bytes_come_the_lines_are_the_same(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    cutter = LineCutter("p")
    assert b"".join(map(cutter.feed, pieces)) + cutter.end() == b"".join(
        b"[p] %s\n" % line for line in data.splitlines()
    )


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ({"containers": [{"name": "a"}]}, "p"),
        ({"containers": [{"name": "a"}, {"name": "b"}]}, "p/a"),
        ({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]}, "p/a"),
        ({"containers": [{"name": "a"}], "ephemeralContainers": None}, "p"),
        (None, "p"),
    ],
)
def test_the_container_is_named_where_there_are_several(spec: object, label: str) -> None:
    assert label_of(target("p", "a", spec=spec)) == label


def test_a_label_is_one_line() -> None:
    assert label_of(target("p\x1b\n")) == "p\\x1b\\n"


# Commands


def test_lines_and_ends_of_each() -> None:
    def web(far: Far) -> None:
        far.out(b"hel")
        far.err(b"oops\n")
        far.out(b"lo\nbye")
        far.end(exit_status(3))

    def db(far: Far) -> None:
        far.out(b"one\ntwo\n")
        far.end()

    lines, ends = run({"web": web, "db": db})
    assert sorted(text(lines, 1)) == [b"[db] one\n", b"[db] two\n", b"[web] bye\n", b"[web] hello\n"]
    assert text(lines, 2) == [b"[web] oops\n"]
    assert ends["web"].result == ExitCode(3, "command terminated with exit code 3")
    assert (ends["web"].exit_code, ends["web"].line, ends["web"].brief) == (
        3,
        "command terminated with exit code 3",
        "exit code 3",
    )
    assert (ends["db"].result, ends["db"].exit_code, ends["db"].line) == (Success(), 0, "")


def test_lines_of_busy_commands_are_never_mixed() -> None:
    def busy(name: bytes) -> Script:
        def script(far: Far) -> None:
            for number in range(200):
                line = name * 50 + b"%03d\n" % number
                far.out(line[:70])
                far.out(line[70:] + line[:20])
                far.out(line[20:])
            far.end()

        return script

    lines, _ = run({name: busy(name.encode()) for name in "abcd"})
    found = text(lines, 1)
    for name in (b"a", b"b", b"c", b"d"):
        own = [line for line in found if line.startswith(b"[%s] " % name)]
        assert own == [b"[%s] %s%03d\n" % (name, name * 50, number) for number in range(200) for _ in (1, 2)]
    assert len(found) == 1600


def test_no_more_than_that_many_at_once() -> None:
    running, most = 0, 0
    lock = threading.Lock()
    full = threading.Barrier(2, timeout=20)

    def script(far: Far) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait()  # there are always two, and never a third that could make it three
        with lock:
            running -= 1
        far.end()

    _, ends = run(dict.fromkeys("abcdef", script), parallel=2)
    assert len(ends) == 6 and all(end.exit_code == 0 for end in ends.values())
    assert most == 2


def test_one_that_cannot_be_run_does_not_stop_the_others() -> None:
    def refuse(far: Far) -> None:
        raise PeerGone

    _, ends = run({"bad": refuse, "good": lambda far: far.end()})
    assert isinstance(ends["bad"].result, NoStatus)
    assert (ends["bad"].exit_code, ends["bad"].brief) == (1, "error")
    assert ends["good"].exit_code == 0


def test_a_refused_upgrade_is_an_end_too() -> None:
    server = PodsServer({}, [], refusals=[failure(403, "no")])
    with server, ApiClient(Access(server=server.url)) as client:
        (end,) = run_many(client, jobs("p"), ["x"])
    assert isinstance(end, Ended)
    assert isinstance(end.error, UpgradeRefused)
    assert end.line == "error: unable to upgrade connection: no"


def test_a_caller_that_stops_ends_the_commands() -> None:
    codes: list[int] = []

    def endless(far: Far) -> None:
        far.out(b"begun\n")
        codes.append(far.wait_close())
        far.close()
        far.until_gone()

    with (
        PodsServer(dict.fromkeys("abc", endless), []) as server,
        ApiClient(Access(server=server.url)) as client,
        closing(run_many(client, jobs("a", "b", "c"), ["x"], parallel=2)) as many,
    ):
        assert {next(many).label, next(many).label} == {"a", "b"}
    assert codes == [1000, 1000]
    assert len(server.upgrades) == 2


def test_a_caller_that_stalls_stalls_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_signs, "CLOSING", 0.05)
    sent = 0

    def flood(far: Far) -> None:
        nonlocal sent
        while True:
            far.out(b"x" * 65535 + b"\n")
            sent += 1

    with (
        PodsServer({"p": flood}, []) as server,
        ApiClient(Access(server=server.url)) as client,
        closing(run_many(client, jobs("p"), ["x"])) as many,
    ):
        next(many)
        before = -1
        while sent != before:  # until nothing moves any more
            before = sent
            assert sent < 2000
            threading.Event().wait(0.2)


def test_what_a_thread_did_not_expect_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rawkube.remotecommand.many.ask", broken)
    with ApiClient(Access(server="http://127.0.0.1:1")) as client, pytest.raises(ZeroDivisionError):
        list(run_many(client, jobs("p"), ["x"]))


def test_nobody_to_run_it() -> None:
    with ApiClient(Access(server="http://127.0.0.1:1")) as client:
        assert list(run_many(client, [], ["x"])) == []
