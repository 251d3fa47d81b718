"""What is said to a proxy: CONNECT and SOCKS 5, their answers cut at every byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube._version import user_agent
from rawkube.errors import ConnectionLost, ConnectionRefused, ProtocolError, ProxyError, TransportError
from rawkube.wire.proxy import HEAD_LIMIT, Connect, Conversation, Proxy, Socks5, readable
from tests.support.examples import examples
from tests.support.rows import looped

HTTP = Proxy("http", "p.test", 3128)
SOCKS = Proxy("socks5", "p.test", 1080)
LOGGED_IN = SOCKS._replace(username="me", password="s3cret")


def cuts(data: bytes) -> list[list[bytes]]:
    """The data as a whole, in two pieces at every byte, and a byte at a time."""
    found = [[data], [data[i : i + 1] for i in range(len(data))]]
    return found + [[data[:i], data[i:]] for i in range(1, len(data))]


def drive(talk: Conversation, pieces: list[bytes]) -> list[bytes]:
    """Everything that is sent, in order. Never reads more than is wanted; what is then left is the server's."""
    sent = [talk.start()]
    held = b""
    pieces = list(pieces)
    while talk.wants:
        if not held:
            if not pieces:
                break
            held = pieces.pop(0)
        taken, held = held[: talk.wants], held[talk.wants :]
        if out := talk.feed(taken):
            sent.append(out)
    talk.leftover += held + b"".join(pieces)
    return sent


# CONNECT


@looped(
    ("proxy", "host", "port", "line", "headers"),
    [
        (HTTP, "api.test", 6443, "CONNECT api.test:6443 HTTP/1.1", {"Host": "api.test:6443"}),
        (HTTP, "fd00::1", 443, "CONNECT [fd00::1]:443 HTTP/1.1", {"Host": "[fd00::1]:443"}),
        (HTTP, "fe80::1%eth0", 443, "CONNECT [fe80::1]:443 HTTP/1.1", {"Host": "[fe80::1]:443"}),
        (
            HTTP._replace(username="us er", password="p:w@/"),
            "h",
            1,
            "CONNECT h:1 HTTP/1.1",
            {"Host": "h:1", "Proxy-Authorization": "Basic dXMgZXI6cDp3QC8="},
        ),
        (
            HTTP._replace(username=""),
            "h",
            1,
            "CONNECT h:1 HTTP/1.1",
            {"Host": "h:1", "Proxy-Authorization": "Basic Og=="},
        ),
    ],
)
def test_the_request(proxy: Proxy, host: str, port: int, line: str, headers: dict[str, str]) -> None:
    head = Connect(proxy, host, port).start().decode()
    assert head.endswith("\r\n\r\n")
    first, *rest = head[:-4].split("\r\n")
    assert first == line
    assert dict(pair.split(": ", 1) for pair in rest) == {"User-Agent": user_agent(), **headers}


