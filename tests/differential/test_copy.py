"""Where kubectl puts what it copies, and that rawkube's copies are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.container import Container
from tests.support.copies import DOWN, UP, cp, listing, make_tree, places
from tests.support.run import kubectl_command, run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.mark.kubectl
@pytest.mark.parametrize(
    ("way", "source", "destination"), [("up", *row[:2]) for row in UP] + [("down", *row[:2]) for row in DOWN]
)
def test_kubectl_does_the_same(tree: Path, tmp_path: Path, way: str, source: str, destination: str) -> None:
    found = []
    for program in ("kubectl", "rawkube"):
        home = tmp_path / program
        (home / "R").mkdir(parents=True)
        one, other = places(tree, home, source, destination)
        words = [one, f"web:{other}"] if way == "up" else [f"web:{one}", other]
        with Container() as server:
            if program == "kubectl":
                done = run([*kubectl_command(), "--server", server.url], "cp", *words, url=server.url, home=home / "h")
            else:
                done = cp(server, *words)
        assert done.code == 0, done
        found.append(listing(home / "R", modes=False))
    if way == "down":  # kubectl leaves out symbolic links
        found[1] = {name: what for name, what in found[1].items() if not (isinstance(what, list) and what[0] == "link")}
    assert found[0] == found[1]
    assert found[0]
