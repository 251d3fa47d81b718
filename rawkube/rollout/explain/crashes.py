"""Containers that end when they should not: exit codes, signals, memory. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.duration import parse_duration
from rawkube.errors import UsageError
from rawkube.rollout.explain.containers import INIT, Container, times
from rawkube.rollout.explain.fields import clip, number, raw, text
from rawkube.rollout.explain.finding import MAYBE, Evidence, Finding
from rawkube.rollout.explain.view import epoch, name_of
from rawkube.rollout.explain.words import moment

_SETTLED = 10
"""Seconds by which a run must outlast the one before to count as sound."""

# Linux, for the exit codes 128 + n of shells and runtimes.
_SIGNALS = {
    **{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE"},
    **{9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"},
    **{24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"},
}
_SHELL = {
    126: "exit code 126 (by which a shell says that it may not execute a command)",
    127: "exit code 127 (by which a shell says that it does not find a command)",
}
_ENDLESS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


def findings_of(container: Container) -> Iterator[Finding]:
    """How a container ends, if that is what it does again and again, or did for good."""
    last = container.last
    if not last or not is_restless(container):
        return
    hook = _failed_hook(container)
    if hook:
        yield hook
        return
    is_init = container.role == INIT
    if raw(last, "reason") == "OOMKilled":
        yield _crash(container, "OOMKilled", _memory(container), "raise resources.limits.memory, or use less")
    elif number(last, "exitCode") == 0 and not number(last, "signal"):
        if not is_init and restarts_always(container):
            yield _crash(container, "ContainerEnds", f"ends with exit code 0, but {_must_not(container)}", _FOREGROUND)
    elif is_init:
        yield _crash(container, "InitContainerFails", f"fails with {_how(container)}")
    else:
        verb = "failed" if raw(container.pod, "status", "phase") == "Failed" else "crashes"
        yield _crash(container, "ContainerCrashes", f"{verb} with {_how(container)}")


def _failed_hook(container: Container) -> Finding | None:
    """That the last run was ended because its lifecycle.postStart failed."""
    hooks = container.events("FailedPostStartHook")
    begun = epoch(text(container.last, "startedAt"))
    if not hooks or begun is None or (epoch(hooks[-1].time) or 0) < begun:
        return None
    said = hooks[-1].message
    return container.finding(
        "PostStartHookFails",
        f"{container} is killed because its postStart hook fails{times(container.restarts)}: {clip(said)}",
        advice="correct lifecycle.postStart of the container",
        evidence=(Evidence("event FailedPostStartHook", clip(said), hooks[-1].time), container.seen_ended()),
        since=hooks[-1].first,
    )


_FOREGROUND = "give it a command that stays in the foreground, or run it as a Job"


def is_restless(container: Container) -> bool:
    """Whether a container has ended, or was started again and has not yet run for longer than the time before."""
    if container.terminated or container.reason.startswith(("CrashLoopBackOff", "PostStartHookError")):
        return True
    started = container.view.seconds_since(container.started_at)
    if not container.running or not container.last or started is None:
        return False
    begun, ended = epoch(text(container.last, "startedAt")), epoch(text(container.last, "finishedAt"))
    before = ended - begun if begun and ended else 0.0
    return started < max(before, 0.0) + _SETTLED


def restarts_always(container: Container) -> bool:
    """Whether it is started again however it ends (KEP-5307: a container's own policy goes before its Pod's)."""
    return (raw(container.spec, "restartPolicy") or raw(container.pod, "spec", "restartPolicy") or "Always") == "Always"


def _crash(container: Container, code: str, words: str, advice: str = "") -> Finding:
    evidence = [container.seen_ended()]
    if container.reason == "CrashLoopBackOff":
        evidence.append(_back_off(container))
    log = container.log_of_crash()
    again = container.events("BackOff")
    return container.finding(
        code,
        f"{container} {words}{times(container.restarts)}",
        resolves=MAYBE,
        advice=advice or _see_log(container),
        evidence=tuple(evidence),
        since=again[0].first if again else text(container.last, "finishedAt"),
        log=log,
    )


def _see_log(container: Container) -> str:
    previous = " --previous" if container.running else ""
    namespace = container.view.namespace
    return f"rawkube logs {name_of(container.pod)} -c {container.name} -n {namespace}{previous}"


def _how(container: Container) -> str:
    """The end of the last run."""
    last = container.last
    code = number(last, "exitCode")
    if raw(last, "reason") == "ContainerStatusUnknown":
        return f"exit code {code} as far as is known: its node lost sight of it"
    signal = number(last, "signal") or (code - 128 if code > 128 else 0)
    if signal in _SIGNALS:
        return f"signal {_SIGNALS[signal]} (exit code {code})"
    return _SHELL.get(code, f"exit code {code}")


def _memory(container: Container) -> str:
    limit = text(container.spec, "resources", "limits", "memory")
    if limit:
        return f"is killed for using more than its memory limit of {limit} (OOMKilled)"
    pods = text(container.pod, "spec", "resources", "limits", "memory")
    if pods:
        return f"is killed because its Pod uses more than the memory limit of {pods} (OOMKilled)"
    return "is killed because its node has no memory left (OOMKilled); it has no memory limit"


def _must_not(container: Container) -> str:
    kind = container.view.kind
    if kind in _ENDLESS:
        return f"the containers of a {kind} must not end"
    return "the containers of a Pod with restartPolicy Always must not end"


def _back_off(container: Container) -> Evidence:
    """That the kubelet waits before it starts the container again, and until when, if that is told."""
    seen = container.seen_waiting()
    # back-off 40s restarting failed container=app pod=…
    words = container.message.split(" ", 2)
    ended = epoch(text(container.last, "finishedAt"))
    if len(words) < 3 or words[0] != "back-off" or ended is None:
        return seen
    pause = _go_seconds(words[1])
    if pause is None:
        return seen
    next_start = container.view.clock(moment(ended + pause))
    return seen._replace(text=f"CrashLoopBackOff: back-off {words[1]}, next start at {next_start}")


def _go_seconds(words: str) -> float | None:
    try:
        return parse_duration(words)
    except UsageError:
        return None
