"""Where kubectl puts what it copies, and that rawkube's copies are the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.container import Container
from tests.support.copies import DOWN, OLD, UP, cp, listing, make_tree, places
from tests.support.run import Result, kubectl_command, run
from tests.support.warm import warm


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def of_kubectl(server: Container, home: Path, *words: str) -> Result:
    warm(home, server.url)
    return run([*kubectl_command(), "--server", server.url], "cp", *words, url=server.url, home=home)


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
            done = cp(server, *words) if program == "rawkube" else of_kubectl(server, home / "h", *words)
        assert done.code == 0, done
        found.append(listing(home / "R", modes=False))
    if way == "down":  # kubectl leaves out symbolic links
        found[1] = {name: what for name, what in found[1].items() if not (isinstance(what, list) and what[0] == "link")}
    assert found[0] == found[1]
    assert found[0]


# Where rawkube knowingly differs.

OF_TAR = "tar: Removing leading `/' from member names"


def copied_down(tmp_path: Path, *, kubectl: bool) -> tuple[Result, dict[str, str]]:
    """What came of a folder: regular files with their modes, links with their targets."""
    top, here = tmp_path / "top", tmp_path / "here"
    top.mkdir()
    (top / "run").touch()
    (top / "run").chmod(0o4755)
    os.utime(top / "run", (OLD, OLD))
    (top / "inside").symlink_to("run")
    (top / "outside").symlink_to("/etc/passwd")
    os.mkfifo(top / "pipe")
    with Container() as server:
        words = (f"web:{top}", str(here))
        done = of_kubectl(server, tmp_path / "home", *words) if kubectl else cp(server, *words)
    found = {one.name: str(one.readlink()) if one.is_symlink() else oct(one.stat().st_mode) for one in here.iterdir()}
    return done, found


def test_what_rawkube_leaves_of_a_folder(tmp_path: Path) -> None:
    done, found = copied_down(tmp_path, kubectl=False)
    assert (done.stdout, done.code) == ("", 1)
    assert OF_TAR in done.stderr.splitlines()
    assert found == {"run": "0o100755", "inside": "run"}
    assert int((tmp_path / "here" / "run").stat().st_mtime) == OLD


@pytest.mark.kubectl
def test_what_kubectl_leaves_of_a_folder(tmp_path: Path) -> None:
    done, found = copied_down(tmp_path, kubectl=True)
    assert (done.code, OF_TAR in done.stderr) == (0, False)
    assert done.stdout in (f"{OF_TAR}\n", "")  # kubectl does not always wait for it
    assert found == {"run": "0o100644", "pipe": "0o100644"}
    assert (tmp_path / "here" / "run").stat().st_mtime > OLD


@pytest.mark.parametrize("program", [pytest.param("kubectl", marks=pytest.mark.kubectl), "rawkube"])
def test_a_source_that_is_not_there(program: str, tmp_path: Path) -> None:
    with Container() as server:
        words = (f"web:{tmp_path}/absent", str(tmp_path / "here"))
        done = cp(server, *words) if program == "rawkube" else of_kubectl(server, tmp_path / "home", *words)
    assert done.code == (0 if program == "kubectl" else 2)
