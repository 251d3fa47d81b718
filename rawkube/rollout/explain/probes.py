"""Probes that fail, and containers that are not ready yet. Pure.

A kubelet writes an Event `Unhealthy` at each failure, of which the API server sees 25 and then one in five minutes
(client-go, EventSourceObjectSpamFilter); so a count may be too low, and an old one says nothing about the present.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.rollout.explain.containers import INIT, Container, times
from rawkube.rollout.explain.crashes import is_restless
from rawkube.rollout.explain.fields import at, clip, mapping, number, text
from rawkube.rollout.explain.finding import MAYBE, WAITS, Evidence, Finding
from rawkube.rollout.explain.view import Event, epoch, name_of
from rawkube.rollout.explain.words import moment

STARTUP, LIVENESS, READINESS = "startup", "liveness", "readiness"
_MOST_SEEN = 25
PATIENCE = 10
"""Seconds for which the ordinary course of things is no finding."""

_ADVICE = {
    STARTUP: "see why it does not start in time, or give the startup probe a higher failureThreshold",
    LIVENESS: "correct the liveness probe, or give a slow start a startup probe",
    READINESS: "see why it does not get ready, or correct the readiness probe",
}


class Probe(NamedTuple):
    """A probe of a container. `what`: what it does, for people. `delay`, `period`, `threshold`: initialDelaySeconds,
    periodSeconds, failureThreshold, with the API's defaults."""

    kind: str
    what: str
    delay: int
    period: int
    threshold: int

    @property
    def patience(self) -> int:
        """For how many seconds after the start of a container failure is within the settings."""
        return self.delay + self.period * self.threshold

    def __str__(self) -> str:
        return f"{self.kind} probe ({self.what})" if self.what else f"{self.kind} probe"


def probe_of(container: Container, kind: str) -> Probe:
    """A probe as the Pod's spec has it; without anything that it does if there is none."""
    spec = mapping(container.spec, f"{kind}Probe")
    delay, period, threshold = (
        min(max(number(spec, field, default=default), least), 10**6)
        for field, default, least in (
            ("initialDelaySeconds", 0, 0),
            ("periodSeconds", 10, 1),
            ("failureThreshold", 3, 1),
        )
    )
    return Probe(kind, _action(spec), delay, period, threshold)


def _action(spec: Mapping[str, Any]) -> str:
    http, tcp, grpc = mapping(spec, "httpGet"), mapping(spec, "tcpSocket"), mapping(spec, "grpc")
    if http:
        scheme, path = text(http, "scheme").lower() or "http", text(http, "path") or "/"
        return clip(f"GET {scheme}://{text(http, 'host')}:{_port(http)}{path}", 120)
    if tcp:
        return clip(f"TCP port {_port(tcp)}", 120)
    if grpc:
        return clip(f"gRPC port {_port(grpc)} {text(grpc, 'service')}", 120)
    command = at(spec, "exec", "command")
    return clip(" ".join(map(str, command)), 120) if isinstance(command, list) else ""


def _port(action: Mapping[str, Any]) -> str:
    return text(action, "port") or str(number(action, "port"))


def findings_of(container: Container) -> Iterator[Finding]:
    """Which probe of a container fails, or has not succeeded yet."""
    if container.role == INIT:
        return
    killed = _killing_probe(container)
    if killed:
        yield _killed(container, *killed)
    elif container.running:
        yield from _while_running(container)


def _killing_probe(container: Container) -> tuple[Probe, Event] | None:
    """The probe for which the last run was ended, or the present one is."""
    if not is_restless(container):
        return None
    begun = epoch(text(container.last, "startedAt"))
    for event in reversed(container.events("Killing")):
        kind = next((one for one in (LIVENESS, STARTUP) if f"failed {one} probe" in event.message), "")
        seconds = epoch(event.time)
        if kind and seconds is not None and (begun is None or seconds >= begun):
            return probe_of(container, kind), event
    return None


def _killed(container: Container, probe: Probe, killing: Event) -> Finding:
    failure = _failure(container, probe.kind)
    words = f"{container} is killed because its {probe} fails{times(container.restarts)}"
    evidence = [Evidence("event Killing", clip(killing.message), killing.time)]
    if failure:
        words += f": {_output(failure)}"
        evidence.append(_seen(failure))
    return container.finding(
        _code(probe.kind),
        words,
        advice=_ADVICE[probe.kind],
        evidence=(*evidence, _settings(container, probe)),
        since=failure.first if failure else killing.first,
        log=container.log_of_crash(),
    )


