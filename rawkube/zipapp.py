"""`python -m rawkube.zipapp OUT.pyz`: rawkube as one file, for any Python from 3.11 on, with nothing installed.

In it are rawkube, what its commands need of other packages (PyYAML, h11, wsproto; not httpx, which only
`rawkube.Client` needs) and their licences. The sources have lost comments and docstrings, and no line. The modules that
a start needs are compiled beforehand, for the Python that builds, as far as the file stays below LIMIT: another one
compiles them from the sources, at each start. The same input and Python give the same bytes.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rawkube._version import __version__
from rawkube.errors import RawkubeError
from rawkube.gotext import one_line

LIMIT = 1_000_000
"""The size in bytes below which the file is kept by leaving modules uncompiled."""

# Name of the distribution, of its package, and extension modules that it can do without.
_BUNDLED = (("h11", "h11", ()), ("wsproto", "wsproto", ()), ("PyYAML", "yaml", ("_yaml",)))
# The modules of what is started most, the most important first: these and what they import are compiled.
_ROOTS = (
    *("rawkube.__main__", "rawkube.cli.main", "rawkube.cli.connection", "rawkube.kubeconfig.resolve"),
    *("rawkube.api.client", "rawkube.wire.tls", "rawkube.cli.tables.rollout", "rawkube.cli.rollout"),
    *("rawkube.rollout.follow", "rawkube.rollout.status", "rawkube.cli.text", "rawkube.cli.tables.sessions"),
    *("rawkube.cli.exec", "rawkube.remotecommand.remote", "rawkube.api.builtin", "yaml", "rawkube.cli.tables.wait"),
    *("rawkube.cli.wait", "rawkube.cli.tables.tools", "rawkube.cli.version", "rawkube.cli.logs", "rawkube.cli.get"),
)
_START = b"#!/usr/bin/env python3\n"
_MAIN = b"""\
import sys
if sys.version_info < (3, 11):
    sys.exit("rawkube needs Python 3.11 or newer; this is Python %d.%d" % sys.version_info[:2])
from rawkube.__main__ import run
run()
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a ZIP file can tell

_USAGE = "usage: python -m rawkube.zipapp OUT.pyz\n"

Files = dict[str, bytes]


class BuildError(RawkubeError):
    """The file cannot be built."""


def build(out: str | os.PathLike[str]) -> int:
    """Write the file; gives its size in bytes. Raises BuildError where a package is not there as pure Python."""
    files = _sources()
    files = {name: stripped(data) if name.endswith(".py") else data for name, data in files.items()}
    files |= _fitting(files, compiled(files, _needed(files)))
    data = _START + _zipped(files)
    try:
        Path(out).write_bytes(data)
        Path(out).chmod(0o755)
    except OSError as error:
        raise BuildError(f"open {one_line(os.fspath(out))}: {(error.strerror or str(error)).lower()}") from None
    return len(data)


# What is in it.


def _sources() -> Files:
    own = Path(__file__).parent
    files = {"__main__.py": _MAIN, **_tree(own, "rawkube", frozenset((".py", ".js", ".css", ".html", ".json")))}
    files |= _licences("rawkube", __version__)
    for distribution, package, optional in _BUNDLED:
        files |= _tree(_folder(package, distribution, optional), package, frozenset((".py",)))
        files |= _licences(distribution, importlib.metadata.version(distribution))
    return files


