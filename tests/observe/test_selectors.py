from __future__ import annotations

import pytest

from rawkube.observe import accept
from rawkube.observe.selectors import fields_match, knows_fields, parse_fields, pinned_name
from tests.support.rows import looped

FIELDS = {
    "": True,
    "metadata.name=web": True,
    "metadata.name==web": True,
    "metadata.name!=web": False,
    "metadata.name!=db": True,
    "metadata.name=web,metadata.namespace=demo": True,
    "metadata.name=web,metadata.namespace=other": False,
    "spec.nodeName=": True,
    "spec.hostNetwork=true": True,
    "spec.text=a\\,b\\=c\\\\": True,
}


@looped(("selector", "matches"), FIELDS.items())
def test_field_selectors(selector: str, matches: bool) -> None:
    spec = {"hostNetwork": True, "text": "a,b=c\\"}
    obj = {"metadata": {"name": "web", "namespace": "demo"}, "spec": spec}
    assert fields_match(parse_fields(selector), obj) is matches


@pytest.mark.parametrize("selector", ["metadata.name", "=web", "a=b=c", "a=\\x"])
def test_no_field_selector(selector: str) -> None:
    with pytest.raises(ValueError, match="field selector"):
        parse_fields(selector)


@looped(
    ("selector", "resource", "known"),
    [
        ("metadata.name=a,metadata.namespace!=b", "deployments", True),
        ("status.phase=Running", "pods", True),
        ("status.phase=Running", "deployments", False),
        ("involvedObject.uid=1,reason=Failed", "events", True),
        ("involvedObject.uid=1", "pods", False),
        ("nosuch=x", "events", False),
    ],
)
def test_which_fields_can_be_evaluated(selector: str, resource: str, known: bool) -> None:
    assert knows_fields(parse_fields(selector), resource) is known


def test_the_name_that_is_asked_for() -> None:
    assert pinned_name(parse_fields("metadata.namespace=x,metadata.name=web")) == "web"
    assert pinned_name(parse_fields("metadata.name!=web")) == ""


V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
LAST = accept.LAST_RESORT


@looped(
    ("accepted", "content_type", "table", "rank"),
    [
        ("", "application/json", False, 0),
        ("*/*", "application/json", False, 0),
        ("*/*", PROTOBUF, False, LAST),
        ("*/*", V2, False, LAST),
        ("application/json", "application/json; charset=utf-8", False, 0),
        ("application/json", V2, False, None),
        ("application/json", "application/json", True, None),
        ("application/json", PROTOBUF, False, None),
        ("application/json", "text/plain", False, 0),
        (f"{V2},application/json", V2, False, 0),
        (f"{V2},application/json", "application/json", False, 1),
        (V2.replace("v2", "v2beta1"), V2, False, None),
        (f"{TABLE},application/json", "application/json", True, 0),
        (f"{TABLE},application/json", "application/json", False, 1),
        (f"{PROTOBUF},application/json", "application/json", False, 1),
        ("application/json;q=0.1, application/yaml", "application/json", False, 1),
        ("application/json;q=0", "application/json", False, None),
        ("application/json;q=x", "application/json", False, 0),
    ],
)
def test_accept(accepted: str, content_type: str, table: bool, rank: int | None) -> None:
    assert accept.rank(accepted, content_type, table=table) == rank


@looped(
    ("accepted", "taken"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip;q=0.5", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0, *", False),
    ],
)
def test_accept_encoding(accepted: str, taken: bool) -> None:
    assert accept.accepts_encoding(accepted, "gzip") is taken
