"""Pure: recorded answers in a form that a client takes: JSON, protobuf, Table, 304."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rawkube._typing import NamedTuple
from rawkube.observe import accept, derive
from rawkube.observe.ask import Ask
from rawkube.observe.exchanges import Answer, Exchange


class Known(NamedTuple):
    """A recorded exchange with its request read."""

    ask: Ask
    exchange: Exchange


def acceptable(ask: Ask, group: Sequence[Known]) -> list[Known]:
    """Those in the form that the client likes best, and failures (which come in their turn)."""
    ranks = [(rank(ask, k), k) for k in group]
    best = min((r for r, k in ranks if r is not None and k.exchange.answer.status < 400), default=0)
    return [k for r, k in ranks if r is not None and (r == best or k.exchange.answer.status >= 400)]


def rank(ask: Ask, known: Known) -> int | None:
    """How well an answer's form suits a client, least is best; None where it does not."""
    answer = known.exchange.answer
    if answer.status == 304:
        # Better than the whole document, but only for a client that has that version of it.
        return -1 if answer.header("etag") and answer.header("etag") in ask.validators else None
    if answer.status in (406, 415):
        return 0 if known.ask.accept == ask.accept else None
    if answer.status == 0 or answer.status >= 400 or answer.status == 101:
        return 0
    return accept.rank(ask.accept, answer.content_type, table=derive.is_table(answer))


def mentions(answer: Answer, groups: Iterable[str]) -> int:
    """How many of these names stand in an answer, quoted."""
    body = b"".join(chunk.data for chunk in answer.body)
    return sum(f'"{group}"'.encode() in body for group in groups)
