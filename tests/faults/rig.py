"""`rawkube rollout status` as a process, against a server that misbehaves."""

from __future__ import annotations

from pathlib import Path

from tests.support.here import run_at
from tests.support.run import LONG, Command, Result, environment, rawkube_command, run
from tests.support.script import Object
from tests.support.workloads import deployment

OK = 'deployment "web" successfully rolled out\n'
STARTED: Object = deployment(u=1)
UNAVAILABLE: Object = deployment(a=2)
DONE: Object = deployment()
UPDATED_1 = 'Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated...\n'
AVAILABLE_2 = 'Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available...\n'
STATUS = ("rollout", "status")


def status(url: str, home: Path, *args: str, timeout: float = LONG, **env: str) -> Result:
    """`rollout status deployment/web` to its end: in this process, unless it wants variables."""
    if not env:
        ran = run_at(url, *STATUS, "deployment/web", *args, home=home)
        assert ran.seconds < timeout, ran
        return ran
    return run(rawkube_command(), *STATUS, "deployment/web", *args, url=url, home=home, timeout=timeout, **env)


def started(url: str, home: Path, *args: str) -> Command:
    """The same, still running."""
    return Command([*rawkube_command(), *STATUS, "deployment/web", *args], environment(home, url))


def no_traceback(result: Result) -> None:
    assert "Traceback" not in result.stderr, result.stderr
