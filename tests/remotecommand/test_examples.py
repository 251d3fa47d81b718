"""The README's examples of commands in containers, as they stand there, against a server."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rawkube
from tests.support.rows import looped
from tests.support.run import kubeconfig
from tests.support.websocket import ExecServer, Far, exit_status, words

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
BLOCKS: list[str] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def block(word: str) -> str:
    """The one piece of code of the README that has this word."""
    (found,) = [each for each in BLOCKS if word in each]
    return found


RUN, HOLD, ASYNCIO = block("rawkube.exec("), block("open_exec"), block("asyncio")


def shown(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "example", "exec"), {"__name__": "example"})
    return out.getvalue()


def use(server: ExecServer, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    config = home / "config"
    config.write_text(kubeconfig(server.url))
    monkeypatch.setenv("KUBECONFIG", str(config))


def test_run_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"%d\n" % len(far.stdin()))
        far.end()

    with ExecServer(script) as server:
        use(server, monkeypatch, tmp_path)
        # This server has pods only; what stands behind a Deployment is tested elsewhere.
        assert shown(RUN.replace("deploy/web", "web-0")) == "b'6\\n' b'' 0\n"
    assert server.upgrades[0].path == "/api/v1/namespaces/demo/pods/web-0/exec"


def test_speak_with_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def script(far: Far) -> None:
        assert far.next()[1] == b"date; exit 3\n"
        far.out(b"Monday\n")
        far.end(exit_status(3))

    with ExecServer(script) as server:
        use(server, monkeypatch, tmp_path)
        assert shown(HOLD) == "1 b'Monday\\n'\n3\n"


def test_bring_your_own_loop() -> None:
    def script(far: Far) -> None:
        far.ping()
        far.out(far.stdin())
        far.end(exit_status(5))

    with ExecServer(script) as server:
        assert shown(ASYNCIO.replace("8001", str(server.port))) == "1 b'hello'\n5\n"
    (asked,) = server.upgrades
    assert words(asked) == ["cat"]


# The names


@looped("name", rawkube.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert name in dir(rawkube)
    assert getattr(rawkube, name) is not None


def test_the_names_cost_nothing_before_they_are_used() -> None:
    code = "import sys, rawkube; print([m for m in sys.modules if m.startswith('rawkube.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['rawkube._version']\n"
