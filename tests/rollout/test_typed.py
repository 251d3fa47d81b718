"""Objects as Go's types have them, and the JSON that Go writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rawkube.errors import RolloutFailed
from rawkube.rollout.api_types import fields_of
from rawkube.rollout.typed import same, to_go_json, typed
from tests.support.revisions import deployment
from tests.support.rows import looped
from tests.support.templates import TEMPLATES


def test_fields_stand_in_the_order_of_the_type() -> None:
    found = typed({"spec": {"template": {}, "selector": {}, "replicas": 0}, "kind": "Deployment", "x": 1}, "Deployment")
    assert list(found) == ["kind", "metadata", "spec", "status"]
    assert list(found["spec"]) == ["replicas", "selector", "template", "strategy"]


@looped(
    ("kind", "thing", "json_text"),
    [
        ("Container", {"name": "a"}, '{"name":"a","resources":{}}'),
        ("Container", {"image": "b", "tty": False, "args": [], "env": None}, '{"name":"","image":"b","resources":{}}'),
        ("PodSpec", {}, '{"containers":null}'),
        ("PodSpec", {"containers": []}, '{"containers":[]}'),
        ("PodSpec", {"priority": 0, "hostNetwork": False, "hostname": ""}, '{"containers":null,"priority":0}'),
        ("PodSpec", {"securityContext": {}, "affinity": None}, '{"containers":null,"securityContext":{}}'),
        ("PodTemplateSpec", {}, '{"metadata":{},"spec":{"containers":null}}'),
        ("ResourceFieldSelector", {"resource": "r"}, '{"resource":"r","divisor":"0"}'),
        ("ResourceRequirements", {"limits": {"b": "1000m", "a": 5}}, '{"limits":{"a":"5","b":"1"}}'),
        ("HTTPGetAction", {}, '{"port":0}'),
        ("HTTPGetAction", {"port": "web"}, '{"port":"web"}'),
        ("ObjectMeta", {"creationTimestamp": None, "name": ""}, "{}"),
        ("DeploymentCondition", {}, '{"type":"","status":"","lastUpdateTime":null,"lastTransitionTime":null}'),
        ("TypedLocalObjectReference", {"kind": "K"}, '{"apiGroup":null,"kind":"K","name":""}'),
        ("ConfigMapEnvSource", {"optional": False}, '{"optional":false}'),
    ],
)
def test_what_go_writes(kind: str, thing: dict[str, Any], json_text: str) -> None:
    assert to_go_json(typed(thing, kind)) == json_text


@looped("name", TEMPLATES)
def test_typed_again_is_the_same(name: str) -> None:
    once = typed(TEMPLATES[name], "PodTemplateSpec")
    assert to_go_json(typed(json.loads(to_go_json(once)), "PodTemplateSpec")) == to_go_json(once)


@looped(
    ("spec", "problem"),
    [
        ({"replicas": "x"}, "string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"paused": 1}, "number into Go struct field DeploymentSpec.spec.paused of type bool"),
        ({"replicas": True}, "bool into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"template": []}, "array into Go struct field PodTemplateSpec.spec.template of type v1.PodTemplateSpec"),
        (
            {"template": {"spec": {"containers": {}}}},
            "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        ({"selector": {"matchLabels": []}}, "Go struct field LabelSelector.spec.selector.matchLabels of type map"),
    ],
)
def test_a_wrong_type_is_told_as_go_tells_it(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(RolloutFailed) as raised:
        typed(deployment(**spec), "Deployment")
    assert str(raised.value).startswith("json: cannot unmarshal ")
    assert problem in str(raised.value)


@looped(
    ("one", "other", "equal"),
    [
        ({"resources": {"limits": {"a": "1Gi"}}}, {"resources": {"limits": {"a": "1024Mi"}}}, True),
        ({"resources": {"limits": {"a": "1"}}}, {"resources": {"limits": {"a": "1000m"}}}, True),
        ({"resources": {"limits": {"a": "1"}}}, {"resources": {"limits": {"a": "2"}}}, False),
        ({"args": []}, {}, True),
        ({"env": [{"name": "a", "valueFrom": {}}]}, {"env": [{"name": "a"}]}, False),
        ({"securityContext": {}}, {}, False),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}, False),
    ],
)
def test_what_means_the_same(one: dict[str, Any], other: dict[str, Any], equal: bool) -> None:
    assert same(one, other, "Container") is equal


def test_no_list_is_an_empty_list() -> None:
    assert same({"containers": []}, {}, "PodSpec")


def test_go_json_is_safe_for_html() -> None:
    assert to_go_json({"a": "<&>\u2028\u2029é\x7f"}) == '{"a":"\\u003c\\u0026\\u003e\\u2028\\u2029é\x7f"}'
    assert to_go_json("\ud83d") == '"\ufffd"'
    assert to_go_json({"a": [1, {}]}, indent=4) == '{\n    "a": [\n        1,\n        {}\n    ]\n}'


def test_every_type_of_the_table_is_there() -> None:
    seen, todo = set[str](), ["Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"]
    scalars = {"string", "bool", "int32", "int64", "quantity", "time", "time0", "intstr", "any"}
    while todo:
        name = todo.pop()
        fields = fields_of(name)
        if name in seen or name in scalars:
            continue
        assert fields, name
        seen.add(name)
        todo += [field.type.lstrip("*[]{}") for field in fields]
    assert len(seen) > 130
