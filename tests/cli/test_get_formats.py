"""What `get` keeps of answers and prints of them, without a server."""

from __future__ import annotations

from typing import Any

from rawkube.api.builtin import lookup
from rawkube.api.resource import Resource
from rawkube.cli.get_formats import Group, ObjectForm, TableForm
from rawkube.cli.tables_text import Layout


def kind(word: str) -> Resource:
    found = lookup(word)
    assert found
    return found


def thing(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}}


def listed(*names: str) -> dict[str, Any]:
    return {"kind": "PodList", "items": [thing(name) for name in names]}


def tables(*groups: tuple[str, list[dict[str, Any]]]) -> str:
    form = TableForm(Layout(), all_namespaces=False, clock=lambda: 1767225600.0 + 60)
    return "".join(form.texts([Group(kind(word), [form.keep(one) for one in answers]) for word, answers in groups]))


def test_neighbours_of_one_kind_are_one_table() -> None:
    assert tables(("pods", [thing("a")]), ("pods", [listed("longer", "b")])) == (
        "NAME     AGE\na        60s\nlonger   60s\nb        60s\n"
    )


def test_kinds_are_parted_by_a_blank_line_and_what_is_empty_is_not_shown() -> None:
    assert tables() == tables(("pods", [listed()])) == ""
    shown = tables(("secrets", [listed()]), ("pods", [thing("a")]), ("services", [listed()]), ("pods", [thing("b")]))
    assert shown == "NAME    AGE\npod/a   60s\n\nNAME    AGE\npod/b   60s\n"


def test_one_object_or_a_list_of_what_was_found() -> None:
    managed = {"kind": "Pod", "metadata": {"name": "a", "managedFields": [{}]}}
    for name, single, managed_fields, text in (
        ("yaml", True, False, "kind: Pod\nmetadata:\n  name: a\n"),
        ("yaml", True, True, "kind: Pod\nmetadata:\n  managedFields:\n  - {}\n  name: a\n"),
        ("yaml", False, False, "apiVersion: v1\nitems:\n- kind: Pod\n  metadata:\n    name: a\n"),
        ("json", True, False, '{\n    "kind": "Pod",\n    "metadata": {\n        "name": "a"\n    }\n}\n'),
        ("json", False, False, '{\n    "apiVersion": "v1",\n    "items": [\n        {\n            "kind": "Pod",\n'),
    ):
        form = ObjectForm(name, single=single, managed_fields=managed_fields)
        shown = "".join(form.texts([Group(kind("pods"), [form.keep(managed)])]))
        assert shown == text if single else shown.startswith(text), (name, single)


def test_nothing_is_an_empty_list() -> None:
    for name, text in (("yaml", "items: []\n"), ("json", '"items": [],\n')):
        form = ObjectForm(name, single=False, managed_fields=False)
        assert text in "".join(form.texts([Group(kind("pods"), [form.keep(listed())])])), name
