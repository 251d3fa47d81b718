"""LIST in pages: `limit`, then `continue` until there is none (Kubernetes API concepts, retrieving large results).

A server keeps the state that a list began with for some minutes. When it has gone before the last page (410), the
whole list is asked for at once, as client-go's pager does; kubectl gives up then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rawkube.api.client import ApiClient
from rawkube.api.objects import Object, complete_list, metadata_of
from rawkube.api.paths import resource_path
from rawkube.api.resource import Resource
from rawkube.errors import DecodeError, StatusError

LIMIT = 500
"""How many objects a page has, if nobody says otherwise (kubectl's `--chunk-size`)."""

JSON = "application/json"
TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
"""What kubectl asks for to print a table: a Table of the server's making, else the objects."""


def pages(
    client: ApiClient,
    resource: Resource,
    namespace: str,
    *,
    query: Iterable[tuple[str, str]] = (),
    limit: int = LIMIT,
    accept: str = JSON,
    on_restart: Callable[[], None] = lambda: None,
    deadline: float | None = None,
) -> Iterator[Object]:
    """The pages of a collection, each a list (or a Table, if `accept` lets the server send one) that may be empty.

    `namespace`: empty for all. `limit`: 0 for everything in one page. `on_restart` is called before a last page that
    holds the whole list anew: what was given before is to be forgotten. Raises StatusError, TransportError,
    DecodeError.
    """
    wanted, token = list(query), ""
    while True:
        size = [("limit", str(limit))] if limit > 0 else []
        more = [("continue", token)] if token else []
        try:
            page = _page(client, resource, namespace, [*wanted, *size, *more], accept, deadline)
        except StatusError as error:
            if not token or not _is_expired(error):
                raise
            page = _page(client, resource, namespace, wanted, accept, deadline)
            on_restart()
            yield page
            return
        yield page
        previous, token = token, str(metadata_of(page).get("continue") or "")
        if not token:
            return
        if token == previous:
            raise DecodeError("the server continues a list with the page that it has just sent")


def whole_list(
    client: ApiClient,
    resource: Resource,
    namespace: str,
    *,
    query: Iterable[tuple[str, str]] = (),
    limit: int = LIMIT,
    deadline: float | None = None,
) -> Object:
    """A collection as one list, whose version is that of its first page. Raises as pages()."""
    found: list[Object] = []
    for page in pages(client, resource, namespace, query=query, limit=limit, on_restart=found.clear, deadline=deadline):
        found.append(page)
    return {**found[0], "items": [item for page in found for item in page["items"]]}


def _page(
    client: ApiClient,
    resource: Resource,
    namespace: str,
    query: list[tuple[str, str]],
    accept: str,
    deadline: float | None,
) -> Object:
    path = resource_path(resource, namespace)
    with client.send("GET", path, query, accept=accept, deadline=deadline) as response:
        answer = client.read_object(response, verb="list", resource=resource)
    if answer["kind"] == "Table" and accept != JSON:
        if not isinstance(answer.get("rows"), list | None):
            raise DecodeError("the server sent a Table whose rows are none")
        return {**answer, "rows": answer.get("rows") or []}
    return complete_list(answer)


def _is_expired(error: StatusError) -> bool:
    return error.code == 410 or error.reason in ("Expired", "Gone")
