"""`rawkube ws`: what passes on a WebSocket, a line each, and what is typed."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.observe.replay import Replay
from tests.support.rows import looped
from tests.support.run import ROOT, kubeconfig
from tests.support.script import failure
from tests.support.websocket import (
    PING,
    SUCCESS,
    TEXT,
    ExecServer,
    Far,
    Script,
    exit_status,
    fragments,
    frame,
    switching,
)

SHELL = "/api/v1/namespaces/demo/pods/shell"
EXIT_3 = f"{SHELL}/exec?command=sh&command=-c&command=echo+out%3B+echo+err+%3E%262%3B+exit+3&container=app&stdout=true&stderr=true"
CAT = f"{SHELL}/exec?command=cat&container=app&stdin=true&stdout=true"


class _Interrupting(io.BytesIO):
    """Ctrl-C when this text is shown."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self._text = text

    def write(self, data: Any) -> int:
        size = super().write(data)
        if self._text and self._text in bytes(data):
            os.kill(os.getpid(), signal.SIGINT)
        return size


def ws(*args: str, config: str, typed: bytes | None = None, until: bytes = b"") -> tuple[str, str, int]:
    """stdout, stderr, exit code; `typed` is what stdin holds, None: it stays open and silent."""
    reading, writing = os.pipe()
    out, err = _Interrupting(until), io.BytesIO()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rawkube.cli.ws.STDIN", reading)
            if typed is not None:
                os.write(writing, typed)
                os.close(writing)
            code = main(["--kubeconfig", config, "ws", *args], out=Output(out, err))
    finally:
        os.close(reading)
        if typed is None:
            os.close(writing)
    return out.getvalue().decode(), err.getvalue().decode(), code


def against(server: ExecServer, tmp_path: Path, *args: str, typed: bytes | None = None) -> tuple[str, str, int]:
    config = tmp_path / "config"
    config.write_text(kubeconfig(server.url))
    return ws(*args, config=str(config), typed=typed)


@looped(
    ("name", "args", "code", "shown"),
    [
        ("v5-exit-3", ["--protocol=v5.channel.k8s.io"], 3, 'binary stdout 4 B "out\\n"'),
        ("v4-exit-3", ["--protocol=v4.channel.k8s.io"], 3, 'binary stderr 4 B "err\\n"'),
        ("v4-base64-exit-3", ["--protocol=v4.base64.channel.k8s.io"], 3, 'text stdout 4 B "out\\n"'),
        ("no-protocol", ["--protocol=none"], 0, '"\\u0001out\\n"'),
    ],
)
def test_recorded_commands(name: str, args: list[str], code: int, shown: str) -> None:
    recording = ROOT / "fixtures" / "exec" / f"{name}.jsonl"
    with Replay(recording) as server:
        path = next((e.target for e in server.exchanges if "/exec?" in e.target), EXIT_3)
        stdout, stderr, ended = ws(path, *args, config=server.kubeconfig)
    assert ended == code, (stdout, stderr)
    assert shown in stdout


def test_a_recorded_attach_and_ctrl_c() -> None:
    with Replay(ROOT / "fixtures" / "exec" / "attach-tty-less.jsonl") as server:
        path = next(each.target for each in server.exchanges if "/attach?" in each.target)
        stdout, stderr, code = ws(path, config=server.kubeconfig, until=b"tick 6")
    shown = [line[10:] for line in stdout.splitlines()]
    assert (code, stderr) == (130, "")
    ticks = [f'← binary stdout 7 B "tick {number}\\n"' for number in range(1, 7)]
    assert [line for line in shown if "tick" in line] == ticks
    assert shown[-1] == "→ close 1000"


def test_lines_and_the_end_of_stdin_as_recorded() -> None:
    with Replay(ROOT / "fixtures" / "exec" / "v5-stdin-close.jsonl") as server:
        args = [CAT, "--protocol=v5.channel.k8s.io"]
        stdout, stderr, code = ws(*args, config=server.kubeconfig, typed=b"one\ntwo\n")
    assert code == 0, stderr
    for line in ('→ binary stdin 4 B "one\\n"', '← binary stdout 4 B "two\\n"', "→ binary close stdin"):
        assert line in stdout


