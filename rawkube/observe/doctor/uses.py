"""Pure: what exec, watch and rollout status need of a server, from facts to findings: credentials, discovery, rights,
upgrades, watches, idle connections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rawkube.gotext import one_line
from rawkube.observe.doctor.facts import (
    FAIL,
    PASS,
    UNKNOWN,
    WARN,
    Answer,
    Finding,
    Idle,
    Ran,
    Right,
    Watched,
    is_page,
    milliseconds,
    way,
    what,
)

ANONYMOUS = "system:anonymous"
_SHOWN = 5
# What a proxy, a balancer or a web server has to be told for a WebSocket to pass.
_ABOUT_UPGRADES = (
    "something between takes the Upgrade header away: let WebSockets pass there (nginx: proxy_http_version 1.1 and "
    "proxy_set_header Upgrade/Connection; a balancer: HTTP/1.1 or TCP mode)"
)
_ABOUT_BUFFERS = (
    "something between collects the answer before it passes it on: switch that off there (nginx: proxy_buffering off; "
    "an inspecting proxy: an exception for this server)"
)


# Who one is


def credentials(kind: str, source: str, error: str = "", detail: Sequence[str] = (), seconds: float = 0.0) -> Finding:
    """The credential, before it is shown to anybody. `kind`: in words, empty for none."""
    where = f", from {source}" if source else ""
    if error:
        seen = "; ".join(one_line(line) for line in [f"{kind}{where}: {error}", *detail[:2]])
        return Finding("credentials", FAIL, seen, "run the login of that tool again, or its command by hand", seconds)
    if not kind:
        return Finding("credentials", WARN, "none", "the server will see nobody: is a user missing in the context?")
    took = f" in {milliseconds(seconds)}" if seconds > 0.1 else ""
    return Finding("credentials", PASS, f"{kind}{where}{took}", "", seconds)


def identity(answer: Answer, kind: str) -> Finding:
    """Whom the server takes one for; `answer`: to a SelfSubjectReview. `kind`: of the credential, empty for none."""

    def said(result: str, seen: str, advice: str = "") -> Finding:
        return Finding("identity", result, seen, advice, answer.seconds)

    lost = "the credential does not arrive, or the server ignores it: a proxy that takes Authorization away?"
    if answer.status in (200, 201):
        status = answer.object.get("status")
        info = status.get("userInfo") if isinstance(status, dict) else None
        if not isinstance(info, dict):
            return said(UNKNOWN, what(answer), "no SelfSubjectReview came back")
        user = one_line(str(info.get("username") or ""))
        if user == ANONYMOUS:
            return said(FAIL, f"{user}, in spite of the {kind}", lost) if kind else said(WARN, user)
        groups = info.get("groups") if isinstance(info.get("groups"), list) else []
        return said(PASS, f"{user} ({_some([one_line(str(group)) for group in groups or []])})")
    if answer.status == 401:
        return said(FAIL, f"the {kind or 'missing credential'} is not accepted: {what(answer)}", _renew(kind))
    if answer.status == 403 and answer.is_status:
        if ANONYMOUS in answer.message:
            return said(FAIL if kind else WARN, what(answer), lost if kind else "")
        return said(PASS, f"somebody known, who may not ask who: {answer.message}")
    if answer.status in (404, 405):
        return said(UNKNOWN, "the server has no SelfSubjectReview (Kubernetes 1.28 brought it)")
    if answer.status == 403:
        return said(UNKNOWN, what(answer), "something between forbids this, not the API server: its rules, by path?")
    return said(UNKNOWN if answer.status else FAIL, what(answer))


def _renew(kind: str) -> str:
    if "plugin" in kind:
        return "log in again with the plugin's own tool; its cached credential may be of another cluster"
    if "certificate" in kind:
        return "has it expired, and did this cluster's CA sign it?"
    if not kind:
        return "the context names no user that has credentials"
    return "it has expired, was revoked, or is of another cluster: get a new one"


# What there is, and what one may do


def discovery(aggregated: bool | None, resources: int, failed: Mapping[str, str], error: str = "") -> Finding:
    """`failed`: group/version → why. `aggregated`: None where neither answered; `error`: nothing is known at all."""
    if error:
        return Finding("discovery", FAIL, one_line(error), "without it, only built-in types have names")
    how = "aggregated" if aggregated else "legacy: a request for each group"
    seen = f"{how}, {resources} resources"
    if failed:
        broken = _some([f"{where}: {one_line(why)}" for where, why in failed.items()], 3)
        name = ".".join(reversed(next(iter(failed)).split("/")))
        advice = f"the API behind it is down: `rawkube get apiservice {name}`; everything else works"
        return Finding("discovery", WARN, f"{seen}; broken: {broken}", advice)
    return Finding("discovery", PASS, seen)


def rights(check: str, found: Sequence[Right], namespace: str, *, needed: Sequence[str] = ()) -> Finding:
    """`needed`: those without which it fails; the others are worth a warning. Empty: all."""
    silent = [right for right in found if right.allowed is None]
    if silent and len(silent) == len(found):
        return Finding(check, UNKNOWN, f"the server does not tell: {one_line(silent[0].reason)}")
    denied = [right for right in found if right.allowed is False]
    if not denied:
        return Finding(check, PASS, f"{_grouped(found)} in {namespace}")
    hard = [right for right in denied if not needed or str(right) in needed]
    reasons = dict.fromkeys(one_line(right.reason) for right in denied if right.reason)
    why = f" ({_some(list(reasons), 2)})" if reasons else ""
    advice = f"a Role in {namespace} with {_grouped(denied)}, bound to this user"
    return Finding(check, FAIL if hard else WARN, f"not allowed in {namespace}: {_grouped(denied)}{why}", advice)


def _grouped(found: Sequence[Right]) -> str:
    """`get, list deployments.apps; create pods/exec`."""
    verbs: dict[str, list[str]] = {}
    for right in found:
        verbs.setdefault(right.what, []).append(right.verb)
    by_verbs: dict[str, list[str]] = {}
    for name, words in verbs.items():
        by_verbs.setdefault(", ".join(words), []).append(name)
    return "; ".join(f"{words} {', '.join(names)}" for words, names in by_verbs.items())


def _some(lines: Sequence[str], count: int = _SHOWN) -> str:
    more = f" and {len(lines) - count} more" if len(lines) > count else ""
    return ", ".join(lines[:count]) + more


# Upgrades


def upgrade(answer: Answer, problem: str = "") -> Finding:
    """Whether an upgrade survives; `answer`: to a watch that was asked for as a WebSocket, `problem`: of a 101.

    An API server serves a watch as a WebSocket too, and as a plain stream to whoever does not ask for one; so a 200
    means that the header was lost, and no pod is needed to see it.
    """

    def said(result: str, seen: str, advice: str = "") -> Finding:
        return Finding("upgrade", result, seen, advice, answer.seconds)

    between = f" ({way(answer)})" if way(answer) else ""
    if answer.status == 101:
        if problem:
            return said(FAIL, f"a 101, but {problem}{between}", "something between answers in the server's place")
        return said(PASS, f"a WebSocket opens{between}")
    if answer.status == 200 and not is_page(answer):
        return said(FAIL, f"an ordinary 200 came instead of a WebSocket{between}", _ABOUT_UPGRADES)
    if answer.is_status and answer.status in (401, 403):
        return said(UNKNOWN, what(answer), "with list and watch on deployments it could be told; see exec way")
    if answer.is_status and answer.status in (404, 406, 429):
        return said(UNKNOWN, what(answer))
    if answer.status == 400 or "upgrade" in (answer.message or answer.body.decode("utf-8", "replace")).lower():
        return said(FAIL, what(answer), _ABOUT_UPGRADES)
    if not answer.status:
        return said(FAIL, f"no answer to an upgrade: {what(answer)}", _ABOUT_UPGRADES)
    return said(FAIL, f"refused: {what(answer)}", "not the API server, but something before it refuses WebSockets")


def exec_way(answer: Answer, pod: str, version: str = "") -> Finding:
    """Whether the path of exec leads to the API server; `answer`: to an exec in a pod that does not exist.

    `version`: the server's gitVersion, by which it is told what it speaks there.
    """

    def said(result: str, seen: str, advice: str = "") -> Finding:
        return Finding("exec way", result, seen, advice, answer.seconds)

    if answer.status == 404 and answer.is_status and pod in answer.message:
        return said(
            PASS, f"the API server was asked (and knows no such pod){_speaks(version)}; --pod NAME runs `true` in one"
        )
    if answer.is_status and answer.status in (401, 403):
        if "admission" in answer.message.lower():
            return said(FAIL, what(answer), "an admission webhook or policy forbids exec")
        return said(FAIL, what(answer), "a Role with get and create on pods/exec, bound to this user")
    if answer.status == 101:
        return said(WARN, "a WebSocket opened for a pod that does not exist", "this is not an API server's own answer")
    if answer.status == 403:
        return said(FAIL, what(answer), "something between forbids exec: `kubectl proxy` does, unless told otherwise")
    if is_page(answer) and answer.status < 500:
        return said(FAIL, what(answer), "a page for a browser came: something between wants a login for this path")
    if answer.status == 400 or 200 <= answer.status < 300:
        return said(FAIL, what(answer), _ABOUT_UPGRADES)
    if not answer.status:
        return said(FAIL, f"no answer to an exec request: {what(answer)}", _ABOUT_UPGRADES)
    if answer.is_status and answer.status == 404:
        return said(FAIL, what(answer), "is the server's address right, its path included?")
    return said(FAIL, f"refused: {what(answer)}", "something between, or the server itself, is not well")


def _speaks(version: str) -> str:
    """KEP-4006: on by default from Kubernetes 1.30 on, in API servers; before, v4 is all that a WebSocket gets."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if not found:
        return ""
    return f", which speaks {'v5' if (int(found[1]), int(found[2])) >= (1, 30) else 'v4'} there by its version"


