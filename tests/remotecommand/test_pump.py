"""Writing without waiting, and signals as a descriptor."""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rawkube.remotecommand.pump import Wakeup, Writer, is_ready

MUCH = os.urandom(300_000)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            pass


def drained(writer: Writer, reader: int) -> bytes:
    """What comes out, while the writer is flushed whenever it can be."""
    got = bytearray()
    while writer.waiting or select.select([reader], [], [], 0)[0]:
        if select.select([reader], [], [], 0)[0]:
            got += os.read(reader, 65536)
        if writer.waiting and is_ready(writer.fileno(), write=True):
            writer.flush()
    return bytes(got)


class TestWriter:
    def test_what_is_taken_at_once_does_not_wait(self, pipe: tuple[int, int]) -> None:
        writer = Writer(pipe[1])
        writer.write(b"abc")
        assert not writer.waiting
        assert os.read(pipe[0], 10) == b"abc"
        writer.close()

    @pytest.mark.parametrize("kind", ["pipe", "socket", "non-blocking", "terminal"])
    def test_nothing_waits_in_the_call_and_nothing_is_lost(self, kind: str) -> None:
        data = MUCH if kind != "terminal" else b"x" * 100_000
        reader, descriptor = made(kind)
        writer = Writer(descriptor)
        try:
            for start in range(0, len(data), 50_000):
                writer.write(data[start : start + 50_000])
            assert writer.waiting
            assert drained(writer, reader) == data
        finally:
            writer.close()
            os.close(reader)
            os.close(descriptor)

    @pytest.mark.parametrize("kind", ["pipe", "socket", "non-blocking", "file"])
    @pytest.mark.parametrize("size", [1, 700, 33_000])
    @pytest.mark.parametrize("gathers", [True, False])
    def test_pieces_come_in_their_order(
        self, kind: str, size: int, gathers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not gathers:  # Windows
            monkeypatch.delattr(os, "writev")
        pieces = [MUCH[at : at + size] for at in range(0, min(len(MUCH), 200 * size), size)]
        pieces.insert(1, b"")
        if kind == "file":
            reader, descriptor = os.open(tmp_path / "out", os.O_CREAT), os.open(tmp_path / "out", os.O_WRONLY)
        else:
            reader, descriptor = made(kind)
        writer = Writer(descriptor)
        try:
            writer.write(*pieces[:3])
            writer.write(*pieces[3:])
            if kind == "file":
                assert os.read(reader, len(MUCH)) == b"".join(pieces)
            else:
                assert drained(writer, reader) == b"".join(pieces)
        finally:
            writer.close()
            os.close(reader)
            os.close(descriptor)

    def test_it_stays_full_while_nobody_reads(self, pipe: tuple[int, int]) -> None:
        writer = Writer(pipe[1])
        writer.write(MUCH)
        for _ in range(3):
            writer.flush()
            assert writer.waiting
        assert not is_ready(writer.fileno(), write=True)
        writer.close()

    def test_a_file_takes_everything_where_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"before ")
        with path.open("ab") as file:
            writer = Writer(file.fileno())
            writer.write(MUCH)
            assert not writer.waiting
            assert writer.fileno() == file.fileno()
            writer.close()
        assert path.read_bytes() == b"before " + MUCH

    def test_the_descriptor_keeps_its_settings_and_stays_open(self, pipe: tuple[int, int]) -> None:
        writer = Writer(pipe[1])
        writer.write(MUCH)
        assert os.get_blocking(pipe[1])
        writer.close()
        writer.close()
        assert os.fstat(pipe[1])

    def test_no_reader(self, pipe: tuple[int, int]) -> None:
        os.close(pipe[0])
        writer = Writer(pipe[1])
        with pytest.raises(BrokenPipeError):
            writer.write(b"x")
        writer.close()

    def test_the_reader_goes_while_something_waits(self, pipe: tuple[int, int]) -> None:
        writer = Writer(pipe[1])
        writer.write(MUCH)
        os.close(pipe[0])
        assert is_ready(writer.fileno(), write=True)
        with pytest.raises(BrokenPipeError):
            writer.flush()
        writer.close()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
    def test_a_full_disk(self) -> None:
        descriptor = os.open("/dev/full", os.O_WRONLY)
        writer = Writer(descriptor)
        with pytest.raises(OSError, match="No space left"):
            writer.write(b"x")
        writer.close()
        os.close(descriptor)

    def test_a_descriptor_that_is_closed(self) -> None:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.close(descriptor)
        writer = Writer(descriptor)
        with pytest.raises(OSError, match="Bad file descriptor"):
            writer.write(b"x")

    def test_nothing_is_nothing(self, pipe: tuple[int, int]) -> None:
        writer = Writer(pipe[1])
        writer.write(b"")
        writer.flush()
        assert not writer.waiting
        writer.close()


def made(kind: str) -> tuple[int, int]:
    """(reader, writer)."""
    if kind == "pipe":
        return os.pipe()
    if kind == "terminal":
        return pty.openpty()
    ours, theirs = socket.socketpair()
    theirs.setblocking(kind == "socket")
    return ours.detach(), theirs.detach()


class TestWakeup:
    def test_a_signal_makes_it_readable(self) -> None:
        seen: list[int] = []
        before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
        try:
            wakeup = Wakeup()
            with wakeup:
                assert not is_ready(wakeup.fileno(), write=False)
                os.kill(os.getpid(), signal.SIGUSR1)
                assert is_ready(wakeup.fileno(), write=False)
                wakeup.drain()
                wakeup.drain()
                assert not is_ready(wakeup.fileno(), write=False)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert seen == [signal.SIGUSR1]

    def test_what_was_there_before_is_put_back(self) -> None:
        outer, inner = Wakeup(), Wakeup()
        with outer:
            descriptor = outer.fileno()
            with inner:
                assert inner.fileno() not in (-1, descriptor)
            assert inner.fileno() == -1
            before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
            os.kill(os.getpid(), signal.SIGUSR1)
            signal.signal(signal.SIGUSR1, before)
            assert is_ready(outer.fileno(), write=False)
        assert signal.set_wakeup_fd(-1) == -1

    def test_another_thread_hears_of_no_signals(self) -> None:
        found: list[int] = []

        def use() -> None:
            wakeup = Wakeup()
            with wakeup:
                found.append(wakeup.fileno())
                wakeup.drain()

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert found == [-1]
