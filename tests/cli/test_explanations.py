"""What people read of causes: the recordings' texts, whole; control characters, lengths, ages."""

from __future__ import annotations

import re
from pathlib import Path

from rawkube.cli.explanations import LONGEST, cleared_line, explanation, finding_lines, headline, unseen_lines
from rawkube.rollout.explain import explain
from rawkube.rollout.explain.finding import WAITS, Evidence, Finding
from tests.support.explained import NOW, clock
from tests.support.scenes import NAMES, scene_of

SNAPSHOT = Path(__file__).with_name("explained.txt")
"""Of each recording, `## NAME` and the lines. Written anew by `python -m tests.cli.test_explanations`; then read it."""


def text_of(name: str) -> str:
    scene, now = scene_of(name)
    return "\n".join([f"## {name}", *explanation(explain(scene, now=now), unseen=scene.unseen, now=now)])


def test_the_texts_of_the_recordings() -> None:
    texts = [text_of(name) for name in NAMES]
    expected = SNAPSHOT.read_text().rstrip("\n").split("\n\n")
    assert len(expected) == len(texts)
    for text, wanted in zip(texts, expected, strict=True):
        assert text == wanted
        assert len(text.splitlines()) <= 14 and max(map(len, text.splitlines())) < 330


def finding(**more: object) -> Finding:
    return Finding(**{"code": "NotReady", "text": "it waits", "object": "pod/web-0", **more})  # type: ignore[arg-type]


def test_the_parts_in_their_order() -> None:
    evidence = (Evidence("pod/web-0: status.phase", "Pending", clock("14:58:00")), Evidence("event X", "IT WAITS"))
    one = finding(evidence=evidence, log=("a", "b"), advice="do it")
    assert finding_lines(one, now=NOW) == [
        "pod/web-0: it waits",
        "    status.phase: Pending (2m ago)",
        "    | a",
        "    | b",
        "    → do it",
    ]
    assert finding_lines(one)[1] == "    status.phase: Pending"
    assert finding_lines(one._replace(resolves=WAITS), now=NOW)[1] == "    | a"
    assert cleared_line(one) == "no longer: pod/web-0: it waits"


def test_times_that_are_none_or_to_come() -> None:
    for time, expected in (("", ""), ("soon", ""), (clock("15:00:30"), " (0s ago)")):
        one = finding(evidence=(Evidence("event X", "y", time),))
        assert finding_lines(one, now=NOW)[1] == f"    event X: y{expected}", time


def test_many_pods_are_counted() -> None:
    one = finding(text="2 of 3 pods: it waits", objects=("pod/web-0", "pod/web-1"), of=3)
    assert headline(one) == "2 of 3 pods (web-0, …): it waits"


def test_what_was_not_seen_is_a_line_for_each_reason() -> None:
    unseen = {"events": "forbidden", "pods": "no answer in time", "nodes": "forbidden"}
    assert unseen_lines(unseen) == [
        "could not look at events, nodes: forbidden",
        "could not look at pods: no answer in time",
    ]
    assert unseen_lines({}) == []


def test_nothing_of_the_cluster_acts_on_the_terminal_or_fills_it() -> None:
    bad = "\x1b[2J\x07\r\n\x9b1m\u202e" + "x" * 5000
    evidence = tuple(Evidence(bad + str(number), bad + str(number), bad) for number in range(9))
    one = finding(text=bad, object=bad, container=bad, evidence=evidence, log=(bad,) * 50, advice=bad)
    lines = [*explanation([one], unseen={bad: bad}, now=NOW), cleared_line(one)]
    assert len(lines) == 16
    assert not [line for line in lines if re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)]
    assert max(map(len, lines)) < 3 * LONGEST


if __name__ == "__main__":
    SNAPSHOT.write_text("\n\n".join(map(text_of, NAMES)) + "\n")
