"""All that is wrong with kubeconfig files and the connection that they mean, where a command tells of the first thing.

What is wrong is taken out of what was read, so that what stands behind it is looked at, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import Any
from rawkube.errors import ConfigError
from rawkube.kubeconfig import load, resolve
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.document import Document, DocumentError, parse
from rawkube.kubeconfig.files import Unreadable, read, why_unreadable
from rawkube.kubeconfig.schema import SchemaError, check
from rawkube.kubeconfig.text import place

MOST = 50
"""How many problems of one file are looked for."""

Value = Any  # what a file holds


def all_problems(
    explicit: str, overrides: Overrides, *, environ: Mapping[str, str], home: str | None = None
) -> list[str]:
    """A line for each problem, with `FILE:LINE` where it stands in a file. See load() and resolve() for the rest."""
    config = load.Config()
    lines: list[str] = []
    for name in load.search(explicit, environ, home):
        try:
            document = parse(load.text_of(read(name)))
        except Unreadable as error:
            # One that does not exist is passed over.
            lines += [] if error.missing else [str(error)]
        except DocumentError as error:
            lines.append(f"{place(name, error.line, error.column)}: {error}")
        else:
            lines += _of_shape(name, document)
            config.add(load.file_of(name, document))
    if lines:
        return lines
    wrong = resolve.problems(config, overrides, environ=environ, unreadable=why_unreadable)
    return [_line(error) for error in wrong]


def _line(error: ConfigError) -> str:
    """The problem behind the place of what is wrong, where that is known, else before what is there instead."""
    said = error.detail[0] if error.detail else ""
    _, by, where = said.rpartition("set by ")
    return f"{where}: {error}" if by else f"{error} ({said})" if said else str(error)


def _of_shape(name: str, document: Document) -> Iterator[str]:
    """What kubectl would refuse in a file, which is taken out of it."""
    for number in range(MOST):
        try:
            check(document.value)
        except SchemaError as error:
            yield load.advice(name, document, error)
            if not error.path:
                document.value = None
            elif error.path[0] in ("apiVersion", "kind"):
                document.value.update(apiVersion=None, kind=None)
            else:
                _take_out(document.value, error, number)
        else:
            return


def _take_out(value: Value, error: SchemaError, number: int) -> None:
    *above, last = error.path
    for step in above:
        value = value[step]
    # An entry of a list keeps its place, and has a name that no other one has.
    value[last] = {"name": f"\0{number}"} if isinstance(last, int) and _has_names(above) else None


def _has_names(path: list[str | int]) -> bool:
    return bool(path) and path[-1] in (*load.SECTIONS, "extensions")
