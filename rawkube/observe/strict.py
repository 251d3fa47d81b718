"""Pure: a recording taken at its word: each request once, in its order, nothing derived.

What was recorded after the end of another answer may be asked for only after that one: a request could depend on it.
Requests that were under way at the same time may come in any order. A request is the same with the same method, path
and parameters (but `timeoutSeconds` and `timeout`, which clients choose at random), in a form that the client takes.
Discovery documents are the exception: those that the recording has nothing of are added, since clients keep them for
hours, and a recording that was made meanwhile lacks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rawkube.gotext import one_line
from rawkube.observe import derive, upgrades
from rawkube.observe.ask import Ask, ask_of, is_discovery
from rawkube.observe.exchanges import Exchange
from rawkube.observe.forms import Known, acceptable
from rawkube.observe.match import MISSING, RECORDED, Matcher, Reply, namespace_of_all, no_discovery

_AT_RANDOM = ("timeoutSeconds", "timeout")
_SHOWN = 4


class StrictMatcher:
    """Answers requests from recorded exchanges, each once.

    `name`, `discovery`: as of `Matcher`. `loop`: all of them anew when all have been asked for.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        name: str = "the recording",
        discovery: Callable[[], Sequence[Exchange]] = no_discovery,
        loop: bool = False,
    ) -> None:
        self.known = [Known(ask_of(e.method, e.target, e.headers), e) for e in exchanges]
        self.name = name
        self._loop = loop
        self._left = list(self.known)
        self._discovery = Matcher(exchanges, name=name, discovery=discovery)

    @property
    def namespace(self) -> str:
        """The namespace that most requests name, empty where none does."""
        return namespace_of_all(self.known)

    def reply(self, method: str, target: str, headers: Iterable[tuple[str, str]]) -> Reply:
        """Answer a request."""
        headers = tuple(headers)
        if self._loop and not self._left:
            self._left = list(self.known)
        ask = ask_of(method, target, headers)
        same = [k for k in self._left if _same(ask, k.ask) and upgrades.same_session(target, k.exchange.target)]
        found = next((k for k in acceptable(ask, same) if not self._problem(k, headers)), None)
        if found is None and is_discovery(ask.path) and not any(k.ask.path == ask.path for k in self.known):
            more = self._discovery.discovered(ask)
            return more or self._missing(method, target, "")
        if found is None:
            return self._missing(method, target, self._problem(same[0], headers) if same else "")
        self._left.remove(found)
        answer = upgrades.answer_for(found.exchange, headers) if ask.upgrade else found.exchange.answer
        return Reply(answer, RECORDED, (found.exchange,))

    def _problem(self, known: Known, headers: tuple[tuple[str, str], ...]) -> str:
        """Why a recorded exchange cannot come now; empty where it can."""
        if before := [k for k in self._left if _ended(k.exchange) < known.exchange.started]:
            return f"before it {_listed(before)}"
        return upgrades.problem_with(known.exchange, headers) if known.ask.upgrade else ""

    def _missing(self, method: str, target: str, problem: str) -> Reply:
        if not problem:
            problem = f"next {_listed(self._left)}" if self._left else "everything that is recorded has been asked for"
        message = f"{self.name} has no answer to {method} {target} here: {problem}"
        return Reply(derive.status_answer(400, "Bad Request", one_line(message)), MISSING)


def _same(ask: Ask, recorded: Ask) -> bool:
    place = (recorded.method, recorded.path, recorded.upgrade)
    return (ask.method, ask.path, ask.upgrade) == place and _chosen(ask) == _chosen(recorded)


def _chosen(ask: Ask) -> dict[str, str]:
    return {name: value for name, value in ask.params.items() if name not in _AT_RANDOM}


def _ended(exchange: Exchange) -> float:
    """When the recorded answer was whole, or its last piece had come."""
    return exchange.started + exchange.answer.end


def _listed(known: Sequence[Known]) -> str:
    lines = [f"{k.exchange.method} {k.exchange.target}" for k in known[:_SHOWN]]
    more = f"; and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"{'is' if len(known) == 1 else 'are'} recorded: {'; '.join(lines)}{more}"
