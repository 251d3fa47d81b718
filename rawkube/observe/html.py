"""One self-contained page that shows a conversation: no network, no script or style but its own.

    page = Page()
    for happening in …:
        page.add(happening)
    html = "".join(page.parts("rollout.jsonl"))

The parts stand in `page/`: a template, style, and scripts, which are joined in the order of `SCRIPTS` into one. The
Content-Security-Policy (https://www.w3.org/TR/CSP3/) allows these two by their hashes and nothing else: what a body
holds could not run even if it came to stand outside of the data.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from rawkube.observe.conversation import Happening
from rawkube.observe.page_data import Data

SCRIPTS = ("text.js", "view.js", "drawing.js", "chart.js", "timeline.js", "details.js", "table.js", "main.js")


class Page:
    """Collects happenings, in their order. `data`: what is kept of them, and its bounds."""

    def __init__(self, data: Data | None = None) -> None:
        self._data = data or Data()

    def add(self, happening: Happening) -> None:
        """One happening."""
        self._data.add(happening)

    def parts(self, title: str) -> Iterator[str]:
        """The page, in parts. `title`: a name for a person, such as the file's."""
        style = part("style.css")
        script = '"use strict";\n(() => {\n' + "\n".join(part(name) for name in SCRIPTS) + "\n})();\n"
        holes = {
            "title": escape(title),
            "policy": escape(policy(script, style)),
            "style": style,
            "data": json_in_html(self._data.collected(title)),
            "script": script,
        }
        for at, piece in enumerate(part("page.html").split("%%")):
            yield holes[piece] if at % 2 else piece


def part(name: str) -> str:
    """The text of one part of the page."""
    return (files(__package__) / "page" / name).read_text("utf-8")


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy of a page with one script and one style sheet."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def json_in_html(value: object) -> str:
    """JSON that can stand in a `script` element: ASCII, without `<`, `>` and `&`, so nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
