"""Runs kubectl and rawkube as a user would, each in an environment of its own."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

ROOT = Path(__file__).parents[2]
KUBECTL_VERSION = "v1.37"
# klog's lines: severity, month and day, time. They hold Go file names and are nobody's contract.
KLOG = re.compile(r"[IWEF]\d{4} ")
# A value of `timeout` for what must end by itself.
LONG = 30.0


class Result(NamedTuple):
    """What a command left. `code` is negative when a signal ended it (`-SIGINT`)."""

    stdout: str
    stderr: str
    code: int
    seconds: float = 0.0

    @property
    def last(self) -> str:
        """The last line of stderr, empty when nothing was said."""
        lines = self.stderr.splitlines()
        return lines[-1] if lines else ""


def without_klog(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not KLOG.match(line))


@functools.cache
def find_kubectl() -> str:
    """The kubectl to compare with: beside the Python that runs, or on PATH. Empty: none of that version."""
    for found in (str(Path(sys.executable).parent / "kubectl"), shutil.which("kubectl")):
        if found and Path(found).exists():
            said = subprocess.run([found, "version", "--client"], capture_output=True, text=True, check=False)
            if KUBECTL_VERSION in said.stdout:
                return found
    return ""


def kubectl_command() -> list[str]:
    command = find_kubectl()
    if not command:
        pytest.skip(f"no kubectl {KUBECTL_VERSION} (the test extra brings one)")
    return [command]


def rawkube_command() -> list[str]:
    return [sys.executable, "-m", "rawkube"]


def kubeconfig(url: str, *, cluster: Mapping[str, Any] | None = None, user: Mapping[str, Any] | None = None) -> str:
    """A kubeconfig file of one context. JSON is YAML."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": url, **(cluster or {})}}],
            "users": [{"name": "test", "user": dict(user or {})}],
        }
    )


def environment(home: Path, url: str, **more: str) -> dict[str, str]:
    """A home with a kubeconfig for that server, and what leads to it; nothing of the tester's own."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "config"
    if not config.exists():
        config.write_text(kubeconfig(url))
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "KUBECONFIG": str(config),
        "KUBECACHEDIR": str(home / "cache"),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        **measured(),
        **more,
    }


def measured() -> dict[str, str]:
    """What tells a process of ours to measure its coverage, too, where that is measured."""
    return {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}


class Command:
    """A started command."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, stdout: int = subprocess.PIPE) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.communicate()

    def read_line(self) -> str:
        """The next line of stdout; empty at its end."""
        assert self.process.stdout
        line: bytes = self.process.stdout.readline()
        return line.decode()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = LONG) -> Result:
        """The end of it. AssertionError with what was printed so far when it does not end in time."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still running after {timeout} s\nstdout: {out!r}\nstderr: {err!r}") from None
        seconds = time.monotonic() - self.started
        return Result((out or b"").decode(), without_klog(err.decode()), self.process.returncode, seconds)


def start(
    command: Sequence[str], *args: str, url: str, home: Path, stdout: int = subprocess.PIPE, **env: str
) -> Command:
    return Command([*command, *args], environment(home, url, **env), stdout=stdout)


def run(command: Sequence[str], *args: str, url: str, home: Path, timeout: float = LONG, **env: str) -> Result:
    """Run to the end. `env` adds variables."""
    with Command([*command, *args], environment(home, url, **env)) as running:
        return running.wait(timeout)
