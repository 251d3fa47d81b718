"""The server's address as client-go reads it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import ConfigError
from rawkube.kubeconfig.server_url import join_host_port, parse
from tests.support.examples import examples
from tests.support.rows import looped


@looped(
    ("text", "shown", "host", "port"),
    [
        ("https://h", "https://h", "h", 443),
        ("https://h:6443", "https://h:6443", "h", 6443),
        ("https://h:6443/", "https://h:6443", "h", 6443),
        ("HTTPS://h", "https://h", "h", 443),
        ("http://h", "http://h", "h", 80),
        ("http://h:8080//", "http://h:8080", "h", 8080),
        ("https://h/pre/fix/", "https://h/pre/fix", "h", 443),
        ("https://h//pre///fix/?a=b#c", "https://h/pre/fix", "h", 443),
        ("https://h?a=b", "https://h", "h", 443),
        ("https://h#/x", "https://h", "h", 443),
        ("https://h/a/./b/../c", "https://h/a/c", "h", 443),
        ("https://h/a b/é/%41", "https://h/a%20b/%C3%A9/%41", "h", 443),
        ("https://h:/x", "https://h/x", "h", 443),
        ("https://[::1]:6443", "https://[::1]:6443", "::1", 6443),
        ("https://[fd00:beef::1]/k8s", "https://[fd00:beef::1]/k8s", "fd00:beef::1", 443),
        ("https://[fe80::1%25eth0]:1", "https://[fe80::1%25eth0]:1", "fe80::1%eth0", 1),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example", 443),
    ],
)
def test_addresses(text: str, shown: str, host: str, port: int) -> None:
    server = parse(text)
    assert (str(server), server.host, server.effective_port, server.bare) == (shown, host, port, False)


@looped(
    ("text", "shown"),
    [
        ("h", "http://h"),
        ("h:8080", "http://h:8080"),
        ("localhost:8080/", "http://localhost:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("10.0.0.1:6443", "http://10.0.0.1:6443"),
    ],
)
def test_without_a_scheme_it_is_plain_http(text: str, shown: str) -> None:
    server = parse(text)
    assert (str(server), server.bare) == (shown, True)


@looped(
    ("text", "message"),
    [
        ("h:8080/foo/bar", 'host must be a URL or a host:port pair: "h:8080/foo/bar"'),
        ("h/p", 'host must be a URL or a host:port pair: "h/p"'),
        ("//host", "host must be a URL or a host:port pair"),
        ("http://", "host must be a URL or a host:port pair"),
        ("https:///x", "host must be a URL or a host:port pair"),
        ("ftp://h", 'unsupported protocol scheme "ftp"'),
        ("https://h:abc", 'invalid port ":abc" after host'),
        ("https://h:99999", 'invalid port ":99999" after host'),
        ("https://h:0", 'invalid port ":0" after host'),
        ("https://[::1]6443", 'invalid port "6443" after host'),
        ("https://[::1", "missing ']' in host"),
        ("https://::1:6443", "an IPv6 address needs brackets"),
        ("https://h h", 'invalid host "h h"'),
        ("https://h\n", 'invalid host "h\\n"'),
        ("https://:6443", "the server address has no host"),
        ("https://h/%zz", 'invalid URL escape "%zz"'),
        ("https://h/a\x01", "invalid control character in URL"),
        ("https://[zz]", 'invalid host "[zz]"'),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


@looped("text", ["https://u:s3cret@h", "u:s3cret@h:1", "https://s3cret@h/x", "u:s3cret@h/p", "ftp://u:s3cret@h"])
def test_userinfo_is_refused_unshown(text: str) -> None:
    with pytest.raises(ConfigError, match="user name or password") as caught:
        parse(text)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "joined"), [("10.0.0.1", "10.0.0.1:443"), ("::1", "[::1]:443"), ("[::1]", "[::1]:443")]
)
def test_join(host: str, joined: str) -> None:
    assert join_host_port(host, "443") == joined


@settings(max_examples=examples(200), deadline=None)
@given(st.text("https:/[]@?#%.-_ab10\n ", max_size=20))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        server = parse(text)
    except ConfigError:
        return
    assert parse(str(server)) == server._replace(bare=False)
    assert not str(server).endswith("/")
