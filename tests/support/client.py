"""An ApiClient that never sleeps, and resources to ask it for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rawkube.api.builtin import lookup
from rawkube.api.client import ApiClient
from rawkube.api.resource import Resource
from rawkube.kubeconfig.access import Access
from rawkube.wire.tap import Tap
from tests.support.script import Answer, failure


def resource(word: str) -> Resource:
    found = lookup(word)
    assert found is not None
    return found


PODS, DEPLOYMENTS, NODES = resource("pods"), resource("deployments"), resource("nodes")


class Client(ApiClient):
    """A client that never sleeps; `waits` holds what it would have slept. Its clock is the real one."""

    def __init__(
        self, server: str, *, tap: Tap | None = None, warn: Callable[[str], None] | None = None, **options: Any
    ) -> None:
        self.waits: list[float] = []
        note = options.pop("on_note", None)
        access = Access(server, **options)
        super().__init__(access, tap=tap, on_warning=warn, on_note=note, sleep=self.waits.append)

    def ask(self, method: str = "GET", path: str = "/x", **more: Any) -> int:
        """The status of the answer, which is read to its end."""
        with self.send(method, path, **more) as response:
            response.read()
        return response.status


def later(code: int, after: str) -> Answer:
    return failure(code, "not now", headers=(("Retry-After", after),))
