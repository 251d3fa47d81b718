"""Pure: the way to a server, from facts to findings: configuration, name, TCP, proxy, TLS, the server, its clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rawkube.gotext import one_line
from rawkube.observe.doctor.facts import (
    FAIL,
    PASS,
    UNKNOWN,
    WARN,
    Answer,
    Finding,
    Reached,
    is_page,
    milliseconds,
    way,
    what,
)

SLOW = 1.0
"""A step that takes longer than so many seconds is worth a word."""
SOON_DAYS = 14
"""So is a server's certificate that expires within so many days."""
SKEWED, BADLY_SKEWED = 10.0, 300.0
"""Seconds between two clocks: worth a word; beyond what certificates and tokens put up with."""

_EXPLAIN = "`rawkube config explain` shows where each part comes from"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def configuration(summary: str, unusual: Iterable[str]) -> list[Finding]:
    """What the connection is made of, and a line for each unusual thing about it."""
    odd = [Finding("configuration", WARN, one_line(line), _EXPLAIN) for line in unusual]
    return [Finding("configuration", PASS, one_line(summary)), *odd]


def unconfigured(error: str, detail: Iterable[str]) -> Finding:
    """There is no connection to look at: the kubeconfig does not give one."""
    return Finding("configuration", FAIL, "; ".join(one_line(line) for line in [error, *detail]), _EXPLAIN)


def proxy(url: str, why: str, *, by_environment: bool, private: bool) -> Finding:
    """Which proxy applies. `url`: without its password; `private`: the server's address is of a private network."""
    if not url:
        return Finding("proxy", PASS, f"none: {why}" if why else "none")
    seen = f"{url} ({why})" if why else url
    if by_environment and private:
        advice = "if the proxy cannot reach that network, name the server in NO_PROXY"
        return Finding("proxy", WARN, f"{seen}; the server's address is a private one", advice)
    return Finding("proxy", PASS, seen)


# The connection


def connection(reached: Reached) -> list[Finding]:
    """A finding for each step of a connection; what comes behind a failed one is not known."""
    findings: list[Finding] = []
    for step in steps(reached):
        if findings and findings[-1].result in (FAIL, UNKNOWN):
            findings.append(Finding(step, UNKNOWN, f"not tried: {reached.failed} failed"))
        elif step == reached.failed:
            findings.append(_FAILED[step](reached))
        else:
            findings.append(_PASSED[step](reached))
    return findings


def steps(reached: Reached) -> list[str]:
    """The steps that this connection has, in order."""
    return ["name", "tcp", *(["tunnel"] if reached.tunnel else []), *(["tls"] if reached.tls else [])]


def _of_proxy(reached: Reached) -> str:
    return " of the proxy" if reached.proxy else ""


def _name(reached: Reached) -> Finding:
    if reached.literal:
        return Finding("name", PASS, f"{reached.peer} is an address{_of_proxy(reached)}")
    found = reached.last("resolve")
    seconds = float(found.get("seconds") or 0.0)
    seen = f"{reached.peer}{_of_proxy(reached)} is {', '.join(found.get('addresses') or ['?'])}"
    if seconds > SLOW:
        advice = "the resolver is slow: look at the first nameserver in /etc/resolv.conf"
        return Finding("name", WARN, f"{seen}, found in {milliseconds(seconds)}", advice, seconds)
    return Finding("name", PASS, seen, "", seconds)


def _no_name(reached: Reached) -> Finding:
    advice = f"is the name right ({_EXPLAIN}); does it need a VPN, or that VPN's DNS?"
    return Finding("name", FAIL, _words(reached), advice)


def _tcp(reached: Reached) -> Finding:
    found = reached.last("connect")
    seconds = float(found.get("seconds") or 0.0)
    seen = f"connected to {found.get('address')} port {found.get('port')} in {milliseconds(seconds)}"
    slow = seconds > SLOW
    advice = "far away, or an address that was tried first does not answer" if slow else ""
    return Finding("tcp", WARN if slow else PASS, seen, advice, seconds)


def _no_tcp(reached: Reached) -> Finding:
    if "refused" in reached.error:
        advice = "nobody listens there: is the port right, is the server (or the tunnel to it) up?"
    elif "timeout" in reached.error or "deadline" in reached.error:
        advice = "a firewall drops the packets, or a VPN is missing"
    else:
        advice = "is there a route to that network?"
    return Finding("tcp", FAIL, _words(reached), advice)


