from __future__ import annotations

from rawkube.observe.loopback import is_loopback, stranger
from tests.support.rows import looped

HERE = [
    "localhost",
    "LOCALHOST:80",
    "localhost.",
    "a.localhost:1",
    "127.0.0.1",
    "127.9.9.9:65535",
    "[::1]:443",
    "[::1]",
]
ELSEWHERE = ["", "a", "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1:80", "[::2]:1"]
NONSENSE = [
    "0.0.0.0",
    "[]",
    "[::1",
    "::1",
    "localhost:x",
    "localhost:123456",
    "a b",
    "xlocalhost",
    "127.1",
]


@looped("authority", HERE)
def test_here(authority: str) -> None:
    assert is_loopback(authority)
    assert stranger("/a", authority) == ""
    assert stranger(f"http://{authority}/a?b=http://example.com/", authority) == ""


@looped("authority", [*ELSEWHERE, *NONSENSE])
def test_elsewhere(authority: str) -> None:
    assert not is_loopback(authority)
    assert stranger("/a", authority) == (authority or "(none)")
    assert stranger(f"http://{authority}/a", "localhost") != ""


def test_without_a_host_as_http_1_0_allows() -> None:
    assert stranger("/a", None) == ""
    assert stranger("https://localhost@example.com/a", None) == "example.com"
    assert not is_loopback("@localhost")
