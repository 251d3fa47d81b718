"""The four commands in this process, many at a time, with limits of tenths of seconds instead of minutes."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, NamedTuple, TypeVar

import pytest

import rawkube.api.connect
from rawkube.api import list_watch
from rawkube.api.client import ApiClient
from rawkube.api.list_watch import BackOff, Floor
from rawkube.cli import connection, sessions
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.remotecommand import life_signs
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.session import Local
from rawkube.wire.dial import Timeouts
from tests.faults.behaviours import SHORT
from tests.support.run import kubeconfig

DEADLINE = 15.0
"""Seconds after which whatever runs is taken to hang: on a busy machine, and the longest of them."""

AT_ONCE = 24

Case = TypeVar("Case")
Found = TypeVar("Found")

COMMANDS: dict[str, list[str]] = {
    "get": ["get", "deployment/web", "-o", "json"],
    "list": ["rollout", "status", "deployment/web", "--timeout=3s", "--watch-timeout=1s"],
    "watch": ["watch", "deployment/web", "-o", "json", "--count=2", "--timeout=3500ms", "--watch-timeout=1s"],
    "rollout": ["rollout", "status", "deployment/web", "--timeout=3500ms", "--watch-timeout=1s"],
    "exec": ["exec", "p", "--", "x"],
}
"""By the request that meets the fault: `list` is that of a rollout, `rollout` its watch."""


class Files(Output):
    """Output that goes into two files, and lets a session write there, too."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes], stdin: int | None = None) -> None:
        super().__init__(stdout, stderr)  # type: ignore[arg-type]
        self.local = Local(stdin, stdout.fileno(), stderr.fileno())


class Outcome(NamedTuple):
    """What a command left. `last`: the last line of stderr, with the ports of the two sides as words."""

    code: int
    last: str
    stdout: bytes
    stderr: str
    seconds: float


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Short limits of time, for as long as a module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "connect", connect)
        patch.setattr(list_watch, "SILENCE_MARGIN", SHORT - 1.0)
        patch.setattr(BackOff, "next", lambda self: 0.05)
        patch.setattr(Floor, "next", lambda self: 0.0)
        patch.setattr(life_signs, "CLOSING", 0.1)
        patch.setattr(sessions, "timing", lambda values: Timing(0.1, SHORT, 0.3))
        patch.setattr(sessions.Run, "_local", lambda run, *_: run._out.local)
        yield


def connect(**options: Any) -> ApiClient:
    client = rawkube.api.connect.connect(**options, timeouts=Timeouts(*[SHORT] * 6), environ={"HOME": "/nowhere"})
    client.sleep = lambda seconds: time.sleep(min(seconds, 0.02))
    return client


def run(url: str, args: list[str], *, stdin: int | None = None, **connection: Mapping[str, str]) -> Outcome:
    """One command to its end. `connection`: the `cluster` and the `user` of the kubeconfig."""
    with tempfile.TemporaryFile(buffering=0) as out, tempfile.TemporaryFile(buffering=0) as err:
        began = time.monotonic()
        with a_kubeconfig(url, **connection) as config:
            code = main(["--kubeconfig", config, *args], out=Files(out, err, stdin))
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        stderr = ports_as_words(err.read().decode(), url)
        return Outcome(code, (stderr.splitlines() or [""])[-1], out.read(), stderr, seconds)


@contextlib.contextmanager
def a_kubeconfig(url: str, **connection: Mapping[str, str]) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(kubeconfig(url, **connection))
        file.flush()
        yield file.name


def ports_as_words(text: str, url: str) -> str:
    text = text.replace(url.removeprefix("http://"), "SERVER")
    return re.sub(r"127\.0\.0\.1:\d+", "CLIENT", text)


def all_at_once(work: Callable[[Case], Found], cases: Iterable[Case]) -> list[Found]:
    """`work` of each case: most of it is waiting."""
    with ThreadPoolExecutor(min(AT_ONCE, 6 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(work, cases))