def _while_running(container: Container) -> Iterator[Finding]:
    if at(container.status, "started") is False and mapping(container.spec, "startupProbe"):
        yield from _pending(container, STARTUP)
    elif _is_recent(container, _failure(container, LIVENESS)):
        failure = _failure(container, LIVENESS)
        assert failure is not None
        yield _failing(container, probe_of(container, LIVENESS), failure)
    elif not container.ready and mapping(container.spec, "readinessProbe"):
        yield from _pending(container, READINESS)


def _pending(container: Container, kind: str) -> Iterator[Finding]:
    """The container runs, and this probe has not yet succeeded, or no longer does."""
    probe, failure = probe_of(container, kind), _failure(container, kind)
    started = epoch(container.started_at)
    if failure and (started is None or (epoch(failure.time) or 0) >= started):
        yield _failing(container, probe, failure)
    elif (container.view.seconds_since(container.started_at) or 0) >= PATIENCE:
        since = _since(container, None)
        yield container.finding(
            "NotReady",
            f"{container} has been running since {container.view.clock(since)}, but its {probe} has not succeeded yet"
            f"{_until(container, probe)}",
            resolves=_resolves(container, probe),
            advice=_ADVICE[kind],
            evidence=(_settings(container, probe),),
            since=since,
        )


def _failing(container: Container, probe: Probe, failure: Event) -> Finding:
    since = _since(container, failure)
    words = f"the {probe} of {container} has been failing since {container.view.clock(since)}: {_output(failure)}"
    return container.finding(
        _code(probe.kind),
        words + _until(container, probe),
        resolves=_resolves(container, probe),
        advice=_ADVICE[probe.kind],
        evidence=(_seen(failure), _settings(container, probe)),
        since=since,
    )


def _code(kind: str) -> str:
    return f"{kind.capitalize()}ProbeFails"


def _failure(container: Container, kind: str) -> Event | None:
    """The last failure of a probe that is known."""
    start = f"{kind.capitalize()} probe "
    return next((one for one in reversed(container.events("Unhealthy")) if one.message.startswith(start)), None)


def _is_recent(container: Container, failure: Event | None) -> bool:
    """Whether a liveness probe failed in this run, and so lately that it cannot be known to succeed again."""
    if failure is None:
        return False
    started, seen, ago = epoch(container.started_at), epoch(failure.time), container.view.seconds_since(failure.time)
    probe = probe_of(container, LIVENESS)
    return seen is not None and ago is not None and seen >= (started or 0) and ago <= 2 * probe.period * probe.threshold


def _output(failure: Event) -> str:
    """What the probe got: `Readiness probe failed: HTTP probe failed with statuscode: 503`."""
    said = failure.message.partition(" probe ")[2]
    if not said.startswith("failed:"):
        return clip(said)
    return clip(said.removeprefix("failed:")) or "no output"


def _seen(failure: Event) -> Evidence:
    count = f"{failure.count} times" if failure.count < _MOST_SEEN else f"at least {failure.count} times"
    often = "once" if failure.count == 1 else count
    return Evidence("event Unhealthy", clip(f"{often}: {failure.message.removesuffix(':')}"), failure.time)


def _since(container: Container, failure: Event | None) -> str:
    """Since when: the first failure of this run, or when the Pod was last seen ready, or the start of the run."""
    view, started = container.view, epoch(container.started_at) or 0
    lost = view.condition("ContainersReady", container.pod)
    times_ = [failure.first if failure else "", text(lost, "lastTransitionTime"), container.started_at]
    return next((time for time in times_ if (epoch(time) or -1) >= started), "")


def _deadline(container: Container, probe: Probe) -> float | None:
    started = epoch(container.started_at)
    return None if started is None else started + probe.patience


def _resolves(container: Container, probe: Probe) -> str:
    deadline = _deadline(container, probe)
    return WAITS if deadline is not None and container.view.now < deadline else MAYBE


def _until(container: Container, probe: Probe) -> str:
    deadline = _deadline(container, probe)
    if deadline is None or container.view.now >= deadline:
        return ""
    return f"; its settings allow that until {container.view.clock(moment(deadline))}"


def _settings(container: Container, probe: Probe) -> Evidence:
    source = f"pod/{name_of(container.pod)}: spec.containers[{container.name}].{probe.kind}Probe"
    words = f"initialDelaySeconds {probe.delay}, periodSeconds {probe.period}, failureThreshold {probe.threshold}"
    deadline = _deadline(container, probe)
    if deadline is not None:
        words += f", so it may fail until {container.view.clock(moment(deadline))}"
    return Evidence(source, words)