def test_a_refusal_is_an_error(tmp_path: Path) -> None:
    told = failure(403, 'pods "x" is forbidden')
    with ExecServer(refusals=[told]) as server:
        stdout, stderr, code = against(server, tmp_path, EXIT_3)
    assert (stdout, code) == ("", 1)
    assert "forbidden" in stderr


def test_the_head_of_the_answer(tmp_path: Path) -> None:
    with ExecServer() as server:
        stdout, stderr, code = against(server, tmp_path, EXIT_3, "-i")
        refusing = ExecServer(refusals=[failure(403, 'pods "x" is forbidden')])
        with refusing:
            refused, why, failed = against(refusing, tmp_path, EXIT_3, "--include")
    head, _, rest = stdout.partition("\n\n")
    assert head.startswith("HTTP/1.1 101 Switching Protocols\nupgrade: websocket\n"), stderr
    assert "sec-websocket-protocol: v5.channel.k8s.io" in head
    assert (code, "← status Success" in rest) == (0, True)
    assert refused.startswith("HTTP/1.1 403 ")
    assert (failed, "forbidden" in why) == (1, True)


def test_fragments(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.raw(fragments(1, b"on", b"", b"e", between=frame(PING, b"!")))
        assert far.read().payload == b"!"
        far.end()

    with ExecServer(script) as server:
        stdout, stderr, code = against(server, tmp_path, EXIT_3)
    shown = [line[10:] for line in stdout.splitlines()]
    assert code == 0, stderr
    assert shown[:6] == [
        "← binary 3 B, piece 1 of a message",
        '← ping "!"',
        "← continuation 0 B, piece 2 of a message",
        '← ping "!"',
        "← continuation 1 B, piece 3 of a message, the last",
        '← binary stdout 3 B "one"',
    ]


def test_what_is_typed_goes_to_the_channel_that_was_chosen(tmp_path: Path) -> None:
    heard: list[tuple[int, bytes]] = []

    def script(far: Far) -> None:
        heard.extend(far.next() for _ in range(3))
        far.end()

    with ExecServer(script) as server:
        code = against(server, tmp_path, EXIT_3, "--channel=4", typed=b"a\nb")[2]
    assert (heard, code) == ([(4, b"a\n"), (4, b"b"), (255, b"\x04")], 0)


def test_pings_are_answered(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.ping(b"here?")
        assert far.read().payload == b"here?"
        far.end()

    with ExecServer(script) as server:
        assert against(server, tmp_path, EXIT_3)[2] == 0


def _lost(far: Far) -> None:
    far.out(b"some")
    far.status(SUCCESS)


def _reset(far: Far) -> None:
    far.status(SUCCESS)
    far.peer.reset()


def _closed(code: int) -> Script:
    def script(far: Far) -> None:
        far.status(SUCCESS)
        far.close(code, b"\x1b[2J")
        far.wait_close()

    return script


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (_lost, 1),
        (_reset, 1),
        (_closed(1000), 0),
        (_closed(1001), 1),
        (_closed(1005), 1),
        (_closed(1011), 1),
        (lambda far: far.end(exit_status(7)), 7),
    ],
    ids=["lost", "reset", "1000", "1001", "1005", "1011", "exit 7"],
)
def test_exit_codes(script: Script, code: int, tmp_path: Path) -> None:
    with ExecServer(script) as server:
        stdout, stderr, ended = against(server, tmp_path, EXIT_3)
    assert ended == code, (stdout, stderr)
    assert "\x1b" not in stdout + stderr


def test_json_and_no_secret(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"\x1b[31m")
        far.end()

    with ExecServer(script) as server:
        stdout, stderr, code = against(server, tmp_path, EXIT_3, "-o", "json", "-H", "Authorization: Bearer s3cret")
    lines = [json.loads(line) for line in stdout.splitlines()]
    assert {"message", "status", "close"} <= {line["kind"] for line in lines}, stderr
    assert code == 0
    assert "\x1b" not in stdout
    assert "s3cret" not in stdout + stderr


