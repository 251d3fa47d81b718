"""A recording taken at its word, and one that begins anew."""

from __future__ import annotations

import json

from rawkube.observe.derive import decoded
from rawkube.observe.match import DERIVED, DISCOVERY, MISSING, RECORDED, Matcher, Reply
from rawkube.observe.strict import StrictMatcher
from tests.observe.made import DEPLOYMENTS, JSON, Script, answer, chunk, deployment, event, listing, start
from tests.support.rows import looped

ACCEPT = (("Accept", JSON),)


def body(reply: Reply) -> bytes:
    return b"".join(piece.data for piece in decoded(reply.answer))


def asked(matcher: Matcher | StrictMatcher, *targets: str) -> list[bytes]:
    return [body(matcher.reply("GET", target, ACCEPT)) for target in targets]


def message(reply: Reply) -> str:
    assert reply.how == MISSING
    return str(json.loads(body(reply))["message"])


def test_each_answer_once_in_its_order() -> None:
    matcher = StrictMatcher(Script().ask("/a", answer("1")).ask("/b", answer("2")).ask("/a", answer("3")).exchanges())
    assert asked(matcher, "/a", "/b", "/a") == [b"1", b"2", b"3"]
    assert message(matcher.reply("GET", "/a", ACCEPT)) == (
        "the recording has no answer to GET /a here: everything that is recorded has been asked for"
    )


def test_out_of_order() -> None:
    matcher = StrictMatcher(Script().ask("/a", answer("1")).ask("/b", answer("2")).exchanges(), name="it")
    assert (
        message(matcher.reply("GET", "/b", ACCEPT)) == "it has no answer to GET /b here: before it is recorded: GET /a"
    )
    # A failed attempt takes nothing away.
    assert asked(matcher, "/a", "/b") == [b"1", b"2"]


def test_requests_under_way_at_the_same_time_may_come_in_any_order() -> None:
    """A watch whose client leaves after a minute, a request meanwhile, and one after it."""
    script = Script().watch("/w?watch=true", (0, start()), (5, chunk("x"))).ask("/b", answer("b"))
    script.ask("/c", answer("c"), method="POST")
    script.pieces = [p._replace(t=p.t + 100) if p.conn == 3 else p for p in script.pieces]
    matcher = StrictMatcher(script.exchanges())
    assert asked(matcher, "/b") == [b"b"]
    assert "before it is recorded: GET /w?watch=true" in message(matcher.reply("POST", "/c", ACCEPT))
    assert asked(matcher, "/w?watch=true") == [b"x"]
    assert body(matcher.reply("POST", "/c", ACCEPT)) == b"c"


RECORDED_TARGET = f"{DEPLOYMENTS}?watch=true&resourceVersion=5&timeoutSeconds=300&timeout=5s"
SAME = {
    RECORDED_TARGET: True,
    f"{DEPLOYMENTS}?timeoutSeconds=1&resourceVersion=5&watch=true": True,
    f"{DEPLOYMENTS}?resourceVersion=6&watch=true": False,
    f"{DEPLOYMENTS}?resourceVersion=5": False,
    f"{DEPLOYMENTS}?resourceVersion=5&watch=true&allowWatchBookmarks=true": False,
    f"{DEPLOYMENTS}/web?resourceVersion=5&watch=true": False,
}


@looped("target", SAME)
def test_the_same_request(target: str) -> None:
    recorded = Script().watch(RECORDED_TARGET, (0, start()), (0, chunk("x"))).exchanges()
    assert (StrictMatcher(recorded).reply("GET", target, ACCEPT).how == RECORDED) is SAME[target]


def test_nothing_is_derived() -> None:
    exchanges = Script().ask(DEPLOYMENTS, answer(listing(5, deployment("web", 5)))).exchanges()
    assert Matcher(exchanges).reply("GET", f"{DEPLOYMENTS}/web", ACCEPT).how == DERIVED
    told = message(StrictMatcher(exchanges).reply("GET", f"{DEPLOYMENTS}/web", ACCEPT))
    assert told.endswith(f"/web here: next is recorded: GET {DEPLOYMENTS}")


def test_a_form_that_the_client_does_not_take() -> None:
    matcher = StrictMatcher(Script().ask("/a", answer("1")).exchanges())
    assert matcher.reply("GET", "/a", (("Accept", "application/yaml"),)).how == MISSING
    assert matcher.reply("GET", "/a", ACCEPT).how == RECORDED


def test_discovery_that_is_not_recorded_is_added_and_no_other() -> None:
    more = Script().ask("/api", answer("{}")).ask("/apis", answer("{}")).exchanges()
    matcher = StrictMatcher(Script().ask("/apis", answer("mine")).exchanges(), discovery=lambda: more)
    assert matcher.reply("GET", "/api", ACCEPT).how == DISCOVERY
    assert body(matcher.reply("GET", "/apis", ACCEPT)) == b"mine"
    assert matcher.reply("GET", "/apis", ACCEPT).how == MISSING


def test_many_are_shown_in_short() -> None:
    script = Script()
    for i in range(6):
        script.ask(f"/{i}", answer("x"))
    told = message(StrictMatcher(script.exchanges()).reply("GET", "/x", ACCEPT))
    assert told.endswith("next are recorded: GET /0; GET /1; GET /2; GET /3; and 2 more")


# Anew


def test_strictly_anew_when_all_has_been_asked_for() -> None:
    matcher = StrictMatcher(Script().ask("/a", answer("1")).ask("/b", answer("2")).exchanges(), loop=True)
    assert asked(matcher, "/a", "/b", "/a", "/b") == [b"1", b"2", b"1", b"2"]
    assert asked(matcher, "/a") == [b"1"]
    assert matcher.reply("GET", "/a", ACCEPT).how == MISSING


def test_after_the_last_answer_the_first_again() -> None:
    exchanges = Script().ask("/a", answer("1")).ask("/b", answer("b")).ask("/a", answer("2")).exchanges()
    assert asked(Matcher(exchanges), *["/a"] * 4) == [b"1", b"2", b"2", b"2"]
    assert asked(Matcher(exchanges, loop=True), *["/a"] * 5) == [b"1", b"2", b"1", b"2", b"1"]


def test_a_watch_from_the_end_begins_anew() -> None:
    events = [event("MODIFIED", deployment("web", v)) for v in (6, 7)]
    target = f"{DEPLOYMENTS}?watch=true&resourceVersion="
    exchanges = Script().watch(f"{target}5", (0, start()), *((0.0, chunk(e)) for e in events)).exchanges()
    whole = "".join(events).encode()
    for loop, again in ((False, b""), (True, whole)):
        matcher = Matcher(exchanges, loop=loop)
        assert asked(matcher, f"{target}5", f"{target}6", f"{target}7") == [whole, events[1].encode(), again]
