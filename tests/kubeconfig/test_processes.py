"""What plugins are run with: where a program is, how it is ended, and what signals do meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rawkube.kubeconfig import executables, subprocesses
from rawkube.kubeconfig.executables import NotFound, look_path
from rawkube.kubeconfig.signals import Deferred, FatalSignals
from tests.kubeconfig.test_exec_plugin import ends


def another(**changed: Any) -> Any:
    """The module os, but for that."""
    return SimpleNamespace(**{**vars(os), **changed})


def test_on_windows_a_program_has_an_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "os", another(name="nt"))
    for name in ("login.exe", "other.py"):
        (tmp_path / name).touch(mode=0o755)
    path = {"PATH": str(tmp_path)}
    assert look_path("login", path) == look_path("login.exe", path) == f"{tmp_path}/login.exe"
    assert look_path("other", {**path, "PATHEXT": ".COM;.PY"}) == f"{tmp_path}/other.py"
    with pytest.raises(NotFound, match=r'^exec: "other": executable file not found in \$PATH$'):
        look_path("other", path)


def test_paths_that_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "text").touch(mode=0o644)
    for path, why in (
        (f"{tmp_path}/none", f"stat {tmp_path}/none: no such file or directory"),
        (f"{tmp_path}/text", "permission denied"),
        (f"{tmp_path}/", "is a directory"),
        ("/a\0b", "invalid argument"),
    ):
        with pytest.raises(NotFound) as raised:
            look_path(path, {})
        assert str(raised.value).endswith(f": {why}"), path


@pytest.fixture
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    """A program that started another one; both are one's own to end."""
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_program_is_ended_with_what_it_started(sleeping: subprocess.Popen[bytes]) -> None:
    assert sleeping.stdout
    inner = int(sleeping.stdout.readline())
    subprocesses._end(sleeping, alone=False)
    assert sleeping.poll() == -signal.SIGTERM
    assert ends(inner)


def test_elsewhere_it_is_ended_alone(sleeping: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert sleeping.stdout
    inner = int(sleeping.stdout.readline())
    monkeypatch.setattr(subprocesses, "os", another(name="nt"))
    subprocesses._end(sleeping, alone=False)
    assert sleeping.poll() == -signal.SIGKILL
    os.kill(inner, signal.SIGKILL)
    assert ends(inner)


def test_without_proc_nothing_is_known_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> list[str]:
        raise FileNotFoundError

    monkeypatch.setattr(subprocesses, "os", another(listdir=nothing))
    assert subprocesses._descendants(os.getpid()) == []


def test_another_process_with_the_same_number_is_left_alone(sleeping: subprocess.Popen[bytes]) -> None:
    assert sleeping.stdout
    inner = int(sleeping.stdout.readline())
    subprocesses._signal((inner, "before"), signal.SIGKILL)
    assert Path(f"/proc/{inner}/stat").read_text().split()[2] in ("S", "R", "D")
    subprocesses._signal((inner, subprocesses._stat(inner)[1]), signal.SIGKILL)
    assert ends(inner)


def test_a_fatal_signal_waits_for_what_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    died_of: list[int] = []
    monkeypatch.setattr("signal.raise_signal", died_of.append)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(BaseException, match=r"^$"), FatalSignals():
            os.kill(os.getpid(), signal.SIGTERM)
        assert (died_of, signal.getsignal(signal.SIGTERM)) == ([signal.SIGTERM], signal.SIG_DFL)
        with FatalSignals():
            pass
        assert died_of == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_handler_runs_at_the_end() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: came.append(number))
    try:
        with Deferred():
            os.kill(os.getpid(), signal.SIGHUP)
            assert came == []
        assert came == [signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_changes_no_handler() -> None:
    seen: list[Any] = []

    def look() -> None:
        with FatalSignals(), Deferred():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]
