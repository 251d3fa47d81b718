"""Every Pod template of the tests, in a few runs of each program: the text, the JSON and the YAML, the patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.rollout.patches import restore_patch
from rawkube.rollout.typed import typed
from tests.differential.verbs import Case, compare
from tests.support.revisions import deployment, other, template, with_history
from tests.support.script import Object
from tests.support.templates import TEMPLATES

pytestmark = pytest.mark.kubectl


def every_template(build: Callable[[str], Object]) -> list[Object]:
    return [one for name, of in TEMPLATES.items() for one in with_history(build(name), of, template("2"))]


DEPLOYMENTS = every_template(deployment)
DAEMON_SETS = every_template(lambda name: other("DaemonSet", name))
STATEFUL_SETS = every_template(lambda name: other("StatefulSet", name))


@pytest.mark.parametrize(
    ("objects", "command"),
    [
        pytest.param(DEPLOYMENTS, "history deployments --revision=1", id="deployments-text"),
        pytest.param(DAEMON_SETS, "history daemonsets --revision=1", id="daemonsets-text"),
        pytest.param(STATEFUL_SETS, "history statefulsets --revision=1", id="statefulsets-text"),
        pytest.param(DEPLOYMENTS, "history deployments --revision=1 -o json", id="deployments-json"),
        pytest.param(DAEMON_SETS, "history daemonsets --revision=1 -o json", id="daemonsets-json"),
        pytest.param(STATEFUL_SETS, "history statefulsets --revision=1 -o yaml", id="statefulsets-yaml"),
        pytest.param(DEPLOYMENTS, "undo deployments", id="deployments-undo"),
        pytest.param(DAEMON_SETS, "undo daemonsets --to-revision=1", id="daemonsets-undo"),
        pytest.param(STATEFUL_SETS, "undo statefulsets --dry-run=client", id="statefulsets-dry-run"),
    ],
)
def test_every_template(objects: list[Object], command: str, tmp_path: Path) -> None:
    compare(Case("every-template", objects, command), tmp_path)


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "StatefulSet"])
def test_what_a_workload_is_now_is_not_taken_back(kind: str, tmp_path: Path) -> None:
    build = deployment if kind == "Deployment" else lambda name, of: other(kind, name, of)
    objects = [one for name, of in TEMPLATES.items() for one in with_history(build(name, of), of, template("z"))]
    for one in objects:
        if one["kind"] == "ControllerRevision" and one["revision"] == 1:
            one["data"] = kept_by_a_controller(one["metadata"]["name"].removesuffix("-1"), kind)
    compare(Case("same", objects, f"undo {kind} --to-revision=1"), tmp_path)


def kept_by_a_controller(name: str, kind: str) -> Object:
    """The patch that a controller keeps: what the API server says of the template, keys sorted."""
    found: Object = json.loads(restore_patch(typed(other(kind, name, TEMPLATES[name]), kind)))
    return found
