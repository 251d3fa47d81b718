"""Files and directories, both ways."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.cluster.rig import Cluster

pytestmark = pytest.mark.cluster

LARGE = 100 * 1024 * 1024
_PIECE = 1024 * 1024
_LONG = 150.0


def write_random(path: Path, size: int) -> str:
    """Its SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(size // _PIECE):
            piece = os.urandom(_PIECE)
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Name → (content or where the link leads, mode)."""
    found = {}
    for path in sorted(root.rglob("*")):
        what = f"→ {path.readlink()}" if path.is_symlink() else "/" if path.is_dir() else path.read_bytes().hex()
        found[str(path.relative_to(root))] = what, 0 if path.is_symlink() else path.stat().st_mode & 0o777
    return found


def test_100_mb_both_ways(cluster: Cluster, shell: str, tmp_path: Path) -> None:
    up, down, far = tmp_path / "up", tmp_path / "down", f"/tmp/{cluster.name('large')}"
    expected = write_random(up, LARGE)
    cluster.rawkube("cp", str(up), f"{shell}:{far}", timeout=_LONG).ok()
    assert cluster.rawkube("exec", shell, "--", "sha256sum", far).ok().text.split()[0] == expected
    cluster.rawkube("cp", f"{shell}:{far}", str(down), timeout=_LONG).ok()
    assert sha256(down) == expected
    cluster.rawkube("exec", shell, "--", "rm", far).ok()


def test_a_directory_with_links_both_ways(cluster: Cluster, shell: str, tmp_path: Path) -> None:
    up, down, far = tmp_path / "up", tmp_path / "down", f"/tmp/{cluster.name('dir')}"
    (up / "sub" / "empty").mkdir(parents=True)
    (up / "sub" / "é ü\u2028").write_bytes(b"\0\xff" * 10)
    (up / "a").write_bytes(b"")
    (up / "run").write_text("#!/bin/sh\n")
    (up / "run").chmod(0o750)
    (up / "link").symlink_to("sub/é ü\u2028")
    (up / "sub" / "up").symlink_to("../run")
    (up / ("n" * 120)).write_text("a long name")
    cluster.rawkube("cp", str(up), f"{shell}:{far}").ok()
    listed = cluster.rawkube("exec", shell, "--", "readlink", f"{far}/sub/up").ok()
    assert listed.text == "../run\n"
    cluster.rawkube("cp", f"{shell}:{far}", str(down)).ok()
    assert tree(down) == tree(up)


def test_a_link_that_leads_out_is_not_made(cluster: Cluster, shell: str, tmp_path: Path) -> None:
    far = f"/tmp/{cluster.name('out')}"
    script = f"mkdir {far}; echo kept > {far}/file; ln -s /etc/passwd {far}/abs; ln -s ../../../x {far}/rel"
    cluster.rawkube("exec", shell, "--", "sh", "-c", script).ok()
    down = tmp_path / "down"
    refused = cluster.rawkube("cp", f"{shell}:{far}", str(down))
    assert (down / "file").read_text() == "kept\n"
    assert not (down / "abs").is_symlink() and not (down / "rel").is_symlink()
    assert "abs" in refused.stderr and "rel" in refused.stderr, refused.describe()


def test_what_is_not_there(cluster: Cluster, shell: str, tmp_path: Path) -> None:
    down = cluster.rawkube("cp", f"{shell}:/tmp/nothing-here", str(tmp_path / "down"))
    assert down.code != 0 and "nothing-here" in down.stderr, down.describe()
    assert not (tmp_path / "down").exists()
    assert cluster.rawkube("cp", str(tmp_path / "nothing-here"), f"{shell}:/tmp/x").code == 1
    assert cluster.rawkube("cp", f"{shell}:/etc/passwd", "/tmp/x", "-c", "nope").code == 1