def _tree(folder: Path, prefix: str, kinds: frozenset[str]) -> Files:
    found = (path for path in folder.rglob("*") if path.suffix in kinds and path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return {f"{prefix}/{name}": path.read_bytes() for name, path in names.items() if "tests/" not in name}


def _folder(package: str, distribution: str, optional: Sequence[str]) -> Path:
    """Where the sources of a package are. Raises BuildError where there are none, or not only sources."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise BuildError(f"{distribution} is not installed: pip install {distribution}")
    folder = Path(spec.origin or "").parent
    if Path(spec.origin or "").name != "__init__.py":
        raise _not_pure(distribution, "it has no __init__.py")
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".so", ".pyd") and path.name.partition(".")[0] not in optional:
            raise _not_pure(distribution, f"{path} is compiled")
    return folder


def _not_pure(distribution: str, why: str) -> BuildError:
    advice = f"pip install --force-reinstall --no-binary {distribution} {distribution}"
    return BuildError(f"{distribution} is not installed as pure Python: {why}", detail=[f"to have it so: {advice}"])


def _licences(distribution: str, version: str) -> Files:
    """The licence files of a distribution; of this one, those of a checkout if it is not installed."""
    folder = f"licenses/{distribution}-{version}"
    try:
        paths = [Path(str(file.locate())) for file in importlib.metadata.files(distribution) or ()]
    except importlib.metadata.PackageNotFoundError:
        paths = []
    if distribution == "rawkube":
        paths.append(Path(__file__).parent.parent / "LICENSE")
    named = {path.name: path for path in paths if path.name.upper().startswith(("LICEN", "COPYING", "NOTICE"))}
    found = {f"{folder}/{name}": path.read_bytes() for name, path in named.items() if path.is_file()}
    if not found:
        advice = f"pip install --force-reinstall {distribution}"
        raise BuildError(f"{distribution} comes without its licence: {advice}")
    return found


# Sources.


def stripped(source: bytes) -> bytes:
    """The same program without comments and docstrings, each line where it was (for tracebacks)."""
    lines = source.split(b"\n")
    marked = [row for row, line in enumerate(lines) if b"#" in line]
    tree = ast.parse(source)
    nodes = [tree, *_nodes(tree, marked)]
    inside = _texts(nodes)
    for row in marked:
        line = lines[row]
        at = line.find(b"#")
        while any(start <= at < end for start, end in inside.get(row, ())):
            at = line.find(b"#", at + 1)
        if at >= 0:
            lines[row] = line[:at].rstrip()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and _is_text(statement.value):
                    _blank(lines, statement)
    return b"\n".join(lines)


def _nodes(node: ast.AST, marked: Sequence[int]) -> Iterator[ast.AST]:
    """All within a node, without expressions that have none of the marked rows."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.expr):
            at = bisect_left(marked, inner.lineno - 1)
            if at == len(marked) or marked[at] >= (inner.end_lineno or inner.lineno):
                continue
        yield inner
        yield from _nodes(inner, marked)


def _is_text(value: ast.AST) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _texts(nodes: Sequence[ast.AST]) -> dict[int, list[tuple[int, float]]]:
    """Where strings are: for each row the columns."""
    found: dict[int, list[tuple[int, float]]] = {}
    for node in nodes:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            for row in range(first, last + 1):
                start = node.col_offset if row == first else 0
                end = node.end_col_offset if row == last and node.end_col_offset is not None else float("inf")
                found.setdefault(row, []).append((start, end))
    return found


def _blank(lines: list[bytes], statement: ast.Expr) -> None:
    """An empty string in the place of a text."""
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    rest = lines[last][statement.end_col_offset :]
    lines[first] = lines[first][: statement.col_offset] + b'""' + (rest if first == last else b"")
    for row in range(first + 1, last + 1):
        lines[row] = rest if row == last else b""


# Compiled modules.


def _needed(files: Mapping[str, bytes]) -> list[str]:
    """The files of the roots and of all that they import when they are loaded, in the order of importance."""
    found: dict[str, None] = {}
    waiting = list(reversed(_ROOTS))
    while waiting:
        name = waiting.pop()
        path = next((path for path in _paths(name) if path in files), None)
        if path is None or path in found:
            continue
        found[path] = None
        parent = name.rpartition(".")[0]
        waiting += reversed(
            [parent, *_imported(ast.parse(files[path]), name if path.endswith("__init__.py") else parent)]
        )
    return list(found)


def _paths(name: str) -> tuple[str, str]:
    path = name.replace(".", "/")
    return f"{path}/__init__.py", f"{path}.py"


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """The modules that the statements of a module itself import; `package` is what relative names begin at."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package if node.level else "", node.module or "")))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What runs when a module is loaded, without what only a type checker reads."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            yield from _statements(node.orelse if for_types else [*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements(node.body)


def compiled(files: Mapping[str, bytes], names: Sequence[str]) -> Files:
    """These modules compiled, in the order of `names`, without columns and assertions.

    In a process of its own, since what another one has done before shows in the bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
        program = [sys.executable, "-S", "-P", "-X", "no_debug_ranges", "-m", "compileall", "-q", "-b", "-o", "2"]
        command = [*program, "--invalidation-mode", "unchecked-hash", "-s", folder, folder]
        done = subprocess.run(command, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise BuildError("the sources cannot be compiled", detail=(done.stdout + done.stderr).splitlines())
        return {f"{name}c": Path(folder, f"{name}c").read_bytes() for name in names}


def _fitting(files: Mapping[str, bytes], more: Mapping[str, bytes]) -> Files:
    """As many of these, from the first one on, as there is room for."""
    left = LIMIT - len(_START) - len(_zipped(files))
    found: Files = {}
    empty = len(_zipped({}))
    for name, data in more.items():
        left -= len(_zipped({name: data})) - empty
        if left < 0:
            break
        found[name] = data
    return found


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, also where it is not
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name], compresslevel=9)
    return out.getvalue()


def main(argv: Sequence[str]) -> int:
    """Build the file that the one argument names; gives the exit code."""
    if list(argv) in (["-h"], ["--help"]):
        sys.stdout.write(_USAGE)
        return 0
    if len(argv) != 1 or argv[0].startswith("-"):
        sys.stderr.write(_USAGE)
        return 2
    try:
        size = build(argv[0])
    except RawkubeError as error:
        sys.stderr.write("".join(f"{line}\n" for line in (*error.detail, f"error: {error}")))
        return 1
    sys.stdout.write(f"{argv[0]}: {size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
