"""A DELETED from a watch with a selector: is the object gone, or does it only not match any more?"""

from __future__ import annotations

from rawkube._typing import NamedTuple
from rawkube.api.client import ApiClient
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.errors import DecodeError, StatusError, TransportError

DELETED, LEFT, UNKNOWN = "deleted", "left", "unknown"

PATIENCE = 5.0
"""Seconds for the GET that tells."""


class Departure(NamedTuple):
    """What became of an object. `how`: `deleted`, `left` (then `now` is how it is), or `unknown` (then `why`)."""

    how: str
    now: Object | None = None
    why: str = ""


def departure(client: ApiClient, resource: Resource, item: Object) -> Departure:
    """What became of the object of a DELETED event, by a GET. Another object in its place means that it is gone."""
    metadata = metadata_of(item)
    namespace, name = (str(metadata.get(field) or "") for field in ("namespace", "name"))
    try:
        now = client.get(resource, namespace, name, deadline=client.clock() + PATIENCE)
    except StatusError as error:
        return Departure(DELETED) if error.code == 404 else Departure(UNKNOWN, why=str(error))
    except (TransportError, DecodeError) as error:
        return Departure(UNKNOWN, why=str(error))
    ours, theirs = (one.get("uid") for one in (metadata, metadata_of(now)))
    return Departure(DELETED) if ours and theirs and ours != theirs else Departure(LEFT, now)
