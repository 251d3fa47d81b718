"""A pod whose container is this machine: commands of `exec` run here, as programs of their own."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO

from tests.support.server import PeerGone
from tests.support.websocket import HALF_CLOSE, STDERR, STDIN, STDOUT, SUCCESS, ExecServer, Far, exit_status, words

_PIECE = 32 * 1024


class Container(ExecServer):
    """`commands`: what was asked to run.

    `cuts`: after so many bytes of output the connection breaks, one number for each `tar` or `sh` that is run.
    `path`: where programs are looked for. `slow`: seconds to wait before each read of input. `rewrite` may change
    the words of a command, or give what it prints instead of running one.
    """

    def __init__(
        self,
        *,
        protocol: str = "",
        cuts: tuple[int, ...] = (),
        path: str = "",
        slow: float = 0.0,
        rewrite: Callable[[list[str]], list[str] | bytes] = lambda command: command,
    ) -> None:
        super().__init__(self._run, protocol=protocol)
        self.commands: list[list[str]] = []
        self._cuts = list(cuts)
        self._environment = {**os.environ, "LC_ALL": "C", **({"PATH": path} if path else {})}
        self._slow = slow
        self._rewrite = rewrite

    def _run(self, far: Far) -> None:
        assert far.request is not None
        command = words(far.request)
        self.commands.append(command)
        ran = self._rewrite(command)
        if isinstance(ran, bytes):
            far.out(ran)
            far.end()
            return
        takes_input = far.request.query.get("stdin") == "true"
        try:
            process = subprocess.Popen(
                ran,
                stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
            )
        except FileNotFoundError:
            message = f'Internal error occurred: exec: "{ran[0]}": executable file not found in $PATH'
            far.end(json.dumps({"status": "Failure", "message": message, "reason": "InternalError"}).encode())
            return
        with process:
            try:
                self._attend(far, process, self._cuts.pop(0) if self._cuts and ran[0] in ("tar", "sh") else None)
            finally:
                process.kill()

    def _attend(self, far: Far, process: subprocess.Popen[bytes], cut: int | None) -> None:
        lock = threading.Lock()
        errors = threading.Thread(target=self._errors, args=(far, process, lock), daemon=True)
        # The one that reads: input, and then the answer to the close.
        hears = threading.Thread(target=self._input, args=(far, process.stdin), daemon=True)
        errors.start()
        hears.start()
        if not self._output(far, process, lock, cut):
            far.peer.sock.shutdown(socket.SHUT_RDWR)  # a close would wait for the thread that reads
            return
        errors.join()
        code = process.wait()
        with lock:
            far.status(exit_status(code) if code else SUCCESS)
            far.close()
        hears.join(10)

    def _output(self, far: Far, process: subprocess.Popen[bytes], lock: threading.Lock, cut: int | None) -> bool:
        assert process.stdout is not None
        sent = 0
        while data := os.read(process.stdout.fileno(), _PIECE):
            data = data if cut is None else data[: cut - sent]
            with lock:
                far.send(STDOUT, data)
            sent += len(data)
            if sent == cut:
                return False
        return True

    def _errors(self, far: Far, process: subprocess.Popen[bytes], lock: threading.Lock) -> None:
        assert process.stderr is not None
        with contextlib.suppress(PeerGone, OSError):
            while data := os.read(process.stderr.fileno(), _PIECE):
                with lock:
                    far.send(STDERR, data)

    def _input(self, far: Far, stdin: IO[bytes] | None) -> None:
        with contextlib.suppress(PeerGone, OSError), stdin or contextlib.nullcontext():
            while stdin:
                if self._slow:
                    time.sleep(self._slow)
                channel, data = far.next()
                if channel == HALF_CLOSE:
                    break
                if channel == STDIN:
                    stdin.write(data)
                    stdin.flush()
        with contextlib.suppress(PeerGone, OSError):
            far.until_gone()
