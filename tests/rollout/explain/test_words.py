"""Counts, lists, times and spans as findings say them."""

from __future__ import annotations

from rawkube.rollout.explain import words
from rawkube.rollout.explain.finding import Finding


def test_lists_and_counts() -> None:
    assert [words.listed(["a", "b", "c", "d", "e"][:n]) for n in range(6)] == [
        *("", "a", "a and b", "a, b and c", "a, b, c and 1 more", "a, b, c and 2 more")
    ]
    assert words.listed(["a", "b", "c"], most=2) == "a, b and 1 more"
    assert [words.counted(n, "Pod") for n in (0, 1, 2)] == ["0 Pods", "1 Pod", "2 Pods"]
    assert [words.agreed(n, "has|have the taint a") for n in (1, 2)] == ["has the taint a", "have the taint a"]
    assert words.kubectl("delete pod a", "d") == "kubectl delete pod a -n d"
    assert words.kubectl("get nodes", "") == "kubectl get nodes"


def test_times_and_spans() -> None:
    assert [words.span(seconds) for seconds in (0.4, 90.0, -5)] == ["0s", "1m30s", "-5s"]
    assert words.span(1e300) == words.span(10**9)
    assert words.moment(1796050800.9) == "2026-11-30T15:00:00Z"
    assert words.moment(-1.0) == "1969-12-31T23:59:59Z"
    assert words.moment(1e300) == words.moment(-1e15) == ""


def test_the_headline_of_a_finding() -> None:
    alone = Finding("CrashLoop", "container app exits", "pod/web-1")
    assert alone.headline == "pod/web-1: container app exits"
    many = alone._replace(text="2 of 3 pods: container app exits", objects=("pod/web-1", "pod/web-2"), of=3)
    assert many.headline == "2 of 3 pods (web-1, …): container app exits"
    assert many._replace(text="both exit").headline == "pod/web-1: both exit"
