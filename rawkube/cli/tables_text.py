"""Pure: Tables of `meta.k8s.io` → lines of text, as kubectl prints them (cli-runtime's TablePrinter and tabwriter)."""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.cli.numbers import general_number
from rawkube.cli.text import escape

Value = Any  # what JSON can hold

NARROWEST = 6
"""Characters of a column at least, the space to the next one included."""
PADDING = 3
"""Spaces between columns."""

Line = list[str]


class Layout(NamedTuple):
    """What is shown of a Table. `kind` (`pod`, `deployment.apps`) stands before each name, where it is not empty."""

    wide: bool = False
    headers: bool = True
    namespace: bool = False
    kind: str = ""
    labels: tuple[str, ...] = ()
    show_labels: bool = False


class TextTable:
    """One table on the screen. Later rows keep the columns of the earlier ones, and widen them where they must."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._columns: list[Object] = []
        self._has_headers = False
        self._widths: list[int] = []

    def text(self, tables: Sequence[Object]) -> str:
        """The lines of these Tables; the headers only when they are new. A Table without rows says nothing."""
        lines: list[Line] = []
        for table in tables:
            self._add(table, lines)
        out: list[str] = []
        self._align(lines, 0, len(lines), [], out)
        return "".join(out)

    def _add(self, table: Object, lines: list[Line]) -> None:
        rows = table.get("rows") or []
        columns = [column for column in table.get("columnDefinitions") or [] if isinstance(column, dict)]
        if columns and columns != self._columns:
            self._columns, self._has_headers = columns, False
        if not rows:
            return
        names = [_is_name(column) for column in self._columns]
        name = names.index(True) if self._layout.kind and True in names else -1
        shown = [at for at, column in enumerate(self._columns) if self._layout.wide or not column.get("priority")]
        cells = [self._cells(row, shown, name) for row in rows if isinstance(row, dict)]
        if self._layout.headers and not self._has_headers:
            lines.append(self._header(cells))
        self._has_headers = True
        lines += [_line(row) for row in cells]

    def _header(self, rows: list[Line]) -> Line:
        """The names of the columns, as wide as the cells of the rows are in bytes, but for the last (kubectl 1.37)."""
        header = self._names() or [""]
        widths = [len(name) for name in header[:-1]]
        for row in rows:
            for at, cell in enumerate(row[: len(widths)]):
                size = len(cell) if cell.isascii() else len(cell.encode("utf-8", "surrogatepass"))
                widths[at] = max(widths[at], size)
        return [*map(str.ljust, header, widths), header[-1]]

    def _names(self) -> Line:
        layout = self._layout
        names = ["NAMESPACE"] if layout.namespace else []
        names += [
            _text(column.get("name")).upper() for column in self._columns if layout.wide or not column.get("priority")
        ]
        names += [label.rpartition("/")[2].upper() for label in layout.labels]
        return [*names, "LABELS"] if layout.show_labels else names

    def _cells(self, row: Object, shown: list[int], name: int) -> Line:
        """The texts of a row, as they came."""
        layout = self._layout
        cells = row.get("cells") or []
        line = [_cell(cells[at]) for at in shown if at < len(cells)]
        if name in shown and name < len(cells):
            line[shown.index(name)] = f"{layout.kind}/{_cell(cells[name])}"
        if layout.namespace or layout.labels or layout.show_labels:
            metadata = metadata_of(row.get("object") or {})
            line = ([_cell(metadata.get("namespace"))] if layout.namespace else []) + line
            labels = metadata.get("labels")
            line += _label_cells(layout, labels if isinstance(labels, dict) else {})
        return line

    def _align(self, lines: list[Line], start: int, end: int, widths: list[int], out: list[str]) -> None:
        """Write lines of which the first columns have these widths. A column is a run of lines that all have it."""
        column, at = len(widths), start
        while at < end:
            if column >= len(lines[at]) - 1:
                at += 1
                continue
            out += [_padded(line, widths) for line in lines[start:at]]
            start = at
            while at < end and column < len(lines[at]) - 1:
                at += 1
            width = max(len(line[column]) for line in lines[start:at]) + PADDING
            self._align(lines, start, at, [*widths, self._remembered(column, max(width, NARROWEST))], out)
            start = at
        out += [_padded(line, widths) for line in lines[start:end]]

    def _remembered(self, column: int, width: int) -> int:
        if column == len(self._widths):
            self._widths.append(width)
        self._widths[column] = max(self._widths[column], width)
        return self._widths[column]


def _padded(line: Line, widths: list[int]) -> str:
    """The last cell is not padded."""
    return "".join(map(str.ljust, line, widths)) + line[-1] + "\n"


def _line(cells: Line) -> Line:
    """The cells as they are shown. As in kubectl a TAB ends one."""
    shown = [cell if cell.isprintable() else _first_line(cell) for cell in cells]
    return [part for cell in shown for part in cell.split("\t")] or [""]


def _first_line(text: str) -> str:
    """The first line of a cell, and whether there was more."""
    end = next((at for at, char in enumerate(text) if char in "\n\r\f"), -1)
    return _text(text) if end < 0 else _text(text[:end]) + "..."


def _is_name(column: Object) -> bool:
    return column.get("format") == "name" and column.get("type") == "string"


def _label_cells(layout: Layout, labels: dict[str, Value]) -> Line:
    cells = [_cell(labels.get(label)) for label in layout.labels]
    if layout.show_labels:
        cells.append(",".join(f"{key}={labels[key]}" for key in sorted(labels)) or "<none>")
    return cells


def _cell(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else go_value(value)


def _text(value: object) -> str:
    """Safe for a terminal; ESC as kubectl shows it."""
    return escape(str(value).replace("\x1b", "^[").replace("\n", "\\n"))


def go_value(value: Value) -> str:
    """A value of JSON as Go's `%v` shows it: `true`, `1.5`, `[1 b <nil>]`, `map[a:1]`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
    return general_number(value)


_NAME_AND_AGE = [
    {"name": "Name", "type": "string", "format": "name", "priority": 0},
    {"name": "Age", "type": "string", "format": "", "priority": 0},
]


def table_of(items: Sequence[Object], now: float) -> Object:
    """Objects as a Table of their names and ages, where the server sends none. `now`: seconds since the epoch."""
    from rawkube.cli.age import age

    rows = []
    for item in items:
        metadata = metadata_of(item)
        cells = [metadata.get("name"), age(metadata.get("creationTimestamp"), now)]
        rows.append({"cells": cells, "object": item})
    return {"kind": "Table", "metadata": {}, "columnDefinitions": _NAME_AND_AGE, "rows": rows}


def slim(table: Object) -> Object:
    """The Table with no more of the rows' objects than is shown."""
    rows = []
    for row in table.get("rows") or []:
        about = metadata_of(row["object"]) if isinstance(row, dict) and isinstance(row.get("object"), dict) else {}
        kept = {key: about[key] for key in ("namespace", "name", "labels") if key in about}
        rows.append({"cells": row.get("cells") if isinstance(row, dict) else None, "object": {"metadata": kept}})
    return {"columnDefinitions": table.get("columnDefinitions"), "rows": rows}
