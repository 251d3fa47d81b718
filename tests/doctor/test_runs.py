"""Whole runs against servers that are ill in one way each: the right check says so, and who did it."""

from __future__ import annotations

import datetime
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from rawkube.kubeconfig.access import Origin
from rawkube.observe.doctor import CHECKS
from tests.doctor.cluster import LIMITS, LONG_ENOUGH, TOKEN, Cluster, examined
from tests.support.proxy import ProxyServer
from tests.support.script import Answer, failure
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import NOW, Authority, server_context
from tests.support.websocket import V4

HTML = "<html><head><title>403 Forbidden</title></head><body>by the gateway</body></html>"
GATEWAY = (("Server", "gateway/2"), ("Via", "1.1 front"))


NO_OPTIONS: Mapping[str, Any] = {}


class Ill(NamedTuple):
    """A server's illness: the check that tells it, its result, what is seen and advised (parts of the texts)."""

    what: str
    server: dict[str, Any]
    check: str
    result: str
    seen: tuple[str, ...]
    advice: str = ""
    run: Mapping[str, Any] = NO_OPTIONS


def answers(**changed: Answer) -> dict[str, Any]:
    return {"answers": changed}


def page(status: str) -> Answer:
    return Answer(status, HTML, "text/html", GATEWAY)


DENIED = Answer("201 Created", '{"kind":"SelfSubjectAccessReview","status":{"allowed":false,"reason":"no RBAC"}}')

ILL = (
    Ill("healthy", {}, "identity", "pass", ("jane (dev)",)),
    Ill("a 401", answers(whoami=failure(401, "Unauthorized")), "identity", "fail", ("401", "Unauthorized"), "expired"),
    Ill("nobody", {}, "identity", "warn", ("system:anonymous",), run={"token": ""}),
    Ill(
        "lost token", {}, "identity", "fail", ("in spite of",), "takes Authorization away", run={"token": "of another"}
    ),
    Ill(
        "no rights",
        {"answers": {"right list deployments": DENIED}},
        "rollout rights",
        "fail",
        ("not allowed in default: list deployments.apps (no RBAC)",),
        "a Role in default",
    ),
    Ill(
        "no exec",
        {"answers": {"right create pods/exec": DENIED}},
        "exec rights",
        "fail",
        ("not allowed in default: create pods/exec",),
        "create pods/exec",
    ),
    Ill(
        "part of the rights",
        {"answers": {"right get daemonsets": DENIED}},
        "rollout rights",
        "warn",
        ("get daemonsets.apps",),
    ),
    Ill("no reviews", answers(right=failure(404, "no such thing")), "exec rights", "unknown", ("no such thing",)),
    Ill("discovery", answers(discovery=failure(500, "etcd is down")), "discovery", "fail", ("an error on the server",)),
    Ill(
        "a gateway that refuses upgrades",
        answers(upgrade=page("403 Forbidden")),
        "upgrade",
        "fail",
        ('403 Forbidden; a page of HTML "403 Forbidden"', "Server: gateway/2, Via: 1.1 front"),
        "not the API server",
    ),
    Ill(
        "a gateway without upgrades",
        {"strips": True, "headers": GATEWAY},
        "upgrade",
        "fail",
        ("an ordinary 200 came instead of a WebSocket (Server: gateway/2, Via: 1.1 front)",),
        "proxy_set_header Upgrade",
    ),
    Ill("a hang-up at upgrades", answers(upgrade=Answer(how="close")), "upgrade", "fail", ("no answer",), "Upgrade"),
    Ill("silence at upgrades", answers(upgrade=Answer(how="stall")), "upgrade", "fail", ("no answer",), "Upgrade"),
    Ill("a login before exec", answers(exec=page("200 OK")), "exec way", "fail", ("a page of HTML",), "a login"),
    Ill("exec forbidden", answers(exec=failure(403, "not you")), "exec way", "fail", ("403", "not you"), "pods/exec"),
    Ill(
        "an admission webhook",
        answers(exec=failure(403, "admission webhook denied it")),
        "exec way",
        "fail",
        ("admission webhook",),
        "forbids exec",
    ),
    Ill(
        "a buffering way",
        {"held": True, "headers": (("Via", "1.1 inspector"),)},
        "watch",
        "fail",
        ("events come only when the watch ends (Via: 1.1 inspector)",),
        "proxy_buffering off",
    ),
    Ill("watch forbidden", answers(watch=failure(403, "no")), "watch", "fail", ("403 ",), "list and watch"),
    Ill("clock 60 s off", {"date": 60.0}, "clock", "warn", (" s behind the server",), "NTP"),
    Ill("clock 1000 s off", {"date": -1000.0}, "clock", "fail", (" s ahead of the server",), "NTP"),
    Ill("own clock off", {}, "clock", "fail", (" s ahead of the server",), run={"clock": 900.0}),
    Ill("exec in a pod", {}, "exec", "pass", ("v5.channel.k8s.io", "exit code 0"), run={"pod": "web-0"}),
    Ill("v4", {"protocol": V4}, "exec", "warn", ("v4.channel.k8s.io",), "1.30", run={"pod": "web-0"}),
    Ill("no such pod", {}, "exec", "fail", ('pods "x" not found',), "see upgrade", run={"pod": "x"}),
    Ill("a portal", answers(version=page("200 OK")), "server", "fail", ("a page of HTML",), "page for a browser"),
    Ill("no version", answers(version=failure(403, "no")), "server", "pass", ("does not tell its version (403)",)),
    Ill("a balancer", answers(version=page("503 No")), "server", "fail", ("503 No", "Via: 1.1 front"), "browser"),
    Ill(
        "a login",
        answers(version=Answer("302 Found", headers=(("Location", f"http://sso.test/?t={TOKEN}"),))),
        "server",
        "fail",
        ("redirects to http://sso.test/",),
        "a login page",
    ),
    Ill(
        "an echo of the credential",
        answers(version=Answer("418 No", f"you said Bearer {TOKEN}", "text/plain")),
        "server",
        "fail",
        ("you said Bearer <redacted>",),
    ),
    Ill("silence", answers(version=Answer(how="stall")), "server", "fail", ("awaiting headers",), "is stuck"),
    Ill("a hang-up", answers(version=Answer(how="close")), "server", "fail", ("EOF",), "without an answer"),
)


