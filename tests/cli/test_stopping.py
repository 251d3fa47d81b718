"""Signals that come while a command is ending: no traceback."""

from __future__ import annotations

import io
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from rawkube.cli import rollout
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.cli.stopping import Signals, Stopped

windows = pytest.mark.skipif(sys.platform == "win32", reason="no signals to raise")


@windows
def test_a_signal_while_the_handlers_are_put_back_comes_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    real = signal.signal
    signals = Signals()
    signals.arm()

    def put_back(number: int, handler: Any) -> Any:
        if number != signal.SIGINT:  # which is put back last
            signal.raise_signal(signal.SIGINT)
        return real(number, handler)

    with monkeypatch.context() as patched:
        patched.setattr(signal, "signal", put_back)
        signals.disarm()
    assert signals.number == 0
    assert signal.getsignal(signal.SIGINT) == before
    signals.arm()  # and it counts again
    try:
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGINT)
    finally:
        signals.disarm()


def test_a_second_signal_while_the_first_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def twice(self: Any, connect: object) -> None:
        self._signals.number = signal.SIGTERM
        raise Stopped

    monkeypatch.setattr(rollout._Status, "_followed", twice)
    error = io.BytesIO()
    words = ["--kubeconfig", str(tmp_path / "none"), "rollout", "status", "deploy/web"]
    assert main(words, out=Output(io.BytesIO(), error)) == 128 + signal.SIGTERM
    assert b"Stopped" not in error.getvalue()
