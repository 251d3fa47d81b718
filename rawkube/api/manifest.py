"""Manifests: what `-f` names, as objects. `objects_of` is pure (bytes → objects); `read_manifests` walks the files.

YAML is read with kubectl's scalar rules, several documents separated by `---`; JSON as one value after the other.
Lists are taken apart. Paths, order and texts are those of cli-runtime's `resource.Builder` (kubectl 1.37), but for
three things: a line number counts from the start of the file; an error never shows the content of an object, which
may be a Secret; a URL is not fetched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.api.objects import Object, metadata_of
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig import files
from rawkube.kubeconfig.document import DocumentError, parse

Value = Any  # what JSON can hold

EXTENSIONS = (".json", ".yaml", ".yml")
"""What a file in a directory must end with to be read; a file that is named itself may be called anything."""
STDIN = "-"
"""The name that means standard input."""
PIPE_WAIT = 600.0
"""Seconds that a named pipe (`-f <(command)`) may take until its end."""

_GO_STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


class Manifests(NamedTuple):
    """What was read: the objects, and the errors, in the order in which they stand in the files.

    A document that cannot be read does not hide the others. `found` holds both, one after the other.
    """

    found: list[Object | UsageError]

    @property
    def objects(self) -> list[Object]:
        """The objects alone."""
        return [one for one in self.found if not isinstance(one, UsageError)]

    @property
    def errors(self) -> list[UsageError]:
        """The errors alone."""
        return [one for one in self.found if isinstance(one, UsageError)]


# Files.


def read_manifests(
    names: Sequence[str], *, recursive: bool = False, stdin: Callable[[], bytes] | None = None
) -> Manifests:
    """Read what `-f` names: files, directories, patterns of file names, `-`.

    `recursive`: directories below directories too. `stdin()` gives the whole standard input; None: there is none to
    read. When a name leads to no file at all nothing is read, and only such errors are found. What is read lies in
    memory whole, at most 16 MiB a file.
    """
    paths: list[str] = []
    errors: list[UsageError] = []
    for name in names:
        try:
            paths += _paths(name, recursive, is_first=not paths and not errors)
        except UsageError as error:
            errors.append(error)
    if errors:
        return Manifests([*errors])
    return Manifests([one for path in paths for one in _read(path, stdin)])


def _paths(name: str, recursive: bool, *, is_first: bool) -> list[str]:
    if name == STDIN:
        return [name]
    if name.startswith(("http://", "https://")):
        raise UsageError(
            f"a manifest is not fetched from a URL: {go_quote(name)}",
            detail=["fetch it with another program, and pass it by a pipe: -f -"],
        )
    found = [path for match in _matches(name) for path in _walk(match, recursive)]
    if not found and is_first:
        raise UsageError(f"error reading [{one_line(name)}]: recognized file extensions are [{' '.join(EXTENSIONS)}]")
    return found


def _matches(name: str) -> list[str]:
    """The file itself, else what matches its name as a pattern."""
    try:
        os.stat(name)  # noqa: PTH116 - the name stays as it was typed, as messages repeat it
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "invalid argument"
        problem = f"stat {one_line(name)}: {str(reason).lower()}"
        raise UsageError(f"the path {go_quote(name)} cannot be accessed: {problem}") from None
    else:
        return [name]
    if _is_bad_pattern(name):
        raise UsageError(f"pattern {go_quote(name)} is not valid: syntax error in pattern")
    from glob import glob

    # Go writes the complement of a set [^…].
    matches = sorted(glob(name.replace("[^", "[!"), include_hidden=True))  # noqa: PTH207
    if not matches:
        raise UsageError(f"the path {go_quote(name)} does not exist")
    return matches


def _is_bad_pattern(name: str) -> bool:
    """Whether a `[` is never closed, which Go's filepath.Match takes for an error."""
    return bool(re.search(r"\[(?!\^?[^\]]+\])", name))


def _walk(path: str, recursive: bool) -> Iterator[str]:
    """The files of a directory in lexical order, those of directories in it at their place; a file as it is."""
    if not os.path.isdir(path):  # noqa: PTH112
        yield path
        return
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"open {one_line(path)}: {str(error.strerror).lower()}") from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if recursive:
                yield from _walk(entry.path, recursive)
        elif entry.name.endswith(EXTENSIONS):
            yield entry.path


def _read(path: str, stdin: Callable[[], bytes] | None) -> list[Object | UsageError]:
    if path == STDIN:
        return objects_of(stdin() if stdin is not None else b"", "STDIN")
    try:
        data = files.read(path, wait=PIPE_WAIT)
    except files.Unreadable as error:
        return [UsageError(str(error))]
    return objects_of(data, path)


# Documents.


def objects_of(data: bytes, source: str) -> list[Object | UsageError]:
    """The objects in a file, lists taken apart, and the errors, in their order. Pure.

    `source`: the name of the file, for errors. A document that is no object is passed over with an error; after
    text that is neither YAML nor JSON nothing more is found.
    """
    found: list[Object | UsageError] = []
    try:
        for document in _documents(data.decode("utf-8-sig")):
            if document is not None:
                found += _flattened(document, source)
    except UnicodeDecodeError as error:
        found.append(UsageError(f"error parsing {one_line(source)}: not UTF-8 text (byte {error.start})"))
    except _Unparsable as error:
        found.append(UsageError(f"error parsing {one_line(source)}: {error}"))
    return found


