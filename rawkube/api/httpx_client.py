"""`rawkube.Client`: an `httpx.Client` whose transport is rawkube's own connection layer.

    with rawkube.Client() as client:
        pods = client.get("/api/v1/namespaces/demo/pods").json()

What holds for the commands holds here, because it is the same code: the server's prefix, the CA, the credentials
(fresh for each request, renewed once on a 401), impersonation, trace. It speaks to that server alone: a URL of
another origin is refused before anything is sent, so no credential can go astray.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import httpx

from rawkube._typing import Any
from rawkube._version import user_agent
from rawkube.api.client import ApiClient
from rawkube.api.connect import connect
from rawkube.errors import (
    ConnectError,
    ConnectionLost,
    DeadlineExceeded,
    ProtocolError,
    ProxyError,
    ResolveError,
    TLSError,
    TransportError,
)
from rawkube.kubeconfig.access import Access
from rawkube.wire.dial import Timeouts
from rawkube.wire.http import Request, Response
from rawkube.wire.tap import Tap

DEFAULT_TIMEOUT = httpx.Timeout(connect=30.0, read=60.0, write=60.0, pool=None)
"""Seconds. `read` is the silence between two pieces: raise it for a watch (httpx's own default is 5 s)."""

# What the connection layer decides: framing, the connection itself, the decoding of the body.
_NOT_SENT = {b"host", b"connection", b"transfer-encoding", b"content-length", b"accept-encoding"}
_NOT_GIVEN = {"content-encoding", "content-length", "transfer-encoding"}

_NO_LIMIT = 1_000_000.0  # seconds; poll(2) takes at most 2³¹ milliseconds


class Client(httpx.Client):
    """An httpx client for one API server.

    Without `access` the connection is the one that kubectl would use (`rawkube.connect`'s keyword arguments
    choose another: kubeconfig, context, namespace, stdin_reserved, …). Everything else that `httpx.Client` takes is
    passed on, except what belongs to the connection (`verify`, `cert`, `proxy`, `transport`, `base_url`).
    Relative URLs are below the server's URL, prefix included. Safe for several threads, as httpx's client is.
    """

    def __init__(
        self,
        access: Access | None = None,
        *,
        tap: Tap | None = None,
        kubeconfig: str = "",
        context: str = "",
        namespace: str = "",
        stdin_reserved: str = "",
        timeout: httpx.Timeout | float | None = DEFAULT_TIMEOUT,
        headers: Mapping[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - httpx's own, passed on
    ) -> None:
        api = (
            ApiClient(access, tap=tap)
            if access is not None
            else connect(
                kubeconfig=kubeconfig, context=context, namespace=namespace, stdin_reserved=stdin_reserved, tap=tap
            )
        )
        self.access = api.access
        for name in ("transport", "base_url", "trust_env", "verify", "cert", "proxy", "mounts", "http1", "http2"):
            if name in options:
                raise TypeError(f"{name} belongs to the connection, which the kubeconfig decides")
        super().__init__(
            transport=Transport(api),
            base_url=api.access.server,
            trust_env=False,
            timeout=timeout,
            headers={"User-Agent": user_agent(), **dict(headers or {})},
            **options,
        )


class Transport(httpx.BaseTransport):
    """httpx's transport interface on an ApiClient."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._origin = _origin(httpx.URL(api.access.server))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. Raises httpx's own exceptions, with rawkube's as their cause."""
        self._check_origin(request)
        wanted = request.extensions.get("timeout", {})
        try:
            response = self._api.exchange(self._translate(request), timeouts=self._timeouts(wanted))
        except TransportError as error:
            raise _translated(error, request) from error
        return httpx.Response(
            response.status,
            # As bytes: httpx takes text for ASCII, and a server's headers need not be that.
            headers=[(n.encode("latin-1"), v.encode("latin-1")) for n, v in response.headers if n not in _NOT_GIVEN],
            stream=_Body(response, request),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": response.reason.encode("latin-1")},
        )

    def close(self) -> None:
        """Close every connection."""
        self._api.close()

    def _check_origin(self, request: httpx.Request) -> None:
        scheme, host, port = asked = _origin(request.url)
        if asked != self._origin:
            raise httpx.UnsupportedProtocol(
                f"this client speaks to {self._api.access.server} alone, not to {scheme}://{host.decode()}:{port}",
                request=request,
            )

    def _translate(self, request: httpx.Request) -> Request:
        headers = [(n, v) for n, v in request.headers.raw if n.lower() not in _NOT_SENT]
        # UTF-8 is what the connection layer makes of it again; anything else is refused there.
        pairs = [(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in headers]
        if not self._api.access.disable_compression:
            pairs.append(("Accept-Encoding", "gzip"))
        return Request(request.method, request.url.raw_path.decode("ascii"), pairs, request.read())

    def _timeouts(self, wanted: dict[str, float | None]) -> Timeouts:
        known = self._api.timeouts
        connect = _seconds(wanted.get("connect", known.connect))
        return Timeouts(
            resolve=min(known.resolve, connect),
            connect=connect,
            tls=min(known.tls, connect),
            send=_seconds(wanted.get("write", known.send)),
            first_byte=_seconds(wanted.get("read", known.first_byte)),
            silence=_seconds(wanted.get("read", known.silence)),
        )


class _Body(httpx.SyncByteStream):
    """The body of an answer, decoded, piece by piece as it comes."""

    def __init__(self, response: Response, request: httpx.Request) -> None:
        self._response = response
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.chunks()
        except TransportError as error:
            raise _translated(error, self._request) from error

    def close(self) -> None:
        self._response.close()


def _origin(url: httpx.URL) -> tuple[str, bytes, int]:
    """Scheme, host as it goes over the wire (an IDN in its ASCII form), port."""
    return url.scheme, url.raw_host, url.port or (443 if url.scheme == "https" else 80)


def _seconds(limit: float | None) -> float:
    """httpx's None is no limit, which the connection layer does not offer: eleven days are as good."""
    return _NO_LIMIT if limit is None else min(limit, _NO_LIMIT)


def _translated(error: TransportError, request: httpx.Request) -> httpx.TransportError:
    kind: type[httpx.TransportError] = httpx.NetworkError
    if isinstance(error, DeadlineExceeded):
        steps = {
            "resolve": httpx.ConnectTimeout,
            "connect": httpx.ConnectTimeout,
            "proxy": httpx.ConnectTimeout,
            "tls": httpx.ConnectTimeout,
            "send": httpx.WriteTimeout,
        }
        kind = steps.get(error.step, httpx.ReadTimeout)
    elif isinstance(error, ProxyError):
        kind = httpx.ProxyError
    elif isinstance(error, ResolveError | ConnectError | TLSError):
        kind = httpx.ConnectError
    elif isinstance(error, ProtocolError):
        kind = httpx.RemoteProtocolError
    elif isinstance(error, ConnectionLost):
        kind = httpx.RemoteProtocolError if error.answered else httpx.ReadError
    return kind(str(error), request=request)
