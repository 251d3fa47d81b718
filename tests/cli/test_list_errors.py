"""What is said of a collection that cannot be listed: cli-runtime's words around the server's."""

from __future__ import annotations

from rawkube.api.builtin import lookup
from rawkube.cli.list_errors import listing_error
from rawkube.errors import StatusError
from tests.support.rows import looped


@looped(
    ("word", "reason", "label", "field", "said"),
    [
        ("pods", "NotFound", "", "", 'Unable to list "/v1, Resource=pods": no'),
        ("deploy", "BadRequest", "", "", 'Unable to list "apps/v1, Resource=deployments": no'),
        (
            "pods",
            "NotFound",
            "a=b",
            "",
            'Unable to find "/v1, Resource=pods" that match label selector "a=b", field selector "": no',
        ),
        (
            "pods",
            "BadRequest",
            "",
            "x=y",
            'Unable to find "/v1, Resource=pods" that match label selector "", field selector "x=y": no',
        ),
        ("pods", "Forbidden", "a=b", "", "no"),
    ],
)
def test_what_was_to_be_listed_is_told(word: str, reason: str, label: str, field: str, said: str) -> None:
    resource = lookup(word)
    assert resource
    error = StatusError({"reason": reason, "message": "no", "code": 400}, detail=["more"])
    told = listing_error(error, resource, label, field)
    assert (str(told), told.reason, told.code, list(told.detail)) == (said, reason, 400, ["more"])
