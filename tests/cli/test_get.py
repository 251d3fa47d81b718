"""`rawkube get`: what kubectl cannot be compared with, and each form by itself."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.observe.replay import Replay
from tests.support.answers import AnsweringServer
from tests.support.here import run_here
from tests.support.lists import Lists, Object, thing
from tests.support.recordings import FIXTURES, exchanges
from tests.support.run import environment, kubeconfig
from tests.support.script import Answer, status

pytestmark = pytest.mark.usefixtures("hurried")

EXPIRED = status(410, "too old resource version")
PODS = [thing("Pod", name) for name in "abc"]


class Got(NamedTuple):
    stdout: str
    stderr: str
    code: int


def get(server: Lists | AnsweringServer | None, home: Path, *args: str) -> Got:
    config = home / "config"
    config.write_text(kubeconfig(server.url if server else "http://127.0.0.1:1"))
    out, err = io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "get", *args], out=Output(out, err))
    return Got(out.getvalue().decode(), err.getvalue().decode(), code)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            ["pods", "-o", "jsonpath={.x}"],
            'unable to match a printer suitable for the output format "jsonpath={.x}", '
            "allowed formats are: json,name,wide,yaml",
        ),
        (["pods", "-o", "Wide"], 'format "Wide", allowed formats are: json,name,wide,yaml'),
        ([], "You must specify the type of resource to get.\nerror: Required resource not specified."),
        (["pods", "--chunk-size=-1"], "--chunk-size must not be less than 0"),
        (["-f", "x", "-l", "a=b"], "a selector cannot be used with --filename"),
        (["-f", "x", "pods"], "you may not specify resource arguments as well"),
        (["pods", "-o", "yaml", "--show-labels"], "--show-labels option cannot be used with yaml printer"),
    ],
)
def test_what_is_refused_before_anybody_is_asked(tmp_path: Path, args: list[str], text: str) -> None:
    got = get(None, tmp_path, *args)
    assert text in got.stderr
    assert (got.stdout, got.code) == ("", 1)


def test_a_built_in_kind_costs_one_request(tmp_path: Path) -> None:
    with Lists(thing("Deployment", "web")) as server:
        assert get(server, tmp_path, "deploy").stderr == ""
        assert [request.target for request in server.requests] == [
            "/apis/apps/v1/namespaces/default/deployments?limit=500"
        ]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("7", "the server sent a PodList with an item that is no object"),
        (
            '{"x":' + "[" * 10_000 + "]" * 10_000 + "}",
            "couldn't get version/kind; json parse error: exceeded max depth",
        ),
    ],
    ids=["no-object", "deep"],
)
def test_an_odd_answer_is_an_error_of_the_answer(tmp_path: Path, item: str, text: str) -> None:
    body = f'{{"kind":"PodList","apiVersion":"v1","items":[{item}]}}'
    with AnsweringServer(Answer(body=body)) as server:
        got = get(server, tmp_path, "pod", "a", "-o", "json")
    assert (got.code, got.stdout, got.stderr.splitlines()[-1]) == (1, "", f"error: {text}")


def test_a_list_that_expires_is_printed_whole_and_once(tmp_path: Path) -> None:
    with Lists(*PODS, answers={"LIST pods continue": (410, "too old")}) as server:
        assert get(server, tmp_path, "pods", "--chunk-size=2", "-o", "name").stdout == "pod/a\npod/b\npod/c\n"
        listed = json.loads(get(server, tmp_path, "pods", "--chunk-size=2", "-o", "json").stdout)
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b", "c"]


def test_long_pages_are_what_short_ones_are(tmp_path: Path) -> None:
    things = [thing("ConfigMap", f"c{at}", data={"x": f"{at} é" * 130_000}) for at in range(3)]
    with Lists(*things) as server:
        for form in ("json", "yaml"):
            text = get(server, tmp_path, "cm", "--chunk-size=1", "-o", form).stdout
            assert text == get(server, tmp_path, "cm", "-o", form).stdout
            if form == "json":
                assert json.loads(text)["items"] == things


def test_a_manifest_of_another_namespace(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: demo}\n")
    with Lists(thing("Pod", "a", "demo")) as server:
        assert get(server, tmp_path, "-f", str(tmp_path / "pod.yaml"), "-o", "name").stdout == "pod/a\n"
        got = get(server, tmp_path, "-f", str(tmp_path / "pod.yaml"), "-n", "other")
        assert 'the namespace from the provided object "demo" does not match the namespace "other"' in got.stderr
        everywhere = get(server, tmp_path, "-f", str(tmp_path / "pod.yaml"), "-A")
        assert everywhere.stdout.splitlines()[1].split()[:2] == ["demo", "a"]


def test_a_directory_of_manifests_gives_a_list(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "below"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    with Lists(*PODS) as server:
        listed = yaml.safe_load(get(server, tmp_path, "-R", "-f", str(tmp_path / "d"), "-o", "yaml").stdout)
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]


def test_a_manifest_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {}\n")
    with Lists(*PODS) as server:
        got = get(server, tmp_path, "-f", str(tmp_path / "pod.yaml"))
    assert (got.stderr, got.code) == ("error: resource name may not be empty\n", 1)


def test_a_manifest_that_is_none_does_not_hide_the_next(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("kind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    with Lists(*PODS) as server:
        got = get(server, tmp_path, "-f", str(tmp_path / "m.yaml"), "-o", "name")
    assert (got.stdout, got.code) == ("pod/a\n", 1)
    assert "apiVersion" in got.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    with Lists(thing("Pod", "\x1b[2J\x07\u202e", labels={"a": "\x9bx"})) as server:
        table = get(server, tmp_path, "pods", "--show-labels").stdout
        assert "^[[2J\\x07\\u202e" in table
        assert "a=\\x9bx" in table
        assert get(server, tmp_path, "pods", "-o", "name").stdout == "pod/\\x1b[2J\\x07\\u202e\n"


# Watching.


def watched(home: Path, watches: list[list[tuple[str, Object]]], *args: str, **more: Any) -> list[str]:
    """The lines of stdout until a watch is refused."""
    with Lists(*PODS, watches=watches, ends=True, **more) as server:
        got = get(server, home, "pods", *args)
    assert got.stderr.endswith("Error from server (Forbidden): no more watches\n")
    assert got.code == 1
    return got.stdout.splitlines()


def version(name: str, number: int, **more: Any) -> Object:
    return thing("Pod", name, resourceVersion=str(number), **more)


def test_a_watch_that_ends_is_opened_again(tmp_path: Path) -> None:
    watches = [[("MODIFIED", version("a", 101))], [("DELETED", version("b", 102))]]
    assert watched(tmp_path, watches, "-w", "-o", "name") == ["pod/a", "pod/b", "pod/c", "pod/a", "pod/b"]


def test_the_next_watch_begins_where_the_last_one_ended(tmp_path: Path) -> None:
    watches: list[list[tuple[str, Object]]] = [
        [("MODIFIED", version("a", 101))],
        [("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "105"}})],
    ]
    with Lists(*PODS, watches=watches, ends=True) as server:
        get(server, tmp_path, "pods", "-w", "-o", "json")
        seen = [request.query.get("resourceVersion") for request in server.requests]
    assert seen == [None, "100", "101", "105"]


def test_what_is_watched_is_listed_in_pages(tmp_path: Path) -> None:
    with Lists(*PODS, ends=True) as server:
        assert get(server, tmp_path, "pods", "-w", "-o", "name", "--chunk-size=2").stdout == "pod/a\npod/b\npod/c\n"
        assert server.seen() == ["LIST pods", "LIST pods continue", "WATCH pods"]
        assert [request.query.get("limit") for request in server.requests] == ["2", "2", None]
    with Lists(*PODS, ends=True, answers={"LIST pods continue": (410, "too old")}) as server:
        assert get(server, tmp_path, "pods", "-w", "-o", "name", "--chunk-size=2").stdout == "pod/a\npod/b\npod/c\n"
        assert [request.query.get("limit") for request in server.requests] == ["2", "2", None, None]


@pytest.mark.parametrize("tables", [True, False], ids=["tables", "objects"])
def test_one_object_is_watched_where_lists_are_forbidden(tmp_path: Path, tables: bool) -> None:
    with Lists(*PODS, ends=True, tables=tables, answers={"LIST pods": (403, "no")}) as server:
        got = get(server, tmp_path, "pod", "a", "-w", "--no-headers")
        assert got.stdout.split()[0] == "a"
        assert server.seen() == ["LIST pods", "GET pods/a", "WATCH pods"]


def test_a_bookmark_is_no_row(tmp_path: Path) -> None:
    bookmark = {
        "kind": "Table",
        "metadata": {"resourceVersion": "105"},
        "columnDefinitions": None,
        "rows": [{"cells": ["", "", ""], "object": {"metadata": {"resourceVersion": "105"}}}],
    }
    lines = watched(tmp_path, [[("BOOKMARK", bookmark)]], "-w")
    assert lines == ["NAME   READY   AGE", "a      0       5m", "b      0       5m", "c      0       5m"]


@pytest.mark.parametrize("tables", [True, False], ids=["tables", "objects"])
def test_after_an_expired_watch_only_what_was_missed_is_shown(tmp_path: Path, tables: bool) -> None:
    missed = [("modified", version("a", 101)), ("deleted", version("b", 7)), ("added", version("new", 103))]
    watches: list[list[tuple[str, Object]]] = [[*missed, ("ERROR", EXPIRED)]]
    lines = watched(tmp_path, watches, "-w", "--no-headers", tables=tables)
    assert [line.split()[0] for line in lines] == ["a", "b", "c", "b", "a", "new"]


def test_only_the_changes(tmp_path: Path) -> None:
    lines = watched(tmp_path, [[("ADDED", version("new", 101, managedFields=[{}]))]], "--watch-only", "-o", "json")
    assert json.loads("\n".join(lines)) == version("new", 101)


def test_managed_fields_of_a_watch(tmp_path: Path) -> None:
    new = version("new", 101, managedFields=[{"manager": "x"}])
    lines = watched(tmp_path, [[("ADDED", new)]], "--watch-only", "-o", "yaml", "--show-managed-fields")
    assert yaml.safe_load("\n".join(lines)) == new


def test_what_cannot_be_watched(tmp_path: Path) -> None:
    single = "error: you may only watch a single resource or type of resource at a time\n"
    with Lists(*PODS) as server:
        for words, said in (
            (["pods", "a", "b"], single),
            (["pods,secrets"], "error: you may only specify a single resource type\n"),
            (["-f", str(tmp_path / "none.yaml")], f'error: the path "{tmp_path}/none.yaml" does not exist\n'),
        ):
            assert get(server, tmp_path, *words, "-w").stderr == said, words
        assert server.seen() == []


def test_what_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    said = 'Error from server (NotFound): pods "nope" not found\n'
    with Lists(*PODS) as server:
        assert get(server, tmp_path, "pod", "nope", "-w") == ("", said, 1)
        assert get(server, tmp_path, "pod", "nope", "-w", "--ignore-not-found") == ("", "", 0)


# Recordings.


def replayed(recording: str, *args: str) -> Got:
    with Replay(FIXTURES / recording, speed=None) as server:
        ran = run_here("get", *args, config=server.kubeconfig)
    return Got(ran.stdout, ran.stderr, ran.code)


def test_the_recorded_tables() -> None:
    expected = json.loads((FIXTURES / "verbs" / "get-table.expected.json").read_text())
    got = replayed("verbs/get-table.jsonl", *expected["args"][1:])
    assert (got.stdout, got.code) == (expected["stdout"], expected["exit_code"])
    assert got.stderr == ""  # kubectl warns of a second `deploy`: the built-in kinds come first here, unasked


def test_the_recorded_table_of_one() -> None:
    got = replayed("watch/table.jsonl", "deploy/web", "-n", "demo", "-o", "wide")
    assert got.stdout == (
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES                           SELECTOR\n"
        "web    3/3     3            3           14m   app          docker.io/library/busybox:1.35   app=web\n"
    )


def test_the_recorded_pages() -> None:
    """The recording ends in the middle of the list: what came is printed, then the error."""
    got = replayed("watch/paged.jsonl", "pods", "-A", "--chunk-size=3", "-o", "name")
    recorded = exchanges(FIXTURES / "watch" / "paged.jsonl")[:2]
    names = [item["metadata"]["name"] for each in recorded for item in json.loads(each.body)["items"]]
    assert got.stdout.splitlines() == [f"pod/{name}" for name in names]
    assert len(names) == 6
    assert got.code == 1


def test_the_recorded_gzip() -> None:
    got = replayed("watch/gzip.jsonl", "pods", "-A", "--chunk-size=0", "-o", "json", "--show-managed-fields")
    items = json.loads(exchanges(FIXTURES / "watch" / "gzip.jsonl")[0].body)["items"]
    assert json.loads(got.stdout)["items"] == [{"kind": "Pod", "apiVersion": "v1", **item} for item in items]


@pytest.mark.parametrize(
    ("args", "never"),
    [
        (["pods"], {"yaml", "zlib", "datetime", "rawkube.cli.yaml_text", "rawkube.api.discovery"}),
        (["pods", "-o", "json"], {"yaml", "zlib", "datetime", "rawkube.cli.yaml_text", "rawkube.api.list_watch"}),
        (["pods", "-o", "yaml"], {"yaml", "datetime"}),
    ],
    ids=["table", "json", "yaml"],
)
def test_what_a_list_does_not_load(tmp_path: Path, args: list[str], never: set[str]) -> None:
    code = "import sys; from rawkube.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    with Lists(*PODS) as server:
        command = [sys.executable, "-S", "-c", code, "get", *args]
        env = environment(tmp_path, server.url) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert "rawkube.cli.get" in ran.stderr.split()
    assert set(ran.stderr.split()) & never == set()
