"""Generated configurations: merge is first-wins, YAML and JSON mean the same."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.load import load
from rawkube.kubeconfig.resolve import resolve
from tests.support.examples import examples

words = st.sampled_from(["a", "b", "y", "n", "1", "0755", "1e3", "null", "2024-01-01", "1:30", "é", "x y", "~"])
data = st.binary(min_size=1, max_size=20).map(lambda b: base64.b64encode(b).decode())


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name.replace("_", "-"): field for name, field in fields.items()})


clusters = some(
    server=st.sampled_from(["https://h", "https://h:6443/p", "http://h", "https://[::1]:1"]),
    tls_server_name=words,
    certificate_authority=words,
    certificate_authority_data=data,
    insecure_skip_tls_verify=st.booleans(),
    disable_compression=st.booleans(),
)
users = st.builds(
    lambda user, more: {**user, **more},
    some(
        token=words,
        username=words,
        client_certificate=words,
        client_key=words,
        client_key_data=data,
        as_uid=words,
        as_groups=st.lists(words, max_size=2),
        as_user_extra=st.dictionaries(words, st.lists(words, max_size=2), max_size=2),
    ),
    st.fixed_dictionaries({}, optional={"tokenFile": words, "as": words}),
)
contexts = some(cluster=words, user=words, namespace=words)


def named(body: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    element = st.fixed_dictionaries({"name": words, body: values | st.none()})
    return st.lists(element, max_size=4, unique_by=lambda e: e["name"])


configs = st.fixed_dictionaries(
    {
        "clusters": named("cluster", clusters),
        "users": named("user", users),
        "contexts": named("context", contexts),
    },
    optional={"current-context": words | st.just("")},
)
SECTIONS = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))


def as_yaml(value: object) -> str:
    """Every string in quotes: PyYAML leaves `y` bare, which kubectl reads as true."""
    return yaml.safe_dump(value, default_style='"', allow_unicode=True)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(configs, min_size=1, max_size=3))
def test_the_first_file_wins(values: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for index, value in enumerate(values):
            names.append(str(Path(folder) / str(index)))
            Path(names[-1]).write_text(as_yaml(value), encoding="utf-8")
        config = load(environ={"KUBECONFIG": ":".join(names)})
    for section, body in SECTIONS:
        wanted: dict[str, Any] = {}
        origin: dict[str, str] = {}
        for name, value in zip(names, values, strict=True):
            for element in value[section]:
                if element["name"] not in wanted:
                    wanted[element["name"]] = element[body] or {}
                    origin[element["name"]] = name
        found = getattr(config, section)
        assert {n: e.value for n, e in found.items()} == wanted
        assert {n: e.file for n, e in found.items()} == origin
    assert config.current_context == next((c for v in values if (c := v.get("current-context"))), "")


@settings(max_examples=examples(80), deadline=None)
@given(configs, words, words, words)
def test_yaml_and_json_resolve_to_the_same(value: dict[str, Any], cluster: str, user: str, context: str) -> None:
    value["clusters"] = [*value["clusters"], {"name": cluster, "cluster": {"server": "https://h"}}]
    value["clusters"] = list({e["name"]: e for e in value["clusters"]}.values())
    value["users"] = list({e["name"]: e for e in [*value["users"], {"name": user}]}.values())
    chosen = {"name": context, "context": {"cluster": cluster, "user": user}}
    value["contexts"] = list({e["name"]: e for e in [*value["contexts"], chosen]}.values())
    outcomes: list[object] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config"
        for text in (as_yaml(value), json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
            file.write_text(text, encoding="utf-8")
            config = load(str(file), environ={})
            try:
                access = resolve(config, Overrides(context=context), environ={})
            except ConfigError as error:
                outcomes.append(error.problems)
            else:
                sources = {n: (o.source, o.name, o.field) for n, o in access.origins.items()}
                assert all(o.line > 0 for o in access.origins.values() if o.source == "file")
                outcomes.append((access._replace(origins={}, notes=(), namespace_from=""), sources))
    assert outcomes[0] == outcomes[1] == outcomes[2]
