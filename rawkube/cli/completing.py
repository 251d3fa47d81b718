"""Pure: what may stand where a command line is being typed: from the commands' tables, and what a server would know."""

from __future__ import annotations

from collections.abc import Sequence

from rawkube._typing import NamedTuple
from rawkube.api.builtin import RESOURCES, lookup
from rawkube.cli.command import Command
from rawkube.cli.commands import children, find_command
from rawkube.cli.flags import HELP, Flag, Parsed, find_flag, parse
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.errors import UsageError

FILES = ":files"
"""A last line instead of a candidate: the shell is to complete the name of a file."""

_FILE_FLAGS = frozenset(
    (
        "filename",
        "kubeconfig",
        "certificate-authority",
        "client-certificate",
        "client-key",
        "kuberc",
        "cache-dir",
        "diff",
    )
)
_IN_KUBECONFIG = {"context": "contexts", "cluster": "clusters", "user": "users"}
_ROLLED_OUT = ("daemonsets", "deployments", "statefulsets")
_BEHIND_PODS = (
    "daemonsets",
    "deployments",
    "jobs",
    "replicasets",
    "replicationcontrollers",
    "services",
    "statefulsets",
)


class Ask(NamedTuple):
    """What is not in the tables.

    `what`: `contexts`, `clusters`, `users` (of the kubeconfig), `objects` (names of a `type`), `containers` (of the pod
    `name`). Each name found stands between `before` and `after`.
    """

    what: str
    type: str = ""
    name: str = ""
    before: str = ""
    after: str = ""


class Plan(NamedTuple):
    """What may come: `words`, what is to be asked for, and whether a file's name may stand there.

    `parsed`: the flags so far, None where they cannot be read.
    """

    words: tuple[str, ...] = ()
    asks: tuple[Ask, ...] = ()
    files: bool = False
    parsed: Parsed | None = None


def plan(words: Sequence[str]) -> Plan:
    """What may stand for the last of `words` (those after the program's name; the last may be empty)."""
    *before, current = words or [""]
    try:
        command, rest = find_command(before)
    except UsageError:
        return Plan()
    if "--" in rest:
        return Plan()
    flags = (*command.flags, *GLOBAL_FLAGS, HELP)
    waiting = _waits_for_value(flags, rest[-1]) if rest else None
    parsed = _parsed(flags, rest[:-1] if waiting else rest, command)
    if waiting:
        return _value(waiting, "", parsed)
    if current.startswith("-"):
        name, equals, _ = current.partition("=")
        flag = find_flag(flags, name) if equals and name.startswith("--") else None
        if equals:
            return _value(flag, f"{name}=", parsed) if flag is not None else Plan()
        return Plan(tuple(_flag_words(flags)), parsed=parsed)
    below = children(command)
    if below:
        return Plan(tuple(each.words[-1] for each in below), parsed=parsed)
    return _positional(command, parsed, current)


def fitting(words: Sequence[str], current: str) -> list[str]:
    """Those that begin as what has been typed, each once, in order."""
    return [word for word in dict.fromkeys(words) if word.startswith(current)]


def _parsed(flags: Sequence[Flag], rest: Sequence[str], command: Command) -> Parsed | None:
    try:
        return parse([flag for flag in flags if flag is not HELP], rest, command=command.path)
    except UsageError:
        return None


def _takes_value(flag: Flag) -> bool:
    return flag.kind != "bool" and not getattr(flag, "bare", "")


def _waits_for_value(flags: Sequence[Flag], word: str) -> Flag | None:
    """The flag whose value the next word is: of `--output`, `-o`, the last letter of `-wo`."""
    if "=" in word or len(word) < 2 or word[0] != "-":
        return None
    if not word.startswith("--"):
        for letter in word[1:-1]:
            flag = find_flag(flags, f"-{letter}")
            if flag is None or _takes_value(flag):
                return None
        word = f"-{word[-1]}"
    flag = find_flag(flags, word)
    return flag if flag is not None and _takes_value(flag) else None


def _flag_words(flags: Sequence[Flag]) -> list[str]:
    shown = (flag for flag in flags if not flag.ignored)
    return [f"--{flag.name}=" if _takes_value(flag) else f"--{flag.name}" for flag in shown]


