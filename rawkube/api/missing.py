"""Reading one object by name, and telling why it is not there."""

from __future__ import annotations

from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object
from rawkube.api.resource import Resource
from rawkube.errors import DeadlineExceeded, StatusError, WaitTimeout


def get_or_explain(
    client: ApiClient,
    resource: Resource,
    namespace: str,
    name: str,
    *,
    accept: str = "application/json, */*",
    deadline: float | None = None,
) -> Object:
    """The object, by a GET, or what else `accept` lets the server send for it.

    Raises StatusError, TransportError, DecodeError; WaitTimeout at `deadline`, a time of the client's clock. Where the
    object is missing because its namespace is, the error is the namespace's, as in kubectl, which does not look for the
    namespace `default`.
    """
    try:
        try:
            return client.get(resource, namespace, name, accept=accept, deadline=deadline)
        except StatusError as error:
            if error.code == 404 and resource.namespaced and namespace != "default":
                _check_namespace(client, namespace, deadline)
            raise
    except DeadlineExceeded as error:
        if deadline is None or client.clock() < deadline:
            raise
        raise WaitTimeout(answered=False, detail=error.detail) from None


def _check_namespace(client: ApiClient, namespace: str, deadline: float | None) -> None:
    try:
        client.get(known("namespaces"), "", namespace, deadline=deadline)
    except StatusError as error:
        if error.code == 404:
            raise