def _tunnel(reached: Reached) -> Finding:
    found = reached.last("proxy")
    seconds = float(found.get("seconds") or 0.0)
    answer = f"{found.get('status', '')} {found.get('reason', '')}".strip()
    seen = f"{reached.proxy} opened a tunnel to {reached.host}" + (f" ({one_line(answer)})" if answer else "")
    return Finding("tunnel", PASS, seen, "", seconds)


def _no_tunnel(reached: Reached) -> Finding:
    advice = "the proxy, not the cluster, says no: its rules, its password, or NO_PROXY for this server"
    return Finding("tunnel", FAIL, _words(reached), advice)


def _tls(reached: Reached) -> Finding:
    found = reached.last("tls")
    seconds = float(found.get("seconds") or 0.0)
    names = ", ".join(found.get("names") or ()) or "no names"
    seen = (
        f"{found.get('version')}; the certificate of {_quoted(found.get('subject'))} is for {names}, "
        f"by {_quoted(found.get('issuer'))}, until {found.get('not_after') or '?'}"
    )
    if not reached.trust:
        advice = "without insecure-skip-tls-verify, and with the cluster's CA, nobody can take the server's place"
        return Finding("tls", WARN, f"{seen}; not checked at all", advice, seconds)
    left = days_between(reached.now, str(found.get("not_after") or ""))
    if left is not None and left < SOON_DAYS:
        return Finding("tls", WARN, f"{seen}: {left} days", "renew the server's certificate", seconds)
    return Finding("tls", PASS, f"{seen}; checked against {reached.trust}", "", seconds)


def _quoted(text: object) -> str:
    return f'"{text or ""}"'


def days_between(now: str, until: str) -> int | None:
    """Whole days between two times (RFC 3339); None where one of them is none."""
    try:
        return (datetime.fromisoformat(until) - datetime.fromisoformat(now)).days
    except (ValueError, TypeError):
        return None


_TLS_ADVICE = (
    ("legacy Common Name", "the server needs a certificate with a subjectAltName"),
    ("certificate is valid for", "name the server as its certificate does, or say which with --tls-server-name"),
    ("any IP SANs", "name the server as its certificate does, or say which with --tls-server-name"),
    ("not valid for any names", "name the server as its certificate does, or say which with --tls-server-name"),
    ("unknown authority (possibly", "the CA's own certificate has expired: fetch the kubeconfig anew"),
    (
        "unknown authority",
        "the CA of the kubeconfig did not sign this: the cluster was made anew, or something between (a proxy that "
        "looks into TLS) shows a certificate of its own",
    ),
    ("expired or is not yet valid", "renew the server's certificate; or this machine's clock is wrong"),
    ("HTTP response to HTTPS", "the server speaks plain http on this port: another port, or http:// in the kubeconfig"),
    ("does not look like a TLS", "what listens on this port does not speak TLS: another port?"),
    ("remote error", "the server ended the handshake: does it want a client certificate, or another name (SNI)?"),
    ("timeout", "somebody accepts connections there and says nothing: a wrong port, or something that swallows TLS"),
    ("EOF", "the connection was closed inside the handshake: something between does not let this name pass (SNI)"),
    ("reset", "the connection was reset inside the handshake: something between does not let this name pass (SNI)"),
)


def _no_tls(reached: Reached) -> Finding:
    words = _words(reached)
    advice = next((advice for text, advice in _TLS_ADVICE if text in reached.error), _EXPLAIN)
    return Finding("tls", FAIL, words, advice)


def _words(reached: Reached) -> str:
    return "; ".join(one_line(line) for line in dict.fromkeys([reached.error, *reached.detail[:3]]) if line)


_PASSED = {"name": _name, "tcp": _tcp, "tunnel": _tunnel, "tls": _tls}
_FAILED = {"name": _no_name, "tcp": _no_tcp, "tunnel": _no_tunnel, "tls": _no_tls}


# The server


