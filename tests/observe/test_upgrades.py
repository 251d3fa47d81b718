from __future__ import annotations

import json
from pathlib import Path

import pytest

from rawkube.observe.exchanges import Exchange, read_exchanges
from rawkube.observe.match import MISSING, RECORDED, Matcher, Reply
from rawkube.observe.recording import Piece, Recording
from rawkube.observe.upgrades import same_session
from tests.observe.made import (
    ACCEPT,
    EXEC,
    FIXTURES,
    KEY,
    V5,
    answer,
    frame,
    get,
    piece,
    switching,
    upgrade,
)
from tests.support.rows import looped

V4 = "v4.channel.k8s.io"
OTHER_KEY, OTHER_ACCEPT = "AAAAAAAAAAAAAAAAAAAAAA==", "ICX+Yqv66kxgM0FcWaLWlFLwTAI="


def recorded(*pairs: tuple[str, str | bytes]) -> Matcher:
    """A connection for each request and answer."""
    pieces: list[Piece] = []
    for conn, (asked, told) in enumerate(pairs, 1):
        pieces += [piece("client", conn, asked, conn=conn), piece("server", conn + 0.5, told, conn=conn)]
    return Matcher(read_exchanges(p._replace(line=i) for i, p in enumerate(pieces, 2)))


def ask(to: Matcher, request: str) -> Reply:
    lines = request.split("\r\n")
    method, target, _ = lines[0].split(" ")
    return to.reply(method, target, [(n, v.strip()) for n, _, v in (line.partition(":") for line in lines[1:-2])])


def message(reply: Reply) -> str:
    assert (reply.how, reply.answer.status, reply.sources) == (MISSING, 400, ())
    text = json.loads(b"".join(chunk.data for chunk in reply.answer.body))["message"]
    assert isinstance(text, str)
    return text


def head(reply: Reply) -> str:
    assert (reply.how, reply.answer.status, len(reply.answer.raw)) == (RECORDED, 101, 1)
    return reply.answer.raw[0].data.decode()


def test_the_head_is_the_recorded_one_with_an_answer_to_this_key() -> None:
    odd = switching().replace("Sec-WebSocket-Accept: ", "SEC-websocket-ACCEPT:\t ").replace("101 Sw", "101 sw")
    to = recorded((upgrade(), odd.encode() + frame(b"\1")))
    assert head(ask(to, upgrade())) == odd
    assert head(ask(to, upgrade(key=OTHER_KEY))) == odd.replace(ACCEPT, OTHER_ACCEPT)


def test_a_wrong_answer_to_a_key_stays_wrong() -> None:
    to = recorded((upgrade(), switching(accept=OTHER_ACCEPT)))
    assert OTHER_ACCEPT in head(ask(to, upgrade()))


SUBPROTOCOLS = [
    # what the recorded client offered, what was chosen, what this client offers: does it match?
    (V5, V5, V5, True),
    (V5, V5, f"{V4}, {V5}", True),
    (V5, V5, f"{V4},{V5}", True),
    (V5, V5, V4, False),
    (V5, V5, "", False),
    (V5, V5, V5.upper(), False),
    ("", "", "", True),
    ("", "", V5, False),
    # The server chose what was not offered: it does so again.
    (V5, "", V5, True),
    (V5, "", "", False),
    (V5, V4, V5, True),
    (V5, V4, "", False),
]


@looped(("offered", "chosen", "offers", "matches"), SUBPROTOCOLS)
def test_subprotocols(offered: str, chosen: str, offers: str, matches: bool) -> None:
    told = ask(recorded((upgrade(offered=offered), switching(chosen))), upgrade(offered=offers))
    if matches:
        assert f"Sec-WebSocket-Protocol: {chosen}\r\n" in head(told)
    else:
        expected = f"speaks {chosen or 'no subprotocol'}; the client offers {offers or 'none'}"
        assert message(told) == f"the recording has no answer to GET {EXEC}: the recorded session {expected}"


def test_of_several_the_one_whose_subprotocol_is_offered() -> None:
    to = recorded((upgrade(offered=V4), switching(V4)), (upgrade(), switching()))
    assert V5 in head(ask(to, upgrade()))
    assert V4 in head(ask(to, upgrade(offered=V4)))


def test_the_next_of_several_at_each_repetition() -> None:
    to = recorded((upgrade(), answer("no", "503 Busy")), (upgrade(), switching()))
    assert [ask(to, upgrade()).answer.status for _ in range(3)] == [503, 101, 101]


