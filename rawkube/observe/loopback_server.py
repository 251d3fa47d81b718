"""What the servers on loopback have in common: they serve while they are entered, and leave nothing behind."""

from __future__ import annotations

from types import TracebackType

from rawkube._typing import TYPE_CHECKING, Self
from rawkube.observe.connections import Connections

if TYPE_CHECKING:
    import tempfile


class LoopbackServer:
    """`url`, `kubeconfig` (a file that leads a client here) and `folder` are there once it is started."""

    _connections: Connections
    _folder: tempfile.TemporaryDirectory[str]
    url = ""
    kubeconfig = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Listen on 127.0.0.1 and write the kubeconfig, in a private temporary directory."""
        raise NotImplementedError

    @property
    def folder(self) -> str:
        """The private temporary directory, there while the server runs."""
        return self._folder.name

    def stop(self) -> None:
        """Close every connection, wait for the threads, remove the temporary directory."""
        self._connections.stop()
        self._folder.cleanup()