def ran(found: Ran) -> Finding:
    """What became of `true` in a container."""
    if found.refused:
        seen = "; ".join(one_line(line) for line in [found.refused, *found.detail[:3]])
        return Finding("exec", FAIL, seen, "see upgrade, exec way and exec rights above")
    end = f"closed with {found.close_code}" if found.close_code else "not closed"
    if found.exit_code is None:
        advice = "the command's status did not come: something between cuts sessions, or the node is not reached"
        return Finding("exec", FAIL, f"{found.protocol}, {end}: {one_line(found.line)}", advice)
    seen = f"{found.protocol}, a status came (exit code {found.exit_code}), {end}"
    if found.line:
        seen += f": {one_line(found.line)}"
    if not found.protocol.startswith("v5"):
        advice = "the server or the node is older than Kubernetes 1.30: the end of stdin cannot be told to a command"
        return Finding("exec", WARN, seen, advice)
    return Finding("exec", PASS, seen)


# Watches


def watch(found: Watched) -> Finding:
    """Whether events come at once, and for as long as was asked."""
    answer = found.answer
    taken = found.ended or found.first or found.head or answer.seconds

    def said(result: str, seen: str, advice: str = "") -> Finding:
        return Finding("watch", result, seen, advice, taken)

    if found.head is None and not answer.status:
        if "exceeded" in answer.error or "timeout" in answer.error:
            return said(FAIL, f"a watch of {found.asked:g} s brought nothing, not even a head", _ABOUT_BUFFERS)
        return said(FAIL, f"no answer to a watch: {what(answer)}")
    if answer.status != 200:
        denied = answer.status in (401, 403) and answer.is_status
        return said(FAIL, what(answer), "a Role with list and watch on deployments" if denied else "")
    late = found.asked * 0.75
    if (found.first is not None and found.first >= late) or (found.first is None and (found.head or 0.0) >= late):
        seen = f"the first byte came after {milliseconds(found.first or found.head or 0.0)}, of {found.asked:g} s"
        between = f" ({way(answer)})" if way(answer) else ""
        return said(FAIL, f"{seen}: events come only when the watch ends{between}", _ABOUT_BUFFERS)
    if found.ended is not None and found.ended < found.asked * 0.5:
        seen = f"ended after {milliseconds(found.ended)}, of {found.asked:g} s" + _because(found.error)
        return said(WARN, seen, "something ends answers early: rollout status and watch connect again each time")
    if found.first is None:
        return said(UNKNOWN, f"no event came in {found.asked:g} s", "choose a namespace with a Deployment: -n NAME")
    if found.error:
        return said(WARN, f"the first event after {milliseconds(found.first)}, but the end was not clean: "
                    f"{one_line(found.error)}", "something cuts answers instead of ending them")  # fmt: skip
    return said(PASS, f"the first event after {milliseconds(found.first)}, open for {milliseconds(taken)}")


