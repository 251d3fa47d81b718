"""A container of a Pod: what its template asks for, what its status says, what its Events tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.rollout.explain.fields import SHOWN, at, clip, flag, items, mapping, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, Evidence, Finding
from rawkube.rollout.explain.scene import Object
from rawkube.rollout.explain.view import Event, View, name_of

MAIN, INIT, SIDECAR = "container", "init container", "sidecar container"
_READ = 4096  # characters of a message, for the search of known words

_NO_LOG = ("unable to retrieve container logs for ", "failed to try resolving symlinks in path ")
_LINE = 300
_LINES = 20


class Container(NamedTuple):
    """One container. `role`: MAIN, INIT, SIDECAR (an init container that is restarted always, KEP-753). `spec` as in
    the Pod's spec, `status` as in its containerStatuses; `field`: where that stands. `state` of `status`."""

    view: View
    pod: Object
    name: str
    role: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    field: str

    def __str__(self) -> str:
        """As a sentence names it: `container app`."""
        return f"{self.role} {self.name}"

    @property
    def waiting(self) -> Mapping[str, Any]:
        """Why it is not running, empty if it runs or has ended."""
        return mapping(self.status, "state", "waiting")

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return isinstance(at(self.status, "state", "running"), Mapping)

    @property
    def terminated(self) -> Mapping[str, Any]:
        """How it has ended, empty if it has not."""
        return mapping(self.status, "state", "terminated")

    @property
    def last(self) -> Mapping[str, Any]:
        """How its last run ended: the present one if that is over, else the one before; empty without one."""
        return self.terminated or mapping(self.status, "lastState", "terminated")

    @property
    def last_field(self) -> str:
        """Where `last` stands."""
        return f"{self.field}.{'state' if self.terminated else 'lastState'}.terminated"

    @property
    def reason(self) -> str:
        """The reason for which it waits, empty if it does not."""
        return text(self.waiting, "reason")

    @property
    def message(self) -> str:
        """What is said of its waiting, on one line."""
        return clip(raw(self.waiting, "message"), _READ)

    @property
    def started_at(self) -> str:
        """When its present run began (RFC 3339), empty if it does not run."""
        return text(self.status, "state", "running", "startedAt")

    @property
    def ready(self) -> bool:
        """Whether it is ready."""
        return flag(self.status, "ready")

    @property
    def restarts(self) -> int:
        """How often it was restarted."""
        return max(0, number(self.status, "restartCount"))

    @property
    def image(self) -> str:
        """The image as its template names it."""
        return text(self.spec, "image") or text(self.status, "image")

    def events(self, *reasons: str) -> list[Event]:
        """The Events about it with one of these reasons, oldest first."""
        return [one for one in self.view.events(self.pod) if one.container == self.name and one.reason in reasons]

    def seen_waiting(self) -> Evidence:
        """Its waiting, as evidence."""
        words = ": ".join(part for part in (self.reason, self.message) if part)
        return Evidence(f"{self._path}.state.waiting", clip(words))

    def seen_ended(self) -> Evidence:
        """The end of its last run, as evidence."""
        last = self.last
        facts = [text(last, "reason"), f"exit code {number(last, 'exitCode')}"]
        if number(last, "signal"):
            facts.append(f"signal {number(last, 'signal')}")
        if raw(last, "message"):
            facts.append(text(last, "message"))
        source = f"pod/{name_of(self.pod)}: {self.last_field}"
        return Evidence(source, clip(", ".join(filter(None, facts))), text(last, "finishedAt"))

    def log_of_crash(self) -> tuple[str, ...]:
        """The last lines of the run that ended, as far as there are any; else what it left as its message.

        A log of the present run is none of the crash.
        """
        tail = self.view.scene.logs.get((raw(self.pod, "metadata", "name"), raw(self.status, "name")))
        lines = useful_lines(tail.lines) if tail and (tail.previous or not self.running) else ()
        return lines or useful_lines(tuple(raw(self.last, "message")[-_READ:].splitlines()))

    def finding(
        self,
        code: str,
        words: str,
        *,
        resolves: str = MAYBE,
        advice: str = "",
        evidence: tuple[Evidence, ...] = (),
        since: str = "",
        log: tuple[str, ...] = (),
    ) -> Finding:
        """A finding about it."""
        return Finding(
            code,
            clip(words, 2 * SHOWN),
            f"pod/{name_of(self.pod)}",
            container=self.name,
            evidence=evidence or (self.seen_waiting(),),
            resolves=resolves,
            advice=advice,
            since=since,
            restarts=self.restarts,
            log=log,
        )

    @property
    def _path(self) -> str:
        return f"pod/{name_of(self.pod)}: {self.field}"


def useful_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a log, each of bounded length; none where the answer only says that there is no log.

    A kubelet that has lost a container's log answers 200, and writes why into the body.
    """
    known = [line for line in lines if isinstance(line, str)][-_LINES:]
    if len(known) == 1 and known[0].startswith(_NO_LOG):
        return ()
    shown = (clip(line.rstrip(), _LINE) for line in known)
    return tuple(line for line in shown if line)


def containers_of(view: View, pod: Object) -> Iterator[Container]:
    """The containers of a Pod, in the order in which they are started."""
    for listed, statuses in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        known = {raw(one, "name"): one for one in items(pod, "status", statuses)}
        for spec in items(pod, "spec", listed):
            name = text(spec, "name")
            status = known.get(raw(spec, "name"), {})
            yield Container(view, pod, name, _role(listed, spec), spec, status, f"status.{statuses}[{name}]")


def _role(listed: str, spec: Mapping[str, Any]) -> str:
    if listed == "containers":
        return MAIN
    return SIDECAR if raw(spec, "restartPolicy") == "Always" else INIT


def times(count: int, what: str = "restarted") -> str:
    """`, restarted 4 times`; empty for never."""
    if count <= 0:
        return ""
    return f", {what} once" if count == 1 else f", {what} {count} times"
