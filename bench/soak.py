"""A rollout that changes for an hour, through a server that breaks the watch every few seconds.

    python bench/soak.py [--seconds 3600]

Every change must be seen, once and in order, and memory must stay flat: else it exits with 1. The breaks: a close
between events, within one, within a chunk's size, a reset, a 500, a 429 with Retry-After, a silent end.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench.server import DEPLOYMENT, LIST  # noqa: E402 - it is run as a file

REPLICAS = 1_000_000
EVERY = 0.1  # seconds from a change to the next
LIVES = (2.0, 5.0, 0.7, 3.3)  # seconds that a watch lives, in turn
BREAKS = ("end", "in event", "in chunk", "reset", "500", "429", "end")
GROWTH = 1.15  # of the resident memory, from the first tenth of the time to the last
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def state(version: int) -> dict[str, object]:
    """The Deployment after so many changes: one more updated replica each."""
    metadata = {**DEPLOYMENT["metadata"], "resourceVersion": str(version)}  # type: ignore[dict-item]
    status = {"observedGeneration": 1, "replicas": REPLICAS, "updatedReplicas": version}
    return {**DEPLOYMENT, "metadata": metadata, "spec": {"replicas": REPLICAS}, "status": status}


class Server:
    """Changes its one Deployment from time to time; each watch ends in another way."""

    def __init__(self) -> None:
        self.version = 1
        self.ends = 0
        self.over = threading.Event()
        self._changed = threading.Condition()
        self._ways = itertools.cycle(zip(BREAKS, itertools.cycle(LIVES), strict=False))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._change, daemon=True).start()

    def _change(self) -> None:
        while not self.over.wait(EVERY):
            with self._changed:
                self.version += 1
                self._changed.notify_all()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                data = b""
                while True:
                    while b"\r\n\r\n" not in data:
                        if not (piece := sock.recv(65536)):
                            return
                        data += piece
                    head, data = data.split(b"\r\n\r\n", 1)
                    if not self._answer(sock, head.split(b" ", 2)[1].decode()):
                        return
            except OSError:
                pass

    def _answer(self, sock: socket.socket, target: str) -> bool:
        if "watch=true" in target:
            since = re.search(r"resourceVersion=(\d+)", target)
            assert since
            self._watch(sock, int(since[1]))
            return False
        found = state(self.version)
        metadata = {"resourceVersion": str(self.version)}
        body = json.dumps({**LIST, "metadata": metadata, "items": [found]}).encode()
        sock.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        return True

    def _watch(self, sock: socket.socket, since: int) -> None:
        way, life = next(self._ways)
        if way in ("500", "429"):
            extra = b"Retry-After: 1\r\n" if way == "429" else b""
            sock.sendall(b"HTTP/1.1 %b x\r\n%bContent-Length: 0\r\n\r\n" % (way.encode(), extra))
            return
        end = time.monotonic() + life
        sock.sendall(HEAD)
        while time.monotonic() < end and not self.over.is_set():
            with self._changed:
                self._changed.wait(timeout=0.2)
                latest = self.version
            for version in range(since + 1, latest + 1):
                sock.sendall(_chunk(version))
            since = latest
        self.ends += 1
        if way == "in event":
            sock.sendall(_chunk(since + 1)[:100])
        elif way == "in chunk":
            sock.sendall(b"1f")
        elif way == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif not self.over.is_set():
            sock.sendall(b"0\r\n\r\n")


def _chunk(version: int) -> bytes:
    event = json.dumps({"type": "MODIFIED", "object": state(version)}).encode() + b"\n"
    return b"%x\r\n%b\r\n" % (len(event), event)


def resident(pid: int) -> float:
    """MiB of a process (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def soak(seconds: float) -> tuple[list[int], list[float], int]:
    """The changes that were told, the memory now and then, and how many watches were broken."""
    server = Server()
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory, "config")
        cluster = {"name": "x", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}
        context = {"name": "x", "context": {"cluster": "x", "namespace": "demo"}}
        config.write_text(json.dumps({"current-context": "x", "contexts": [context], "clusters": [cluster]}))
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": directory,
            "KUBECONFIG": str(config),
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "rawkube", "rollout", "status", "deployment/web"]
        child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        told: list[int] = []
        assert child.stdout
        reader = threading.Thread(target=_read, args=(child.stdout, told), daemon=True)
        reader.start()
        memory = []
        end = time.monotonic() + seconds
        while time.monotonic() < end and child.poll() is None:
            time.sleep(min(1.0, seconds / 20))
            memory.append(resident(child.pid))
        server.over.set()
        time.sleep(1.0)
        child.terminate()
        child.wait()
        reader.join()
        return told, memory, server.ends


def _read(lines: object, told: list[int]) -> None:
    for line in lines:  # type: ignore[attr-defined]
        if found := re.search(r"(\d+) out of \d+ new replicas", line):
            told.append(int(found[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    told, memory, ends = soak(parser.parse_args().seconds)
    seen = list(dict.fromkeys(told))
    missing = sorted(set(range(seen[0], seen[-1] + 1)) - set(seen)) if seen else []
    tenth = max(1, len(memory) // 10)
    first, last = max(memory[:tenth]), max(memory[-tenth:])
    print(f"{len(seen)} changes seen, {len(missing)} missed, in order: {seen == sorted(seen)}")
    print(f"{ends} watches broken; {first:.1f} MiB at first, {last:.1f} MiB at last")
    sys.exit(bool(missing) or seen != sorted(seen) or not seen or last > first * GROWTH)


if __name__ == "__main__":
    main()
