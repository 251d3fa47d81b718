"""Fields whose types nobody checks."""

from __future__ import annotations

from rawkube.rollout import reading


def test_numbers_and_texts() -> None:
    obj = {"a": {"whole": 3, "float": 3.0, "half": 3.5, "flag": True, "text": "3", "none": None}, "metadata": "x"}
    found = {
        name: reading.integer(obj, f"a.{name}") for name in ("whole", "float", "half", "flag", "text", "none", "x")
    }
    assert found == {"whole": 3, "float": 3, "half": None, "flag": None, "text": None, "none": None, "x": None}
    assert (reading.count(obj, "a.float"), reading.count(obj, "a.b.c")) == (3, 0)
    assert (reading.text(obj, "a.text"), reading.text(obj, "a.whole"), reading.name_of(obj)) == ("3", "", "")


def test_conditions() -> None:
    first, second = {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}
    obj = {"status": {"conditions": ["x", {"type": "Other"}, first, second]}}
    assert reading.condition(obj, "Ready") is first
    assert reading.condition({"status": {"conditions": {}}}, "Ready") is None
    assert (reading.is_true(first), reading.is_true(second), reading.is_true(None)) == (True, False, False)
    for found, words in [
        ({"message": "a\n b", "reason": "R"}, "a b (R)"),
        ({"message": "a\x1b"}, "a\\x1b"),
        ({"reason": "R"}, "R"),
        ({"message": "x" * 400, "reason": "R"}, "x" * reading.LONGEST + "… (R)"),
        ({}, ""),
    ]:
        assert reading.because(found) == words


def test_what_a_controller_has_seen() -> None:
    for generation, observed, expected in [(2, 2, True), (2, 1, False), (2, None, True), (None, 1, True)]:
        obj = {"metadata": {"generation": generation}, "status": {"observedGeneration": observed}}
        assert reading.is_observed(obj) == expected
