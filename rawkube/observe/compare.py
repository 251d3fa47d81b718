"""Pure: two recordings of the same command, and in what they differ.

Exchanges belong together that ask for the same: method, path and query, without what belongs to one run (resource
versions, the random end of generated names, the prefix that a proxy puts before the path). Of several that ask for the
same the first belongs to the first, and so on. Sessions are compared by what each channel carried, not by how it was
cut into messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from rawkube._typing import NamedTuple
from rawkube.gotext import one_line
from rawkube.observe.compared import Compared
from rawkube.observe.conversation import CLIENT, SERVER
from rawkube.observe.trace import preview

NONE = "nothing"
SLOWER, SLOWER_BY = 5.0, 1.0
"""Times differ when one is so many times the other, and so many seconds more."""

# Headers that are other ones in every run, or follow from what is compared anyway.
_VOLATILE = frozenset(
    (
        *("date", "age", "expires", "last-modified", "etag", "content-length", "audit-id", "kubectl-session"),
        *("sec-websocket-key", "sec-websocket-accept", "authorization", "cookie", "set-cookie"),
        *("x-request-id", "x-correlation-id", "x-amzn-trace-id", "traceparent", "tracestate", "cf-ray"),
    )
)
# What says who spoke with whom: told, and no difference.
_APART = frozenset(("user-agent", "host", "origin", "kubectl-command"))
_PROXY_HEADERS = ("via", "server", "x-", "cf-", "alt-svc", "strict-transport-security", "forwarded", "proxy-")


class Difference(NamedTuple):
    """One difference. `a`, `b`: what each recording has, in words; `exchanges`: (number in A, in B), 0 for none."""

    kind: str
    what: str
    a: str
    b: str
    target: str
    exchanges: tuple[int, int]
    conns: tuple[int, int]
    t: float
    also: tuple[tuple[int, int], ...] = ()


class Comparison(NamedTuple):
    """`differences` in the order of A; `apart`: what differs by nature (HEADER, in A, in B); `matched`: how many."""

    differences: list[Difference]
    apart: list[tuple[str, str, str]]
    matched: int


Pair = tuple[Compared, Compared]
Found = Iterator[tuple[str, str, str, str]]


def compare(a: Sequence[Compared], b: Sequence[Compared]) -> Comparison:
    """All differences of two recordings."""
    pairs, only_a, only_b = match(a, b)
    found = [difference for pair in pairs for difference in _of_pair(pair)]
    found += _out_of_order(pairs)
    found += [_alone(one, "missing", in_a=True) for one in only_a]
    # What only B has stands where it came: behind the pair before it.
    times = sorted((second.t, first.t) for first, second in pairs)
    for one in only_b:
        before = [first for second, first in times if second <= one.t]
        found.append(_alone(one, "extra", in_a=False)._replace(t=before[-1] if before else 0.0))
    found.sort(key=lambda difference: difference.t)
    return Comparison(list(_grouped(found)), _apart(pairs), len(pairs))


def match(a: Iterable[Compared], b: Iterable[Compared]) -> tuple[list[Pair], list[Compared], list[Compared]]:
    """The pairs, in the order of A; what has no other half in A, and in B."""
    waiting: dict[Hashable, list[Compared]] = defaultdict(list)
    for one in b:
        waiting[one.key].append(one)
    for several in waiting.values():
        several.reverse()
    pairs, only_a = [], []
    for one in a:
        if waiting[one.key]:
            pairs.append((one, waiting[one.key].pop()))
        else:
            only_a.append(one)
    only_b = sorted((one for several in waiting.values() for one in several), key=lambda one: one.number)
    return _matched_by_path(pairs, only_a, only_b)


def _matched_by_path(
    pairs: list[Pair], only_a: list[Compared], only_b: list[Compared]
) -> tuple[list[Pair], list[Compared], list[Compared]]:
    """What is left and asks for the same path in another way belongs together too."""
    for key in (_path_of, _session_of):
        left = defaultdict(list)
        for one in reversed(only_b):
            left[key(one)].append(one)
        alone = []
        for one in only_a:
            if left[key(one)]:
                pairs.append((one, left[key(one)].pop()))
            else:
                alone.append(one)
        only_a = alone
        only_b = sorted((one for several in left.values() for one in several), key=lambda one: one.number)
    pairs.sort(key=lambda pair: pair[0].number)
    return pairs, only_a, only_b


def _path_of(one: Compared) -> Hashable:
    return one.key[:2]


def _session_of(one: Compared) -> Hashable:
    """A session is asked for by GET (a WebSocket) or by POST (SPDY)."""
    is_session = one.path.endswith(("/exec", "/attach", "/portforward"))
    return one.key[1] if is_session else (id(one),)


def _alone(one: Compared, kind: str, *, in_a: bool) -> Difference:
    answer = f"asked, answered {one.status}" if one.status else "asked, not answered"
    numbers = (one.number, 0) if in_a else (0, one.number)
    conns = (one.conn, 0) if in_a else (0, one.conn)
    texts = (answer, "not asked") if in_a else ("not asked", answer)
    return Difference(kind, "request", *texts, _title(one), numbers, conns, one.t)


def _title(one: Compared) -> str:
    return f"{one_line(one.method)} {one_line(one.target)}"


def _of_pair(pair: Pair) -> Iterator[Difference]:
    a, b = pair
    for look in _LOOKS:
        for kind, what, first, second in look(a, b):
            yield Difference(kind, what, first, second, _title(a), (a.number, b.number), (a.conn, b.conn), a.t)


def _out_of_order(pairs: Sequence[Pair]) -> Iterator[Difference]:
    """Requests that were asked one after the other in both, but the other way round."""
    latest: Pair | None = None
    for pair in pairs:
        if latest is None or pair[1].number > latest[1].number:
            latest = pair
        elif latest[0].last <= pair[0].t and pair[1].last <= latest[1].t:
            yield Difference(
                "order",
                "order",
                f"behind {_title(latest[0])}",
                "before it",
                _title(pair[0]),
                (pair[0].number, pair[1].number),
                (pair[0].conn, pair[1].conn),
                pair[0].t,
            )


def _grouped(found: Iterable[Difference]) -> Iterator[Difference]:
    """The same difference in several exchanges is told once, where it is one of headers or of the way."""
    first: dict[tuple[str, str, str, str], int] = {}
    kept: list[Difference] = []
    for one in found:
        key = one.kind, one.what, one.a, one.b
        if one.kind in _REPEATED and key in first:
            at = first[key]
            kept[at] = kept[at]._replace(also=(*kept[at].also, one.exchanges))
            continue
        first.setdefault(key, len(kept))
        kept.append(one)
    yield from kept


_REPEATED = frozenset(("request-line", "request-header", "response-header", "proxy-header"))


def _apart(pairs: Iterable[Pair]) -> list[tuple[str, str, str]]:
    found: dict[tuple[str, str, str], None] = {}
    for a, b in pairs:
        one, other = _by_name(a.headers), _by_name(b.headers)
        for name in sorted(_APART):
            if one.get(name) != other.get(name) and len(found) < 100:
                found[name, one_line(one.get(name, NONE)), one_line(other.get(name, NONE))] = None
    return list(found)


# What is looked at, in the order in which it passed.


def _request_line(a: Compared, b: Compared) -> Found:
    if a.method != b.method:
        yield "request-line", "method", one_line(a.method), one_line(b.method)
    if a.prefix != b.prefix:
        yield "request-line", "path prefix", one_line(a.prefix) or NONE, one_line(b.prefix) or NONE
    if a.query != b.query:
        mine, others = set(a.query), set(b.query)
        yield "request-line", "query", _parameters(mine - others), _parameters(others - mine)


def _parameters(pairs: set[tuple[str, str]]) -> str:
    return one_line(" ".join(f"{name}={value}" for name, value in sorted(pairs))) or NONE


def _request_headers(a: Compared, b: Compared) -> Found:
    yield from _headers("request-header", "request header", a.headers, b.headers)


def _request_body(a: Compared, b: Compared) -> Found:
    if a.request_body != b.request_body:
        yield "request-body", "request body", *_first_other(a.request_body, b.request_body)


def _status(a: Compared, b: Compared) -> Found:
    if a.status != b.status:
        yield "status", "status", _answer(a), _answer(b)


def _answer(one: Compared) -> str:
    if not one.status:
        return f"no answer{f' ({one.broke})' if one.broke else ''}"
    said = one.said
    message = (
        f": {preview(str(said.get('message')).encode('utf-8', 'replace'), longest=200)}" if "message" in said else ""
    )
    return f"{one.status} {one_line(one.reason)}".strip() + message


def _answer_headers(a: Compared, b: Compared) -> Found:
    if a.status and b.status:
        yield from _headers("response-header", "response header", a.answer_headers, b.answer_headers)


def _headers(kind: str, what: str, a: Iterable[tuple[str, str]], b: Iterable[tuple[str, str]]) -> Found:
    one, other = _by_name(a), _by_name(b)
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) == other.get(name) or name in _VOLATILE | _APART or name.startswith("x-kubernetes-pf-"):
            continue
        texts = one_line(one.get(name, NONE)), one_line(other.get(name, NONE))
        yield ("proxy-header" if _of_a_proxy(name) else kind), f"{what} {one_line(name)}", *texts


def _of_a_proxy(name: str) -> bool:
    return name.startswith(_PROXY_HEADERS) and not name.startswith("x-stream-protocol")


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        found[lower] = f"{found[lower]}, {value}" if lower in found else value
    return found


def _body(a: Compared, b: Compared) -> Found:
    """Objects of two runs differ; what kind of an answer it is does not, nor what a Status says."""
    if a.status != b.status or a.watched or a.protocol is not None or b.protocol is not None:
        return
    one, other = a.said, b.said
    for name in ("apiVersion", "kind", "reason"):
        first, second = one.get(name), other.get(name)
        if first != second and (name != "reason" or "Status" in (one.get("kind"), other.get("kind"))):
            yield "body", f"{name} of the answer", one_line(str(first or NONE)), one_line(str(second or NONE))
    if bool(one) != bool(other) and a.ended is not None and b.ended is not None:
        yield "body", "body", preview(a.body), preview(b.body)


def _events(a: Compared, b: Compared) -> Found:
    if a.events == b.events:
        yield from _undecodable(a, b)
        return
    at = next((i for i, (one, other) in enumerate(zip(a.events, b.events, strict=False)) if one != other), -1)
    at = min(len(a.events), len(b.events)) if at < 0 else at
    yield "watch", f"event {at + 1}", _event(a, at), _event(b, at)


def _undecodable(a: Compared, b: Compared) -> Found:
    if bool(a.undecodable) != bool(b.undecodable):
        yield "watch", "what follows the events", one_line(a.undecodable) or NONE, one_line(b.undecodable) or NONE


def _event(one: Compared, at: int) -> str:
    if at < len(one.events):
        return one_line(" ".join(filter(None, one.events[at])))
    return f"{one.undecodable or one.broke or 'no more'} ({len(one.events)} events)"


def _arrivals(a: Compared, b: Compared) -> Found:
    """Whether events came as they happened in one, and together in the other."""
    if not a.events or len(a.events) != len(b.events):
        return
    reads, others = len(a.arrivals), len(b.arrivals)
    spans = [one.arrivals[-1][0] - one.arrivals[0][0] for one in (a, b)]
    if max(reads, others) >= 2 * min(reads, others) and max(spans) >= SLOWER_BY and max(spans) >= SLOWER * min(spans):
        yield "buffering", "arrival of the events", _arrived(a, spans[0]), _arrived(b, spans[1])


def _arrived(one: Compared, span: float) -> str:
    counts = "+".join(str(count) for _, count in one.arrivals[:20]) + ("+…" if len(one.arrivals) > 20 else "")
    return f"{len(one.events)} events in {len(one.arrivals)} reads over {span:.3f} s ({counts})"


def _protocol(a: Compared, b: Compared) -> Found:
    if a.protocol != b.protocol and a.status == b.status:
        yield "protocol", "subprotocol", one_line(a.protocol or NONE), one_line(b.protocol or NONE)


def _channels(a: Compared, b: Compared) -> Found:
    if a.protocol is None or b.protocol is None:
        return
    for side, name in dict.fromkeys((*a.channels, *b.channels)):
        if name in ("resize", "close", "error"):
            continue
        one, other = a.channels.get((side, name), b""), b.channels.get((side, name), b"")
        sizes = a.sizes.get((side, name), 0), b.sizes.get((side, name), 0)
        if one != other or sizes[0] != sizes[1]:
            texts = _first_other(bytes(one), bytes(other))
            arrow = "→" if side == CLIENT else "←"
            yield "message", f"{arrow} {name}", f"{sizes[0]} B {texts[0]}", f"{sizes[1]} B {texts[1]}"


def _first_other(a: bytes, b: bytes) -> tuple[str, str]:
    at = next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    start = max(0, at - 10)
    where = f" from byte {start}" if start else ""
    return (f"{preview(a[start:])}{where}" if a else NONE), (f"{preview(b[start:])}{where}" if b else NONE)


def _session_end(a: Compared, b: Compared) -> Found:
    if a.protocol is None or b.protocol is None:
        return
    if a.half_closed != b.half_closed:
        yield "half-close", "half-close", "sent" if a.half_closed else NONE, "sent" if b.half_closed else NONE
    if a.exit_code != b.exit_code:
        yield "exit-code", "exit code", _code(a.exit_code), _code(b.exit_code)
    for side in (SERVER, CLIENT):
        one, other = a.closes.get(side), b.closes.get(side)
        if one != other:
            yield "close", f"close of the {side}", _closed(one), _closed(other)


def _code(code: int | None) -> str:
    return NONE if code is None else str(code)


def _closed(close: tuple[int, str] | None) -> str:
    return NONE if close is None else f"{close[0]} {one_line(close[1])}".strip()


def _ends(a: Compared, b: Compared) -> Found:
    # An end that explains what a watch or a missing answer lacks was told there.
    if bool(a.broke) != bool(b.broke) and a.status and b.status and (a.events == b.events):
        yield "end", "end", a.broke or "whole", b.broke or "whole"


def _timing(a: Compared, b: Compared) -> Found:
    yield from _slower("time to the first byte", a.first_byte, b.first_byte)
    if not a.watched and "follow=true" not in a.target:
        yield from _slower("time to the end", _body_time(a), _body_time(b))


def _body_time(one: Compared) -> float | None:
    return None if one.ended is None or one.first_byte is None else one.ended - one.first_byte


def _slower(what: str, a: float | None, b: float | None) -> Found:
    if a is None or b is None:
        return
    if abs(a - b) >= SLOWER_BY and max(a, b) >= SLOWER * min(a, b):
        yield "timing", what, f"{a:.3f} s", f"{b:.3f} s"


_LOOKS: tuple[Callable[[Compared, Compared], Found], ...] = (
    _request_line,
    _request_headers,
    _request_body,
    _status,
    _answer_headers,
    _protocol,
    _body,
    _events,
    _arrivals,
    _channels,
    _session_end,
    _ends,
    _timing,
)


def sentence(difference: Difference) -> str:
    """One difference in one sentence."""
    text = f"{difference.target}: "
    if difference.kind in ("missing", "extra"):
        return text + f"{difference.a} in A, {difference.b} in B"
    if difference.kind == "status":
        return text + f"A was answered {difference.a}, B {difference.b}"
    return text + f"{difference.what} is {difference.a} in A, {difference.b} in B"


def facts_of(comparison: Comparison) -> Iterator[Mapping[str, object]]:
    """The same as plain data, a mapping each: the differences, then how it went."""
    for one in comparison.differences:
        facts = one._asdict()
        facts["differs"] = facts.pop("kind")
        yield {"kind": "difference", **facts}
    yield {
        "kind": "comparison",
        "alike": not comparison.differences,
        "differences": len(comparison.differences),
        "matched": comparison.matched,
        "apart": [{"header": name, "a": a, "b": b} for name, a, b in comparison.apart],
    }
