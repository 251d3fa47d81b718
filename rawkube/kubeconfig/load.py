"""Find, read and merge kubeconfig files; each entry remembers the file and the lines that it came from.

As kubectl 1.37 does it: `--kubeconfig` names exactly one file; else `$KUBECONFIG` is a list; else
`~/.kube/config`. Of several files, the first that has an entry (a cluster, user or context of a name) has
the whole of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rawkube._typing import Any, NamedTuple
from rawkube.errors import ConfigError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.document import Document, DocumentError, parse
from rawkube.kubeconfig.files import Unreadable, read
from rawkube.kubeconfig.schema import SchemaError, check, shown_path
from rawkube.kubeconfig.text import place

_path = os.path  # pathlib imports urllib, which every start of a command would pay for

SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}
"""The lists of named entries, and the key of each entry's body."""


class Entry:
    """One named cluster, user or context.

    `value`: its body as it stands in the file (a `null` or absent body is empty); `file`: the file's name as
    it was found; `base`: the absolute folder that relative paths in it start from.
    """

    __slots__ = ("_document", "_path", "base", "file", "name", "value")

    def __init__(self, name: str, value: dict[str, Any], file: File, path: tuple[str | int, ...]) -> None:
        self.name = name
        self.value = value
        self.file = file.name
        self.base = file.base
        self._document = file.document
        self._path = path

    def line(self, field: str = "") -> int:
        """The line of a field of the body, from 1; without a field, or if the body has none such, of the
        entry."""
        section = str(self._path[0])
        path = (*self._path, SECTIONS[section], field) if field else self._path
        return self._document.line(path)

    def shown(self, field: str = "") -> str:
        """`users[dev].user.token`: the place of a field, for a person."""
        section = str(self._path[0])
        return f"{section}[{one_line(self.name)}]" + (f".{SECTIONS[section]}.{field}" if field else "")

    def place(self, field: str = "") -> str:
        """`FILE:LINE` of a field of the body, or of the entry."""
        return place(self.file, self.line(field))

    def path(self, field: str) -> str:
        """The file that a field names, absolute: a relative name starts at the folder of this kubeconfig.

        Joined by its text alone (no symbolic link is followed, `~` is no home), as client-go does. Empty if
        absent.
        """
        text = self.value.get(field) or ""
        return _path.normpath(_path.join(self.base, text)) if text and not _path.isabs(text) else text


class File(NamedTuple):
    """A file that was read."""

    name: str
    base: str
    document: Document


class Config:
    """What all files together say.

    `clusters`, `users`, `contexts`: entries by name. `current_context`: name, empty without one;
    `current_context_at`: (file, line) that it came from. `files`: names of the files that were read;
    `missing`: of those that do not exist; `explicit`: whether one file was asked for by name. `shadowed`: entries
    that stand behind one of the same name; `extensions` and `preferences`: as in the files, merged.
    """

    __slots__ = (
        "clusters",
        "contexts",
        "current_context",
        "current_context_at",
        "explicit",
        "extensions",
        "files",
        "missing",
        "preferences",
        "shadowed",
        "users",
    )

    def __init__(self) -> None:
        self.clusters: dict[str, Entry] = {}
        self.users: dict[str, Entry] = {}
        self.contexts: dict[str, Entry] = {}
        self.current_context = ""
        self.current_context_at = ("", 0)
        self.files: tuple[str, ...] = ()
        self.missing: tuple[str, ...] = ()
        self.explicit = False
        self.shadowed: list[Entry] = []
        self.extensions: dict[str, Any] = {}
        self.preferences: dict[str, Any] = {}

    @property
    def empty(self) -> bool:
        """Whether no file says anything."""
        return not (self.clusters or self.users or self.contexts or self.current_context)

    def add(self, file: File) -> None:
        """Merges a further file: what is there already stays."""
        self.files += (file.name,)
        value = file.document.value or {}
        for section, body in SECTIONS.items():
            entries: dict[str, Entry] = getattr(self, section)
            for index, item in enumerate(value.get(section) or ()):
                name = (item or {}).get("name") or ""
                entry = Entry(name, (item or {}).get(body) or {}, file, (section, index))
                if entries.setdefault(name, entry) is not entry:
                    self.shadowed.append(entry)
        if not self.current_context and value.get("current-context"):
            self.current_context = value["current-context"]
            self.current_context_at = (file.name, file.document.line(("current-context",)))
        _merge_extensions(self.extensions, value)
        preferences = value.get("preferences") or {}
        if preferences.get("colors"):
            self.preferences["colors"] = True
        if preferences.get("extensions"):
            _merge_extensions(self.preferences.setdefault("extensions", {}), preferences)