@pytest.mark.parametrize("ill", ILL, ids=[ill.what.replace(" ", "-") for ill in ILL])
def test_what_ails_a_server(ill: Ill) -> None:
    start = time.monotonic()
    with Cluster(**ill.server) as server:
        found = examined(server.url, **ill.run)
    finding = found[ill.check]
    assert finding.result == ill.result, finding
    assert all(part in finding.seen for part in ill.seen), finding
    assert ill.advice in finding.advice, finding
    others = [other for other in found.values() if other.result == "fail" and other.check != ill.check]
    assert not others, others
    assert [check for check in CHECKS if check in found] == list(found), "in the order that is told"
    assert time.monotonic() - start < 6 * LIMITS.request


def test_a_healthy_server_is_asked_for_nothing_that_changes_it() -> None:
    with Cluster(lasts=LONG_ENOUGH) as server:
        found = examined(server.url)
    assert {finding.result for finding in found.values()} == {"pass"}, found
    posted = {request.path.rsplit("/", 1)[1] for request in server.asked if request.method != "GET"}
    assert posted == {"selfsubjectreviews", "selfsubjectaccessreviews"}


def test_a_server_without_streaming_lists() -> None:
    with Cluster(old=True, lasts=LONG_ENOUGH) as server:
        found = examined(server.url)
    assert found["watch"].result == "pass" and found["bookmarks"].result == "unknown", found
    assert "sendInitialEvents" not in next(each.query for each in reversed(server.asked) if "watch" in each.query)


def test_idle_ways() -> None:
    with Cluster(cut=1.0) as server:
        found = examined(server.url, idle=3.0)
    for check in ("idle watch", "idle websocket"):
        assert found[check].result == "fail"
        assert found[check].seen.startswith("cut after "), found[check]
        assert 0.9 < found[check].seconds < 2.9
    with Cluster() as server:
        found = examined(server.url, idle=0.3)
    assert {found[check].result for check in ("idle watch", "idle websocket")} == {"pass"}


# Before there is an answer


def silent(peer: Peer) -> None:
    peer.stall()


def plain_only(peer: Peer) -> None:
    peer.read()
    peer.reply("Client sent an HTTP request to an HTTPS server.", status="400 Bad Request")


class Unreached(NamedTuple):
    """A connection that does not come about. `names`: of the certificate, `days`: until when; else `handler` speaks."""

    what: str
    step: str
    seen: str
    advice: str
    names: tuple[str, ...] = ()
    days: int = 1
    trusted: bool = True


CERTIFICATES = (
    Unreached("expired", "tls", "certificate has expired", "renew", ("127.0.0.1",), days=-1),
    Unreached("of another name", "tls", "valid for", "--tls-server-name", ("127.0.0.2",)),
    Unreached("of an unknown CA", "tls", "signed by unknown authority", "did not sign", ("127.0.0.1",), trusted=False),
)


