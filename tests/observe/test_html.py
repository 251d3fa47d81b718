"""What happened → one page."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rawkube.observe.conversation import Conversation, Happening
from rawkube.observe.html import SCRIPTS, Page, json_in_html, part, policy
from rawkube.observe.page_data import CHARTS, Data
from rawkube.observe.replicas import SERIES, Replicas
from tests.observe.test_har import RECORDINGS, SWITCHED, answered, asked, happenings_of, said
from tests.support.examples import some
from tests.support.recordings import FIXTURES, name_of
from tests.support.rows import looped

JSON = "Content-Type: application/json\r\n"
EVIL = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> &amp;\u2028\u202e\x1b[2J\x00"


def page_of(happenings: list[Happening], title: str = "x", data: Data | None = None) -> str:
    page = Page(data)
    for happening in happenings:
        page.add(happening)
    return "".join(page.parts(title))


class Read(HTMLParser):
    """The elements of a page, and what its scripts hold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "title": [], "h1": []}
        self._in = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in self.texts:
            self.texts[self._in].append(data)

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.texts["script"][0])
        return found


@looped("path", some("pages", RECORDINGS, 5), ids=name_of)
def test_every_recording_makes_a_page(path: Path) -> None:
    happenings = happenings_of(path)
    data = Read(page_of(happenings)).data
    conns = {one.conn for one in happenings if one.conn}
    assert {lane["conn"] for lane in data["lanes"]} == conns
    keys = {lane["key"] for lane in data["lanes"]}
    assert {item["lane"] for item in data["items"]} == keys
    kinds = [item["kind"] for item in data["items"]]
    for kind in ("request", "watch", "message", "status", "close"):
        assert kinds.count(kind) == sum(one.kind == kind for one in happenings), kind
    assert [item["t"] for item in data["items"]] == sorted(item["t"] for item in data["items"])


def test_a_rollout_has_its_replicas() -> None:
    (chart,) = Read(page_of(happenings_of(FIXTURES / "rollout/deployment-update.jsonl"))).data["charts"]
    assert (chart["kind"], chart["name"]) == ("Deployment", "demo/web")
    assert len(SERIES) == 4
    assert chart["points"][0][1] == [3, 2, 2, 2]
    assert chart["points"][-1][1] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("rollout/daemonset-update", [1, 1, 1, 1]),
        ("rollout/statefulset-update", [2, 2, 2, 2]),
        ("rollout/deployment-deleted", None),
    ],
)
def test_replicas_at_the_end(name: str, last: list[int] | None) -> None:
    (chart,) = Read(page_of(happenings_of(FIXTURES / f"{name}.jsonl"))).data["charts"]
    assert chart["points"][-1][1] == last


def test_a_session_has_a_lane_for_each_channel() -> None:
    data = Read(page_of(happenings_of(FIXTURES / "exec/v5-tty-resize.jsonl"))).data
    assert [lane["name"] for lane in data["lanes"]] == ["", "stdin", "stdout", "error", "resize", "control"]
    assert data["totals"] == {"connections": 1, "requests": 1, "events": 0, "messages": 16, "failures": 1}


def test_nothing_breaks_out_of_the_data() -> None:
    head = f"Host: x\r\nX-Evil: {EVIL.encode().decode('latin-1')}\r\n"
    happenings = said(
        (0.0, "client", asked(target="/" + EVIL.replace(" ", ""), head="")),
        (1.0, "server", answered(EVIL.encode(), "Content-Type: text/html\r\n" + head)),
        (2.0, "client", asked()),
        (2.0, "server", SWITCHED % b"v5.channel.k8s.io" + b"\x82" + bytes([len(EVIL.encode()) + 1]) + b"\x01" + EVIL.encode()),
    )  # fmt: skip
    recording = Happening("recording", 0, 0.0, "client", {"file": EVIL, "client": EVIL, "server": EVIL, "note": EVIL})
    html = page_of([recording, *happenings], EVIL)
    read = Read(html)
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert not [
        tag for tag, attributes in read.tags if tag == "img" or any(name.startswith("on") for name in attributes)
    ]
    assert read.data["note"] == EVIL
    assert read.data["items"][0]["answer"]["body"]["text"] == EVIL
    assert "<" not in read.texts["script"][0]
    assert html.count(escape(EVIL)) == 2  # title and heading
    assert read.texts["title"][0].startswith("</script><script>alert(1)</script>")