@pytest.mark.parametrize("status", ["403 Forbidden", "400 Bad Request", "404 Not Found", "500 No"])
def test_a_refusal_is_an_answer_like_any_other(status: str) -> None:
    exchange = recorded((upgrade(), answer("no", status)))
    told = ask(exchange, upgrade(offered=V4))
    assert (told.how, told.answer.status) == (RECORDED, int(status[:3]))
    assert told.answer is told.sources[0].answer


PATH = EXEC.partition("?")[0]
SAME = [
    ("command=sh&command=-c&stdout=true", "stdout=true&command=sh&command=-c", True),
    ("command=sh&command=-c", "command=-c&command=sh", False),
    ("command=sh", "command=sh&command=-c", False),
    ("command=a+b", "command=a%20b", True),
    ("command=", "", False),
    ("command=a&stdout=true", "command=a&stdout=1", True),
    ("command=a&stdout=true", "command=a", False),
    ("command=a&stdout=false", "command=a", True),
    ("command=a&stdin=true", "command=a", False),
    ("command=a&stderr=true", "command=a", False),
    ("command=a&tty=true", "command=a", False),
    ("command=a&container=x", "command=a&container=y", False),
    ("command=a&container=x", "command=a", False),
    ("command=a&timeout=5s", "command=a", True),
    ("ports=80", "ports=81", False),
]


@looped(("one", "other", "same"), SAME)
def test_what_makes_a_session_the_same(one: str, other: str, same: bool) -> None:
    assert same_session(f"{PATH}?{one}", f"{PATH}?{other}") is same
    told = ask(recorded((upgrade(f"{PATH}?{one}"), switching())), upgrade(f"{PATH}?{other}"))
    assert told.how == (RECORDED if same else MISSING)


def test_a_400_tells_what_is_recorded() -> None:
    told = message(ask(recorded((upgrade(), switching())), upgrade(f"{PATH}?command=ls")))
    assert told == (
        f"the recording has no answer to GET {PATH}?command=ls with an upgrade to websocket; "
        f"recorded for this path: GET {EXEC} with an upgrade to websocket"
    )


def test_with_and_without_an_upgrade_are_two_things() -> None:
    both = recorded((get(EXEC), answer("no", "400 Bad Request")), (upgrade(), switching()))
    for _ in range(2):
        assert ask(both, get(EXEC)).answer.status == 400
        assert ask(both, upgrade()).answer.status == 101
    assert "with an upgrade" in message(ask(recorded((upgrade(), switching())), get(EXEC)))
    assert "recorded" in message(ask(recorded((get(EXEC), answer("no", "400 No"))), upgrade()))


def test_an_upgrade_to_something_else_is_no_upgrade() -> None:
    """curl asks for h2c with every request."""
    to = recorded((get("/a"), answer("x")))
    assert ask(to, get("/a").replace("Accept", "Upgrade: h2c\r\nAccept")).how == RECORDED


def test_an_upgrade_without_a_key() -> None:
    asked = upgrade().replace(f"Sec-WebSocket-Key: {KEY}\r\n", "")
    assert message(ask(recorded((upgrade(), switching())), asked)).endswith("needs a Sec-WebSocket-Key")


def read(path: Path) -> list[Exchange]:
    with Recording(path) as recording:
        return read_exchanges(recording)


def test_spdy_is_told_apart() -> None:
    exchanges = read(FIXTURES / "exec" / "spdy-1.27.jsonl")
    to = Matcher(exchanges)
    asked = exchanges[-1]
    what = "the recorded session speaks SPDY/3.1, which is not replayed; only WebSocket channels are"
    told = message(to.reply(asked.method, asked.target, asked.headers))
    assert told == f"the recording has no answer to POST {asked.target}: {what}"
    # A client that asks for a WebSocket hears of it too.
    assert message(ask(to, upgrade(asked.target))).endswith(what)


def test_spdy_within_a_websocket_too() -> None:
    asked = read(FIXTURES / "exec" / "port-forward.jsonl")[-1]
    told = message(Matcher([asked]).reply(asked.method, asked.target, asked.headers))
    assert "speaks SPDY/3.1+portforward.k8s.io" in told


def test_a_message_is_one_line() -> None:
    told = message(ask(recorded((upgrade(), switching())), upgrade(offered="a\x1b[2J\x07")))
    assert told.isprintable()