@looped(
    "head",
    [
        b"HTTP/1.1 200 Connection established\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nProxy-Agent: x\r\nContent-Length: 99\r\n\r\n",
        b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_a_tunnel_cut_at_every_byte(head: bytes) -> None:
    early = b"\x16\x03\x03 first bytes"
    for pieces in cuts(head + early):
        talk = Connect(HTTP, "h", 1)
        drive(talk, pieces)
        assert (talk.wants, talk.status, talk.leftover) == (0, 200, early)


def test_a_refusal_that_repeats_the_request_shows_no_credentials() -> None:
    proxy = HTTP._replace(username="me", password="s3cret")
    asked = Connect(proxy, "h", 1).start() + b"s3cret"
    head = b"HTTP/1.1 407 No\r\nContent-Length: %d\r\n\r\n" % len(asked)
    with pytest.raises(ProxyError) as caught:
        drive(Connect(proxy, "h", 1), [head, asked])
    told = "\n".join(caught.value.detail)
    assert "Proxy-Authorization: Basic <redacted>\n<redacted>" in told
    assert "s3cret" not in told


REFUSALS = {
    "502": (
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nno \x1b way\n\nx\n",
        "Bad Gateway",
        502,
        ["the proxy http://p.test:3128 answered CONNECT h:1 with 502 Bad Gateway", "no \\x1b way", "x"],
    ),
    "407": (
        b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="squid"\r\n'
        b"Transfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
        b"19\r\n<html><head><title>x</hea\r\n16\r\nd>Denied &lt;b&gt;</b>\n\r\n0\r\n\r\n",
        "Proxy Authentication Required",
        407,
        [
            "the proxy http://p.test:3128 answered CONNECT h:1 with 407 Proxy Authentication Required",
            "it wants a user name and a password, in the proxy's URL: http://USER:PASSWORD@…",
            "Denied <b>",
        ],
    ),
    "407 by another scheme": (
        b"HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n",
        "No",
        407,
        [
            "the proxy http://p.test:3128 answered CONNECT h:1 with 407 No",
            "it wants Negotiate, NTLM authentication; rawkube knows Basic alone",
        ],
    ),
    "no reason": (
        b"HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n",
        "HTTP status 503",
        503,
        ["the proxy http://p.test:3128 answered CONNECT h:1 with 503"],
    ),
    "a redirect": (
        b"HTTP/1.1 302 Found\r\nLocation: http://login/\r\nContent-Length: 0\r\n\r\n",
        "Found",
        302,
        ["the proxy http://p.test:3128 answered CONNECT h:1 with 302 Found"],
    ),
}


@looped("case", REFUSALS.values(), ids=list(REFUSALS))
def test_refusals_cut_at_every_byte(case: tuple[bytes, str, int, list[str]]) -> None:
    answer, text, status, detail = case
    for pieces in cuts(answer):
        with pytest.raises(ProxyError) as caught:
            drive(Connect(HTTP, "h", 1), pieces)
        assert (str(caught.value), caught.value.status, list(caught.value.detail)) == (text, status, detail)


@pytest.mark.parametrize("end", [True, False], ids=["the end", "silence"])
def test_a_refusal_whose_body_never_ends(end: bool) -> None:
    answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 100\r\n\r\noops"
    for pieces in cuts(answer):
        talk = Connect(HTTP, "h", 1)
        drive(talk, pieces)
        if end:
            with pytest.raises(ProxyError) as caught:
                talk.feed(b"")
            error = caught.value
        else:
            found = talk.refusal()
            assert found is not None
            error = found
        assert (str(error), error.detail[-1]) == ("Bad Gateway", "oops")


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    talk = Connect(HTTP, "h", 1)
    drive(talk, [b"HTTP/1.0 403 Forbidden\r\n\r\nnot you"])
    with pytest.raises(ProxyError) as caught:
        talk.feed(b"")
    assert caught.value.detail[-1] == "not you"


def test_credentials_that_are_not_accepted() -> None:
    talk = Connect(HTTP._replace(username="me", password="s3cret"), "h", 1)
    with pytest.raises(ProxyError) as caught:
        drive(talk, [b"HTTP/1.1 407 No\r\nProxy-Authenticate: basic x\r\nContent-Length: 0\r\n\r\n"])
    assert caught.value.detail[1] == "it does not accept the user name and password in the proxy's URL"
    assert "s3cret" not in str(caught.value) + "".join(caught.value.detail) + repr(talk.proxy)


def test_an_endless_body_is_not_read_to_its_end() -> None:
    talk = Connect(HTTP, "h", 1)
    talk.start()
    with pytest.raises(ProxyError, match=r"^Bad Gateway$"):
        talk.feed(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        for _ in range(100):
            talk.feed(b"x" * 1000)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"SSH-2.0-x\r\n", 'malformed HTTP response "SSH-2.0-x"'),
        (b"\x15\x03\x01\0\2", r'malformed HTTP response "\x15\x03\x01\x00\x02"'),
        (b"HTTP/1.1 abc\r\n\r\n", 'malformed HTTP response "HTTP/1.1 abc"'),
    ],
)
def test_no_http(answer: bytes, text: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        drive(Connect(HTTP, "h", 1), [answer])
    assert str(caught.value) == text
    with pytest.raises(ProtocolError):
        drive(Connect(HTTP, "h", 1), [answer[i : i + 1] for i in range(len(answer))])


@looped("size", range(0, 17))
def test_the_end_before_an_answer(size: int) -> None:
    talk = Connect(HTTP, "h", 1)
    drive(talk, [b"HTTP/1.1 200 OK\r\n"[:size]] if size else [])
    with pytest.raises(ConnectionLost, match=r"^unexpected EOF$"):
        talk.feed(b"")


def test_a_head_without_end() -> None:
    talk = Connect(HTTP, "h", 1)
    talk.start()
    with pytest.raises(ProtocolError, match="exceeds 65536 bytes"):
        talk.feed(b"HTTP/1.1 200 OK\r\n")
        for _ in range(HEAD_LIMIT // 1000 + 2):
            talk.feed(b"X: " + b"y" * 995 + b"\r\n")


# SOCKS 5

OPENED = b"\5\0\0\1\x7f\0\0\1\x12\x34"


@looped(
    ("host", "address"),
    [
        ("api.test", b"\3\x08api.test"),
        ("127.0.0.1", b"\1\x7f\0\0\1"),
        ("::1", b"\4" + bytes(15) + b"\1"),
        ("a" * 255, b"\3\xff" + b"a" * 255),
    ],
)
def test_socks_says_the_name(host: str, address: bytes) -> None:
    talk = Socks5(SOCKS, host, 6443)
    assert drive(talk, [b"\5\0", OPENED]) == [b"\5\1\0", b"\5\1\0" + address + b"\x19\x2b"]
    assert (talk.wants, talk.status) == (0, 0)


@looped(
    "bound",
    [b"\1\x7f\0\0\1\x12\x34", b"\3\5p.tst\x12\x34", b"\4" + bytes(18), b"\3\0\0\0"],
    ids=["v4", "name", "v6", "empty"],
)
@looped("proxy", [SOCKS, LOGGED_IN], ids=["open", "password"])
def test_socks_cut_at_every_byte(bound: bytes, proxy: Proxy) -> None:
    early = b"220 hello"
    head = (b"\5\0" if proxy is SOCKS else b"\5\2\1\0") + b"\5\0\0" + bound
    for pieces in cuts(head + early):
        talk = Socks5(proxy, "h", 1)
        sent = drive(talk, pieces)
        assert (talk.wants, talk.status, talk.leftover) == (0, 0, early)
        if proxy is LOGGED_IN:
            assert sent[:2] == [b"\5\2\0\2", b"\1\2me\6s3cret"]
        assert sent[-1] == b"\5\1\0\3\1h\0\1"


def test_socks_without_the_password_that_was_offered() -> None:
    assert drive(Socks5(LOGGED_IN, "h", 1), [b"\5\0", OPENED]) == [b"\5\2\0\2", b"\5\1\0\3\1h\0\1"]


SOCKS_REFUSALS: list[tuple[Proxy, bytes, type[TransportError], str]] = [
    (SOCKS, b"\5\xff", ProxyError, "no acceptable authentication methods"),
    (LOGGED_IN, b"\5\xff", ProxyError, "no acceptable authentication methods"),
    (SOCKS, b"\5\2", ProxyError, "unsupported authentication method 2"),
    (LOGGED_IN, b"\5\1", ProxyError, "unsupported authentication method 1"),
    (LOGGED_IN, b"\5\2\1\1", ProxyError, "username/password authentication failed"),
    (LOGGED_IN, b"\5\2\5\0", ProtocolError, "invalid username/password version"),
    (LOGGED_IN._replace(username=""), b"\5\2", ProxyError, "invalid username/password"),
    (LOGGED_IN._replace(password="x" * 256), b"\5\2", ProxyError, "invalid username/password"),
    (SOCKS, b"\4\0", ProtocolError, "unexpected protocol version 4"),
    (SOCKS, b"HT", ProtocolError, "unexpected protocol version 72"),
    (SOCKS, b"\5\0\5\1\0\1", ProxyError, "unknown error general SOCKS server failure"),
    (SOCKS, b"\5\0\5\2\0\1", ProxyError, "unknown error connection not allowed by ruleset"),
    (SOCKS, b"\5\0\5\4\0\1", ProxyError, "unknown error host unreachable"),
    (SOCKS, b"\5\0\5\5\0\1", ConnectionRefused, "unknown error connection refused"),
    (SOCKS, b"\5\0\5\x63\0\1", ProxyError, "unknown error unknown code: 99"),
    (SOCKS, b"\5\0\5\0\7\1", ProtocolError, "non-zero reserved field"),
    (SOCKS, b"\5\0\5\0\0\2", ProtocolError, "unknown address type 2"),
    (SOCKS, b"\5\0\4\0\0\1", ProtocolError, "unexpected protocol version 4"),
]


@looped(("proxy", "answer", "kind", "text"), SOCKS_REFUSALS)
def test_socks_refusals(proxy: Proxy, answer: bytes, kind: type[TransportError], text: str) -> None:
    for pieces in cuts(answer):
        with pytest.raises(kind) as caught:
            drive(Socks5(proxy, "h", 1), pieces)
        assert str(caught.value) == text
        assert "s3cret" not in "".join(caught.value.detail)


@looped("size", range(len(OPENED) + 2))
def test_the_end_in_socks(size: int) -> None:
    talk = Socks5(SOCKS, "h", 1)
    drive(talk, [(b"\5\0" + OPENED)[:size]] if size else [])
    assert talk.refusal() is None
    with pytest.raises(ConnectionLost, match=r"EOF$"):
        talk.feed(b"")


def test_a_name_that_is_too_long() -> None:
    with pytest.raises(ProxyError, match=r"^FQDN too long$"):
        Socks5(SOCKS, "a" * 256, 1).start()


# Any bytes


@pytest.mark.parametrize(
    "make", [lambda: Connect(HTTP, "h", 1), lambda: Socks5(LOGGED_IN, "h", 1)], ids=["http", "socks"]
)
@settings(max_examples=examples(150), deadline=None)
@given(
    pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    start=st.sampled_from([b"", b"HTTP/1.1 ", b"\5\2\1\0"]),
)
def test_any_answer_is_a_tunnel_or_an_error(
    make: Callable[[], Conversation], pieces: list[bytes], start: bytes
) -> None:
    talk = make()
    try:
        drive(talk, [start, *pieces] if start else pieces)
        if talk.wants:
            talk.feed(b"")
    except TransportError as error:
        assert "\n" not in str(error) + "".join(error.detail)
        assert "s3cret" not in str(error) + "".join(error.detail)
    else:
        assert talk.wants == 0


@looped(
    ("body", "media", "lines"),
    [
        (b"", "text/html", []),
        (b"a\r\n\r\n b \n", "text/plain", ["a", "b"]),
        (b"<style>p{}</style><script>x()</script><p>hi<br>you", "text/html", ["hi you"]),
        (b"<!-- x --><p>hi</p>", "", ["hi"]),
        (b"<head><title>never ends", "text/html", []),
        (b"\xff\x1b[31m", "text/plain", ["�\\x1b[31m"]),
        (b"\n".join(b"%d" % n for n in range(20)), "text/plain", [str(n) for n in range(8)]),
        (b"x" * 1000, "text/plain", ["x" * 200]),
    ],
)
def test_readable(body: bytes, media: str, lines: list[str]) -> None:
    assert readable(body, media) == lines


def test_what_is_shown_of_a_proxy() -> None:
    proxy = Proxy("http", "::1", 80, "me", "s3cret", origin="$HTTPS_PROXY")
    assert repr(proxy) == "Proxy(http://[::1]:80, with credentials)"
    assert proxy.named == "http://[::1]:80 (set by $HTTPS_PROXY)"