def _merge_extensions(into: dict[str, Any], value: Mapping[str, Any]) -> None:
    for item in value.get("extensions") or ():
        into.setdefault((item or {}).get("name") or "", (item or {}).get("extension"))


def home_directory(environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> str:
    """The home folder as client-go finds it: `$HOME`, on Windows the first candidate that holds a
    kubeconfig, or exists."""
    if not windows:
        return environ.get("HOME", "")
    drive, rest = environ.get("HOMEDRIVE", ""), environ.get("HOMEPATH", "")
    home, profile, joined = environ.get("HOME", ""), environ.get("USERPROFILE", ""), drive + rest
    joined = joined if drive and rest else ""
    for candidate in (home, joined, profile):
        if candidate and _path.exists(_path.join(candidate, ".kube", "config")):
            return candidate
    candidates = [c for c in (home, profile, joined) if c]
    tests = (lambda c: _path.isdir(c) and os.access(c, os.W_OK), _path.exists, bool)
    return next((c for test in tests for c in candidates if test(c)), "")


def search(explicit: str, environ: Mapping[str, str], home: str | None = None) -> list[str]:
    """The files that are looked for, in order. `home`: the home folder, None to find it from `environ`."""
    if explicit:
        return [explicit]
    listed = environ.get("KUBECONFIG", "")
    if listed:
        return list(dict.fromkeys(name for name in listed.split(os.pathsep) if name))
    folder = home_directory(environ) if home is None else home
    return [_path.join(folder, ".kube", "config")]


def load(explicit: str = "", *, environ: Mapping[str, str], home: str | None = None) -> Config:
    """Every kubeconfig that `explicit` (`--kubeconfig`), `$KUBECONFIG` or the home folder names, as one.

    A file that does not exist is passed over (`Config.missing`), unless it is the explicit one. Raises
    ConfigError for each file that cannot be read or is no kubeconfig, once all have been tried.
    """
    config = Config()
    config.explicit = bool(explicit)
    failures: list[ConfigError] = []
    for name in search(explicit, environ, home):
        try:
            config.add(read_file(name))
        except FileNotFoundError:
            config.missing += (name,)
        except ConfigError as error:
            failures.append(error)
    if explicit and config.missing:
        raise ConfigError(f"stat {one_line(explicit)}: no such file or directory")
    if failures:
        raise _all(failures)
    return config


def _all(failures: list[ConfigError]) -> ConfigError:
    if len(failures) == 1:
        return failures[0]
    problems = [str(failure) for failure in failures]
    detail = [line for failure in failures for line in failure.detail]
    return ConfigError(f"[{', '.join(problems)}]", problems=problems, detail=detail)


def read_file(name: str) -> File:
    """One kubeconfig file. Raises FileNotFoundError if there is none, ConfigError if it is not one."""
    try:
        data = read(name)
    except Unreadable as error:
        if error.missing:
            raise FileNotFoundError(str(error)) from None
        raise _failure(name, str(error)) from None
    return read_data(name, data)


def read_data(name: str, data: bytes) -> File:
    """What `read_file` makes of a file that holds `data`. Raises ConfigError."""
    try:
        document = parse(text_of(data))
    except DocumentError as error:
        raise _failure(name, f"yaml: {place(name, error.line, error.column)}: {error}") from None
    try:
        check(document.value)
    except SchemaError as error:
        raise _schema_failure(name, document, error) from None
    return file_of(name, document)


def file_of(name: str, document: Document) -> File:
    """A file that holds that."""
    return File(name, _path.dirname(_path.abspath(name)), document)


def text_of(data: bytes) -> str:
    """UTF-8, or UTF-16 with a byte order mark (as PowerShell writes it): kubectl reads both. Raises DocumentError."""
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    data = data.removeprefix(b"\xef\xbb\xbf")  # as the codec utf-8-sig does, which would have to be imported
    try:
        return data.decode("utf-16" if utf16 else "utf-8")
    except UnicodeDecodeError as error:
        line = 0 if utf16 else data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"not {'UTF-16' if utf16 else 'UTF-8'} text", line) from None


def _failure(name: str, cause: str, detail: tuple[str, ...] = ()) -> ConfigError:
    return ConfigError(f"error loading config file {go_quote(name)}: {cause}", detail=detail)


def _schema_failure(name: str, document: Document, error: SchemaError) -> ConfigError:
    return _failure(name, str(error), (advice(name, document, error),))


def advice(name: str, document: Document, error: SchemaError) -> str:
    """`FILE:LINE: users[dev].user.token: must be a string`."""
    where = place(name, document.line(error.path))
    field = shown_path(document.value, error.path)
    said = f"{where}: {field}: {error.advice}" if field else f"{where}: {error.advice}"
    first = f" (the first one: {place(name, document.line(error.other))})" if error.other else ""
    return said + first