@pytest.mark.parametrize("case", CERTIFICATES, ids=[case.what.replace(" ", "-") for case in CERTIFICATES])
def test_certificates_that_do_not_convince(case: Unreached) -> None:
    authority = Authority()
    until = NOW + datetime.timedelta(days=case.days)
    pair = authority.issue(*case.names, not_before=NOW - datetime.timedelta(days=9), not_after=until)
    trust = authority if case.trusted else Authority("another")
    with Cluster(tls=server_context(pair)) as server:
        found = examined(server.url, ca_data=trust.pem)
    assert found["tls"].result == "fail"
    assert case.seen in found["tls"].seen and case.advice in found["tls"].advice, found["tls"]
    assert not server.asked, "nothing was sent to it"
    assert {found[check].result for check in found if CHECKS.index(check) > CHECKS.index("chain")} == {"unknown"}


def test_a_certificate_that_does_and_one_that_is_not_checked() -> None:
    authority = Authority()
    pair = authority.issue("127.0.0.1", "api.test", not_after=NOW + datetime.timedelta(days=30))
    soon = authority.issue("127.0.0.1", not_after=NOW + datetime.timedelta(days=3, hours=1))
    with Cluster(tls=server_context(pair)) as server:
        good = examined(server.url, ca_data=authority.pem)["tls"]
        lax = examined(server.url, insecure=True)["tls"]
    with Cluster(tls=server_context(soon)) as server:
        old = examined(server.url, ca_data=authority.pem)["tls"]
    assert good.result == "pass" and "TLSv1.3" in good.seen and "api.test" in good.seen and "127.0.0.1" in good.seen
    assert (lax.result, "not checked" in lax.seen) == ("warn", True), lax
    assert (old.result, "3 days" in old.seen) == ("warn", True), old


def test_ways_that_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with ScriptedServer(plain_only) as plain, ScriptedServer(silent) as mute:
        table = (
            ("http://127.0.0.1:1", "tcp", "connection refused", "nobody listens"),
            (f"https://127.0.0.1:{plain.port}", "tls", "HTTP response to HTTPS client", "plain http"),
            (f"https://127.0.0.1:{mute.port}", "tls", "TLS handshake timeout", "says nothing"),
            ("https://nowhere.invalid", "name", "no such host", "VPN"),
        )
        for url, step, seen, advice in table:
            start = time.monotonic()
            with monkeypatch.context() as patched:
                if step == "name":
                    patched.setattr(socket, "getaddrinfo", no_name)
                found = examined(url, ca_data=Authority().pem)
            assert found[step].result == "fail", (url, found)
            assert seen in found[step].seen and advice in found[step].advice, found[step]
            assert [check for check in found if found[check].result == "fail"] == [step]
            assert time.monotonic() - start < 3 * LIMITS.request


# Proxies


def test_http_proxies() -> None:
    authority = Authority()
    with (
        Cluster(tls=authority.server("api.test"), lasts=LONG_ENOUGH) as server,
        ProxyServer(names={"api.test": server.port}, credentials=("me", "marker-of-the-proxy")) as good,
        ProxyServer(answer=b"HTTP/1.1 403 Forbidden\r\nServer: squid/6\r\nContent-Length: 0\r\n\r\n") as bad,
        ProxyServer(names={"api.test": server.port}, credentials=("me", "other")) as locked,
    ):
        url, trust = f"https://api.test:{server.port}", authority.pem
        why: dict[str, Any] = {"origins": {"proxy_url": Origin("env", "HTTPS_PROXY")}}
        found = examined(url, ca_data=trust, proxy_url=good.address, **why)
        assert {finding.result for finding in found.values()} == {"pass"}, found
        assert "HTTPS_PROXY" in found["proxy"].seen and "api.test" in found["tunnel"].seen
        assert "marker" not in str(found)
        refused = examined(url, ca_data=trust, proxy_url=bad.address)
        assert refused["tunnel"].result == "fail" and "403" in refused["tunnel"].seen, refused["tunnel"]
        wrong = examined(url, ca_data=trust, proxy_url=locked.address.replace("other", "marker-of-the-proxy"))
        assert wrong["tunnel"].result == "fail" and "407" in wrong["tunnel"].seen, wrong["tunnel"]
        assert "marker" not in str(wrong)
        gone = examined(url, ca_data=trust, proxy_url="http://127.0.0.1:1")
        assert gone["tcp"].result == "fail" and gone["tunnel"].result == "unknown", gone


def test_a_proxy_without_a_tunnel() -> None:
    with Cluster() as server, ProxyServer(names={"api.test": server.port}) as proxy:
        found = examined(f"http://api.test:{server.port}", proxy_url=proxy.address)
    assert "tunnel" not in found
    assert found["server"].result == "pass", found["server"]
