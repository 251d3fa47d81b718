"""Pure: what is said of a collection that cannot be listed."""

from __future__ import annotations

from rawkube.api.resource import Resource
from rawkube.errors import StatusError
from rawkube.gotext import go_quote


def listing_error(error: StatusError, resource: Resource, label: str = "", field: str = "") -> StatusError:
    """The error in cli-runtime's words (`resource.Selector`): what was to be listed, by which selectors."""
    if error.reason not in ("BadRequest", "NotFound"):
        return error
    version = resource.group_version if resource.group else f"/{resource.version}"
    what = go_quote(f"{version}, Resource={resource.plural}")
    text = f"Unable to list {what}: {error}"
    if label or field:
        chosen = f"label selector {go_quote(label)}, field selector {go_quote(field)}"
        text = f"Unable to find {what} that match {chosen}: {error}"
    return StatusError({**error.status, "message": text}, detail=error.detail)
