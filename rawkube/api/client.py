"""Requests to an API server over the resolved connection: get, list, watch; retries; a Status becomes an error.

The credentials, the CA, the prefix, the impersonation: whatever a request needs is put together here, once, for
every kind of request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType

from rawkube._typing import TYPE_CHECKING, Self
from rawkube._version import user_agent
from rawkube.api.objects import Object, complete_list, decode_object, metadata_of
from rawkube.api.paths import encode_query, resource_path
from rawkube.api.resource import Resource
from rawkube.api.status import is_failure, retry_after, status_error
from rawkube.duration import format_duration
from rawkube.errors import ConnectionLost, DecodeError, StatusError, TransportError
from rawkube.gotext import go_quote
from rawkube.kubeconfig import server_url
from rawkube.kubeconfig.access import Access
from rawkube.kubeconfig.credentials import Credentials
from rawkube.wire.dial import Endpoint, Timeouts, TLSOptions
from rawkube.wire.http import BODY_LIMIT, Request, Response
from rawkube.wire.pool import Pool

if TYPE_CHECKING:
    from rawkube.api.watch import WatchEvent
    from rawkube.kubeconfig.exec_plugin import PluginOptions
    from rawkube.kubeconfig.oidc import Fetch
    from rawkube.wire.proxy import Proxy
    from rawkube.wire.tap import Tap

RETRIES = 10
"""How often a request is repeated when the server asks for it, or when a GET's connection breaks (client-go)."""


LARGEST_LIST = 1 << 30
"""Bytes of a LIST's answer at most; of any other one it is the wire's `BODY_LIMIT`."""

LONG_WAIT = 5.0
"""Seconds; a person is told of a wait that is longer."""


