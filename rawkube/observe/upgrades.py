"""Pure: which recorded upgrade answers another client's, and the head of its 101 for that client."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qs

from rawkube.observe.exchanges import Answer, Chunk, Exchange
from rawkube.wire.websocket import accept_for

_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # Go's strconv.ParseBool
_FLAGS = ("stdin", "stdout", "stderr", "tty")
_ACCEPT = re.compile(rb"(?im)^(sec-websocket-accept[ \t]*:[ \t]*)[^\r\n]*")
_SWITCHING = 101

Pairs = Iterable[tuple[str, str]]


def kind_of(upgrade: str) -> str:
    """What a request's `Upgrade` header asks for: `websocket`, `spdy/3.1`, or nothing that is recorded (empty)."""
    word = upgrade.strip().lower()
    return word if word == "websocket" or word.startswith("spdy/") else ""


def same_session(target: str, recorded: str) -> bool:
    """Whether two targets of the same path ask for the same: command, container, streams, ports.

    The parameters are those of `PodExecOptions`, `PodAttachOptions` and `PodPortForwardOptions` (core/v1).
    """
    return _wanted(target) == _wanted(recorded)


def _wanted(target: str) -> tuple[object, ...]:
    query = parse_qs(target.partition("?")[2].partition("#")[0], keep_blank_values=True)
    flags = tuple(query.get(name, [""])[0] in _TRUE for name in _FLAGS)
    return query.get("command"), query.get("container", [""])[0], query.get("ports"), *flags


def problem_with(exchange: Exchange, headers: Pairs) -> str:
    """Why a recorded upgrade cannot be replayed for a client that sent these headers; empty if it can.

    A recorded refusal always can.
    """
    answer = exchange.answer
    if answer.status != _SWITCHING:
        return ""
    chosen = answer.header("sec-websocket-protocol").strip()
    for what in (answer.header("upgrade").strip(), chosen):
        if what.lower().startswith("spdy/"):
            return f"the recorded session speaks {what}, which is not replayed; only WebSocket channels are"
    headers = tuple(headers)
    if not _first(headers, "sec-websocket-key"):
        return "an upgrade to websocket needs a Sec-WebSocket-Key"
    offered = _offered(headers)
    if chosen in offered or _as_ill_chosen(exchange, chosen, offered):
        return ""
    speaks = f"the recorded session speaks {chosen or 'no subprotocol'}"
    return f"{speaks}; the client offers {', '.join(offered) or 'none'}"


def _as_ill_chosen(exchange: Exchange, chosen: str, offered: list[str]) -> bool:
    """Whether the recorded server chose what its client had not offered either: a fault is part of a recording."""
    recorded = _offered(exchange.headers)
    return chosen not in recorded and bool(recorded) == bool(offered)


def answer_for(exchange: Exchange, headers: Pairs) -> Answer:
    """The recorded answer, with the `Sec-WebSocket-Accept` that answers this client's key (RFC 6455, 4.2.2).

    One that did not answer the recorded client's key stays as it is. The head is one chunk.
    """
    answer = exchange.answer
    if answer.status != _SWITCHING:
        return answer
    head = b"".join(chunk.data for chunk in answer.raw)
    told = answer.header("sec-websocket-accept").strip()
    if told == accept_for(_first(exchange.headers, "sec-websocket-key")):
        fresh = accept_for(_first(headers, "sec-websocket-key")).encode()
        head = _ACCEPT.sub(lambda match: match[1] + fresh, head, count=1)
    return answer._replace(raw=(Chunk(answer.raw[-1].delay, head),))


def _offered(headers: Pairs) -> list[str]:
    lists = [value for name, value in headers if name.lower() == "sec-websocket-protocol"]
    return [word.strip() for value in lists for word in value.split(",") if word.strip()]


def _first(headers: Pairs, name: str) -> str:
    return next((value.strip() for key, value in headers if key.lower() == name), "")
