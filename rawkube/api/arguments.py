"""kubectl's grammar of resource arguments. Pure: strings in, plain data or a UsageError out.

    TYPE                    every object of the type            TYPE1,TYPE2    of several types
    TYPE NAME…              some objects of the type            TYPE1,TYPE2 NAME…   every pair, type by type
    TYPE/NAME…              objects of any types                CATEGORY           every object of each member

What a TYPE means is not decided here (see `rawkube.api.mapper`). The order of the checks and the texts are those of
k8s.io/cli-runtime (`resource.Builder`), kubectl 1.37.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rawkube._typing import NamedTuple
from rawkube.errors import UsageError
from rawkube.gotext import go_quote


class Wanted(NamedTuple):
    """One thing that the arguments ask for: the type as typed, and a name (empty: all of the type)."""

    type: str
    name: str = ""


class EmptyName(UsageError):
    """A name is empty (`TYPE ""`). `type`: the type as typed, for a mapper: that it is unknown is said first."""

    def __init__(self, kind: str) -> None:
        super().__init__("resource name may not be empty")
        self.type = kind


def split_types(word: str) -> list[str]:
    """The types of `TYPE1,TYPE2`, each once, in order. Empty parts stay (they are unknown types later)."""
    return list(dict.fromkeys(word.split(",")))


def _no_members(word: str) -> Sequence[str]:
    return ()


def parse_arguments(
    args: Sequence[str],
    *,
    selector: str = "",
    program: str = "rawkube",
    expand: Callable[[str], Sequence[str]] = _no_members,
) -> list[Wanted]:
    """What positional arguments ask for, in the order in which it is to be done; duplicates stay.

    `selector`: the value of `-l` or `--field-selector` as typed; white space alone is no selector. `program`: the
    name of the command in an error's example. `expand`: the members of a category, as types; empty for a word that
    is none. Categories are looked for among the types of the first argument, unless these stand in pairs with names
    (`all/a`, `all,pods a`). A comma in a NAME is literal. Raises UsageError, and what `expand` raises.
    """
    if not args:
        raise UsageError("required resource not specified")
    words = _pairs_of_types_and_names(args)
    slashes = sum("/" in word for word in words)
    if slashes not in (0, len(words)):
        raise UsageError(_mixed(program))
    wanted = [_split_pair(word) for word in words] if slashes else _type_and_names(words, selector, expand)
    if selector.strip():
        _check_selector(named=len(words) > 1, pairs=bool(slashes))
    return wanted


def _pairs_of_types_and_names(args: Sequence[str]) -> list[str]:
    """`a,b x y` → `a/x a/y b/x b/y`; anything else as it is."""
    types = split_types(args[0])
    if len(args) < 2 or len(types) < 2:
        return list(args)
    return [f"{kind}/{name}" for kind in types for name in args[1:]]


def _mixed(program: str) -> str:
    # The closing parenthesis is missing in kubectl's text too.
    return (
        "there is no need to specify a resource type as a separate argument when passing arguments in "
        f"resource/name form (e.g. '{program} get resource/<resource_name>' instead of "
        f"'{program} get resource resource/<resource_name>'"
    )


def _split_pair(word: str) -> Wanted:
    kind, _, name = word.partition("/")
    if "/" in name:
        raise UsageError("arguments in resource/name form may not have more than one slash")
    if not kind or not name or len(split_types(kind)) != 1:
        raise UsageError("arguments in resource/name form must have a single resource and name")
    return Wanted(kind, name)


def _type_and_names(words: Sequence[str], selector: str, expand: Callable[[str], Sequence[str]]) -> list[Wanted]:
    types = split_types(",".join(",".join(expand(word)) or word for word in words[0].split(",")))
    if len(words) == 1:
        return [Wanted(kind) for kind in types]
    if len(types) > 1 and not selector.strip():
        raise UsageError("you must specify only one resource")
    if not all(words[1:]) and not selector.strip():
        raise EmptyName(types[0])
    return [Wanted(types[0], name) for name in words[1:]]


def _check_selector(*, named: bool, pairs: bool) -> None:
    if pairs:
        raise UsageError("selectors and the all flag cannot be used when passing resource/name arguments")
    if named:
        raise UsageError("name cannot be provided when a selector is specified")


def check_across_namespaces(wanted: Iterable[tuple[bool, str]]) -> None:
    """What `-A` rules out: the name of an object in a namespace. `wanted`: (whether it is namespaced, name)."""
    if any(namespaced and name for namespaced, name in wanted):
        raise UsageError("a resource cannot be retrieved by name across all namespaces")


def check_name(name: str) -> None:
    """Raises UsageError if `name` cannot be one segment of a path (apimachinery `IsValidPathSegmentName`).

    Other names, however odd, are the server's to judge; they are percent-encoded in the path.
    """
    if not name:
        raise UsageError("resource name may not be empty")
    if name in (".", ".."):
        problems = [f"may not be '{name}'"]
    else:
        problems = [f"may not contain '{char}'" for char in "/%" if char in name]
    if problems:
        raise UsageError(f"invalid resource name {go_quote(name)}: [{' '.join(problems)}]")
