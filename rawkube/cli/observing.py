"""`--trace`, `-v`, `--record` and their variables → the tap of a command, with its consumers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from rawkube._typing import TYPE_CHECKING
from rawkube.errors import RecordingError, UsageError
from rawkube.gotext import go_quote

if TYPE_CHECKING:
    from rawkube.cli.flags import Parsed
    from rawkube.cli.output import Output
    from rawkube.kubeconfig.access import Access
    from rawkube.wire.tap import Event, Tap

STDERR = "-"
"""What `--trace` without a file means."""

_FIRST = 6  # of kubectl's verbosities that shows requests
LOUD = "SECRETS ARE RECORDED: {file} will hold credentials and Secrets as they are; show it to nobody"


def tap_for(parsed: Parsed, out: Output, environ: Mapping[str, str] = os.environ) -> Tap | None:
    """The tap that flags and `$RAWKUBE_TRACE`, `$RAWKUBE_RECORD` ask for, None where nobody looks on.

    Raises UsageError for a level that is none, or a file that cannot be written; RecordingError.
    """
    trace, record = _where(parsed, "trace", environ), _where(parsed, "record", environ)
    level = _level(parsed)
    if not trace and level and "trace-level" not in parsed.given:
        trace = STDERR  # -v 6 and more
    if not trace and not record:
        return None
    from rawkube.wire.tap import Tap

    consumers: list[Callable[[Event], None]] = []
    if trace:
        from rawkube.observe.levels import DEFAULT_LEVEL
        from rawkube.observe.trace import Trace

        consumers.append(Trace(_writer(trace, _source(parsed, "trace")), level or DEFAULT_LEVEL))
    secrets = bool(record) and bool(parsed.values["record-secrets"])
    if record:
        consumers.append(_recorder(record, out, _source(parsed, "record"), secrets=secrets))
    return Tap(*consumers, wire=True, secrets=secrets)


def tell_access(tap: Tap, access: Access) -> None:
    """Who the user is to the server, and by which way it is reached."""
    for field, method in _METHODS:
        if getattr(access, field):
            tap("credentials", method=method, source=str(access.origins.get(field, "")))
    if access.impersonate_user:
        tap("credentials", method=f"acting as {access.impersonate_user}", source=_origin(access, "impersonate_user"))
    if access.proxy_url:
        tap("note", text=f"by a proxy, set by {_origin(access, 'proxy_url')}")
    elif access.proxy_why:
        tap("note", text=access.proxy_why)


_METHODS = (
    ("token", "bearer token"),
    ("token_file", "bearer token of a file"),
    ("username", "basic"),
    ("cert_file", "client certificate"),
    ("cert_data", "client certificate"),
    ("exec", "credential plugin"),
    ("auth_provider", "auth provider"),
)


def _origin(access: Access, field: str) -> str:
    return str(access.origins.get(field, "a default"))


def _where(parsed: Parsed, name: str, environ: Mapping[str, str]) -> str:
    """The file of a flag or its variable, `-` for stderr, empty for none."""
    if name in parsed.given:
        return str(parsed.values[name])
    found = environ.get(f"RAWKUBE_{name.upper()}", "")
    if name == "trace" and found in ("1", "true", "stderr"):
        return STDERR
    return "" if found in ("0", "false") else found


def _source(parsed: Parsed, name: str) -> str:
    """Who named the file."""
    return f"--{name}" if name in parsed.given else f"$RAWKUBE_{name.upper()}"


def _what_to_do(source: str) -> str:
    where = "a file in a folder that is there and can be written to"
    return f"unset it, or let it name {where}" if source.startswith("$") else f"name {where}"


def _level(parsed: Parsed) -> str:
    level: str = parsed.values["trace-level"]
    if not level and parsed.values["v"] < _FIRST:
        return ""
    from rawkube.observe.levels import LEVELS, of_verbosity

    if level and level not in LEVELS:
        raise UsageError(f"--trace-level must be one of {', '.join(LEVELS)}, not {go_quote(level)}")
    return level or of_verbosity(parsed.values["v"])


def _writer(where: str, source: str) -> Callable[[str], None]:
    """A function that writes a line; what cannot be written is no reason to stop."""
    if where != STDERR:
        descriptor = _file(where, source)
        return lambda line: _write(lambda data: os.write(descriptor, data), line + "\n")
    stream = sys.stderr.buffer if sys.stderr is not None else None
    if stream is None:
        return lambda line: None
    # A terminal may be raw meanwhile, and then goes on in the column where a line ended.
    end = "\r\n" if stream.isatty() else "\n"
    return lambda line: _write(getattr(stream, "raw", stream).write, line + end)


def _write(write: Callable[[bytes], int], line: str) -> None:
    rest = line.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[write(rest) or len(rest) :]
    except (OSError, ValueError):
        pass


def _file(path: str, source: str) -> int:
    """A descriptor, which is open until the process ends."""
    from rawkube.observe.record import make_private

    try:
        return make_private(path)
    except RecordingError as error:
        raise UsageError(f"{source}: {error}; {_what_to_do(source)}") from None


def _recorder(path: str, out: Output, source: str, *, secrets: bool) -> Callable[[Event], None]:
    from rawkube._version import __version__
    from rawkube.observe.record import Recorder

    if os.path.isdir(path):  # noqa: PTH112
        # For many programs that run with one variable: a file each.
        path = os.path.join(path, f"rawkube-{os.getpid()}-{os.urandom(3).hex()}.jsonl")  # noqa: PTH118
    if secrets:
        out.note(LOUD.format(file=path))
    try:
        return Recorder(path, client=f"rawkube {__version__}", on_failure=out.note).told
    except RecordingError as error:
        raise RecordingError(f"{source}: {error}; {_what_to_do(source)}") from None
