"""`get` on one scripted server: what kubectl prints, how it ends, and what it asks for, is what rawkube does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.get_rig import KUBECTL, Case, Worlds, observe, world, worlds
from tests.differential.rig import RAWKUBE, Outcome, lines
from tests.support.lists import Kind, Lists, Object, thing

__all__ = ["worlds"]


def cells_of(each: Object) -> list[Any]:
    return [each["metadata"]["name"], *each["cells"]]


ODD_CELLS = [
    ["x\ty", "5m", "w"],
    [True, 1.5, "w"],
    ["esc\x1b[1m", "multi\nline", "w"],
    [1e21, 1e-7, "w"],
    ["日本語", "é🚀", "w"],
    [],
    [None, None, None],
    ["more", "cells", "than", "columns"],
    ["cr\rx", "ff\fx", ""],
    [{"b": 1, "a": [None]}, [1, "b", None], 123456789012],
    [1e20, 100000.0, 12345678.9],
    ["", "", ""],
    ["trailing  ", "  leading", " "],
    [0, -1, 0.1],
]
ODD = [thing("Pod", f"p{at:02}", cells=cells) for at, cells in enumerate(ODD_CELLS)]
STRINGS = [
    "", "null", "~", "true", "yes", "Y", "no", "off", "0x1f", "1e3", "1.5", ".5", "0755", "08", "1_000", "1:30",
    "2024-01-01", "2026-11-30T17:47:24Z", "2024-02-30", "<<", "=", "-", "- a", "a: b", "a:", "a #b", "#a", "'x'", '"x"', "it's",
    "a\\b", "<a href='x'>&amp;</a>", "multi\nline", "multi\nline\n", "two\n\n\n", "\nleading", " leading\nspace",
    "trailing \nspace", "a\tb", "a\n\tb", "\t", " ", "  ", "trailing ", "word " * 40, "it's " * 40, "# " * 60, "\t tab " * 30,
    "x" * 200, "日本語", "é " * 60, "🚀", "\x1b[1m", "\u202e", "\xa0", "{}", "[]", "@x", "`x", "%x", "*x", "&x", "!x",
    "|x", ">x", "?", "? a", ":", "9223372036854775808", "123456789012345678901234567890", "1e400", ".inf", "NaN",
    "...", "---", "--- a", "a,b", "[a", "a]", "a\r\nb", "190:20:30", "+1", "-0", "0b11", "0o7", "y ", "12e03",
]  # fmt: skip
NUMBERS: list[Any] = [0, -1, 2**63 - 1, -(2**63), 2**64, 1.0, 1.5, 1e20, 1e21, 1e-5, 1e-6, 1e-7, 1234567.8, 1e15]
KEYS = ["app.kubernetes.io/name", "app", "b10", "b9", "k-x", "k_x", "k.x", "A", "true", "1", "y", "multi\nline"]
KEYS += ["x" * 140, "with space", "", "é", "f:a", "a#b", "key: x", "10", "9", "-x"]
STRANGE = thing(
    "ConfigMap",
    "strange",
    data={f"k{at}": text for at, text in enumerate(STRINGS)},
    list=STRINGS,
    numbers=NUMBERS,
    keys={key: {"v": key} for key in KEYS},
    lists={key: [key] for key in KEYS},
    nested=[[], {}, [[1, 2], [3]], [{"a": [1]}, {"b": {"c": []}}], None, True, [[["x"]]], {"multi\nline": [[1]]}],
    managedFields=[{"manager": "x"}],
)


def odd_cells() -> Lists:
    return Lists(*ODD, kinds={"Pod": Kind((("R", 0), ("S", 0), ("T", 1)), cells_of)})


def strange() -> Lists:
    return Lists(STRANGE)


EXPIRED = (410, "The provided continue parameter is too old")
POD_LIST = lines("NAME   READY   AGE", "a      0       5m", "b      0       5m", "c      0       5m")
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n"

CASES = [
    Case("table", world(), "pods", seen=["LIST pods"]),
    Case("table-wide", world(), "pods -o wide"),
    Case("table-of-one", world(), "pod a", seen=["GET pods/a"]),
    Case("no-headers", world(), "pods --no-headers"),
    Case("everywhere", world(), "pods -A"),
    Case("everywhere-without-namespaces", world(), "nodes -A"),
    Case("everywhere-the-column-stays", world(), "pods,nodes -A --show-labels"),
    Case("everywhere-the-column-comes", world(), "nodes,pods -A"),
    Case("a-node-everywhere", world(), "node n1 -A"),
    Case("a-pod-everywhere", world(), "pod a -A", seen=[]),
    Case("show-labels", world(), "pods --show-labels -o wide"),
    Case("label-columns", world(), "pods -L app,x/zed -L a/b --show-labels"),
    Case("several-types", world(), "pods,deploy", seen=["LIST pods", "LIST deployments"]),
    Case("several-types-without-headers", world(), "pods,deploy --no-headers"),
    Case("several-types-one-empty", world(), "svc,pods,deploy"),
    Case("several-types-interleaved", world(), "pod/a deploy/web deploy/nope pod/b"),
    Case("names-some-missing", world(), "pod a nope b nix"),
    Case("one-missing", world(), "pod nope"),
    Case("missing-in-a-missing-namespace", world(), "pod a -n xx", seen=["GET pods/a", "GET namespaces/xx"]),
    Case("name-that-is-no-segment", world(), "pod a .."),
    Case("empty", world(), "pods -n xx"),
    Case("empty-several", world(), "pods,svc -n xx"),
    Case("empty-several-one-without-namespaces", world(), "pods,nodes -n xx -l a=b"),
    Case("empty-manifest", world(), "-f /dev/null"),
    Case("empty-everywhere", world(), "pods -n xx -A -l q=r"),
    Case("empty-without-namespaces", world(), "nodes -l a=b"),
    Case("empty-ignored", world(), "pods -n xx --ignore-not-found"),
    Case("empty-json", world(), "pods -n xx -o json"),
    Case("empty-yaml", world(), "pods -n xx -o yaml"),
    Case("empty-name", world(), "pods -n xx -o name"),
    Case("missing-ignored", world(), "pod nope a --ignore-not-found"),
    Case("missing-ignored-json", world(), "pod nope --ignore-not-found -o json"),
    Case("missing-json", world(), "pod nope -o json"),
    Case("all-missing-json", world(), "pod nope nix -o json"),
    Case("json", world(), "pods -o json"),
    Case("json-one", world(), "pod a -o json"),
    Case("json-one-as-list", world(), "deploy -o json"),
    Case("json-several", world(), "pod/a deploy/web pod/nope -o json"),
    Case("json-capitals", world(), "pod a -o JSON"),
    Case("yaml", world(), "pods -o yaml"),
    Case("yaml-several", world(), "pod a b -o yaml"),
    Case("yaml-managed-fields", world(), "pod a -o yaml --show-managed-fields"),
    Case("json-managed-fields", world(), "pods -o json --show-managed-fields"),
    Case("name", world(), "pods,deploy -o name"),
    Case("name-capitals", world(), "pods -o NAME"),
    Case("selector", world(), "pods -l app=b", seen=["LIST pods"]),
    Case("selector-empty", world(), "pods --selector="),
    Case("field-selector", world(), "pods --field-selector metadata.name=b"),
    Case("pages", world(), "pods --chunk-size=2", seen=["LIST pods", "LIST pods continue"]),
    Case("pages-json", world(), "pods --chunk-size=1 -o json", seen=["LIST pods"] + ["LIST pods continue"] * 2),
    Case("pages-yaml", world(), "pods --chunk-size=2 -o yaml"),
    Case("pages-name", world(), "pods --chunk-size=2 -o name"),
    Case("pages-of-several", world(), "pods,deploy --chunk-size=2"),
    Case("pages-off", world(), "pods --chunk-size=0", seen=["LIST pods"]),
    Case(
        "pages-expire",
        world(answers={"LIST pods continue": EXPIRED}),
        "pods --chunk-size=2",
        Outcome(POD_LIST),
    ),
    Case("first-page-expired", world(answers={"LIST pods": EXPIRED}), "pods"),
    Case("later-page-forbidden", world(answers={"LIST pods continue": (403, "no")}), "pods --chunk-size=2"),
    Case("later-page-forbidden-json", world(answers={"LIST pods continue": (403, "no")}), "pods --chunk-size=2 -o json"),
    Case("forbidden", world(answers={"LIST pods": (403, "pods is forbidden")}), "pods"),
    Case("forbidden-several", world(answers={"LIST pods": (403, "no"), "LIST services": (410, "gone")}), "svc,pods,deploy"),
    Case("forbidden-json", world(answers={"LIST pods": (403, "no")}), "pods -o json"),
    Case("bad-selector", world(answers={"LIST nodes": (400, "bad sel")}), "nodes -l x=y"),
    Case("bad-list", world(answers={"LIST deployments": (400, "bad")}), "deploy"),
    Case("bad-field", world(answers={"LIST pods": (400, "bad")}), "pods --field-selector a=b"),
    Case("no-tables", world(tables=False), "pods"),
    Case("no-tables-one", world(tables=False), "pod a"),
    Case("no-tables-everything", world(tables=False), "pods,nodes -A --show-labels -L app -o wide"),
    Case("unknown-type", world(), "nosuch"),
    Case("empty-type", world(), "pods,"),
    Case("name-and-selector", world(), "pods a -l x=y", seen=[]),
    Case("name-and-field-selector", world(), "pods a --field-selector x=y", seen=[]),
    Case("pair-and-selector", world(), "pods/a -l x=y", seen=[]),
    Case("labels-in-json", world(), "pods -o json --show-labels"),
    Case("labels-in-names", world(), "pods -o name --show-labels"),
    Case("label-columns-in-json", world(), "pod a -o json -L x"),
    Case("manifest", world(), "-f HOME/a -o json", files={"a": POD.format("a")}),
    Case("manifest-several", world(), "-f HOME/a", files={"a": "---\n".join(map(POD.format, ("a", "nope", "b")))}),
    Case("manifest-several-json", world(), "-f HOME/a -o json", files={"a": "---\n".join(map(POD.format, ("a", "b")))}),
    Case("manifest-and-type", world(), "-f HOME/a pods", files={"a": POD.format("a")}, seen=[]),
    Case("manifest-missing", world(), "-f HOME/nope", seen=[]),
    Case("manifest-directory", world(), "-f HOME/d -o name", files={}),
    Case("odd-cells", odd_cells, "pods"),
    Case("odd-cells-wide", odd_cells, "pods -o wide"),
    Case("odd-cells-labels", lambda: Lists(*ODD[:5], kinds={"Pod": Kind((("R", 0), ("S", 0), ("T", 0)), cells_of)}), "pods -A --show-labels"),
    Case("odd-strings-json", strange, "cm strange -o json"),
    Case("odd-strings-yaml", strange, "cm strange -o yaml"),
    Case("odd-strings-json-list", strange, "cm -o json"),
    Case("odd-strings-yaml-list", strange, "cm -o yaml"),
    Case("odd-strings-managed", strange, "cm strange -o yaml --show-managed-fields=true"),
]  # fmt: skip


@pytest.mark.kubectl
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_both_print_the_same(case: Case, worlds: Worlds) -> None:
    kubectl, ours = observe(KUBECTL, case, worlds), observe(RAWKUBE, case, worlds)
    if case.ours is not None:
        assert kubectl.outcome != case.ours, "no difference any more"
        assert ours.outcome == case.ours
    else:
        assert ours.outcome == kubectl.outcome
    if case.seen is not None:
        assert ours.seen == list(case.seen)
        if case.ours is None:
            assert kubectl.seen == list(case.seen)
