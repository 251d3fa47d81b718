"""The one file: what is in it, and that it runs where nothing is installed."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from rawkube import zipapp
from tests.support.examples import EVERY_WAY
from tests.support.recordings import FIXTURES, expected

# Which modules of rawkube a command loaded from sources.
FROM_SOURCES = """
import json, sys
sys.path.insert(0, sys.argv.pop(1))
from rawkube.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([name for name, one in sys.modules.items() if "rawkube" in name and one.__file__[-4:] != ".pyc"]))
sys.exit(code)
"""


def run(words: Sequence[str | Path], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """In an empty folder, with nothing of the tester's own."""
    where = folder / "empty"
    where.mkdir(exist_ok=True)
    env = {"PATH": os.defpath, "HOME": str(where), **env}
    ran = subprocess.run([*map(str, words)], cwd=where, env=env, capture_output=True, text=True, check=False)
    assert not list(where.iterdir()), "it leaves files behind"
    return ran


def pythons() -> list[str]:
    """This Python, and one of each other version from 3.11 on that is found."""
    others = (shutil.which(f"python3.{minor}") for minor in range(11, 16) if minor != sys.version_info.minor)
    return [sys.executable, *(path for path in others if path and not subprocess.call([path, "-Sc", ""], stderr=-3))]


def test_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyz = tmp_path / "rawkube.pyz"
    assert zipapp.main([str(pyz)]) == 0
    assert capsys.readouterr().out == f"{pyz}: {pyz.stat().st_size} bytes\n"
    if EVERY_WAY:
        again: list[str | Path] = [sys.executable, "-m", "rawkube.zipapp", tmp_path / "again.pyz"]
        assert subprocess.run(again, stdout=subprocess.DEVNULL, check=False).returncode == 0
        assert pyz.read_bytes() == (tmp_path / "again.pyz").read_bytes(), "two builds differ"
    assert pyz.stat().st_size < 1_000_000 and os.access(pyz, os.X_OK)
    names = set(zipfile.ZipFile(pyz).namelist())
    assert {name.split("/")[0] for name in names} == {"__main__.py", "rawkube", "h11", "wsproto", "yaml", "licenses"}
    bundled = {name.split("/")[1].rpartition("-")[0] for name in names if name.startswith("licenses/")}
    assert bundled == {"rawkube", "h11", "wsproto", "PyYAML"}

    update, exits = FIXTURES / "rollout-listwatch/deployment-update.jsonl", FIXTURES / "exec/v5-exit-3.jsonl"
    for python in pythons():
        alone: list[str | Path] = [python, "-I", "-S", pyz]
        assert run([*alone, "version"], tmp_path).stdout.startswith("rawkube 0."), python
        assert "Usage:" in run([*alone, "--help"], tmp_path).stdout, python
        ran = run([*alone, "replay", update, "--speed=max", "--", "rollout", "status", "deployment/web"], tmp_path)
        assert (ran.stdout, ran.stderr, ran.returncode) == (expected(update)["stdout"], "", 0), python
        ran = run([*alone, "replay", exits, "--", *expected(exits)["args"]], tmp_path)
        assert (ran.stdout, ran.returncode) == (expected(exits)["stdout"], 3), ran.stderr
        ran = run([*alone, "inspect", exits], tmp_path)
        assert "v5.channel.k8s.io" in ran.stdout, ran.stderr
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("{clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], current-context: ''}")
    for words in (["rollout", "status", "deployment/web"], ["exec", "web-0", "--", "true"]):
        options = ["-s", "http://127.0.0.1:1", "--request-timeout=5s", f"--kubeconfig={kubeconfig}"]
        ran = run([sys.executable, "-I", "-S", "-c", FROM_SOURCES, pyz, *options, *words], tmp_path)
        assert ran.returncode == 1, words
        # There is not room for all of them, but the first ones are what a start needs.
        assert len(json.loads(ran.stdout)) < 10, (words, ran.stdout)
        assert "The connection to the server 127.0.0.1:1 was refused" in ran.stderr, words


def test_what_is_stripped() -> None:
    source = b'''"""Doc
string."""  # comment
x = "# no comment"  # one
def f(a):  # two
    """Doc."""; return f"#{a}# {'#'}"  # three
    # four
y = """
# text
"""
class A: "doc"
'''
    told = zipapp.stripped(source)
    assert told.split(b"\n") == [
        *(b'""', b"", b'x = "# no comment"', b"def f(a):", b"""    ""; return f"#{a}# {'#'}\"""", b""),
        *(b'y = """', b"# text", b'"""', b'class A: ""', b""),
    ]


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(zipapp.BuildError, match=r"^the sources cannot be compiled$") as caught:
        zipapp.compiled({"a.py": b"x = 1", "b.py": b"x ="}, ["a.py", "b.py"])
    assert "SyntaxError: invalid syntax" in caught.value.detail


def test_it_is_run_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["zipapp", "--help"])
    monkeypatch.delitem(sys.modules, "rawkube.zipapp")
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("rawkube.zipapp", run_name="__main__")
    assert caught.value.code == 0 and capsys.readouterr().out.startswith("usage: python -m rawkube.zipapp ")


def test_what_is_not_pure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, file in (("fuzz_so", "fast.cpython-311.so"), ("fuzz_ok", "_fast.so"), ("fuzz_bare", "x.txt")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
        if name != "fuzz_bare":
            (tmp_path / name / "__init__.py").touch()
    for name, problem in (
        ("fuzz_so", f"is not installed as pure Python: {tmp_path}/fuzz_so/fast.cpython-311.so is compiled"),
        ("fuzz_bare", "is not installed as pure Python: it has no __init__.py"),
        ("fuzz_none", "is not installed: pip install fuzz_none"),
        ("fuzz_ok", "comes without its licence: pip install --force-reinstall fuzz_ok"),
    ):
        monkeypatch.setattr(zipapp, "_BUNDLED", ((name, name, ("_fast",)),))
        monkeypatch.setattr("importlib.metadata.version", lambda name: "1")
        assert zipapp.main([str(tmp_path / "out")]) == 1
        assert capsys.readouterr().err.splitlines()[-1] == f"error: {name} {problem}"
        assert not (tmp_path / "out").exists()
    monkeypatch.setattr(zipapp, "_sources", dict)
    assert zipapp.main([str(tmp_path / "no" / "out")]) == 1
    assert capsys.readouterr().err == f"error: open {tmp_path}/no/out: no such file or directory\n"
    for words, code in (([], 2), (["--help"], 0), (["a", "b"], 2)):
        assert zipapp.main(words) == code
        assert "usage: python -m rawkube.zipapp OUT.pyz" in "".join(capsys.readouterr()), json.dumps(words)
