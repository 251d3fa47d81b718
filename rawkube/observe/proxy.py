"""A reverse proxy on loopback: other clients speak plain HTTP to it, it speaks to the API server as the user.

    with ReverseProxy(client, tap) as server:
        subprocess.run(["kubectl", "get", "pods"], env={"KUBECONFIG": server.kubeconfig, …})

One thread a client's connection, each with a connection to the server of its own. What passes between the client and
this proxy is told to the tap (`bytes`, `eof`), under the number that its connection to the server has, too.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

from rawkube._typing import TYPE_CHECKING, Self
from rawkube.errors import RawkubeError
from rawkube.observe import proxy_heads
from rawkube.observe.link import Link
from rawkube.observe.proxy_heads import Refusal
from rawkube.observe.proxy_relay import Relay
from rawkube.observe.proxy_way import Way
from rawkube.wire.pool import next_number

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.wire.tap import Tap
    from rawkube.wire.teller import Teller

MAX_CONNECTIONS = 256
"""So many clients at once; for one more, the one that has been idle longest is closed, or it gets a 503."""
_PAUSE = 0.05
_MOMENT = 0.5
_LAST = 5.0


class ReverseProxy:
    """A context manager that serves while it is entered.

    `client`: whose server, credentials and proxies are used; its certificate callback is taken over. `tap`: is told
    what passes (where `tap.wire` is true). `port`: 0 for a free one. `origins`: of pages on the web that may ask.
    `url`, `kubeconfig` and `folder` are there once it is started. Raises RawkubeError where the port is taken.
    """

    def __init__(
        self, client: ApiClient, tap: Tap | None = None, *, port: int = 0, origins: Collection[str] = ()
    ) -> None:
        self._way = Way(client, tap, origins)
        self._port = port
        self._lock = threading.Lock()
        self._relays: set[Relay] = set()
        self._threads: list[threading.Thread] = []
        self.url = ""
        self.kubeconfig = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> str:
        """The private temporary directory, there while the server runs."""
        return self._folder.name

    def start(self) -> None:
        """Listen on 127.0.0.1 and write the kubeconfig, in a private temporary directory."""
        import tempfile

        try:
            self._listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
        except OSError as error:
            text = f"listen tcp 127.0.0.1:{self._port}: {os.strerror(error.errno or 0).lower()}"
            raise RawkubeError(text) from None
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="rawkube-proxy-")
            self.kubeconfig = str(Path(self._folder.name) / "kubeconfig")
            self._write_kubeconfig()
        except BaseException:
            self._listener.close()
            raise
        self._acceptor = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Close every connection, wait for the threads, remove the temporary directory."""
        self._way.stopping.set()
        _wake(self._listener)
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            for relay in self._relays:
                relay.interrupt()
        end = time.monotonic() + _LAST
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._folder.cleanup()

    def _write_kubeconfig(self) -> None:
        namespace = self._way.client.access.namespace
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": self.url}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy", "namespace": namespace}}],
            "users": [{"name": "proxy", "user": {}}],
        }
        file = Path(self.kubeconfig)
        file.touch(mode=0o600)
        file.write_text(json.dumps(config, indent=2) + "\n")

    def _accept(self) -> None:
        stopping = self._way.stopping
        while not stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                # Too many open files, perhaps: that passes. A stopped server looks the same.
                stopping.wait(_PAUSE)
                continue
            if stopping.is_set() or not self._room():
                _turn_away(sock)
                continue
            thread = threading.Thread(target=self._connection, args=(sock,), name="proxy", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _room(self) -> bool:
        """Whether there is room for one more, or is in a moment; the one that is idle longest makes it."""
        end = time.monotonic() + _MOMENT
        asked = False
        while True:
            self._threads = [t for t in self._threads if t.is_alive()]
            if len(self._threads) < MAX_CONNECTIONS:
                return True
            asked = asked or self._drop_idle()
            if time.monotonic() >= end or self._way.stopping.wait(_PAUSE):
                return False

    def _drop_idle(self) -> bool:
        with self._lock:
            idle = [(relay.link.idle_since, relay) for relay in self._relays if relay.link.idle_since is not None]
        if idle:
            min(idle, key=lambda pair: pair[0])[1].interrupt()
        return bool(idle)

    def _connection(self, sock: socket.socket) -> None:
        try:
            link = Link(sock)
        except OSError:  # it has gone already
            sock.close()
            return
        conn = next_number()
        relay = Relay(link, self._way, conn, self._teller(conn))
        with self._lock:
            self._relays.add(relay)
        try:
            relay.serve()
        finally:
            with self._lock:
                self._relays.discard(relay)

    def _teller(self, conn: int) -> Teller | None:
        tap = self._way.tap
        if tap is None or not tap.wire:
            return None
        from rawkube.wire.teller import Teller

        return Teller(tap, conn)


def _turn_away(sock: socket.socket) -> None:
    try:
        sock.setblocking(False)
        why = Refusal(503, "Service Unavailable", f"more than {MAX_CONNECTIONS} connections at once")
        sock.send(proxy_heads.own_answer(why))
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    sock.close()


def _wake(listener: socket.socket) -> None:
    """Let a thread return from accept: by shutdown where that does it (Linux), else by a connection."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    try:
        socket.create_connection(listener.getsockname(), timeout=1).close()
    except OSError:
        pass
