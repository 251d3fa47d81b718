"""The README's examples of commands in containers, as they stand there, against a server."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

import rawkube
from tests.support.run import kubeconfig
from tests.support.websocket import ExecServer, Far, exit_status, words

RUN = """\
import rawkube

with rawkube.connect(namespace="demo") as client:
    done = rawkube.exec(client, "deploy/web", ["wc", "-c"], stdin=b"hello\\n", timeout=30)
    print(done.stdout, done.stderr, done.exit_code)
"""

HOLD = """\
import rawkube

with rawkube.connect() as client, rawkube.open_exec(client, "web-0", ["sh"], stdin=True) as shell:
    shell.write(b"date; exit 3\\n")
    for channel, data in shell:
        print(channel, data)
    print(shell.result.exit_code)
"""

ASYNCIO = """\
import asyncio
import os

from rawkube import V5, Channels, Output
from rawkube.wire.websocket import new_key, problem_with, request_headers


async def run(host, port, target, stdin):
    reader, writer = await asyncio.open_connection(host, port)
    key = new_key(os.urandom(16))
    head = [f"GET {target} HTTP/1.1", f"Host: {host}", *(f"{n}: {v}" for n, v in request_headers(key, [V5.name]))]
    writer.write("\\r\\n".join([*head, "", ""]).encode())
    status, *lines = (await reader.readuntil(b"\\r\\n\\r\\n")).decode().strip().split("\\r\\n")
    headers = [(name.lower(), value.strip()) for name, value in (line.split(":", 1) for line in lines)]
    if " 101 " not in status or problem_with(headers, key, [V5.name]):
        raise ConnectionError(status)
    channels = Channels(V5)
    writer.write(channels.stdin(stdin) + channels.close_stdin())
    while not channels.closed:
        data = await reader.read(65536)
        for event in channels.feed(data) if data else channels.eof():
            if isinstance(event, Output):
                print(event.channel, event.data)
        writer.write(channels.data_to_send())
        await writer.drain()
    writer.close()
    return channels.result()


path = "/api/v1/namespaces/default/pods/web-0/exec"
query = "command=cat&container=main&stdin=true&stdout=true&stderr=true"
result = asyncio.run(run("127.0.0.1", 8001, f"{path}?{query}", b"hello"))  # kubectl proxy
print(result.exit_code)
"""


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


@pytest.mark.parametrize("name", rawkube.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert name in dir(rawkube)
    assert getattr(rawkube, name) is not None


def test_the_names_cost_nothing_before_they_are_used() -> None:
    code = "import sys, rawkube; print([m for m in sys.modules if m.startswith('rawkube.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['rawkube._version']\n"