def _value(flag: Flag, before: str, parsed: Parsed | None) -> Plan:
    """What may be a flag's value; `before`: what stands before it in the same word (`--output=`)."""
    if flag.name in _FILE_FLAGS:
        return Plan(files=True, parsed=parsed)
    if flag.name in _IN_KUBECONFIG:
        return Plan(asks=(Ask(_IN_KUBECONFIG[flag.name], before=before),), parsed=parsed)
    if flag.name == "namespace":
        return Plan(asks=(Ask("objects", "namespaces", before=before),), parsed=parsed)
    if flag.name == "container":
        pod = parsed.args[0].removeprefix("pod/").removeprefix("pods/") if parsed and parsed.args else ""
        asks = (Ask("containers", name=pod, before=before),) if pod and "/" not in pod else ()
        return Plan(asks=asks, parsed=parsed)
    choices = ("true", "false") if flag.kind == "bool" else _choices(flag.metavar)
    return Plan(tuple(before + choice for choice in choices), parsed=parsed)


def _choices(text: str) -> list[str]:
    """The words of `json|yaml|jsonpath=…`; those in capitals stand for something else."""
    words = [word.strip("()[] ") for word in text.split("|")]
    plain = [word.partition("=")[0] + "=" if "=" in word else word for word in words]
    return [word for word in plain if word and word == word.lower() and " " not in word] if _is_choice(words) else []


def _is_choice(words: Sequence[str]) -> bool:
    return len(words) > 1 or words[0] in ("json", "yaml", "name", "wide")


def _positional(command: Command, parsed: Parsed | None, current: str) -> Plan:
    args = parsed.args if parsed is not None else []
    shape = command.arguments
    if "POD:" in shape:
        if ":" in current:
            return Plan(parsed=parsed)  # a path in the container
        return Plan(asks=(Ask("objects", "pods", after=":"),), files=True, parsed=parsed)
    if "POD" in shape:
        return _pods(command, args, current, parsed)
    if "TYPE" in shape:
        return _typed(command, args, current, parsed)
    if "COMMAND" in shape and command.words == ("help",):
        try:
            below = children(find_command(args)[0])
        except UsageError:
            below = ()
        return Plan(tuple(each.words[-1] for each in below), parsed=parsed)
    if "FILE" in shape:
        return Plan(files=not args, parsed=parsed)
    return Plan(() if args else tuple(_choices(shape)), parsed=parsed)


def _pods(command: Command, args: Sequence[str], current: str, parsed: Parsed | None) -> Plan:
    """A pod, or TYPE/NAME of what pods stand behind; then, for a log, a container."""
    if args:
        pod = args[0].removeprefix("pod/").removeprefix("pods/")
        asks = (
            (Ask("containers", name=pod),) if command.words == ("logs",) and len(args) == 1 and "/" not in pod else ()
        )
        return Plan(asks=asks, parsed=parsed)
    if "/" in current:
        return Plan(asks=_named(current), parsed=parsed)
    kinds = tuple(f"{lookup_singular(plural)}/" for plural in _BEHIND_PODS) if current else ()
    return Plan(kinds, (Ask("objects", "pods"),), parsed=parsed)


def _typed(command: Command, args: Sequence[str], current: str, parsed: Parsed | None) -> Plan:
    """A TYPE, or a TYPE/NAME; then the names of that TYPE."""
    if "/" in current:
        return Plan(asks=_named(current), parsed=parsed)
    if not args:
        plurals = _ROLLED_OUT if command.words[0] == "rollout" else tuple(each.plural for each in RESOURCES)
        return Plan(tuple(sorted(plurals)), parsed=parsed)
    if "/" in args[0] or "," in args[0]:
        return Plan(parsed=parsed)
    return Plan(asks=(Ask("objects", args[0]),), parsed=parsed)


def _named(current: str) -> tuple[Ask, ...]:
    kind = current.partition("/")[0]
    return (Ask("objects", kind, before=f"{kind}/"),)


def lookup_singular(plural: str) -> str:
    """`deployment` of `deployments`."""
    found = lookup(plural)
    return found.singular if found is not None else plural
