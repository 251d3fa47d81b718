"""Reading named files: bounded in size and time, failures in Go's words."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from rawkube.kubeconfig.files import Unreadable, read, why_unreadable


def test_a_regular_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 3_000_000)
    assert read(str(file)) == b"x" * 3_000_000
    assert why_unreadable(str(file)) == ""


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        ("none", "open {}/none: no such file or directory", True),
        ("", "read {}/: is a directory", False),
        ("file/x", "open {}/file/x: not a directory", False),
        ("nul\0", "open {}/nul\\x00: invalid argument", False),
        ("line\nend", "open {}/line\\nend: no such file or directory", True),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, text: str, missing: bool) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unreadable) as caught:
        read(f"{tmp_path}/{name}")
    assert str(caught.value) == text.format(tmp_path)
    assert caught.value.missing is missing


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.touch(0o000)
    assert why_unreadable(str(file)) == f"open {file}: permission denied"


def test_a_large_file_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with file.open("wb") as stream:
        stream.truncate(50 << 20)
    with pytest.raises(Unreadable, match="larger than 16 MiB"):
        read(str(file))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device of Unix")
def test_a_device_without_an_end() -> None:
    with pytest.raises(Unreadable, match="larger than 1 MiB"):
        read("/dev/zero", limit=1 << 20)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
class TestPipes:
    def test_nobody_writes(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        start = time.monotonic()
        with pytest.raises(Unreadable) as caught:
            read(str(pipe), wait=0.1)
        assert str(caught.value) == f"read {pipe}: i/o timeout"
        assert time.monotonic() - start < 5

    def test_somebody_writes_and_never_ends(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = os.open(pipe, os.O_RDWR)
        try:
            os.write(writer, b"begun")
            with pytest.raises(Unreadable, match="i/o timeout"):
                read(str(pipe), wait=0.1)
        finally:
            os.close(writer)

    def test_somebody_writes_in_pieces(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)

        def write() -> None:
            with pipe.open("wb", buffering=0) as stream:
                for _ in range(50):
                    stream.write(b"x" * 5000)

        thread = threading.Thread(target=write)
        thread.start()
        assert read(str(pipe)) == b"x" * 250_000
        thread.join()

    def test_an_inherited_pipe(self) -> None:
        reader, writer = os.pipe()
        os.write(writer, b"apiVersion: v1")
        os.close(writer)
        try:
            assert read(f"/dev/fd/{reader}") == b"apiVersion: v1"
        finally:
            os.close(reader)
