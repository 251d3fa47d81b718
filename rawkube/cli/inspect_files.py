"""`rawkube inspect FILE --har OUT`, `--html OUT`: what a recording tells, in files for a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from rawkube._typing import TYPE_CHECKING, Any
from rawkube.cli.output import Output
from rawkube.errors import UsageError
from rawkube.gotext import one_line
from rawkube.observe.conversation import Happening

if TYPE_CHECKING:
    from rawkube.observe.har import Har
    from rawkube.observe.html import Page

STDOUT = "-"
_NOT_WITH = ("diff", "follow", "output", "summary", "channel", "type")


def asked(values: dict[str, Any]) -> bool:
    """Whether files are to be written. Raises UsageError where other flags say otherwise."""
    wanted = [name for name in ("har", "html") if values[name]]
    if not wanted:
        return False
    for name in _NOT_WITH:
        if values[name]:
            raise UsageError(f"--{wanted[0]} cannot be used with --{name}")
    if values["har"] == values["html"]:
        raise UsageError("--har and --html would write the same file")
    return True


def write(happenings: Iterable[Happening], name: str, values: dict[str, Any], out: Output) -> int:
    """Write both, of one reading. `name`: the title of the page. Raises RecordingError."""
    har, page = _har(values["har"]), _page(values["html"])
    for happening in happenings:
        if har is not None:
            har.add(happening)
        if page is not None:
            page.add(happening)
    if har is not None:
        _put(values["har"], json.JSONEncoder(indent=1).iterencode(har.document()), out)
    if page is not None:
        _put(values["html"], page.parts(PurePath(name).name), out)
    return 0


def _har(path: str) -> Har | None:
    if not path:
        return None
    from rawkube.observe.har import Har

    return Har()


def _page(path: str) -> Page | None:
    if not path:
        return None
    from rawkube.observe.html import Page

    return Page()


def _put(path: str, parts: Iterator[str], out: Output) -> None:
    if path == STDOUT:
        for part in parts:
            out.write(part)
        return
    from rawkube.observe.save import save

    save(path, parts)
    out.line(f"{one_line(path)} written")
