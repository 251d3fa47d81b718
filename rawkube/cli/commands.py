"""Pure: which command a command line names, and its flags, read. The tables are in `rawkube.cli.tables`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from rawkube.cli.command import PROGRAM, Command
from rawkube.cli.flags import HELP, Flag, Parsed, find_flag, parse
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line

ROOT = Command(
    (),
    "Speak to a Kubernetes API server without kubectl",
    "rawkube does what some commands of kubectl do, with nothing but Python. It finds the API server as "
    "kubectl does: by flags, by $KUBECONFIG or ~/.kube/config, or by the account of the pod that it runs in.",
    examples=(
        (
            "Wait until a Deployment is rolled out, at most five minutes",
            "rollout status deployment/web --timeout=5m",
        ),
        ("All that can be said about a command", "rollout status --help"),
    ),
)

# The first word of each command, as the help groups them, and the table that it is in: only that one is loaded.
_GROUPS = {
    "Workloads and other objects": {"rollout": "rollout", "wait": "wait", "get": "resources", "watch": "resources"},
    "In containers": {"exec": "sessions", "attach": "sessions", "logs": "logs", "cp": "sessions"},
    "Types of resources": {"api-resources": "discovery", "explain-name": "discovery"},
    "The connection": {"config": "config", "auth": "config", "doctor": "wire"},
    "The wire": {"raw": "wire", "ws": "wire", "proxy": "proxy", "replay": "tools", "inspect": "inspect"},
    "rawkube itself": dict.fromkeys(("completion", "version", "options", "help"), "tools"),
}
_TABLES = {word: table for group in _GROUPS.values() for word, table in group.items()}
# What no help shows.
_HIDDEN = {"__complete": "tools"}
FIRST_WORDS = frozenset(_TABLES)
"""What a command line of rawkube may begin with."""


def all_commands() -> tuple[Command, ...]:
    """Every command, in the order of the help; a command stands before those below it."""
    return tuple(command for word in _TABLES for command in _family(word))


def _family(word: str) -> tuple[Command, ...]:
    """The command of that first word, and those below it; none where there is none."""
    found = _TABLES.get(word) or _HIDDEN.get(word)
    if found is None:
        return ()
    table: tuple[Command, ...] = import_module(f"rawkube.cli.tables.{found}").COMMANDS
    return tuple(command for command in table if command.words[0] == word)


def groups(command: Command) -> dict[str, tuple[Command, ...]]:
    """The commands directly below one, by the titles under which a help shows them."""
    below = children(command)
    if command.words:
        return {"Commands": below}
    return {title: tuple(each for each in below if each.words[0] in words) for title, words in _GROUPS.items()}


def children(command: Command) -> tuple[Command, ...]:
    """The commands directly below one."""
    depth = len(command.words)
    family = _family(command.words[0]) if command.words else all_commands()
    return tuple(each for each in family if len(each.words) == depth + 1 and each.words[:depth] == command.words)


def _child(command: Command, word: str) -> Command | None:
    words = (*command.words, word)
    return next((each for each in _family(words[0]) if each.words == words), None)


def read_command(argv: Sequence[str]) -> tuple[Command, Parsed]:
    """The command that a command line (without the program) names, and its flags and positionals, read.

    Where `values["help"]` is true, or the command has commands below it, its help is what was asked for.
    UsageError with kubectl's text for what cannot be read.
    """
    command, rest = find_command(argv)
    parsed = parse((*command.flags, *GLOBAL_FLAGS), rest, command=command.path)
    if parsed.args and not parsed.values["help"]:
        _check_positionals(command, parsed.args)
    return command, parsed


def _check_positionals(command: Command, args: Sequence[str]) -> None:
    if command.words and children(command):
        raise UsageError(f"unknown command {go_quote(' '.join(args))}\nSee '{command.path} -h' for help and examples")
    if not command.positionals:
        raise UsageError(f"extra arguments: [{one_line(' '.join(args))}]")


def find_command(argv: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that `argv` (without the program) names, and the words that are left for it.

    Flags may stand before and between the words of a command. A flag's value is told from a command as cobra
    does: a flag that is not boolean, or not known here, takes the next word. UsageError: no such command.
    """
    command, rest = ROOT, list(argv)
    while (at := _first_word(command, rest)) < len(rest):
        child = _child(command, rest[at])
        if child is None:
            break
        command = child
        del rest[at]
    if command is ROOT and at < len(rest):
        # A flag that is not known may have taken the command for its value.
        parse(GLOBAL_FLAGS, rest[:at], command=PROGRAM)
        raise _unknown_command(rest[at])
    return command, rest


def find_topic(words: Sequence[str]) -> Command:
    """The command whose help `help WORDS` asks for, as far as the words name one."""
    command = ROOT
    for word in words:
        child = _child(command, word)
        if child is None:
            break
        command = child
    if command is ROOT and any(words):
        raise UsageError(f"Unknown help topic {go_quote(' '.join(words))}\nSee '{PROGRAM} --help' for the commands.")
    return command


def _first_word(command: Command, words: Sequence[str]) -> int:
    """Where the first word that is no flag and no flag's value stands; the length where there is none."""
    flags = (*command.flags, *GLOBAL_FLAGS, HELP)
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            break
        if word and word[0] != "-":
            return at
        at += 2 if _takes_next(flags, word) else 1
    return len(words)


def _takes_next(flags: Sequence[Flag], word: str) -> bool:
    if "=" in word or not (word.startswith("--") or len(word) == 2):
        return False
    flag = find_flag(flags, word)
    return flag is None or not flag.alone


def _unknown_command(word: str) -> UsageError:
    """What cobra says, with the commands that the word may have meant."""
    text = f'unknown command {go_quote(word)} for "{PROGRAM}"'
    near = [name for name in sorted(FIRST_WORDS) if _is_near(word.lower(), name)]
    if near:
        text += "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in near)
    return UsageError(text)


def _is_near(word: str, name: str) -> bool:
    """At most two changes away (Levenshtein), or the start of the name (cobra: SuggestionsFor)."""
    return name.startswith(word) or (abs(len(word) - len(name)) <= 2 and _distance(word, name) <= 2)


def _distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]
