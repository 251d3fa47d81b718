"""`cp` when something is missing, refused, short, slow or lost: never a success, never a hang."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.container import Container
from tests.support.copies import cp, make_tree
from tests.support.run import rawkube_command, start
from tests.support.websocket import ExecServer, Far, exit_status


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def test_what_cannot_be_read_here_is_named(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "good").write_text("x")
    os.mkfifo(top / "pipe")
    with Container() as server:
        done = cp(server, top, f"web:{tmp_path}/there")
    assert done.code == 1
    assert f'warning: "{top}/pipe" is no file, directory or link, skipping' in done.stderr
    assert done.last == "error: not everything was copied: 1 problem, 1 entries"
    assert (tmp_path / "there" / "good").exists()


def test_nothing_there_to_come_down(tmp_path: Path) -> None:
    with Container() as server:
        done = cp(server, f"web:{tmp_path}/absent", tmp_path / "here")
    assert done.code == 2
    assert "absent: Cannot stat: No such file or directory" in done.stderr
    assert done.last == "command terminated with exit code 2"
    assert not (tmp_path / "here").exists()


def test_no_directory_to_go_up_to(tree: Path, tmp_path: Path) -> None:
    with Container() as server:
        done = cp(server, tree, f"web:{tmp_path}/no/dir")
    assert done.code == 2
    assert done.stderr.splitlines()[0] == f"tar: {tmp_path}/no: Cannot open: No such file or directory"
    assert done.last == "command terminated with exit code 2"


def test_a_container_without_tar(tree: Path, tmp_path: Path) -> None:
    with Container(rewrite=lambda command: ["no-such-program", *command]) as server:
        done = cp(server, f"web:{tree}", tmp_path / "here")
    assert done.code == 1
    assert done.last.startswith('error: Internal error occurred: exec: "no-such-program"')


def archive(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


WHOLE = archive(("data", b"x" * 5000))


def sends(data: bytes, end: Callable[[Far], None]) -> Callable[[Far], None]:
    def script(far: Far) -> None:
        far.out(data)
        end(far)

    return script


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            sends(WHOLE[:3000], lambda far: far.end()),
            "error: data: 2488 of 5000 bytes arrived: the archive ended early",
        ),
        (sends(WHOLE[:5632], lambda far: far.end()), "the archive ended early"),
        (sends(WHOLE[:512], lambda far: far.end()), "error: data: 0 of 5000 bytes arrived"),
        (sends(WHOLE, lambda far: far.close()), "before the command's status was received"),
        (sends(WHOLE, lambda far: far.end(exit_status(2))), "command terminated with exit code 2"),
        (sends(WHOLE, lambda far: None), "error reading from error stream"),
        (sends(WHOLE, lambda far: far.close(1011, b"gone")), "close 1011 (internal server error): gone"),
        (sends(b"", lambda far: far.end()), "error: the container sent nothing"),
        (
            sends(b"sh: tar: \x1bnot found\n" * 100, lambda far: far.end()),
            r'is no tar archive: "sh: tar: \x1bnot found"...',
        ),
        (sends(b"no tar\n", lambda far: far.end()), 'error: what the container sent is no tar archive: "no tar"'),
        (sends(WHOLE[:300], lambda far: far.end()), "error: the archive ended early"),
        (sends(bytes(1024), lambda far: far.end()), "error: the archive that the container sent is empty"),
        (
            sends(WHOLE + b"more", lambda far: far.end()),
            "error: the archive is broken (data behind the end of the archive)",
        ),
    ],
    ids=[
        "cut",
        "no-end",
        "header-only",
        "no-status",
        "exit-2",
        "lost",
        "1011",
        "nothing",
        "text",
        "short-text",
        "no-header",
        "empty",
        "more",
    ],
)
def test_short_is_never_success(tmp_path: Path, script: Callable[[Far], None], said: str) -> None:
    with ExecServer(script) as server:
        done = cp(server, "--verify=never", "web:data", tmp_path / "data")
    assert done.code in (1, 2)
    assert said in done.stderr.replace("ended too early", "ended early")
    assert "Traceback" not in done.stderr


def test_a_hostile_container_writes_nothing_outside(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, kind, link in (
            ("top/in", tarfile.SYMTYPE, str(tmp_path)),
            ("top/in/owned", tarfile.REGTYPE, ""),
            ("top/../../owned", tarfile.REGTYPE, ""),
            ("/top/owned", tarfile.REGTYPE, ""),
            ("top/ok\x1b[2J", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            tar.addfile(info)
    with ExecServer(sends(made.getvalue(), lambda far: far.end())) as server:
        done = cp(server, "web:top", tmp_path / "a" / "b")
    assert done.code == 1
    assert sorted(str(p.relative_to(tmp_path / "a")) for p in (tmp_path / "a").rglob("*")) == [
        "b",
        "b/in",
        "b/in/owned",
        "b/ok\x1b[2J",
    ]
    assert not list(tmp_path.glob("owned"))
    assert "\x1b" not in done.stderr
    assert done.stderr.count("warning: skipping") == 3


# Retries


def test_a_broken_download_is_taken_up_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(os.urandom(300_000))
    with Container(cuts=(100_000, 1, 90_000)) as server:
        done = cp(server, "--retries=3", f"web:{tmp_path}/data", tmp_path / "got")
    assert done.code == 0, done
    assert (tmp_path / "got").read_bytes() == (tmp_path / "data").read_bytes()
    said = [line for line in done.stderr.splitlines() if line.startswith("Resuming")]
    assert said == [
        "Resuming copy at 100000 bytes, retry 1/3",
        "Resuming copy at 100001 bytes, retry 2/3",
        "Resuming copy at 190001 bytes, retry 3/3",
    ]
    assert server.commands[-1][:2] == ["sh", "-c"]
    assert "sha256sum" in server.commands[-1][2]


def test_not_for_ever(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(300_000))
    with Container(cuts=(10_000, 10_000)) as server:
        done = cp(server, "--retries=1", f"web:{tmp_path}/data", tmp_path / "got")
    assert done.code == 1
    assert "Dropping out copy after 1 retries" in done.stderr
    assert "bytes arrived" in done.stderr
    assert "error reading from error stream" in done.last


def test_the_exit_code_of_tar_is_known_behind_a_retry(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "data").write_bytes(bytes(300_000))

    def fails(command: list[str]) -> list[str]:  # a file of the second run is not there
        return [*command, "/no/such"] if command[0] == "sh" else command

    with Container(cuts=(100_000,), rewrite=fails) as server:
        done = cp(server, "--retries=1", f"web:{top}", tmp_path / "got")
    assert (done.code, done.last) == (2, "command terminated with exit code 2")


# Verifying


def test_a_copy_that_differs(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"data")
    lie = hashlib.sha256(b"Data").hexdigest().encode() + b"  -\n"
    with Container(rewrite=lambda c: lie if "sha256sum" in c[-3] else c) as server:
        down = cp(server, f"web:{tmp_path}/data", tmp_path / "got")
        up = cp(server, tmp_path / "data", f"web:{tmp_path}/put")
    assert (down.code, up.code) == (1, 1)
    assert down.last.startswith(f'error: the copy of "{tmp_path}/data" differs: SHA-256 ')
    assert up.last.startswith(f'error: the copy of "{tmp_path}/put" differs: SHA-256 ')


@pytest.mark.parametrize(("flag", "code", "asked"), [("auto", 0, True), ("always", 1, True), ("never", 0, False)])
def test_a_container_without_sha256sum(tmp_path: Path, flag: str, code: int, asked: bool) -> None:
    (tmp_path / "data").write_bytes(b"data")
    with Container(rewrite=lambda c: ["false"] if "sha256sum" in c[-3] else c) as server:
        done = cp(server, f"--verify={flag}", f"web:{tmp_path}/data", tmp_path / "got")
    assert done.code == code
    assert any("sha256sum" in " ".join(command) for command in server.commands) == asked


def test_large_files_are_not_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.remotecommand.copy.VERIFY_AT_ONCE", 1000)
    (tmp_path / "data").write_bytes(bytes(1001))
    with Container() as server:
        assert cp(server, f"web:{tmp_path}/data", tmp_path / "got").code == 0
        assert cp(server, tmp_path / "data", f"web:{tmp_path}/put").code == 0
        assert len(server.commands) == 3
        assert cp(server, "--verify=always", tmp_path / "data", f"web:{tmp_path}/put").code == 0
    assert len(server.commands) == 6


def test_a_log_that_grows_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"line\n")

    def grows(command: list[str]) -> list[str]:
        if command[0] == "sh":
            (tmp_path / "log").write_bytes(b"line\nline\n")
        return command

    with Container(rewrite=grows) as server:
        assert cp(server, f"web:{tmp_path}/log", tmp_path / "got").code == 0


# Waiting


def test_the_status_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(100_000))
    order: list[str] = []

    def script(far: Far) -> None:
        assert far.request is not None
        if "command=test" in far.request.target:
            far.end(exit_status(1))
            return
        got = far.stdin()
        order.append(f"got {len(got) % 10240}")
        far.ping(b"still at it")
        assert far.wait_for(10).payload == b"still at it"  # the client is there, and waits
        order.append("status")
        far.end()

    with ExecServer(script) as server:
        assert cp(server, "--verify=never", tmp_path / "data", "web:/data").code == 0
    assert order == ["got 0", "status"]


def test_a_server_that_says_nothing_more(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(1000))

    def script(far: Far) -> None:
        assert far.request is not None
        if "command=test" in far.request.target:
            far.end(exit_status(1))
            return
        far.pongs = False
        far.until_gone()

    with ExecServer(script) as server:
        done = cp(server, "--ping-interval=50ms", "--ping-timeout=300ms", tmp_path / "data", "web:/data")
    assert done.code == 1
    assert "i/o timeout" in done.last


def test_a_slow_container_is_no_dead_one(tmp_path: Path) -> None:
    """Input is taken all the time, but slower than it is sent, and for longer than the ping timeout."""
    (tmp_path / "data").write_bytes(os.urandom(8_000_000))
    with Container(slow=0.004) as server:
        done = cp(server, "--ping-interval=50ms", "--ping-timeout=400ms", tmp_path / "data", f"web:{tmp_path}/put")
    assert done.code == 0, done
    assert (tmp_path / "put").stat().st_size == 8_000_000


def test_an_upload_that_nobody_takes(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(30_000_000))

    def script(far: Far) -> None:
        assert far.request is not None
        if "command=test" in far.request.target:
            far.end(exit_status(1))
            return
        far.peer.stopping.wait(5)

    with ExecServer(script) as server:
        done = cp(server, "--ping-interval=50ms", "--ping-timeout=300ms", tmp_path / "data", "web:/data")
        server.stopping.set()
    assert done.code == 1
    assert "i/o timeout" in done.last


def test_lost_in_the_middle_of_an_upload(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(5_000_000))

    def script(far: Far) -> None:
        assert far.request is not None
        if "command=test" in far.request.target:
            far.end(exit_status(1))
        else:
            far.stdin(100_000)
            far.close(1011, b"node gone")

    with ExecServer(script) as server:
        done = cp(server, tmp_path / "data", "web:/data")
    assert done.code == 1
    assert "close 1011 (internal server error): node gone" in done.last


def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    began = threading.Event()

    def script(far: Far) -> None:
        far.out(WHOLE[:3000])
        began.set()
        far.until_gone()

    with (
        ExecServer(script) as server,
        start(rawkube_command(), "cp", "p:data", str(tmp_path / "x"), url=server.url, home=tmp_path) as run,
    ):
        assert began.wait(20)
        end = time.monotonic() + 20
        while not (tmp_path / "x").exists() and time.monotonic() < end:
            time.sleep(0.01)
        run.send(signal.SIGINT)
        ended = run.wait(10)
    partly = f'interrupted: the copy is incomplete: "{tmp_path.resolve()}/x" is only partly written\n'
    assert (ended.code, ended.stderr) == (130, partly)
    assert ended.seconds < 8


def test_ctrl_c_in_the_middle_of_an_upload(tmp_path: Path) -> None:
    began, stopped = threading.Event(), threading.Event()
    (tmp_path / "data").write_bytes(bytes(30_000_000))

    def script(far: Far) -> None:
        assert far.request is not None
        if "command=test" in far.request.target:
            far.end(exit_status(1))
            return
        far.stdin(100_000)
        began.set()
        assert stopped.wait(20)
        far.until_gone()

    with (
        ExecServer(script) as server,
        start(rawkube_command(), "cp", str(tmp_path / "data"), "p:x", url=server.url, home=tmp_path) as run,
    ):
        assert began.wait(20)
        run.send(signal.SIGINT)
        stopped.set()
        ended = run.wait(10)
    assert (ended.code, ended.stderr) == (130, "interrupted: the copy is incomplete: not everything was copied\n")


def test_many_warnings_are_summed_up(tmp_path: Path) -> None:
    data = archive(*(("../" + "n" * 300 + str(number), b"") for number in range(50)))
    with ExecServer(sends(data, lambda far: far.end())) as server:
        done = cp(server, "web:data", tmp_path / "data")
    lines = done.stderr.splitlines()
    assert (len(lines), lines[-2]) == (22, "... and 30 more warnings")
    assert lines[-1] == "error: not everything was copied: 50 problems, 50 entries"
    assert max(map(len, lines)) < 280


def test_a_directory_onto_a_file(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with Container() as server:
        done = cp(server, f"web:{tree}", tmp_path / "file")
    assert done.code == 1
    assert done.last == f'error: "{tmp_path}/file" is no directory here, and a directory is copied'
    assert "warning" not in done.stderr
    assert (tmp_path / "file").read_text() == "mine"