def test_what_both_send_at_once_passes(tmp_path: Path) -> None:
    size = 2_000_000

    def script(far: Far) -> None:  # reads nothing before all of it has been taken
        far.out(b"x" * size)
        assert len(far.stdin()) == size
        far.end()

    typed = tmp_path / "typed"
    typed.write_bytes((b"y" * 19_999 + b"\n") * (size // 20_000))
    config = tmp_path / "config"
    with ExecServer(script) as server, typed.open("rb") as file, pytest.MonkeyPatch.context() as patch:
        config.write_text(kubeconfig(server.url))
        patch.setattr("rawkube.cli.ws.STDIN", file.fileno())
        code = main(["--kubeconfig", str(config), "ws", CAT], out=Output(io.BytesIO(), io.BytesIO()))
    assert code == 0


def test_a_watch_is_offered_nothing(tmp_path: Path) -> None:
    event = json.dumps({"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "a"}}}).encode()

    def script(far: Far) -> None:
        far.raw(frame(TEXT, event))
        far.close()
        far.wait_close()

    def handshake(request: object) -> bytes:
        return switching(server.upgrades[-1], omit="Sec-WebSocket-Protocol")

    with ExecServer(script, handshake=handshake) as server:
        stdout, stderr, code = against(server, tmp_path, "/x/exec?watch=true")
        asked = server.upgrades[0]
    assert (code, asked.header("Sec-WebSocket-Protocol")) == (0, None), stderr
    assert asked.header("Origin") == server.url
    assert "← text message" in stdout


def _interrupt() -> None:
    assert threading.current_thread() is not threading.main_thread()
    os.kill(os.getpid(), signal.SIGINT)


def _in_the_session(far: Far) -> None:
    far.ping()
    far.read()  # the pong: it is in its loop now
    _interrupt()


def _behind_the_handshake(far: Far) -> None:
    _interrupt()


def _while_much_is_sent(far: Far) -> None:
    far.read()
    _interrupt()


@pytest.mark.parametrize("before", [_in_the_session, _behind_the_handshake, _while_much_is_sent])
def test_ctrl_c_closes(before: Script, tmp_path: Path) -> None:
    closes: list[int] = []
    seen = threading.Event()

    def script(far: Far) -> None:
        before(far)
        closes.append(far.wait_close())
        seen.set()
        far.until_gone()

    typed = b"y\n" * 2_000 if before is _while_much_is_sent else None
    with ExecServer(script) as server:
        stdout, stderr, code = against(server, tmp_path, CAT, typed=typed)
        seen.wait(10)
    assert (closes, code, stderr) == ([1000], 130, "")
    assert stdout.endswith("→ close 1000\n")


def test_ctrl_c_before_the_answer(tmp_path: Path) -> None:
    def silent(request: object) -> bytes:
        _interrupt()
        return b""

    with ExecServer(Far.until_gone, handshake=silent) as server:
        assert against(server, tmp_path, EXIT_3) == ("", "", 130)


def test_usage(tmp_path: Path) -> None:
    told = {
        (): "error: ws takes one PATH, such as",
        ("/a", "/b"): "error: ws takes one PATH, such as",
        ("a",): 'error: a PATH begins with /: "a"',
        ("/a", "-o", "yaml"): 'error: --output must be "text" or "json", not "yaml"',
        ("/a", "--channel=255"): "error: --channel must be 0 to 254, not 255",
        ("/a", "--channel=10", "--protocol=v4.base64.channel.k8s.io"): (
            "error: --channel must be 0 to 9 with v4.base64.channel.k8s.io, which names it by one digit\n"
        ),
        ("/a", "-H", "sec-websocket-protocol: x"): (
            "error: a subprotocol is offered with --protocol NAME, not as a header\n"
        ),
    }
    with ExecServer() as server:
        for args, text in told.items():
            stdout, stderr, code = against(server, tmp_path, *args)
            assert (stdout, code) == ("", 1), args
            assert stderr.startswith(text), args
        assert not server.asked