class ApiClient:
    """One API server, as one user.

    `access`: the resolved connection. `on_warning` is told the text of each `Warning` header, `on_note` lines
    for a person (a long wait). `plugins`: how a credential plugin is run; without it, every plugin is allowed, and may
    ask on the terminal. `environ`: names the proxies to an auth provider's issuer (None: the process's own). `sleep`
    and `clock` are the caller's to replace. Safe for several threads, as its pool is.
    """

    def __init__(
        self,
        access: Access,
        *,
        tap: Tap | None = None,
        timeouts: Timeouts | None = None,
        on_warning: Callable[[str], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        plugins: PluginOptions | None = None,
        environ: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.access = access
        self.clock = clock
        self.timeouts = timeouts or Timeouts()
        self._tap = tap
        self.credentials = Credentials(
            access,
            plugins=_with_check(plugins) if access.exec else None,
            fetch=self._fetch(environ) if access.auth_provider else None,
            on_certificate_change=self._forget_connections,
            on_note=on_note,
        )
        self.address = server_url.parse(access.server)
        self._on_warning = on_warning
        self._on_note = on_note
        self.sleep = sleep
        self._common = [("User-Agent", user_agent())]
        if tap is not None and tap.wire:
            self._common.append(("Accept-Encoding", "identity"))  # so that what passes can be read
        elif not access.disable_compression:
            self._common.append(("Accept-Encoding", "gzip"))
        self.pool = Pool(self._endpoint(), timeouts=self.timeouts, tap=tap)
        self.answered: tuple[float, str] | None = None
        """When, by `clock`, the last answer came, and its `Date`."""

    @property
    def tap(self) -> Tap | None:
        """Who looks on."""
        return self._tap

    def _endpoint(self) -> Endpoint:
        self._ca = self.credentials.ca_pem()  # a bad one is told now, not at the first request
        tls = None
        if self.address.scheme == "https":
            tls = TLSOptions(
                server_name=self.access.tls_server_name or self.address.host,
                ca_pem=self.credentials.ca_pem,
                verify=not self.access.insecure,
                client_cert=self.credentials.client_cert,
            )
        return Endpoint(self.address.host, self.address.effective_port, tls, self._proxy())

    def _proxy(self) -> Proxy | None:
        if not self.access.proxy_url:
            return None
        from rawkube.api.proxies import proxy_for

        origin = self.access.origins.get("proxy_url")
        return proxy_for(self.access.proxy_url, origin=str(origin or ""), ca_pem=self.credentials.ca_pem)

    def _fetch(self, environ: Mapping[str, str] | None) -> Fetch:
        import os

        from rawkube.api.fetch import fetcher
        from rawkube.api.proxies import by_environment

        through = by_environment(os.environ if environ is None else environ)
        return fetcher(timeouts=self.timeouts, tap=self._tap, through=through)

    def _forget_connections(self) -> None:
        self.pool.close_idle("the client certificate has changed")

    def close(self) -> None:
        """Close every connection."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # One request.

    def send(
        self,
        method: str,
        path: str,
        query: Iterable[tuple[str, str]] = (),
        *,
        accept: str = "application/json",
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        deadline: float | None = None,
        timeouts: Timeouts | None = None,
        upgrade: bool = False,
    ) -> Response:
        """Send a request and give the answer's head, whatever its status; the body is the caller's to read.

        `path` is without the server's prefix. `deadline` is a time of the client's clock. Repeated as client-go
        does: 429 and 5xx with an integer `Retry-After`, at most 10 times; a GET whose connection breaks before the
        answer, at most 10 times a second apart. Beyond client-go: a 401 is answered once with fresh credentials.
        Raises TransportError.
        """
        target = self._target(path, query)
        # As kubectl's: an upgrade names no representation, and is never repeated once it was sent.
        extra = [("User-Agent", user_agent()), *headers] if upgrade else [("Accept", accept), *self._common, *headers]
        own = self._own_deadline(deadline)
        previous: Exception | None = None
        for attempt in range(1, RETRIES + 2):
            try:
                response = self.exchange(Request(method, target, extra, body), timeouts=timeouts, deadline=own)
            except ConnectionLost as error:
                if method != "GET" or upgrade or error.answered or attempt > RETRIES:
                    raise _after(error, previous) from None
                previous, wait, why = error, 1.0, str(error)
            else:
                asked = retry_after(response.headers)
                if asked is None or not _may_retry(response.status) or attempt > RETRIES:
                    break
                if own is not None and self.clock() + asked >= own:
                    break  # the answer that is there says more than the end of the time would
                wait, why = float(asked), f"HTTP {response.status} with Retry-After"
                response.close()
            self._wait(why, wait, attempt, own)
        return response

    def exchange(
        self, request: Request, *, timeouts: Timeouts | None = None, deadline: float | None = None
    ) -> Response:
        """One request and its answer: credentials are added, and a 401 is answered once with fresh ones.

        `request.target` holds the server's prefix. A request that brings its own `Authorization` keeps it, and one
        that brings `Impersonate-User` gets none of the impersonation headers (client-go). Raises TransportError.
        """
        response = self._once(request, timeouts, deadline)
        if response.status == 401 and self.credentials.refresh(within=self._left(deadline)):
            response.close()
            self._note_retry("401: the credentials were refreshed", 0.0, 1)
            response = self._once(request, timeouts, deadline)
        if date := response.header("date"):
            self.answered = self.clock(), date
        if self._on_warning is not None and response.header("warning"):
            from rawkube.api.warning_header import parse_warnings

            for text in parse_warnings(value for name, value in response.headers if name == "warning"):
                self._on_warning(text)
        return response

    def _once(self, request: Request, timeouts: Timeouts | None, deadline: float | None) -> Response:
        if (trusted := self.credentials.ca_pem()) is not self._ca:
            self._ca = trusted
            self.pool.close_idle("the CA file has changed")
        own = {name.lower() for name, _ in request.headers}
        added = self.credentials.headers(
            now=self.clock(), authorized="authorization" in own, within=self._left(deadline)
        )
        if own & {"authorization", "impersonate-user"}:
            added = [pair for pair in added if not _is_settled(pair[0].lower(), own)]
        headers = [*request.headers, *added]
        return self.pool.request(request._replace(headers=headers), timeouts=timeouts, deadline=deadline)

    def _left(self, deadline: float | None) -> float | None:
        """How many seconds there are until then."""
        return None if deadline is None else max(0.0, deadline - self.clock())

    def _wait(self, why: str, seconds: float, attempt: int, deadline: float | None) -> None:
        self._note_retry(why, seconds, attempt)
        if seconds >= LONG_WAIT and self._on_note is not None:
            self._on_note(f"{why}: trying again in {seconds:g} s")
        self.sleep(seconds if deadline is None else max(0.0, min(seconds, deadline - self.clock())))

    def _target(self, path: str, query: Iterable[tuple[str, str]]) -> str:
        parameters = list(query)
        if self.access.request_timeout:
            parameters.append(("timeout", format_duration(self.access.request_timeout)))
        encoded = encode_query(parameters)
        return f"{self.address.prefix}{path}?{encoded}" if encoded else f"{self.address.prefix}{path}"

    def _own_deadline(self, deadline: float | None) -> float | None:
        if not self.access.request_timeout:
            return deadline
        own = self.clock() + self.access.request_timeout
        return own if deadline is None else min(own, deadline)

    def _note_retry(self, why: str, wait: float, attempt: int) -> None:
        if self._tap is not None:
            self._tap("retry", why=why, wait=wait, attempt=attempt)

    # Objects.

    def read_object(self, response: Response, *, verb: str, resource: Resource, name: str = "") -> Object:
        """The object that an answer holds.

        Raises StatusError for a failure (a 200 whose body is a failed Status is one too), DecodeError for
        anything that is no object.
        """
        if not 200 <= response.status <= 206:
            raise self.failure(response, verb=verb, resource=resource, name=name)
        try:
            body = response.read(LARGEST_LIST if verb == "list" else BODY_LIMIT)
        except ConnectionLost as error:
            # client-go's text: the connection broke inside the body.
            text = f"unexpected error when reading response body. Please retry. Original error: {error}"
            raise DecodeError(text, detail=error.detail) from None
        decoded = decode_object(body, response.header("content-type"))
        if is_failure(decoded):
            raise StatusError(decoded)
        return decoded

    def failure(self, response: Response, *, verb: str, resource: Resource, name: str = "") -> Exception:
        """The error that an answer other than success stands for; reads its body."""
        if 300 <= response.status < 400:
            from rawkube.wire import redact

            where = go_quote(redact.target(response.header("location")) or "nowhere")
            response.close()
            return TransportError(
                f"the server answered {response.status} and redirects to {where}; redirects are not followed",
                server=self.pool.endpoint.authority,
            )
        try:
            body = response.read()
        except TransportError:
            body = b""
        error = status_error(
            response.status,
            response.headers,
            body,
            verb=verb,
            resource=resource.plural,
            group=resource.group,
            name=name,
        )
        if response.status == 407 and (proxy := self.pool.endpoint.proxy) is not None:
            from rawkube.api.proxies import explain_407

            error.detail = (*error.detail, *explain_407(proxy, response, body))
        return error

    def get(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        accept: str = "application/json, */*",
        deadline: float | None = None,
    ) -> Object:
        """One object. Raises StatusError, TransportError, DecodeError."""
        path = resource_path(resource, namespace, name)
        with self.send("GET", path, accept=accept, deadline=deadline) as response:
            return self.read_object(response, verb="get", resource=resource, name=name)

    def list(
        self,
        resource: Resource,
        namespace: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        name: str = "",
        accept: str = "application/json",
        deadline: float | None = None,
    ) -> Object:
        """A collection, whose items carry their `kind` and `apiVersion` (servers leave them out inside a list).

        `name`: the one object that the query selects, for an error's text. `accept`: what the answer may be; of a
        Table each item is a Table of one row. Raises StatusError, TransportError, DecodeError; an answer that is no
        list is never an empty one.
        """
        path = resource_path(resource, namespace)
        with self.send("GET", path, query, accept=accept, deadline=deadline) as response:
            listing = self.read_object(response, verb="list", resource=resource, name=name)
        return complete_list(listing)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: bytes,
        content_type: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        deadline: float | None = None,
    ) -> Object:
        """Change one object; the object as it is then. `content_type` says what kind of patch `body` is.

        Raises StatusError, TransportError, DecodeError.
        """
        path = resource_path(resource, namespace, name)
        headers = [("Content-Type", content_type)]
        with self.send(
            "PATCH", path, query, accept="application/json, */*", headers=headers, body=body, deadline=deadline
        ) as response:
            return self.read_object(response, verb="patch", resource=resource, name=name)

    def watch(
        self,
        resource: Resource,
        namespace: str,
        *,
        query: Iterable[tuple[str, str]] = (),
        name: str = "",
        accept: str = "application/json",
        silence: float,
        deadline: float | None = None,
    ) -> Watch:
        """Open a watch. `silence`: how many seconds without a byte end it.

        Raises StatusError, TransportError, DecodeError.
        """
        parameters = [*query, ("watch", "true")]
        path = resource_path(resource, namespace)
        response = self.send("GET", path, parameters, accept=accept, deadline=deadline)
        if response.status != 200:
            raise self.failure(response, verb="watch", resource=resource, name=name)
        response.set_silence(silence)
        return Watch(response, self._tap)


class Watch:
    """The events of one watch request, as they come.

    Iterating ends when the stream ends, in whatever way; `error` then holds what ended it, None at a clean end.
    An event that the end cut off is dropped. Raises DecodeError for what is no watch event; its `detail` names the
    Content-Type.
    """

    def __init__(self, response: Response, tap: Tap | None = None) -> None:
        self.response = response
        from rawkube.api.watch import WatchDecoder

        self.error: TransportError | None = None
        self._decoder = WatchDecoder()
        self._tap = tap

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            for piece in self.response.chunks():
                yield from self._events(piece)
                self._check()
        except TransportError as error:
            self.error = error
        yield from self._events(None)
        self._check()

    def _events(self, piece: bytes | None) -> list[WatchEvent]:
        """What a piece of the stream, or its end (None), completes; the tap is told."""
        try:
            events = self._decoder.end() if piece is None else self._decoder.feed(piece)
        except DecodeError as error:
            raise self._explained(error) from None
        if self._tap is not None:
            for event in events:
                self._tap("watch", self.response.conn, **_summary(event))
        return events

    def _check(self) -> None:
        """Raise what the decoder found wrong, once the events before it are out."""
        if self._decoder.error is not None:
            raise self._explained(self._decoder.error)

    def _explained(self, error: DecodeError) -> DecodeError:
        media = self.response.header("content-type") or "none"
        return DecodeError(str(error), detail=[*error.detail, f"Content-Type: {media}"])

    def set_silence(self, seconds: float) -> None:
        """How many further seconds without a byte end it."""
        self.response.set_silence(seconds)

    def close(self) -> None:
        """End the watch; its connection is closed."""
        self.response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _with_check(plugins: PluginOptions | None) -> PluginOptions:
    """The options, with a test of the plugin's certificate that is made when it comes."""
    from rawkube.kubeconfig.exec_plugin import PluginOptions
    from rawkube.wire.keypair import check

    return (plugins or PluginOptions())._replace(check_pair=check)


def _summary(event: WatchEvent) -> dict[str, str]:
    metadata = metadata_of(event.object)
    named = {key: str(metadata.get(key) or "") for key in ("namespace", "name", "resourceVersion")}
    return {"type": event.type, "of": str(event.object.get("kind") or ""), **named}


def _after(error: ConnectionLost, previous: Exception | None) -> ConnectionLost:
    """The last error, with the one before it where that was another (client-go's words)."""
    if previous is None or str(previous) == str(error):
        return error
    text = f"{error} - error from a previous attempt: {previous}"
    return ConnectionLost(text, answered=error.answered, server=error.server, detail=error.detail)


def _is_settled(name: str, own: set[str]) -> bool:
    """Whether a request's own headers leave no room for this one of the credentials (names in lower case)."""
    return name in own or ("impersonate-user" in own and name.startswith("impersonate-"))


def _may_retry(status: int) -> bool:
    return status == 429 or status >= 500
