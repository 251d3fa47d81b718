"""Sources that are read at once: what comes out, how they end, and that nothing is left of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from rawkube.api import crew as module
from rawkube.api.crew import Crew, Ended, Over


def test_all_items_come_out_each_source_in_its_order() -> None:
    with Crew[str, int](limit=2) as crew:
        for key in "abc":
            crew.add(key, lambda: range(50))
        found = list(crew.items())
        assert crew.running == 0 and crew.get(0) is None
    for key in "abc":
        assert [item for one, item in found if one == key] == [*range(50), Ended(None)], key


def test_what_a_source_raises_is_its_last_item() -> None:
    broken = ValueError("broken")

    def source() -> Iterator[int]:
        yield 1
        raise broken

    with Crew[str, int]() as crew:
        crew.add("a", source)
        assert list(crew.items()) == [("a", 1), ("a", Ended(broken))]


def test_nothing_comes_in_time() -> None:
    with Crew[str, int]() as crew:
        assert crew.get(0.01) is None
        assert crew.get(-1.0) is None
        crew.put("aside", 7)
        assert crew.get(1.0) == ("aside", 7)


@pytest.mark.parametrize("how", ["full", "sleeps", "interrupted"])
def test_a_source_ends_when_nobody_reads_any_more(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK", 0.02)
    interrupted = threading.Event()
    ended = threading.Event()
    crew = Crew[str, int](limit=1)

    def source() -> Iterator[int]:
        try:
            while True:
                if how == "sleeps":
                    crew.sleep(60.0)
                if how == "interrupted" and interrupted.wait(60.0):
                    return
                yield 1
        finally:
            ended.set()

    crew.add("a", source, interrupt=interrupted.set)
    began = time.monotonic()
    crew.stop()
    assert ended.wait(1.0) and time.monotonic() - began < 1.0
    with pytest.raises(Over):
        crew.put("late", 1)
    with pytest.raises(Over):
        crew.sleep(0.0)


def test_a_source_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STOPPING", 0.05)
    release = threading.Event()

    def source() -> Iterator[int]:
        release.wait(10.0)
        yield 1

    began = time.monotonic()
    with Crew[str, int]() as crew:
        crew.add("a", source)
    assert time.monotonic() - began < 1.0
    release.set()


def test_its_threads_have_room_and_others_have_what_they_had(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.stack_size()
    seen: list[int] = []
    start = threading.Thread.start

    def watched(thread: threading.Thread) -> None:
        seen.append(threading.stack_size())
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", watched)
    with Crew[str, int]() as crew:
        crew.add("a", lambda: [1])
        assert list(crew.values()) == [1]
    assert (seen, threading.stack_size()) == ([8 << 20], before)

    def refuse(size: int = 0) -> int:
        raise ValueError

    monkeypatch.setattr(threading, "stack_size", refuse)
    monkeypatch.setattr(threading.Thread, "start", start)
    with Crew[str, int]() as crew:
        crew.add("a", lambda: [2])
        assert list(crew.values()) == [2]
