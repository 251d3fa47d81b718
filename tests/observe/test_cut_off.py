"""What stands between has cut a session or held a watch back: how that is told."""

from __future__ import annotations

import pytest

from rawkube.observe.conversation import CLIENT, SERVER, Conversation, Happening
from rawkube.observe.messages import CLOSE
from rawkube.observe.story import Story
from rawkube.observe.summary import Summary, lines_of_summary
from rawkube.observe.trace import lines_of

from .made import answer, frame, get, masked, start, switching, upgrade

OPENED = [(CLIENT, 1.0, upgrade().encode()), (SERVER, 1.1, switching().encode())]
NORMAL = (1000).to_bytes(2, "big")

Step = tuple[str, float, bytes]


def told(*steps: Step) -> list[Happening]:
    """`b""`: that side ends."""
    conversation = Conversation()
    found: list[Happening] = []
    for side, t, data in steps:
        found += conversation.feed(1, t, side, data) if data else conversation.end(1, t, side)
    return found


def ends(*steps: Step) -> list[tuple[str, str]]:
    return [(one.side, line) for one in told(*steps) if one.kind == "end" for line in lines_of(one)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            [(SERVER, 3, b""), (CLIENT, 3, b"")],
            [(SERVER, "← end of stream inside a session"), (CLIENT, "→ end of stream")],
        ),
        (
            [(CLIENT, 3, b""), (SERVER, 3, b"")],
            [(CLIENT, "→ end of stream inside a session"), (SERVER, "← end of stream")],
        ),
        ([(SERVER, 2, frame(NORMAL, CLOSE)), (CLIENT, 3, b"")], [(CLIENT, "→ end of stream")]),
        ([(CLIENT, 2, masked(NORMAL, CLOSE)), (SERVER, 3, b"")], [(SERVER, "← end of stream")]),
        (
            [(SERVER, 2, frame(b"\1hello")[:4]), (SERVER, 3, b"")],
            [(SERVER, "← end of stream inside a frame or message")],
        ),
    ],
)
def test_a_session_that_nobody_closed(steps: list[Step], expected: list[tuple[str, str]]) -> None:
    assert ends(*OPENED, *steps) == expected


def summary(*steps: Step) -> list[str]:
    story, found = Story(), Summary()
    for happening in told(*steps):
        found.add(happening, story.of(happening))
    return [line for line in lines_of_summary(found.facts()) if line.startswith(("watch", "broken"))]


def test_a_cut_session_is_in_the_summary() -> None:
    assert summary(*OPENED, (SERVER, 3, b""), (CLIENT, 3, b"")) == ["broken  end of stream inside a session, server"]
    assert summary(*OPENED, (SERVER, 2, frame(NORMAL, CLOSE)), (SERVER, 3, b"")) == []


def test_a_watch_is_silent_from_its_request_on() -> None:
    watch = (CLIENT, 1.0, get("/api/v1/pods?watch=true").encode())
    held = summary(watch, (SERVER, 3.0, start().encode()), (SERVER, 3.001, b""))
    assert held == [
        "watch  0 events in 2.001 s, longest silence 2.001 s  #1 GET /api/v1/pods?watch=true",
        "broken  end of stream inside a body, server",
    ]
    assert summary(watch, (SERVER, 3.0, answer("{}", "403 Forbidden"))) == []
