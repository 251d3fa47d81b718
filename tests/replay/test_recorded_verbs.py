"""Each recorded `kubectl rollout history|undo|restart|pause|resume`: rawkube asks, sends and prints the same."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import h11
import pytest

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.protobuf import decoded
from tests.support.recordings import exchanges, expected, name_of, recordings, sides
from tests.support.run import kubeconfig
from tests.support.script import Object
from tests.support.stateful import Sent, StatefulServer

VERBS = ("history", "undo", "restart", "pause", "resume")
RECORDED = [path for path in recordings("verbs") if path.stem.startswith(VERBS)]
NOW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")


def arguments(path: Path) -> list[str]:
    """What kubectl was called with; where the recorder did not write it down, its note has it."""
    written: list[str] | None = expected(path)["args"]
    note: str = json.loads(path.read_text().splitlines()[0])["note"]
    return written or note.removeprefix("kubectl 1.37.1 ").split()


def requests(path: Path) -> list[Sent]:
    """What kubectl sent, in order."""
    found: list[Sent] = []
    for both in sides(path).values():
        data = both["client"]
        while data:
            reader = h11.Connection(h11.SERVER)
            reader.receive_data(data)
            head, body = reader.next_event(), b""
            assert isinstance(head, h11.Request)
            while isinstance(event := reader.next_event(), h11.Data):
                body += bytes(event.data)
            assert isinstance(event, h11.EndOfMessage)
            data = reader.trailing_data[0]
            target = urlsplit(head.target.decode())
            media = dict(head.headers).get(b"content-type", b"").decode()
            query = parse_qsl(target.query, keep_blank_values=True)
            found.append(Sent(head.method.decode(), target.path, query, media, body.decode()))
    return found


def objects(path: Path) -> list[Object]:
    """What the server had before anything was written."""
    found: list[Object] = []
    for exchange in exchanges(path):
        if exchange.method != "GET" or exchange.status != 200:
            continue
        media = dict(exchange.headers)["content-type"]
        if media == "application/json":
            found.append(json.loads(exchange.body))
        elif "/replicasets" in exchange.path or "/controllerrevisions" in exchange.path:
            found += decoded(exchange.body)["items"]
    return found


def without_time(sent: list[Sent]) -> list[Sent]:
    return [one._replace(body=NOW.sub("NOW", one.body)) if "restartedAt" in one.body[:90] else one for one in sent]


@pytest.mark.parametrize("path", RECORDED, ids=name_of)
def test_a_recorded_verb(path: Path, tmp_path: Path) -> None:
    wanted = expected(path)
    out, err = io.BytesIO(), io.BytesIO()
    with StatefulServer(*objects(path)) as server:
        (tmp_path / "config").write_text(kubeconfig(server.url))
        words = ["--kubeconfig", str(tmp_path / "config"), "-n", "demo", *arguments(path)]
        code = main(words, out=Output(out, err))
    assert without_time(server.sent()) == without_time(requests(path))
    assert out.getvalue().decode() == wanted["stdout"]
    assert err.getvalue().decode().splitlines()[-1:] == wanted["stderr"].rstrip().splitlines()[-1:]
    assert code == wanted["exit_code"]


def test_every_verb_is_recorded() -> None:
    assert {path.stem.partition("-")[0] for path in RECORDED} == set(VERBS)
    assert len(RECORDED) == 13
