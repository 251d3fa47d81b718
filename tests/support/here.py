"""A command in this process: an order of magnitude cheaper than one of its own, for what needs no process.

Standard output and error are files, which a session (`exec`) writes as it would write its descriptors.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from rawkube.cli import sessions
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.remotecommand.session import Local
from tests.support.run import Result, kubeconfig


class Files(Output):
    """Output that goes into two files, and lets a session write there, too."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes], stdin: int | None = None) -> None:
        super().__init__(stdout, stderr)  # type: ignore[arg-type]
        self.local = Local(stdin, stdout.fileno(), stderr.fileno())


class Ran(Result):
    """What a command left, with what it wrote on stdout as bytes."""

    data: bytes


@contextlib.contextmanager
def own_streams() -> Iterator[None]:
    """Sessions use the streams of their `Files`, and no descriptor of the tests."""

    def local(run: Any, _mode: object, streams: Any, *_: object) -> Local:
        of: Local = run._out.local
        return of if streams.stdin else of._replace(stdin=None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions.Run, "_local", local)
        yield


def run_here(*args: str, config: str | Path, stdin: bytes | None = None) -> Ran:
    """`rawkube ARGS` with that kubeconfig to its end. `stdin`: bytes that come through a pipe."""
    with (
        tempfile.TemporaryFile(buffering=0) as out,
        tempfile.TemporaryFile(buffering=0) as err,
        _piped(stdin) as reading,
    ):
        began = time.monotonic()
        code = main(["--kubeconfig", str(config), *args], out=Files(out, err, reading))
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        data = out.read()
        ran = Ran(data.decode(errors="replace"), err.read().decode(), code, seconds)
        ran.data = data
        return ran


def run_at(url: str, *args: str, home: Path, stdin: bytes | None = None) -> Ran:
    """The same with a kubeconfig for that server, in that folder."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "config"
    if not config.exists():
        config.write_text(kubeconfig(url))
    return run_here(*args, config=config, stdin=stdin)


@contextlib.contextmanager
def _piped(data: bytes | None) -> Iterator[int | None]:
    if data is None:
        yield None
        return
    reading, writing = os.pipe()
    thread = threading.Thread(target=_write, args=(writing, data))
    thread.start()
    try:
        yield reading
    finally:
        os.close(reading)
        thread.join()


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as file:
        file.write(data)
