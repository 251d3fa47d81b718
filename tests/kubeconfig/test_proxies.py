"""Which proxy of the environment applies, by Go's rules."""

from __future__ import annotations

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.proxies import from_environment
from rawkube.kubeconfig.server_url import parse
from tests.support.rows import looped

DEAD = "http://127.0.0.1:9"


def applies(server: str, **environ: str) -> str:
    found = from_environment(parse(server), environ)
    return found[0] if found else ""


@looped(
    ("server", "environ", "variable"),
    [
        ("https://h", {"HTTPS_PROXY": DEAD}, "HTTPS_PROXY"),
        ("https://h", {"https_proxy": DEAD}, "https_proxy"),
        ("https://h", {"HTTPS_PROXY": DEAD, "https_proxy": DEAD}, "HTTPS_PROXY"),
        ("https://h", {"HTTPS_PROXY": "", "https_proxy": DEAD}, "https_proxy"),
        ("https://h", {"HTTP_PROXY": DEAD}, ""),
        ("http://h", {"HTTP_PROXY": DEAD}, "HTTP_PROXY"),
        ("http://h", {"HTTPS_PROXY": DEAD}, ""),
        ("https://h", {"ALL_PROXY": DEAD, "all_proxy": DEAD}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": DEAD}, ""),
        ("https://LOCALHOST", {"HTTPS_PROXY": DEAD}, ""),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": DEAD}, ""),
        ("https://127.9.9.9", {"HTTPS_PROXY": DEAD}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": DEAD}, ""),
        ("https://10.0.0.1", {"HTTPS_PROXY": DEAD}, "HTTPS_PROXY"),
    ],
)
def test_which_variable(server: str, environ: dict[str, str], variable: str) -> None:
    assert applies(server, **environ) == variable


@looped(
    ("server", "no_proxy", "direct"),
    [
        ("https://a.b.example", "*", True),
        ("https://b.example", "b.example", True),
        ("https://a.b.example", "b.example", True),
        ("https://a.b.example", "example", True),
        ("https://a.b.example", "ample", False),
        ("https://b.example", ".b.example", False),
        ("https://a.b.example", ".b.example", True),
        ("https://b.example", "*.b.example", False),
        ("https://a.b.example", "*.b.example", True),
        ("https://A.B.example", "b.EXAMPLE", True),
        ("https://b.example:6443", "b.example:6443", True),
        ("https://b.example:6443", "b.example:443", False),
        ("https://b.example", "b.example:443", True),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3", "10.1.2.30", False),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "[fd00::1]:1", False),
        ("https://[fd00::1]:6443", "[fd00::1]", False),
        ("https://xn--bcher-kva.example", "bücher.example", True),
        ("https://h", "10.0.0.0/8, h , x", True),
        ("https://h", ",, ,", False),
        ("https://h", "10.0.0.0/8", False),
        ("https://h", ":443", False),
        ("https://h", "10.0.0.0/99", False),
        ("https://10.1.2.3", "10.1.2.3/255.0.0.0", False),
        ("https://10.1.2.3", "10.0.0.0/0.255.255.255", False),
        ("https://10.1.2.3", "::ffff:10.0.0.0/104", True),
        ("https://11.1.2.3", "::ffff:10.0.0.0/104", False),
        ("https://[fe80::1%25eth0]", "fe80::1", True),
        ("https://[fe80::1%25eth0]", "fe80::/10", True),
        ("https://[fe80::1%25eth0]", "fe80::1%eth0", False),
    ],
)
def test_exceptions(server: str, no_proxy: str, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        assert (applies(server, HTTPS_PROXY=DEAD, **{name: no_proxy}) == "") is direct


def test_the_upper_case_list_hides_the_other() -> None:
    assert applies("https://h", HTTPS_PROXY=DEAD, NO_PROXY="x", no_proxy="h") == "HTTPS_PROXY"


def test_a_cgi_program_trusts_no_http_proxy() -> None:
    """Its HTTP_PROXY may be a header of its client."""
    environ = {"REQUEST_METHOD": "GET", "HTTP_PROXY": DEAD, "HTTPS_PROXY": DEAD}
    assert applies("https://h", **environ) == "HTTPS_PROXY"
    with pytest.raises(ConfigError, match="refusing to use HTTP_PROXY value in CGI environment"):
        applies("http://h", **environ)


def test_names_that_are_not_ascii() -> None:
    assert applies("https://xn--bcher-kva.example", HTTPS_PROXY=DEAD) == "HTTPS_PROXY"
    assert applies("https://xn--bcher-kva.example", HTTPS_PROXY=DEAD, NO_PROXY="bücher.example") == ""
    # No name at all: it is nobody's.
    assert applies("https://h", HTTPS_PROXY=DEAD, NO_PROXY=f"{'ä' * 80}.example,\u2488a") == "HTTPS_PROXY"
