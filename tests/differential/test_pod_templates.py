"""Every Pod template of the tests, in a few runs of each program: the text, the JSON and the YAML, the patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rawkube.rollout.patches import restore_patch
from rawkube.rollout.typed import typed
from tests.differential.verbs import Case, compare
from tests.support.examples import some
from tests.support.revisions import deployment, other, template, with_history
from tests.support.script import Object
from tests.support.templates import TEMPLATES

pytestmark = pytest.mark.kubectl


Build = Callable[[str], Object]


def some_templates(command: str) -> list[tuple[str, Object]]:
    """By default a third of them, another one for another command."""
    return list(some(command, list(TEMPLATES.items())))


def daemon_set(name: str) -> Object:
    return other("DaemonSet", name)


def stateful_set(name: str) -> Object:
    return other("StatefulSet", name)


@pytest.mark.parametrize(
    ("build", "command"),
    [
        pytest.param(deployment, "history deployments --revision=1", id="deployments-text"),
        pytest.param(daemon_set, "history daemonsets --revision=1", id="daemonsets-text"),
        pytest.param(stateful_set, "history statefulsets --revision=1", id="statefulsets-text"),
        pytest.param(deployment, "history deployments --revision=1 -o json", id="deployments-json"),
        pytest.param(daemon_set, "history daemonsets --revision=1 -o json", id="daemonsets-json"),
        pytest.param(stateful_set, "history statefulsets --revision=1 -o yaml", id="statefulsets-yaml"),
        pytest.param(deployment, "undo deployments", id="deployments-undo"),
        pytest.param(daemon_set, "undo daemonsets --to-revision=1", id="daemonsets-undo"),
        pytest.param(stateful_set, "undo statefulsets --dry-run=client", id="statefulsets-dry-run"),
    ],
)
def test_every_template(build: Build, command: str, tmp_path: Path) -> None:
    found = some_templates(command)
    objects = [one for name, of in found for one in with_history(build(name), of, template("2"))]
    compare(Case("every-template", objects, command), tmp_path)


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "StatefulSet"])
def test_what_a_workload_is_now_is_not_taken_back(kind: str, tmp_path: Path) -> None:
    build = deployment if kind == "Deployment" else lambda name, of: other(kind, name, of)
    objects = [one for name, of in some_templates(kind) for one in with_history(build(name, of), of, template("z"))]
    for one in objects:
        if one["kind"] == "ControllerRevision" and one["revision"] == 1:
            one["data"] = kept_by_a_controller(one["metadata"]["name"].removesuffix("-1"), kind)
    compare(Case("same", objects, f"undo {kind} --to-revision=1"), tmp_path)


def kept_by_a_controller(name: str, kind: str) -> Object:
    """The patch that a controller keeps: what the API server says of the template, keys sorted."""
    found: Object = json.loads(restore_patch(typed(other(kind, name, TEMPLATES[name]), kind)))
    return found
