"""Scenes for `rawkube.rollout.explain`, out of the recordings of workloads that cannot finish."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import Any

from rawkube.api.objects import complete_list
from rawkube.rollout.explain.scene import LogTail, Scene
from tests.support.recordings import FIXTURES, Exchange, exchanges

NAMES = sorted(path.stem for path in (FIXTURES / "stuck").glob("*.jsonl"))


def scene_of(name: str) -> tuple[Scene, float]:
    """What a client could see of the recorded workload, and the time of its last answer."""
    answers = exchanges(FIXTURES / "stuck" / f"{name}.jsonl")
    found = {
        one.path.rpartition("/")[2]: _items(one) for one in answers if not one.query.get("watch") and _is_list(one)
    }
    scene = Scene(
        workload=json.loads(answers[0].body),
        owned=found.get("replicasets") or found.get("controllerrevisions") or [],
        pods=found["pods"],
        events=found["events"],
        claims=found.get("persistentvolumeclaims", []),
        nodes=found.get("nodes", []),
        logs=_logs(answers),
    )
    return scene, max(map(_date, answers))


def _is_list(answer: Exchange) -> bool:
    return answer.status == 200 and not answer.query.get("fieldSelector") and b'List"' in answer.body[:80]


def _items(answer: Exchange) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = complete_list(json.loads(answer.body))["items"]
    return items


def _logs(answers: list[Exchange]) -> dict[tuple[str, str], LogTail]:
    """The logs that were answered; the present one where the run before has none."""
    found: dict[tuple[str, str], LogTail] = {}
    for one in answers:
        if one.path.endswith("/log") and one.status == 200:
            key = one.path.split("/")[-2], one.query["container"]
            is_previous = "previous" in one.query
            if not is_previous or not key[0]:
                found[key] = LogTail(tuple(one.body.decode().splitlines()), is_previous)
    return found


def _date(answer: Exchange) -> float:
    dates = [value for name, value in answer.headers if name.lower() == "date"]
    return parsedate_to_datetime(dates[0]).timestamp()
