"""Reading one object by name, and telling why it is not there."""

from __future__ import annotations

from rawkube.api.builtin import known
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object
from rawkube.api.resource import Resource
from rawkube.errors import StatusError


def get_or_explain(
    client: ApiClient, resource: Resource, namespace: str, name: str, *, accept: str = "application/json, */*"
) -> Object:
    """The object, by a GET, or what else `accept` lets the server send for it.

    Raises StatusError, TransportError, DecodeError. Where the object is missing because its namespace is, the error
    is the namespace's, as in kubectl, which does not look for the namespace `default`.
    """
    try:
        return client.get(resource, namespace, name, accept=accept)
    except StatusError as error:
        if error.code == 404 and resource.namespaced and namespace != "default":
            _check_namespace(client, namespace)
        raise


def _check_namespace(client: ApiClient, namespace: str) -> None:
    try:
        client.get(known("namespaces"), "", namespace)
    except StatusError as error:
        if error.code == 404:
            raise
