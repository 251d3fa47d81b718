"""Pure: paths and queries of API requests, encoded as client-go encodes them.

By hand because `urllib.parse` takes longer to import than a request takes to encode.
"""

from __future__ import annotations

from collections.abc import Iterable

from rawkube._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rawkube.api.resource import Resource

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
# What Go's url.URL.EscapedPath leaves alone inside a segment besides the unreserved characters.
_SEGMENT = _UNRESERVED | frozenset(b"$&+,:;=@")


def _percent(data: bytes, keep: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in data)


def escape_segment(text: str) -> str:
    """One segment of a path, percent-encoded (`a b` → `a%20b`, a comma stays)."""
    return _percent(text.encode("utf-8", "surrogateescape"), _SEGMENT)


def escape_query(text: str) -> str:
    """A name or a value of a query, form-encoded as Go's url.QueryEscape (space → `+`)."""
    return _percent(text.encode("utf-8", "surrogateescape"), _UNRESERVED | {0x20}).replace(" ", "+")


def encode_query(parameters: Iterable[tuple[str, str]]) -> str:
    """`a=1&b=2`, sorted by name as Go's url.Values does; the values of one name keep their order."""
    ordered = sorted(parameters, key=lambda pair: pair[0])
    return "&".join(f"{escape_query(name)}={escape_query(value)}" for name, value in ordered)


def resource_path(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    """The path of a collection, or of an object or subresource in it, without the server's prefix.

    `namespace` is left out for resources without one; empty, it is all namespaces.
    """
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    parts = ["namespaces", namespace] if resource.namespaced and namespace else []
    parts += [part for part in (resource.plural, name, subresource) if part]
    return root + "".join("/" + escape_segment(part) for part in parts)