def test_the_policy_allows_what_the_page_holds_and_nothing_else() -> None:
    html = page_of([])
    read = Read(html)
    (said_policy,) = [a["content"] for tag, a in read.tags if tag == "meta" and "http-equiv" in a]
    assert said_policy == policy(read.texts["script"][1], "".join(read.texts["style"]))
    assert said_policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in said_policy
    assert not [tag for tag, attributes in read.tags if {"src", "href", "style"} & attributes.keys() and tag != "a"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert unescape(html).count("<html") == 1


def test_the_parts_are_small_and_put_no_text_in_as_html() -> None:
    for name in SCRIPTS:
        script = part(name)
        assert len(script.splitlines()) < 300, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", script), name
        assert "</" not in script, name


def test_json_in_html_is_ascii_and_the_same() -> None:
    value = {"a": [EVIL, 1.5, None], "<b>": "\ud800"}
    text = json_in_html(value)
    assert text.isascii()
    assert not set(text) & set("<>&")
    assert json.loads(text) == value


def test_what_is_large_is_cut_and_says_so() -> None:
    parts = [
        (float(at), side, data)
        for at in range(3)
        for side, data in (("client", asked()), ("server", answered("ä".encode() * 50)))
    ]
    data = Read(page_of(said(*parts), data=Data(items=2, kept=11, total=16))).data
    assert [item["answer"]["body"] for item in data["items"]] == [
        {"size": 100, "kept": 10, "text": "ä" * 5, "sent": 100},
        {"size": 100, "kept": 4, "text": "ä" * 2, "sent": 100},
    ]
    assert len(data["notes"]) == 2
    assert "1 more are left out" in data["notes"][0]
    assert data["totals"]["requests"] == 3


def test_a_preview_is_64_kib() -> None:
    frame = b"\x82\x7f" + (200_001).to_bytes(8, "big") + b"\x01" + b"a" * 200_000
    data = Read(page_of(said((0.0, "client", asked()), (1.0, "server", SWITCHED % b"v5.channel.k8s.io" + frame)))).data
    (message,) = [item for item in data["items"] if item["kind"] == "message"]
    assert message["facts"]["size"] == 200_000
    assert message["facts"]["data"]["kept"] == len(message["facts"]["data"]["text"]) == 64 * 1024 - 1


def test_what_broke_is_a_failure() -> None:
    conversation = Conversation()
    cut_off = answered(b"x" * 100)[:-50]
    happenings = said((0.0, "client", asked()), (1.0, "server", cut_off), ends="ConnectionResetError")
    happenings += conversation.feed(2, 3.0, "client", asked())
    happenings += conversation.end(2, 4.0, "server", "")
    items = Read(page_of(happenings)).data["items"]
    assert [(item["kind"], item["conn"], item["bad"]) for item in items] == [
        ("request", 1, True), ("end", 1, True), ("request", 2, True), ("end", 2, False),
    ]  # fmt: skip
    assert items[0]["inside"] == "a body"
    assert items[0]["error"] == "the server's side broke: ConnectionResetError"


def test_a_watch_that_the_client_leaves_is_none() -> None:
    data = Read(page_of(happenings_of(FIXTURES / "rollout/deployment-update.jsonl"))).data
    assert data["totals"]["failures"] == 0


def test_nothing_at_all() -> None:
    data = Read(page_of([])).data
    assert (data["lanes"], data["items"], data["charts"], data["seconds"]) == ([], [], [], 0)


def test_lanes_and_failures_of_sessions() -> None:
    frames = b"\x82\x02\x09a" + b"\x81\x01b"
    parts = ((0.0, "client", asked()), (1.0, "server", b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n" + frames))
    data = Read(page_of(said(*parts))).data
    assert [lane["name"] for lane in data["lanes"]] == ["", "messages"]
    parts = ((0.0, "client", asked()), (1.0, "server", SWITCHED % b"v4.channel.k8s.io" + frames))
    data = Read(page_of(said(*parts))).data
    assert {"channel 9", "channel 98"} <= {lane["name"] for lane in data["lanes"]}


def test_notes_on_what_is_left_out() -> None:
    recording = Happening("recording", 0, 0.0, "client", {"note": ""})
    head = asked(target="/apis/apps/v1/deployments")
    items = [{"metadata": {"name": f"w{n}"}} for n in range(CHARTS + 1)]
    events = [{"type": "ADDED", "object": {"kind": "Deployment", "apiVersion": "apps/v1", **item}} for item in items]
    body = "".join(json.dumps(event) + "\n" for event in events).encode()
    parts = (
        (0.0, "client", head.replace(b"deployments", b"deployments?watch=1")),
        (1.0, "server", answered(body, JSON)),
    )
    happenings = [recording, *said(*parts), recording]
    happenings = [one for one in happenings if one.kind != "chunk"]
    data = Read(page_of(happenings)).data
    assert len(data["charts"]) == CHARTS
    assert f"Replicas of {CHARTS} workloads are drawn, of 1 more they are not." in data["notes"]
    assert "The file holds 2 recordings; each begins at 0 s." in data["notes"]
    more = Data(items=2)
    page_of([one for one in happenings if one.kind == "watch"], data=more)
    assert "more are left out" in more.collected("x")["notes"][0]


def test_an_object_that_is_too_deep_is_shown_empty() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    event = Happening("watch", 1, 0.0, "server", {"type": "ADDED", "object": {"kind": "Pod", "x": deep}, **NAMED})
    (item,) = Read(page_of([event])).data["items"]
    assert item["facts"]["object"] == {"size": 0, "kept": 0, "text": ""}


NAMED = {"of": "Pod", "name": "a", "resourceVersion": "1", "changes": []}


@looped("body", [b'"apps/v1"', b'["apps/v1"]', b'{"apps/v1":', b'{"kind":"Deployment","x":"apps/v1","items":[1]}'])
def test_bodies_that_tell_of_no_workload(body: bytes) -> None:
    found = Replicas()
    found.body(0.0, body)
    assert found.watched == []


def test_so_many_workloads_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.observe.replicas._WORKLOADS", 1)
    found = Replicas()
    for name in ("a", "b"):
        found.event(0.0, "ADDED", {"kind": "Deployment", "metadata": {"name": name}})
    assert [one.name for one in found.watched] == ["a"]
