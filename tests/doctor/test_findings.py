"""From facts to findings: tables of what each check says."""

from __future__ import annotations

import json
from typing import Any

from rawkube.observe.doctor import uses, way
from rawkube.observe.doctor.facts import Answer, Finding, Idle, Ran, Reached, Right, Watched, what, without

POD = "nobody"


def status(code: int, message: str) -> Answer:
    body = json.dumps({"kind": "Status", "status": "Failure", "message": message, "code": code})
    return Answer(code, "Reason", (("content-type", "application/json"),), body.encode())


def text(code: int, body: str = "", **headers: str) -> Answer:
    return Answer(
        code, "Reason", tuple((name.replace("_", "-"), value) for name, value in headers.items()), body.encode()
    )


def review(**info: Any) -> Answer:
    return Answer(201, "Created", (), json.dumps({"status": {"userInfo": info}}).encode())


def check(table: list[tuple[Finding, str, str, str]]) -> None:
    """Rows of a finding, its result, a part of what is seen, a part of the advice; all that is wrong is told at once."""
    wrong = [
        row for row in table if row[0].result != row[1] or row[2] not in row[0].seen or row[3] not in row[0].advice
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_upgrades() -> None:
    check(
        [
            (uses.upgrade(text(101)), "pass", "a WebSocket opens", ""),
            (
                uses.upgrade(text(101, server="x"), "no Sec-WebSocket-Accept"),
                "fail",
                "a 101, but no Sec",
                "in the server's",
            ),
            (
                uses.upgrade(text(200, via="1.1 a")),
                "fail",
                "ordinary 200 came instead of a WebSocket (Via: 1.1 a)",
                "nginx",
            ),
            (uses.upgrade(text(200, "<html><title>Hi</title>")), "fail", 'a page of HTML "Hi"', "before it refuses"),
            (uses.upgrade(status(403, "no watch for you")), "unknown", "no watch for you", "exec way"),
            (uses.upgrade(text(403, "denied", server="waf")), "fail", "denied; Server: waf", "before it refuses"),
            (uses.upgrade(status(429, "busy")), "unknown", "busy", ""),
            (uses.upgrade(status(400, "unable to upgrade")), "fail", "unable to upgrade", "Upgrade header"),
            (uses.upgrade(text(426)), "fail", "426", "before it refuses"),
            (uses.upgrade(Answer(error="EOF")), "fail", "no answer to an upgrade: EOF", "Upgrade header"),
            (uses.exec_way(status(404, f'pods "{POD}" not found'), POD, "v1.29.3"), "pass", "speaks v4 there", ""),
            (uses.exec_way(status(404, f'pods "{POD}" not found'), POD, "v1.30.0-eks"), "pass", "speaks v5 there", ""),
            (uses.exec_way(status(404, f'pods "{POD}" not found'), POD), "pass", "no such pod); --pod", ""),
            (uses.exec_way(status(404, "no such path"), POD), "fail", "no such path", "path included"),
            (uses.exec_way(text(403, "Forbidden"), POD), "fail", "403", "kubectl proxy"),
            (
                uses.exec_way(text(403, "<html><title>No</title>", server="h"), POD),
                "fail",
                '"No"; Server: h',
                "forbids exec",
            ),
            (
                uses.exec_way(text(502, "<html><title>No</title>", server="h"), POD),
                "fail",
                '"No"; Server: h',
                "not well",
            ),
            (uses.exec_way(text(200, "<html><title>Log in</title>"), POD), "fail", '"Log in"', "a login"),
            (uses.exec_way(status(401, "who?"), POD), "fail", "who?", "pods/exec"),
            (uses.exec_way(text(101), POD), "warn", "does not exist", "not an API server"),
            (uses.exec_way(text(200, "ok"), POD), "fail", "200", "Upgrade header"),
            (uses.exec_way(text(502, "bad", server="h"), POD), "fail", "502 Reason; bad; Server: h", "not well"),
            (uses.exec_way(Answer(error="EOF"), POD), "fail", "EOF", "Upgrade header"),
            (uses.ran(Ran("v5.channel.k8s.io", 0, 1000)), "pass", "exit code 0), closed with 1000", ""),
            (uses.ran(Ran("v4.channel.k8s.io", 0, 1000)), "warn", "v4.channel.k8s.io", "1.30"),
            (uses.ran(Ran("v5.channel.k8s.io", None, 1006, "lost")), "fail", "lost", "cuts sessions"),
            (uses.ran(Ran(refused="403", detail=("why",))), "fail", "403; why", "see upgrade"),
        ]
    )


def test_watches() -> None:
    good = Answer(200, "OK", (("via", "1.1 box"),))
    check(
        [
            (uses.watch(Watched(good, 2, 0.1, 0.1, 2.0)), "pass", "first event after 100 ms, open for 2.0 s", ""),
            (
                uses.watch(Watched(good, 2, 0.1, 2.0, 2.0)),
                "fail",
                "only when the watch ends (Via: 1.1 box)",
                "buffering",
            ),
            (uses.watch(Watched(good, 2, 2.0, None, 2.0)), "fail", "first byte came after 2.0 s", "buffering"),
            (uses.watch(Watched(good, 2, 0.1, 0.1, 0.5)), "warn", "ended after 500 ms, of 2 s", "early"),
            (uses.watch(Watched(good, 2, 0.1, 0.2, 2.0, error="reset")), "warn", "not clean: reset", "cuts"),
            (uses.watch(Watched(good, 2, 0.1, None, 2.0)), "unknown", "no event came in 2 s", "-n NAME"),
            (uses.watch(Watched(Answer(error="context deadline exceeded"), 2)), "fail", "not even a head", "buffering"),
            (uses.watch(Watched(Answer(error="EOF"), 2)), "fail", "no answer to a watch: EOF", ""),
            (uses.watch(Watched(status(403, "no"), 2, 0.1)), "fail", "no", "a Role with list and watch"),
            (uses.watch(Watched(text(403, "no"), 2, 0.1)), "fail", "403", ""),
            (uses.bookmarks(Watched(good, 2, types=("BOOKMARK",), bookmark=True)), "pass", "initial events end", ""),
            (uses.bookmarks(Watched(good, 2, types=("ADDED", "BOOKMARK"))), "pass", "bookmarks come", ""),
            (uses.bookmarks(Watched(good, 2)), "unknown", "none came", ""),
            (uses.bookmarks(Watched(status(403, "no"), 2)), "unknown", "no watch", ""),
            (uses.idle("idle watch", Idle(9, 9.0)), "pass", "left alone for 9.0 s", ""),
            (uses.idle("idle watch", Idle(9, 4.0, "EOF")), "fail", "cut after 4.0 s of silence: EOF", "timeout server"),
            (uses.idle("idle websocket", Idle(9, 4.0, "EOF")), "fail", "cut after 4.0 s", "pings every 5 s"),
            (uses.idle("idle websocket", Idle(9, refused="no\x1b")), "unknown", "no\\x1b", ""),
        ]
    )


def test_who_one_is_and_what_one_may() -> None:
    may, may_not = Right("get", "pods", True), Right("create", "pods/exec", False, "RBAC")
    check(
        [
            (uses.credentials("", ""), "warn", "none", "nobody"),
            (uses.credentials("bearer token", "f:3"), "pass", "bearer token, from f:3", ""),
            (uses.credentials("credential plugin", "f:3", "exit 1", ("a", "b", "c")), "fail", "exit 1; a; b", "login"),
            (uses.identity(review(username="jane", groups=list("abcdefg")), "token"), "pass", "e and 2 more)", ""),
            (uses.identity(review(username="jane", groups=None), "token"), "pass", "jane ()", ""),
            (uses.identity(review(username=uses.ANONYMOUS), ""), "warn", "anonymous", ""),
            (uses.identity(review(username=uses.ANONYMOUS), "bearer token"), "fail", "in spite of", "takes Auth"),
            (uses.identity(status(401, "no"), "credential plugin"), "fail", "credential plugin is not", "plugin's own"),
            (uses.identity(status(401, "no"), "client certificate"), "fail", "client certificate is not", "CA sign"),
            (uses.identity(status(401, "no"), ""), "fail", "missing credential is not", "names no user"),
            (uses.identity(status(403, 'User "jane" cannot'), "token"), "pass", "somebody known", ""),
            (uses.identity(status(403, 'User "system:anonymous" cannot'), "token"), "fail", "anonymous", "takes Auth"),
            (
                uses.identity(text(403, "denied", server="squid"), "token"),
                "unknown",
                "Server: squid",
                "something between",
            ),
            (uses.identity(status(404, "no such"), "token"), "unknown", "1.28", ""),
            (uses.identity(text(201, "[]"), "token"), "unknown", "201", "no SelfSubjectReview"),
            (uses.identity(Answer(error="EOF"), "token"), "fail", "EOF", ""),
            (uses.discovery(True, 3, {}), "pass", "aggregated, 3 resources", ""),
            (uses.discovery(False, 3, {"x.io/v1": "down"}), "warn", "broken: x.io/v1: down", "apiservice v1.x.io"),
            (uses.discovery(None, 0, {}, "why"), "fail", "why", "built-in"),
            (uses.rights("r", [may], "ns"), "pass", "get pods in ns", ""),
            (uses.rights("r", [may, may_not], "ns"), "fail", "create pods/exec (RBAC)", "with create pods/exec"),
            (uses.rights("r", [may, may_not], "ns", needed=["get pods"]), "warn", "create pods/exec", "a Role in ns"),
            (uses.rights("r", [Right("get", "pods", None, "404")], "ns"), "unknown", "does not tell: 404", ""),
        ]
    )


def test_the_server_and_its_clock() -> None:
    url = "https://api.test"
    date = "Tue, 01 Dec 2026 01:11:00 GMT"
    at = way.http_date(date)
    assert at == 1796087460.0
    for wrong in ("", "Tue, 01 Foo 2026 01:11:00 GMT", "Tue, 41 Dec 2026 01:11:00 GMT", "Tue, 01 Dec 2026 01:11 GMT"):
        assert way.http_date(wrong) is None, wrong

    def clock(off: float) -> Finding:
        return way.clock(text(200, date=date)._replace(at=at + 0.5 + off))

    version = '{"gitVersion": "v1.37.1"}'
    check(
        [
            (clock(9), "pass", "agree", ""),
            (clock(-11), "warn", "11 s behind the server", "NTP"),
            (clock(301), "fail", "301 s ahead of", "NTP"),
            (way.clock(text(200)._replace(at=5.0)), "unknown", "no Date", ""),
            (way.latency([]), "unknown", "no answer", ""),
            (way.latency([0.3, 0.1, 0.2]), "pass", "200 ms (of 3: 100 ms to 300 ms)", ""),
            (way.latency([2.0]), "warn", "2.0 s", "keystroke"),
            (way.server(text(200, version, server="nginx"), url), "pass", "Kubernetes v1.37.1 (Server: nginx)", ""),
            (way.server(status(401, "who?"), url), "pass", "does not tell its version (401)", ""),
            (way.server(text(200, "<!doctype html><p>Hi"), url), "fail", 'HTML "Hi"', url),
            (way.server(text(302, location="/l?t=1#u"), url), "fail", "redirects to /l", "login"),
            (way.server(text(407), url), "fail", "407", "proxy-url"),
            (way.server(text(503, "no backend"), url), "fail", "no backend", "readyz"),
            (way.server(text(404, "x"), url), "fail", "404", "path included"),
            (way.server(text(200, "{}"), url), "fail", "200", "path included"),
            (
                way.server(Answer(error="remote error: tls: bad certificate"), url),
                "fail",
                "bad cert",
                "refuses the client",
            ),
            (way.server(Answer(error="timeout awaiting response headers"), url), "fail", "timeout", "stuck"),
            (way.server(Answer(error="EOF"), url), "fail", "EOF", "closed without"),
        ]
    )


def reached(**changed: Any) -> Reached:
    return Reached("api.test:6443", "api.test", literal=False, tls=True)._replace(**changed)


def test_connections() -> None:
    for why, seen in (("", "none"), ("NO_PROXY", "none: NO_PROXY")):
        assert way.proxy("", why, by_environment=False, private=False) == Finding("proxy", "pass", seen)
    hidden = way.proxy("http://p:1", "HTTPS_PROXY", by_environment=True, private=True)
    slow = reached(events=(("resolve", {"addresses": ["192.0.2.1"], "seconds": 3.0}), ("connect", {"seconds": 1.5})))
    findings = way.connection(slow._replace(failed="tls", error="EOF"))
    tunnel = reached(tunnel=True, proxy="http://p:1", failed="tunnel", error="Proxy Authentication Required")
    refused = way.connection(reached(failed="tcp", error="connection refused"))
    check(
        [
            (hidden, "warn", "a private one", "NO_PROXY"),
            (findings[0], "warn", "192.0.2.1, found in 3.0 s", "resolver"),
            (findings[1], "warn", "in 1.5 s", "far away"),
            (findings[2], "fail", "EOF", "SNI"),
            (way.connection(tunnel)[2], "fail", "Proxy Auth", "the proxy, not the cluster"),
            (way.connection(tunnel)[3], "unknown", "tunnel failed", ""),
            (refused[1], "fail", "refused", "nobody listens"),
            (refused[2], "unknown", "tcp failed", ""),
            (way.connection(reached(failed="tcp", error="i/o timeout"))[1], "fail", "timeout", "firewall"),
            (way.connection(reached(failed="tcp", error="no route to host"))[1], "fail", "no route", "a route"),
            (way.connection(reached(failed="name", error="no such host"))[0], "fail", "no such host", "VPN"),
            (way.unconfigured("no context", ["at f:1"]), "fail", "no context; at f:1", "config explain"),
        ]
    )


def test_which_step_an_error_belongs_to() -> None:
    both = ["resolve", "connect"]
    for kind, step, events, tunnel, expected in (
        ("DeadlineExceeded", "resolve", [], False, "name"),
        ("DeadlineExceeded", "connect", ["resolve"], False, "tcp"),
        ("DeadlineExceeded", "tls", both, False, "tls"),
        ("DeadlineExceeded", "proxy", both, True, "tunnel"),
        ("ResolveError", "", [], False, "name"),
        ("ConnectionRefused", "", ["resolve"], False, "tcp"),
        ("ProxyError", "", both, True, "tunnel"),
        ("TLSError", "", both, False, "tls"),
        ("TLSError", "", both, True, "tunnel"),  # the proxy's own TLS
        ("TLSError", "", [*both, "proxy"], True, "tls"),
        ("ConnectionLost", "", [], False, "tcp"),
        ("ConnectionLost", "", both, True, "tunnel"),
        ("ConnectionLost", "", both, False, "tls"),
    ):
        assert way.failed_step(kind, step, events, tunnel=tunnel) == expected, (kind, step, events, tunnel)


def test_answers_in_words() -> None:
    assert what(Answer(error="a\nb")) == "a\\nb"
    assert what(status(404, "pods \x1b[2J")) == "404 Reason; pods \\x1b[2J"
    assert what(text(502, "x" * 500)) == f"502 Reason; {'x' * 200}…"
    assert (
        what(text(502, via="1.1 a", set_cookie="s=secret", x_cache="MISS")) == "502 Reason; Via: 1.1 a, X-Cache: MISS"
    )
    assert without("Bearer secret-token; Basic c2Vj", ["secret-token", "c2Vj", "sec", ""]) == (
        "Bearer <redacted>; Basic <redacted>"
    )
    assert way.is_private(["10.1.2.3"]) and way.is_private(["fe80::1%eth0"]) and not way.is_private(["1.1.1.1", "x"])
