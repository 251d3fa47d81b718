"""The address of a proxy."""

from __future__ import annotations

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.proxy_url import ProxyURL, parse, without_userinfo
from tests.support.rows import looped


@looped(
    ("text", "wanted"),
    [
        ("http://p:3128", ProxyURL("http", "p", 3128)),
        ("p:3128", ProxyURL("http", "p", 3128)),
        ("p", ProxyURL("http", "p", 80)),
        ("//p", ProxyURL("http", "p", 80)),
        ("u:w@p:3128", ProxyURL("http", "p", 3128, "u", "w")),
        ("HTTPS://p", ProxyURL("https", "p", 443)),
        ("socks5://p", ProxyURL("socks5", "p", 1080)),
        ("socks5h://p/", ProxyURL("socks5h", "p", 1080)),
        ("http://[fd00::1]:1/x?y#z", ProxyURL("http", "fd00::1", 1)),
        ("http://u@p", ProxyURL("http", "p", 80, "u", "")),
        ("http://@p", ProxyURL("http", "p", 80, "", "")),
        ("http://u%40x:a%3Ab%2F+%25@p", ProxyURL("http", "p", 80, "u@x", "a:b/+%")),
        ("http://u:a:b@c@p", ProxyURL("http", "p", 80, "u", "a:b@c")),
        ("http://bücher.example", ProxyURL("http", "xn--bcher-kva.example", 80)),
    ],
)
def test_good(text: str, wanted: ProxyURL) -> None:
    assert tuple(parse(text)) == tuple(wanted)


@looped(
    "text",
    [
        "",
        "http://",
        "socks4://p",
        "ftp://s3cret@p",
        "http://u:s3cret@p:99999",
        "http://u:s3cret@p:x",
        "http://u:s3cret%@p",
        "http://u:s3cret@p p",
        "http://u:s3cret@[::1",
        "http://:80",
        "u:s3cret://p",
    ],
)
def test_bad(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert "s3cret" not in str(caught.value)


def test_no_password_in_a_repr() -> None:
    assert repr(parse("http://u:s3cret@p")) == "ProxyURL(http://p:80)"


@looped(
    ("url", "shown"),
    [
        ("http://p:1", "http://p:1"),
        ("http://u:s3cret@p:1", "http://<redacted>@p:1"),
        ("u:s3cret@p:1", "<redacted>@p:1"),
        ("http://u:s3@cret@p:1", "http://<redacted>@p:1"),
    ],
)
def test_shown(url: str, shown: str) -> None:
    assert without_userinfo(url) == shown
