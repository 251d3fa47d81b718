"""Trees to copy, `cp` run in this process, and where kubectl puts what is copied."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from pathlib import Path

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.run import Result
from tests.support.websocket import ExecServer

OLD = 978_000_000  # 2000-12-28


def make_tree(top: Path) -> Path:
    """A directory with everything that can be kept."""
    (top / "sub" / "deep").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "a.txt").write_bytes(b"hello\n")
    (top / "sub" / "b").write_bytes(bytes(range(256)) * 300)
    (top / "sub" / "deep" / "run").write_bytes(b"#!/bin/sh\n")
    (top / "sub" / "deep" / "run").chmod(0o755)
    (top / "zero").write_bytes(b"")
    (top / "with space and ü").write_bytes(b"1")
    (top / "-dash").write_bytes(b"2")
    (top / os.fsdecode(b"latin-\xe9")).write_bytes(b"3")
    (top / ("n" * 200)).write_bytes(b"4")
    (top / "link").symlink_to("a.txt")
    (top / "plain").mkdir()
    (top / "plain" / "b").write_bytes(b"5")
    (top / "plain" / "to-b").symlink_to("./b")
    (top / "sub" / "up").symlink_to("../a.txt")
    (top / "same").hardlink_to(top / "a.txt")
    (top / "a.txt").chmod(0o640)
    (top / "sub").chmod(0o750)
    os.utime(top / "a.txt", (OLD, OLD))
    return top


def cp(server: ExecServer, *args: str | Path) -> Result:
    out, err = io.BytesIO(), io.BytesIO()
    words = ["cp", f"--kubeconfig={os.devnull}", f"--server={server.url}", *map(str, args)]
    code = main(words, out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code)


def listing(top: Path, *, modes: bool = True, times: bool = False) -> dict[str, object]:
    """What a tree holds: contents, targets of links, modes, and which names are one file."""
    found: dict[str, object] = {}
    first: dict[int, str] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        seen = path.lstat()
        what: list[object] = [oct(seen.st_mode) if modes else oct(stat.S_IFMT(seen.st_mode))]
        if path.is_symlink():
            what = ["link", str(path.readlink())]
        elif path.is_file():
            what += [hashlib.sha256(path.read_bytes()).hexdigest()]
            what += [first.setdefault(seen.st_ino, name)] if modes else []
            what += [int(seen.st_mtime)] if times else []
        found[name] = what
    return found


# Where things land: (source, destination, what is there then). `T`: the tree; `R`: a directory of the container that
# exists. The rows are kubectl's, tests/differential/test_copy.py compares.
UP = [
    ("T/a.txt", "R/new", "R/new"),
    ("T/a.txt", "R/new/", "R/new"),
    ("T/a.txt", "R", "R/a.txt"),
    ("T/a.txt", "R/", "R/a.txt"),
    ("T/sub", "R/new", "R/new/b"),
    ("T/sub/", "R", "R/sub/b"),
    ("T/sub/.", "R", "R/b"),
    ("T/sub/.", "R/new", "R/new/b"),
    ("T/sub/deep/../deep", "R", "R/deep/run"),
    ("T/link", "R/new", "R/new"),
    ("T/empty", "R", "R/empty"),
    ("T/-dash", "R", "R/-dash"),
]
DOWN = [
    ("T/a.txt", "R/new", "R/new"),
    ("T/a.txt", "R/x/y/new", "R/x/y/new"),
    ("T/plain", "R/new", "R/new/b"),
    ("T/plain", "R", "R/b"),
    ("T/plain/", "R/", "R/b"),
    ("T/empty", "R/new", "R/new"),
    ("T/with space and ü", "R/new", "R/new"),
]


def places(tree: Path, tmp_path: Path, *words: str) -> list[str]:
    return [word.replace("T/", f"{tree}/", 1).replace("R", f"{tmp_path}/R", 1) for word in words]
