"""Pure: help texts, rendered from the tables of commands and flags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rawkube.cli.command import PROGRAM, Command
from rawkube.cli.commands import children, find_topic, groups
from rawkube.cli.flags import Flag, Parsed
from rawkube.cli.output import Output
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.duration import format_duration

_WIDTH = 100
_COLUMN = 34  # where a flag's description begins
_OTHER_EXITS = (("0", "shown"), ("1", "any error"))


def help_topic(parsed: Parsed, out: Output) -> int:
    """`rawkube help WORD…`."""
    out.write(help_text(find_topic(parsed.args)))
    return 0


def help_text(command: Command) -> str:
    """The help of a command, ended by a line feed; lines of at most 100 characters."""
    if command.words == ("options",):
        return options_text()
    blocks = [
        f"Usage:\n  {_usage(command)}",
        "\n".join(wrap(command.text, _WIDTH)),
        _examples(command),
        _commands(command),
        _block("Flags:", map(_flag, command.flags)),
        "" if children(command) else _exits(command.exits or _OTHER_EXITS),
        _footer(command),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def options_text() -> str:
    """The flags that every command takes, ended by a line feed (`rawkube options`)."""
    blocks = [
        _block("Every command takes these flags:", map(_flag, _effective(GLOBAL_FLAGS))),
        _block(
            "These flags of kubectl are accepted and have no effect:",
            [f"  {_name(flag)}" for flag in GLOBAL_FLAGS if flag.ignored],
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def _effective(flags: Iterable[Flag]) -> list[Flag]:
    return [flag for flag in flags if not flag.ignored]


def _usage(command: Command) -> str:
    if children(command):
        return f"{command.path} COMMAND [flags]"
    words = (command.path, "[flags]", command.arguments)
    return " ".join(filter(None, words))


def _examples(command: Command) -> str:
    lines: list[str] = []
    for what, line in command.examples:
        lines += [f"  # {what}", f"  {PROGRAM} {line}"]
    return _block("Examples:", lines)


def _commands(command: Command) -> str:
    blocks = [
        _block(f"{title}:", (f"  {each.words[-1]:<13} {each.summary}" for each in below))
        for title, below in groups(command).items()
    ]
    return "\n\n".join(filter(None, blocks))


def _exits(exits: Sequence[tuple[str, str]]) -> str:
    return _block("Exit codes:", (f"  {code}  {meaning}" for code, meaning in exits))


def _footer(command: Command) -> str:
    lines = [f"`{PROGRAM} options` lists the flags that every command takes."]
    if children(command):
        lines.insert(0, f"`{command.path} COMMAND --help` says more about a command.")
    return "\n".join(lines)


def _block(title: str, lines: Iterable[str]) -> str:
    """A title and its lines; nothing where there are no lines."""
    body = "\n".join(lines)
    return f"{title}\n{body}" if body else ""


def _flag(flag: Flag) -> str:
    """One flag: its names, what it does, its default, in two columns."""
    name = f"  {_name(flag)}"
    shown = _default(flag)
    text = f"{flag.help} [default: {shown}]" if shown else flag.help
    first, *more = wrap(text, _WIDTH - _COLUMN)
    head = f"{name:<{_COLUMN}}{first}" if len(name) < _COLUMN - 1 else f"{name}\n{'':<{_COLUMN}}{first}"
    return "\n".join((head, *(f"{'':<{_COLUMN}}{line}" for line in more)))


def _name(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    value = f"[={flag.metavar}]" if flag.bare else f" {flag.metavar}" if flag.metavar else ""
    return f"{short}--{flag.name}{value}"


def _default(flag: Flag) -> str:
    """A default as it would be typed; empty where a flag has none."""
    if flag.shown or flag.default in ("", None, ()):
        return flag.shown
    if flag.kind == "bool":
        return str(flag.default).lower()
    if flag.kind == "duration":
        return format_duration(flag.default)
    return str(flag.default)
