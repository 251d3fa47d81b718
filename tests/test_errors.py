"""What errors carry besides their text."""

from __future__ import annotations

from typing import Any

from rawkube import errors
from rawkube.errors import (
    ConfigError,
    ConnectionLost,
    CredentialError,
    DeadlineExceeded,
    ObjectDeleted,
    ProxyError,
    RawkubeError,
    StatusError,
    UpgradeRefused,
    WaitTimeout,
)
from tests.support.rows import looped


def test_the_tree_in_the_docstring_is_true() -> None:
    """A name deeper in the picture is a subclass of the one above it."""
    above: list[tuple[int, type]] = []
    named = set()
    for line in (errors.__doc__ or "").splitlines():
        words = line.strip("│├└─ ").split()
        if not line.startswith("    ") or not words:
            continue
        found: Any = getattr(errors, words[0])
        depth = line.index(words[0])
        above = [(at, one) for at, one in above if at < depth]
        if above:
            assert found.__base__ is above[-1][1], words[0]
        above.append((depth, found))
        named.add(words[0])
    assert named == {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}


def test_details_are_kept() -> None:
    assert (RawkubeError("a").detail, RawkubeError("a", detail=["b", "c"]).detail) == ((), ("b", "c"))
    assert ConfigError("a").problems == ("a",)
    assert ConfigError("a", problems=["b", "c"], in_configuration=True).problems == ("b", "c")
    failed = CredentialError("a", help=iter(["install it"]), detail=["b"])
    assert (failed.help, failed.detail, failed.server) == (("install it",), ("b",), "")
    assert (ProxyError("a").status, ProxyError("a", status=407, server="h:1").status) == (0, 407)
    assert DeadlineExceeded("a", step="tls", server="h:1").step == "tls"
    assert (ConnectionLost("a").answered, ConnectionLost("a", answered=True).answered) == (False, True)
    assert UpgradeRefused(403, "a").code == 403


@looped(
    ("status", "text", "code", "reason"),
    [
        ({"message": "gone", "code": 410, "reason": "Expired"}, "gone", 410, "Expired"),
        ({"message": None, "code": "410", "reason": None}, "", 0, ""),
        ({}, "", 0, ""),
    ],
)
def test_a_status_that_says_little(status: dict[str, Any], text: str, code: int, reason: str) -> None:
    error = StatusError(status)
    assert (str(error), error.code, error.reason) == (text, code, reason)


def test_texts_that_need_not_be_said() -> None:
    assert str(ObjectDeleted()) == "object has been deleted"
    assert (str(WaitTimeout()), WaitTimeout().detail) == ("timed out waiting for the condition", ())
