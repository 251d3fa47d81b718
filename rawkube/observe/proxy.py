"""A reverse proxy on loopback: other clients speak plain HTTP to it, it speaks to the API server as the user.

    with ReverseProxy(client, tap) as server:
        subprocess.run(["kubectl", "get", "pods"], env={"KUBECONFIG": server.kubeconfig, …})

One thread a client's connection, each with a connection to the server of its own. What passes between the client and
this proxy is told to the tap (`bytes`, `eof`), under the number that its connection to the server has, too.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import RawkubeError
from rawkube.observe import proxy_heads
from rawkube.observe.connections import MAX_CONNECTIONS, Connections
from rawkube.observe.link import Link
from rawkube.observe.loopback_config import write_kubeconfig
from rawkube.observe.loopback_server import LoopbackServer
from rawkube.observe.proxy_heads import Refusal
from rawkube.observe.proxy_relay import Relay
from rawkube.observe.proxy_way import Way
from rawkube.wire.pool import next_number

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.wire.tap import Tap
    from rawkube.wire.teller import Teller

_FULL = Refusal(503, "Service Unavailable", f"more than {MAX_CONNECTIONS} connections at once")


class ReverseProxy(LoopbackServer):
    """A context manager that serves while it is entered.

    `client`: whose server, credentials and proxies are used; its certificate callback is taken over. `tap`: is told
    what passes (where `tap.wire` is true). `port`: 0 for a free one. `origins`: of pages on the web that may ask.
    `url`, `kubeconfig` and `folder` are there once it is started. Raises RawkubeError where the port is taken.
    """

    def __init__(
        self, client: ApiClient, tap: Tap | None = None, *, port: int = 0, origins: Collection[str] = ()
    ) -> None:
        self._connections = Connections("proxy", self._connection, busy=proxy_heads.own_answer(_FULL))
        self._way = Way(client, tap, origins, self._connections.stopping)
        self._port = port

    def start(self) -> None:
        """Listen on 127.0.0.1 and write the kubeconfig, in a private temporary directory."""
        import tempfile

        try:
            port = self._connections.listen(self._port)
        except OSError as error:
            text = f"listen tcp 127.0.0.1:{self._port}: {os.strerror(error.errno or 0).lower()}"
            raise RawkubeError(text) from None
        self.url = f"http://127.0.0.1:{port}"
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="rawkube-proxy-")
            namespace = self._way.client.access.namespace
            self.kubeconfig = write_kubeconfig(self._folder.name, "proxy", self.url, namespace=namespace)
        except BaseException:
            self._connections.abandon()
            raise
        self._connections.start()

    def _connection(self, sock: socket.socket) -> None:
        try:
            link = Link(sock)
        except OSError:  # it has gone already
            sock.close()
            return
        conn = next_number()
        relay = Relay(link, self._way, conn, self._teller(conn))
        with self._connections.held(relay):
            relay.serve()

    def _teller(self, conn: int) -> Teller | None:
        tap = self._way.tap
        if tap is None or not tap.wire:
            return None
        from rawkube.wire.teller import Teller

        return Teller(tap, conn)
