"""A scripted server of `exec` and `attach` with several pods, which may change while the test runs.

    with PodsServer({"web-0": script}, [a_pod("web-0", labels={"app": "web"})]) as server:
        ...

Each pod has a script of its own (`says` of tests.support.websocket, or any other), called behind the handshake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.script import Answer, failure
from tests.support.server import Peer, PeerGone, SeenRequest
from tests.support.websocket import ExecServer, Far, Script

Object = dict[str, Any]


def a_pod(
    name: str,
    *containers: Object | str,
    labels: Mapping[str, str] | None = None,
    phase: str = "Running",
    status: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod; a container may be given by its name alone (`main` where none is given)."""
    named = [{"name": each} if isinstance(each, str) else each for each in containers or ("main",)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": dict(labels or {})},
        "spec": {"containers": named, "nodeName": "n", **spec},
        "status": {"phase": phase, **(status or {})},
    }


def statuses(container: str = "main", *, state: Object, last: Object | None = None, ident: str = "c1") -> Object:
    """The part of a Pod's status that tells of one container."""
    return {
        "containerStatuses": [{"name": container, "containerID": ident, "state": state, "lastState": last or {}}],
    }


def terminated(code: int, reason: str = "Error", ident: str = "c1") -> Object:
    return {"terminated": {"exitCode": code, "reason": reason, "containerID": ident}}


class PodsServer(ExecServer):
    """See above. `pods`, by their names, may change while it runs."""

    def __init__(
        self,
        scripts: Mapping[str, Script],
        pods: Sequence[Object],
        *,
        protocol: str = "",
        refusals: Sequence[Answer] = (),
    ) -> None:
        super().__init__(self._dispatch, protocol=protocol, refusals=refusals)
        self.scripts = dict(scripts)
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}

    def gets(self) -> list[str]:
        """The requests for pods that are no upgrades: `list` and the names."""
        plain = [each for each in self.asked if each.header("Upgrade") is None and "/pods" in each.path]
        return [
            each.path.partition("/pods")[2].lstrip("/") or f"list {each.query.get('labelSelector')}" for each in plain
        ]

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            with self._lock:
                self.asked.append(request)
                self.on.append(peer.number)
            if request.path.endswith(("/exec", "/attach")):
                self._exec(peer, request)
            else:
                self._answer(peer, request)

    def _dispatch(self, far: Far) -> None:
        assert far.request
        script = self.scripts.get(far.request.path.split("/")[-2])
        if script is None:
            raise PeerGone
        script(far)

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        name = request.path.split("/")[-1]
        if request.path in ("/api", "/apis"):
            super()._answer(peer, request)
        elif name == "pods":
            items = [pod for pod in self.pods.values() if self._selects(request.query.get("labelSelector", ""), pod)]
            listing = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items}
            peer.reply(json.dumps(listing))
        elif name in self.pods and "/pods/" in request.path:
            peer.reply(json.dumps(self.pods[name]))
        else:
            missing = failure(404, f'pods "{name}" not found', details={"name": name, "kind": "pods"})
            peer.reply(missing.body, status=missing.status)

    @staticmethod
    def _selects(selector: str, pod: Object) -> bool:
        wanted = [term.split("=") for term in selector.split(",") if term]
        return all(pod["metadata"]["labels"].get(key) == value for key, value in wanted)