def _because(error: str) -> str:
    return f": {one_line(error)}" if error else ""


def bookmarks(found: Watched) -> Finding:
    """Whether the server sends a watch its bookmarks."""
    if found.bookmark:
        return Finding("bookmarks", PASS, "the initial events end with a bookmark (streaming lists)")
    if "BOOKMARK" in found.types:
        return Finding("bookmarks", PASS, "bookmarks come")
    if found.answer.status != 200:
        return Finding("bookmarks", UNKNOWN, "no watch to see them on")
    seen = "none came: the server has no streaming lists (Kubernetes 1.34 and later do), others come once a minute"
    return Finding("bookmarks", UNKNOWN, seen)


_IDLE = {
    "idle watch": "haproxy: timeout server, a balancer: its idle timeout); "
    "rollout status and watch connect again; other clients may wait for ever",
    "idle websocket": "haproxy: timeout tunnel, a balancer: its idle timeout); "
    "rawkube's exec pings every 5 s; of other clients a quiet session ends",
}


def idle(check: str, found: Idle) -> Finding:
    """Whether a silent stream is left alone for so long. `check`: `idle watch` or `idle websocket`."""
    if found.refused:
        return Finding(check, UNKNOWN, one_line(found.refused))
    if not found.error:
        return Finding(check, PASS, f"left alone for {found.silent:.1f} s of silence", "", found.silent)
    seen = f"cut after {found.silent:.1f} s of silence: {one_line(found.error)}"
    advice = f"raise the idle time of what stands between (nginx: proxy_read_timeout, {_IDLE[check]}"
    return Finding(check, FAIL, seen, advice, found.silent)
