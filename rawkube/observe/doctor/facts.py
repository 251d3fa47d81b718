"""Pure: what a doctor's probes bring home, as plain data, and how an answer is put into words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.gotext import one_line
from rawkube.observe.bodies import object_of

PASS, WARN, FAIL, UNKNOWN = "pass", "warn", "fail", "unknown"

_SHOWN = 200
_SECRET = 4
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[^>]{0,400}>")


class Finding(NamedTuple):
    """One line of the report. `result`: pass, warn, fail or unknown; `seconds`: how long it took to find out."""

    check: str
    result: str
    seen: str
    advice: str = ""
    seconds: float = 0.0


class Reached(NamedTuple):
    """One connection, as far as it came.

    `host`: the server's, `peer`: whom the name and the address belong to (the proxy's where there is one). `events`:
    (kind, data) of the tap. `failed`: the step that failed (`name`, `tcp`, `tunnel`, `tls`), empty for none; `error`
    and `detail` are then its words. `trust`: what the certificate was checked against, empty: nothing. `now`: RFC 3339.
    """

    host: str
    peer: str
    literal: bool
    tls: bool
    proxy: str = ""
    tunnel: bool = False
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    failed: str = ""
    error: str = ""
    detail: tuple[str, ...] = ()
    trust: str = ""
    now: str = ""

    def last(self, kind: str) -> Mapping[str, Any]:
        """The data of the last event of a kind; empty without one."""
        return next((data for found, data in reversed(self.events) if found == kind), {})


class Answer(NamedTuple):
    """What one request brought. `status` 0: no answer came, and `error` says why. `seconds`: until its head was there.

    `at`: the time of this machine's clock (seconds since 1970) in the middle between request and answer.
    """

    status: int = 0
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    seconds: float = 0.0
    error: str = ""
    detail: tuple[str, ...] = ()
    at: float = 0.0

    def header(self, name: str) -> str:
        """The first header of that name (in lower case), empty without one."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def object(self) -> dict[str, Any]:
        """The body as a JSON object; empty if it is none."""
        return object_of(self.body)

    @property
    def is_status(self) -> bool:
        """Whether it is a Status: an API server's own refusal."""
        return self.object.get("kind") == "Status"

    @property
    def message(self) -> str:
        """What a Status says; empty where there is none."""
        return one_line(str(self.object.get("message") or "")) if self.is_status else ""


class Watched(NamedTuple):
    """A watch that was asked to last `asked` seconds. Times are seconds since the request, None: never.

    `head`: the answer's head; `first`: the first byte of its body; `ended`: its end. `types`: of the events, in order.
    """

    answer: Answer
    asked: float
    head: float | None = None
    first: float | None = None
    ended: float | None = None
    types: tuple[str, ...] = ()
    bookmark: bool = False
    error: str = ""


class Idle(NamedTuple):
    """A stream that was left silent. `silent`: for how long it was; `error`: how it ended, empty: it had not."""

    asked: float
    silent: float = 0.0
    error: str = ""
    refused: str = ""


class Ran(NamedTuple):
    """A command in a container. `exit_code` None: its end is not known; `line`: what is to be said of the end."""

    protocol: str = ""
    exit_code: int | None = None
    close_code: int = 0
    line: str = ""
    refused: str = ""
    detail: tuple[str, ...] = ()


class Right(NamedTuple):
    """One thing that one may do, or not. `allowed` None: the server did not say."""

    verb: str
    what: str
    allowed: bool | None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.what}"


def without(text: str, secrets: Iterable[str]) -> str:
    """A text in which none of these is; those of less than four characters could not be told from words."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SECRET:
            text = text.replace(secret, "<redacted>").replace(one_line(secret), "<redacted>")
    return text


def milliseconds(seconds: float) -> str:
    """`12 ms`, `3.2 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def way(answer: Answer) -> str:
    """The headers by which what stands between gives itself away: `Server: nginx, Via: 1.1 squid`."""
    names = {"server": "Server", "via": "Via", "x-cache": "X-Cache", "cf-ray": "CF-Ray"}
    return ", ".join(f"{names[key]}: {_cut(value)}" for key, value in answer.headers if key in names)


def what(answer: Answer) -> str:
    """An answer in one line: its status, who spoke, and what was said."""
    if not answer.status:
        return one_line(answer.error)
    said = _cut(answer.message) if answer.is_status else _contents(answer)
    parts = [f"{answer.status} {one_line(answer.reason)}".rstrip(), said, way(answer)]
    return "; ".join(part for part in parts if part)


def _contents(answer: Answer) -> str:
    text = answer.body.decode("utf-8", "replace")
    if is_page(answer):
        title = _TITLE.search(text)
        named = _cut(" ".join((title[1] if title else _MARKUP.sub(" ", text)).split()))
        return f"a page of HTML {json.dumps(named, ensure_ascii=False)}"
    return _cut(" ".join(text.split()))


def is_page(answer: Answer) -> bool:
    """Whether it is a page for a browser."""
    return "html" in answer.header("content-type").lower() or answer.body.lstrip()[:9].lower().startswith(
        (b"<!doctype", b"<html")
    )


def _cut(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