class _Unparsable(Exception):
    """Text that is no document; nothing after it can be trusted."""


# A line that begins with three dashes and a space ends a document, whatever it stands in (YAML 1.2, 9.1.2).
_MARK = re.compile(r"^---(?=[ \t\r\n]|\Z)[^\n]*\n?", re.MULTILINE)
_EMPTY = re.compile(r"(?:(?:\.\.\.)?[ \t\r]*(?:#[^\n]*)?\n)*(?:\.\.\.)?[ \t\r]*(?:#[^\n]*)?")
_BRACE = re.compile(r"[ \t\r\n]*(?=\{)")


def _documents(text: str) -> Iterator[Value]:
    """The values of each document: JSON values while they last, then what is left as YAML."""
    for begin, end in _pieces(text):
        piece = text[begin:end]
        at = 0
        while brace := _BRACE.match(piece, at):
            try:
                value, at = json.JSONDecoder().raw_decode(piece, brace.end())
            except (ValueError, RecursionError):
                break
            yield value
        if not _EMPTY.fullmatch(piece, at):
            yield _from_yaml(piece[at:], text.count("\n", 0, begin + at))


def _from_yaml(piece: str, lines_before: int) -> Value:
    try:
        return parse(piece).value
    except DocumentError as error:
        where = f"line {error.line + lines_before}: " if error.line else ""
        raise _Unparsable(f"error converting YAML to JSON: yaml: {where}{error}") from None


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where each document begins and ends, the lines with dashes left out."""
    start = 0
    for mark in _MARK.finditer(text):
        yield start, mark.start()
        rest = mark[0][3:].strip()
        if rest and not rest.startswith("#"):
            raise _Unparsable(f"invalid Yaml document separator: {one_line(rest[:40])}")
        start = mark.end()
    yield start, len(text)


# Objects.


def _flattened(document: Value, source: str) -> Iterator[Object | UsageError]:
    problem = _why_no_object(document)
    if problem:
        yield UsageError(f"unable to decode {go_quote(source)}: {problem}")
    elif "items" not in document:
        yield document
    else:
        yield from _items(document)


def _items(listing: Object) -> Iterator[Object | UsageError]:
    """The items of a list. Those of a `PodList` need not say that they are Pods; those of a `List` must."""
    items = listing["items"]
    kind = str(listing["kind"]).removesuffix("List")
    for item in items if isinstance(items, list) else []:
        if kind and isinstance(item, dict) and not item.get("kind") and not item.get("apiVersion"):
            item.update(kind=kind, apiVersion=listing["apiVersion"])
        problem = _why_no_object(item)
        if problem:
            yield UsageError(problem)
            return
        yield from _items(item) if "items" in item else (item,)


def _why_no_object(thing: Value) -> str:
    """Empty if `thing` is a Kubernetes object as far as its head tells, else apimachinery's complaint."""
    if not isinstance(thing, dict):
        into = f"Go value of type {_GO_STRUCT}"
        return f"couldn't get version/kind; json parse error: json: cannot unmarshal {_json_type(thing)} into {into}"
    for field in ("apiVersion", "kind"):
        if not isinstance(thing.get(field), str | None):
            what = f"{_json_type(thing[field])} into Go struct field .{field} of type string"
            return f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}"
    version = thing.get("apiVersion") or ""
    if not thing.get("kind"):
        return f"Object 'Kind' is missing in '{_outline(thing)}'"
    if not version:
        return f"Object 'apiVersion' is missing in '{_outline(thing)}'"
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {one_line(version)}"
    return _why_no_metadata(thing.get("metadata"))


def _why_no_metadata(metadata: Value) -> str:
    if metadata is None:
        return ""
    if not isinstance(metadata, dict):
        what = f"{_json_type(metadata)} into Go struct field .metadata of type v1.ObjectMeta"
        return f"json: cannot unmarshal {what}"
    for field in ("name", "namespace"):
        if not isinstance(metadata.get(field), str | None):
            what = f"{_json_type(metadata[field])} into Go struct field ObjectMeta.metadata.{field} of type string"
            return f"json: cannot unmarshal {what}"
    return ""


def _json_type(value: Value) -> str:
    """What Go's decoder calls a value."""
    names: Iterable[tuple[type, str]] = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")


_SHOWN = ("apiVersion", "kind")


def _outline(thing: Object) -> str:
    """An object with its parts left out: `{"apiVersion":"v1","data":…}`."""
    shown = (f"{json.dumps(key)}:{json.dumps(thing[key]) if key in _SHOWN else '…'}" for key in sorted(thing))
    return one_line("{" + ",".join(shown) + "}")


def namespace_of(thing: Object, default: str, *, given: bool = False) -> str:
    """The namespace of an object from a manifest: its own, else `default`.

    `given`: the command line names `default` (`-n`); then an object of another one is a UsageError.
    """
    own = str(metadata_of(thing).get("namespace") or "")
    if given and own and own != default:
        raise UsageError(
            f"the namespace from the provided object {go_quote(own)} does not match the namespace "
            f"{go_quote(default)}. You must pass '--namespace={one_line(own)}' to perform this operation."
        )
    return own or default