def server(answer: Answer, url: str) -> Finding:
    """Whether it is an API server that answers; `answer` is that of /version, `url` where it was asked."""

    def said(result: str, seen: str, advice: str = "") -> Finding:
        return Finding("server", result, seen, advice, answer.seconds)

    version = answer.object.get("gitVersion")
    if answer.status == 200 and isinstance(version, str) and not answer.is_status:
        between = f" ({way(answer)})" if way(answer) else ""
        return said(PASS, f"Kubernetes {one_line(version)}{between}")
    if not answer.status:
        return said(FAIL, "; ".join([what(answer), *map(one_line, answer.detail[:2])]), _about_silence(answer))
    if 300 <= answer.status < 400:
        where = one_line(answer.header("location").partition("?")[0].partition("#")[0])
        advice = "a login page or a gateway answers in the API server's place: is the server's address right?"
        return said(FAIL, f"{what(answer)}; redirects to {where}", advice)
    if is_page(answer):
        advice = f"this is no API server but a page for a browser (a portal, a login, a proxy): open {url} in one"
        return said(FAIL, what(answer), advice)
    if answer.is_status and answer.status in (401, 403):
        return said(PASS, f"an API server, which does not tell its version ({answer.status})")
    if answer.status == 407:
        return said(FAIL, what(answer), "the proxy wants a user name and a password: proxy-url: http://USER:PASSWORD@…")
    if answer.status >= 500:
        advice = "the server, or the balancer before it, is not well: `rawkube raw '/readyz?verbose'`"
        return said(FAIL, what(answer), advice)
    return said(FAIL, what(answer), "is the server's address right, its path included?")


def _about_silence(answer: Answer) -> str:
    if "remote error: tls" in answer.error:
        return "the server refuses the client certificate: has it expired, is it of this cluster?"
    if "exceeded" in answer.error or "timeout" in answer.error:
        return "the connection stands, but no answer comes: the server, or a proxy on the way, is stuck"
    return "the connection was closed without an answer: is http or https right, is it an API server?"


def latency(samples: Sequence[float]) -> Finding:
    """How long an answer takes on a connection that stands; seconds each."""
    if not samples:
        return Finding("latency", UNKNOWN, "no answer was timed")
    ordered = sorted(samples)
    middle = ordered[len(ordered) // 2]
    seen = f"{milliseconds(middle)} (of {len(ordered)}: {milliseconds(ordered[0])} to {milliseconds(ordered[-1])})"
    if middle > SLOW:
        return Finding("latency", WARN, seen, "a far way or a busy server: every keystroke in exec takes this long")
    return Finding("latency", PASS, seen)


def clock(answer: Answer) -> Finding:
    """The server's `Date` (RFC 9110, 6.6.1) beside this machine's clock."""
    theirs = http_date(answer.header("date"))
    if theirs is None or not answer.at:
        return Finding("clock", UNKNOWN, "the answer has no Date")
    # A Date is cut to the second.
    off = answer.at - theirs - 0.5
    if abs(off) <= SKEWED:
        return Finding("clock", PASS, "this machine and the server agree within seconds")
    seen = f"this machine is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the server"
    result = FAIL if abs(off) > BADLY_SKEWED else WARN
    return Finding("clock", result, seen, "set the clock (NTP): tokens and certificates are valid by it")


def http_date(text: str) -> float | None:
    """Seconds since 1970 of an IMF-fixdate (`Tue, 01 Dec 2026 01:11:00 GMT`); None for anything else."""
    words = text.split()
    if len(words) != 6 or words[2] not in _MONTHS or words[5] != "GMT":
        return None
    try:
        hours, minutes, seconds = (int(part) for part in words[4].split(":"))
        day, month, year = int(words[1]), _MONTHS.index(words[2]) + 1, int(words[3])
        return datetime(year, month, day, hours, minutes, seconds, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def unreached(checks: Iterable[str], why: str) -> list[Finding]:
    """The checks that were not made, as something before them failed."""
    return [Finding(check, UNKNOWN, f"not tried: {why}") for check in checks]


def is_private(addresses: Iterable[str]) -> bool:
    """Whether an address is of a private network (RFC 1918, RFC 4193), or a link's own."""
    from ipaddress import ip_address

    for text in addresses:
        try:
            if ip_address(text.partition("%")[0]).is_private:
                return True
        except ValueError:
            continue
    return False


def failed_step(kind: str, step: str, events: Sequence[str], *, tunnel: bool) -> str:
    """Which step an error of dial() belongs to.

    `kind`: the error's type, by name; `step`: of a DeadlineExceeded; `events`: the kinds of the tap's events so far;
    `tunnel`: whether a proxy is asked for one.
    """
    found = _BY_STEP.get(step) or _BY_KIND.get(kind)
    if found and not (found == "tls" and tunnel and "proxy" not in events):
        return found
    if "connect" not in events:
        return "tcp"
    return "tunnel" if tunnel and "proxy" not in events else "tls"


_BY_STEP = {"resolve": "name", "connect": "tcp", "proxy": "tunnel", "tls": "tls"}
_BY_KIND = {
    "ResolveError": "name",
    "ConnectError": "tcp",
    "ConnectionRefused": "tcp",
    "ProxyError": "tunnel",
    "TLSError": "tls",
}
