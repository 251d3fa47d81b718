"""The watch decoder: however a stream is cut, the same events; what is no event, is an error that says so."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.api.watch import TYPES, WatchDecoder, WatchEvent, compare_resource_versions
from rawkube.errors import DecodeError
from tests.support.examples import examples, some
from tests.support.recordings import exchanges, name_of, recordings
from tests.support.rows import looped


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def decode(stream: Iterable[bytes], limit: int = 16 << 20) -> tuple[list[WatchEvent], str, int]:
    """(events, text of the error or "", dropped bytes)."""
    decoder = WatchDecoder(limit)
    events: list[WatchEvent] = []
    try:
        for data in stream:
            events += decoder.feed(data)
        events += decoder.end()
    except DecodeError as error:
        assert decoder.error is error
    return events, str(decoder.error or ""), decoder.dropped


def event(kind: str = "ADDED", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "object": {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "5"}, **fields}}


def compact(*events: dict[str, Any], end: str = "\n") -> bytes:
    return "".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) + end for e in events).encode()


ONE, TWO = event(), event("MODIFIED", status={"x": 'br{ack"ets}[', "n": 2**70, "y": [{}, [], {"z": {}}]})
BOTH = [WatchEvent(e["type"], e["object"]) for e in (ONE, TWO)]


@looped("kind", sorted(TYPES))
def test_each_type_of_event(kind: str) -> None:
    assert decode([compact(event(kind))]) == ([WatchEvent(kind, event()["object"])], "", 0)


FRAMINGS = {
    "a line feed after each": compact(ONE, TWO),
    "no line feed after the last": compact(ONE, TWO)[:-1],
    "nothing between": compact(ONE, TWO, end=""),
    "CR LF": compact(ONE, TWO, end="\r\n"),
    "blank lines": b"\n\r\n  \n" + compact(ONE, TWO, end="\n\n\t\n"),
    "spaces between": b"  " + compact(ONE, TWO, end=" \t "),
    "two on a line, then a line feed": compact(ONE, end="") + compact(TWO),
    "values over several lines": b"".join(json.dumps(e, indent=2).encode() + b"\n" for e in (ONE, TWO)),
    "several lines and nothing between": b"".join(json.dumps(e, indent=1).encode() for e in (ONE, TWO)),
    "one value and a half on a line": compact(ONE, end="") + json.dumps(TWO, indent=1).encode(),
    "keys in another order, more keys": compact(
        {"object": ONE["object"], "extra": [1], "type": "ADDED"}, {"Type": "x", **TWO}
    ),
    "escapes": json.dumps(ONE).encode() + b"\n" + json.dumps(TWO).replace("ck", "\\u0063k").encode() + b"\n",
}


@looped("data", FRAMINGS.values(), ids=FRAMINGS)
def test_framing(data: bytes) -> None:
    whole = decode([data])
    assert whole == (BOTH, "", 0)
    for cut in range(len(data) + 1):
        assert decode([data[:cut], data[cut:]]) == whole, cut
    for size in (1, 2, 3, 7):
        assert decode(pieces(data, size)) == whole, size


@pytest.mark.parametrize("name", ["a line feed after each", "nothing between", "values over several lines"])
def test_an_event_is_given_as_soon_as_it_is_whole(name: str) -> None:
    decoder = WatchDecoder()
    data = FRAMINGS[name].rstrip()
    given = [len(decoder.feed(data[i : i + 1])) for i in range(len(data))]
    assert sum(given) == 2 or (sum(given[:-1]), decoder.end()) == (1, BOTH[1:])
    assert given[-1] == 1, "the last byte of an event completes it, a line feed need not follow"


def test_the_first_event_is_given_although_the_next_has_begun_on_the_same_line() -> None:
    decoder = WatchDecoder()
    assert decoder.feed(compact(ONE, TWO, end="")[:-9]) == BOTH[:1]


@looped("text", ["\u0085", "\u2028", "\u2029", "\x0b\x0c", "é", "😀", "\x1c\x1d\x1e", "\\n\n"], ids=ascii)
def test_only_0x0a_is_a_line_feed(text: str) -> None:
    stream = json.dumps(event(text=text), ensure_ascii=False).encode() + b"\n"
    assert stream.count(b"\n") == 1
    for cut in range(len(stream)):
        events, error, _ = decode([stream[:cut], stream[cut:]])
        assert (error, [e.object["text"] for e in events]) == ("", [text])


def test_invalid_utf8_becomes_the_replacement_character_and_the_stream_goes_on() -> None:
    stream = compact(event(text="@"), ONE).replace(b"@", b"\xff\xc3")
    for size in (1, 5, len(stream)):
        events, error, _ = decode(pieces(stream, size))
        assert not error
        assert [e.object.get("text") for e in events] == ["\ufffd\ufffd", None]


def test_numbers_stay_what_they_are() -> None:
    ((found,), _, _) = decode([compact(event(big=2**63, negative=-5, real=1.5))])
    assert found.object["big"] == 2**63
    assert (found.object["negative"], found.object["real"]) == (-5, 1.5)
    assert found.resource_version == "5"


@looped(
    ("kind", "obj", "version"),
    [
        pytest.param("BOOKMARK", {"metadata": {"resourceVersion": "12746"}}, "12746", id="bookmark without more"),
        pytest.param("DELETED", {"metadata": {"resourceVersion": "7"}}, "7", id="version of the deletion"),
        pytest.param("ERROR", {"kind": "Status", "metadata": {}, "code": 410}, "", id="ERROR without version"),
        pytest.param("ERROR", {"metadata": {"resourceVersion": "9"}}, "", id="ERROR never moves the version"),
        pytest.param("ADDED", {"metadata": {"resourceVersion": 9}}, "", id="a number is no version"),
        pytest.param("ADDED", {"metadata": None}, "", id="null metadata"),
        pytest.param("ADDED", {}, "", id="no metadata"),
    ],
)
def test_resource_version(kind: str, obj: dict[str, Any], version: str) -> None:
    assert WatchEvent(kind, obj).resource_version == version


@looped(
    ("kind", "annotations", "ends"),
    [
        ("BOOKMARK", {"k8s.io/initial-events-end": "true"}, True),
        ("BOOKMARK", {"k8s.io/initial-events-end": "false"}, False),
        ("BOOKMARK", {}, False),
        ("BOOKMARK", None, False),
        ("ADDED", {"k8s.io/initial-events-end": "true"}, False),
    ],
)
def test_end_of_the_initial_events(kind: str, annotations: object, ends: bool) -> None:
    assert WatchEvent(kind, {"metadata": {"annotations": annotations}}).ends_initial_events is ends


def test_half_an_event_at_the_end_is_dropped_and_counted() -> None:
    for cut in range(1, len(compact(TWO)) - 1):
        assert decode([compact(ONE) + compact(TWO)[:cut]]) == (BOTH[:1], "", cut), cut


@pytest.mark.parametrize("stream", [b"", b"\n", b" \r\n\t"], ids=repr)
def test_nothing_is_no_event_and_no_error(stream: bytes) -> None:
    assert decode([stream])[:2] == ([], "")


BAD = {
    "unknown type": (b'{"type":"WAT","object":{}}', "got invalid watch event type: WAT"),
    "type of another case": (b'{"type":"added","object":{}}', "got invalid watch event type: added"),
    "type with control characters": (
        b'{"type":"\\u001b[31m\\n","object":{}}',
        "got invalid watch event type: \\x1b[31m\\n",
    ),
    "key of another case": (
        b'{"Type":"ADDED","object":{}}',
        'not a watch event, it has no type: {"Type":"…","object":{}}',
    ),
    "type is a number": (b'{"type":1,"object":{}}', 'not a watch event, it has no type: {"type":1,"object":{}}'),
    "object is null": (b'{"type":"ADDED","object":null}', "the watch event ADDED has no object: "),
    "object is missing": (b'{"type":"ADDED"}', "the watch event ADDED has no object: "),
    "object is a list": (b'{"type":"ADDED","object":[]}', "the watch event ADDED has no object: "),
    "a number": (b"42", "not a watch event"),
    "a list": (b'["a"]', "not a watch event"),
    "a string": (b'"a"', "not a watch event"),
    "a log line": (b"2026-11-30 started", "not a watch event, not JSON: 2026-11-30 started"),
    "a log line in JSON": (b'{"level":"info","token":"abc"}', '{"level":"…","token":"…"}'),
    "HTML": (b"<html>", "not a watch event, not JSON: <html>"),
    "control characters": (b"\x1b[2J\x00", "not a watch event, not JSON: \\x1b[2J\\x00"),
    "a Status": (
        b'{"kind":"Status","status":"Failure","message":"no\\nway"}',
        "not a watch event but a Status: no\\nway",
    ),
    "no colon": (b'{"type" "ADDED"}', "not a watch event, not JSON: "),
    "1e999": (b'{"type":"ADDED","object":{"a":1e999}}', "not a watch event, not JSON: "),
    "NaN": (b'{"type":"ADDED","object":{"a":NaN}}', "not a watch event, not JSON: "),
    "wrong bracket": (b'{"type":"ADDED","object":[}', "not a watch event, not JSON: "),
    "line feed in a string": (b'{"type":"ADDED\n","object":{}}', "not a watch event, not JSON: "),
    "an escaped control character": (b'{"type":"ADDED","object":{"a":"\\\x01"}}', "not a watch event, not JSON: "),
    "a cut event, then another": (
        b'{"type":"ADDED","object":{"a":{"b":1}\n{"type":"ADDED","object":{}}',
        "not a watch event, not JSON: ",
    ),
    "too deep": (b'{"type":"ADDED","object":' + b'{"a":' * 30000 + b"1" + b"}" * 30000 + b"}", "not JSON"),
    "a huge number": (b'{"type":"ADDED","object":{"a":' + b"9" * 5000 + b"}}", "not JSON"),
    "not UTF-8": (b"\xff\xfe{", "not a watch event, not JSON: \ufffd\ufffd{"),
}


@looped(("bad", "text"), BAD.values(), ids=BAD)
def test_what_is_no_event_is_an_error_after_the_events_before_it(bad: bytes, text: str) -> None:
    sizes = (1, 7, 10**9) if len(bad) < 1000 else (10**9,)
    for size in sizes:
        for end in (b"\n", b"\n" + compact(ONE)):
            events, error, _ = decode(pieces(compact(ONE, TWO) + bad + end, size))
            assert events == BOTH
            assert text in error
            assert error.isprintable()
            assert len(error) < 150


@looped(("bad", "text"), BAD.values(), ids=BAD)
def test_what_is_no_event_is_told_at_the_end_of_the_stream_too(bad: bytes, text: str) -> None:
    assert text in decode([bad])[1]


def test_string_values_are_not_shown() -> None:
    for value in ('"c2VjcmV0', '"c2VjcmV0"}', '"\\"c2VjcmV0"', '"\\'):
        error = decode([b'{"data":' + value.encode() + b"}\n{"])[1]
        assert "2VjcmV0" not in error


def test_an_error_comes_at_once_if_no_event_comes_with_it() -> None:
    decoder = WatchDecoder()
    with pytest.raises(DecodeError, match="WAT"):
        decoder.feed(BAD["unknown type"][0])


def test_an_error_after_an_event_is_told_by_the_attribute_and_raised_by_every_later_call() -> None:
    decoder = WatchDecoder()
    assert decoder.feed(compact(ONE) + BAD["unknown type"][0]) == BOTH[:1]
    assert isinstance(decoder.error, DecodeError)
    calls: list[Callable[[], object]] = [lambda: decoder.feed(compact(ONE)), decoder.end, decoder.end]
    for call in calls:
        with pytest.raises(DecodeError, match="WAT"):
            call()


@looped("end", ["\n", ""], ids=["lines", "no line feeds"])
@looped("size", [1, 10, 10**6], ids="pieces of {}".format)
def test_the_limit_is_for_one_event(size: int, end: str) -> None:
    exact = len(compact(TWO, end=""))
    stream = compact(ONE, TWO, ONE, end=end)
    assert decode(pieces(stream, size), limit=exact)[:2] == ([*BOTH, BOTH[0]], "")
    events, error, _ = decode(pieces(stream, size), limit=exact - 1)
    assert events == BOTH[:1]
    assert "longer than maximum allowed size" in error
    assert f"more than {exact - 1} bytes" in error


def test_the_buffer_is_bounded_when_an_event_never_ends() -> None:
    decoder = WatchDecoder(limit=1000)
    with pytest.raises(DecodeError, match="more than 1000 bytes"):
        decoder.feed(b'{"type":"ADDED","object":{"a":"')
        for _ in range(12):
            decoder.feed(b"x" * 100)


def test_white_space_does_not_count() -> None:
    stream = b" " * 5000 + compact(ONE, end="\n" * 5000) + b" " * 5000 + compact(TWO)
    for size in (1, 999, 10**6):
        assert decode(pieces(stream, size), limit=1000)[:2] == (BOTH, "")


def test_a_big_event_passes() -> None:
    stream = compact(event(text="x" * (3 << 20)), ONE)
    events, error, _ = decode(pieces(stream, 4096))
    assert (len(events), error) == (2, "")


def seconds(stream: bytes, size: int) -> float:
    data = pieces(stream, size)
    decoder = WatchDecoder()
    gc.disable()  # it takes its share of a time that is measured, now and then
    try:
        started = time.process_time()
        count = sum(len(decoder.feed(piece)) for piece in data) + len(decoder.end())
        taken = time.process_time() - started
    finally:
        gc.enable()
    assert count >= 1
    return taken


HARD = {
    "one string": lambda n: compact(event(text="x" * n)),
    "a string of escapes": lambda n: compact(event(text='"' * (n // 2))),
    "brackets in a string": lambda n: compact(event(text="}{" * (n // 2))),
    "brackets": lambda n: compact(event(list=[{"a": {}}] * (n // 11))),
    "many lines": lambda n: json.dumps(event(list=[{"a": {}}] * (n // 40)), indent=1).encode(),
    "no line feeds": lambda n: compact(*[ONE] * (n // 90), end=""),
    "white space": lambda n: b" " * n + compact(ONE),
}


@pytest.mark.parametrize("size", [1, 10**9], ids=["byte by byte", "whole"])
@pytest.mark.parametrize("stream", HARD.values(), ids=HARD)
def test_time_is_linear(stream: Callable[[int], bytes], size: int) -> None:
    n = 3_000 if size == 1 else 20_000
    small = min(seconds(stream(n), size) for _ in range(2))
    large = seconds(stream(8 * n), size)
    # Linear is 8 times, quadratic 64. The margin is for a busy machine.
    assert large < 32 * small + 0.05


def bodies(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        for number, one in enumerate(exchanges(path)):
            if one.query.get("watch") == "true" and one.status == 200:
                yield f"{name_of(path)}-{number}", one.body


def test_recorded_streams() -> None:
    tried = list(bodies(some("recorded streams", recordings("rollout", "rollout-listwatch", "watch"))))
    assert len(tried) > 10
    for name, body in tried:
        whole = decode([body])
        lines = [json.loads(line) for line in body.split(b"\n") if line]
        assert whole == ([WatchEvent(line["type"], line["object"]) for line in lines], "", 0), name
        if len(body) < 20_000:
            assert decode(pieces(body, 1)) == whole, name
        for cut in range(0, len(body), 1 if len(body) < 1000 else 1 + len(body) // 40):
            assert decode([body[:cut], body[cut:]]) == whole, (name, cut)
        for size in (7, 512, 1460, 4096):
            assert decode(pieces(body, size)) == whole, (name, size)


def test_a_recorded_short_stream_at_every_cut() -> None:
    body = next(one.body for one in exchanges(recordings("watch")[0].with_name("too-old.jsonl")))
    ((found,), error, _) = decode([body])
    assert (found.type, found.object["code"], found.resource_version, error) == ("ERROR", 410, "", "")
    for first in range(len(body)):
        for second in range(first, len(body), 5):
            assert decode([body[:first], body[first:second], body[second:]])[0] == [found]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["}{", '"', "\\", "\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.builds(lambda kind, obj: {"type": kind, "object": {"x": obj}}, st.sampled_from(sorted(TYPES)), JSON)
ENDS = st.sampled_from(["\n", "", " ", "\r\n", "\n\n"])


def cut_at(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted(min(cut, len(data)) for cut in cuts)
    return [data[a:b] for a, b in zip([0, *edges], [*edges, len(data)], strict=True)]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(EVENTS, ENDS, st.sampled_from([None, 1]), st.booleans()), max_size=4),
    st.lists(st.integers(0, 300), max_size=6),
)
def test_any_split_gives_the_same_events(parts: list[Any], cuts: list[int]) -> None:
    stream = b"".join(
        (json.dumps(e, indent=indent, ensure_ascii=ascii_only) + end).encode("utf-8", "replace")
        for e, end, indent, ascii_only in parts
    )
    events, error, dropped = decode(cut_at(stream, cuts))
    assert (error, dropped) == ("", 0)
    assert decode(pieces(stream, 1)) == (events, "", 0)
    assert [e.type for e in events] == [e["type"] for e, *_ in parts]


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.sampled_from([compact(ONE), compact(TWO, end=""), b"{", b"}", b'"', b"\n", b"\\", b"[", b"x", b","])),
    st.lists(st.integers(0, 300), max_size=6),
)
def test_any_split_of_anything_gives_the_same_events_and_at_worst_a_decode_error(
    parts: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(parts)
    events, error, _ = decode([stream])
    for cut in (cut_at(stream, cuts), pieces(stream, 1)):
        other, other_error, _ = decode(cut)
        assert other == events
        assert bool(other_error) == bool(error)


@looped(
    ("a", "b", "order"),
    [("9", "10", -1), ("10", "10", 0), ("10", "9", 1), ("1" * 40, "2" * 39, 1), ("99999999999999999999", "1", 1)],
)
def test_compare_resource_versions(a: str, b: str, order: int) -> None:
    assert compare_resource_versions(a, b) == order


@looped("version", ["0", "", "010", "-1", "1a", "١", "+1", " 1", "1\n"], ids=ascii)
def test_what_is_no_resource_version(version: str) -> None:
    for pair in ((version, "1"), ("1", version)):
        with pytest.raises(DecodeError, match="resource version is not well formed: "):
            compare_resource_versions(*pair)
