"""A server that answers anything at all: nothing raises, every text stays one line of bounded length."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.rollout.explain import explain
from rawkube.rollout.explain.fields import SHOWN, clip, flag, items, mapping, number, raw, text
from rawkube.rollout.explain.finding import Finding
from rawkube.rollout.explain.scene import LogTail, Scene
from tests.support.examples import examples
from tests.support.scenes import NAMES, scene_of

HUGE = "A\x1b[2J\n\u202e\ud800" * 5000
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**63, 10**30, 1.5, 137, "", "137", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z", HUGE]),
    st.text(max_size=20),
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    ),
)


def places(thing: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside."""
    inner = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    return [path, *(place for key, value in inner if key != "managedFields" for place in places(value, (*path, key)))]


@functools.cache
def scenes() -> list[tuple[dict[str, Any], list[tuple[Any, ...]], dict[tuple[str, str], LogTail], float]]:
    found = []
    for name in NAMES:
        scene, now = scene_of(name)
        parts = {
            **{"workload": scene.workload, "owned": scene.owned, "pods": scene.pods, "events": scene.events},
            **{"claims": scene.claims, "nodes": scene.nodes},
        }
        found.append((parts, places(parts)[1:], dict(scene.logs), now))
    return found


def put(parts: Any, path: tuple[Any, ...], value: Any) -> None:
    """Replaces what stands at a path; a path that an earlier replacement has cut off is left alone."""
    try:
        for key in path[:-1]:
            parts = parts[key]
        if path[-1] in (parts if isinstance(parts, dict) else range(len(parts))):
            parts[path[-1]] = value
    except (KeyError, IndexError, TypeError):
        return


def check(found: list[Finding]) -> None:
    for one in found:
        texts = [one.text, one.object, one.container, one.advice, one.since, *one.objects, *one.log]
        texts += [word for seen in one.evidence for word in seen]
        assert all(word.isprintable() and len(word) <= 8 * SHOWN for word in texts), one


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_any_json_in_place_of_any_field(data: st.DataObject) -> None:
    parts, paths, logs, now = data.draw(st.sampled_from(scenes()))
    broken = copy.deepcopy(parts)
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=6)):
        put(broken, path, data.draw(ODD))
    check(explain(Scene(**broken, logs=logs), now=now))


def test_every_text_may_be_huge_and_full_of_control_characters() -> None:
    kept = ("uid", "kind", "name", "apiVersion", "reason", "phase", "type", "status", "nodeName", "controller")

    def blown(thing: Any, key: str = "") -> Any:
        if isinstance(thing, dict):
            return {name: blown(value, name) for name, value in thing.items()}
        if isinstance(thing, list):
            return [blown(one, key) for one in thing]
        return thing + HUGE if isinstance(thing, str) and key not in kept else thing

    for parts, _, logs, now in scenes():
        tails = {key: LogTail((*tail.lines, HUGE)) for key, tail in logs.items()}
        check(explain(Scene(**blown(parts), logs=tails), now=now))


@given(st.text(), st.integers(2, 50))
def test_what_is_shown_is_one_line(words: str, limit: int) -> None:
    shown = clip(words, limit)
    assert shown.isprintable() and len(shown) <= 2 * limit + 1


def test_values_of_the_wrong_type_are_none() -> None:
    thing = json.loads('{"a": {"b": [1, {"c": "x"}], "d": true, "e": 7, "f": 99999999999999999999, "g": " y\\n"}}')
    assert text(thing, "a", "g") == "y"
    assert (raw(thing, "a", "e"), raw(thing, "a", "g"), raw(None), raw(thing, "x", "y")) == ("", " y\n", "", "")
    assert (number(thing, "a", "e"), number(thing, "a", "d"), number(thing, "a", "f", default=3)) == (7, 0, 3)
    assert (flag(thing, "a", "d"), flag(thing, "a", "e")) == (True, False)
    assert items(thing, "a", "b") == [{"c": "x"}]
    assert (items(thing, "a"), mapping(thing, "a", "b")) == ([], {})
