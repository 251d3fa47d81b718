"""Where a command is, as Go's os/exec finds it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from rawkube.gotext import go_quote, one_line

_path = os.path  # pathlib imports urllib, which every start of a command would pay for


class NotFound(Exception):
    """Why there is no such command; the text is Go's (`exec: "x": executable file not found in $PATH`)."""


def has_separator(command: str) -> bool:
    """Whether a command names a file, and is not looked for in PATH."""
    return os.sep in command or bool(os.altsep and os.altsep in command)


def cleaned(command: str) -> str:
    """The command as client-go has it: a path without `.`, `..` and double separators; a bare name as it is."""
    if not has_separator(command):
        return command
    path = _path.normpath(command)
    return path[1:] if path.startswith("//") else path  # POSIX keeps two, Go does not


def look_path(command: str, environ: Mapping[str, str]) -> str:
    """The file that a command is: itself if it is a path, else from PATH. Raises NotFound.

    As in Go, what PATH finds below the current directory is refused.
    """
    if has_separator(command):
        problem = _problem(command)
        if problem:
            raise NotFound(f"exec: {go_quote(command)}: {problem}")
        return command
    for folder in environ.get("PATH", "").split(os.pathsep):
        for name in _candidates(command, environ):
            path = _path.join(folder, name)
            if _problem(path):
                continue
            if not _path.isabs(path):
                text = "cannot run executable found relative to current directory"
                raise NotFound(f"exec: {go_quote(command)}: {text}")
            return path
    raise NotFound(f"exec: {go_quote(command)}: executable file not found in $PATH")


def _candidates(command: str, environ: Mapping[str, str]) -> list[str]:
    if os.name != "nt":
        return [command]
    extensions = environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(";")
    named = any(command.lower().endswith(extension) for extension in extensions if extension)
    return [command] if named else [command + extension for extension in extensions]


def _problem(path: str) -> str:
    """Why a file cannot be executed; empty if it can."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError as error:
        return f"stat {one_line(path)}: {(error.strerror or '').lower()}"
    except ValueError:  # NUL
        return "invalid argument"
    if stat.S_ISDIR(mode):
        return os.strerror(errno.EISDIR).lower()
    return "" if os.access(path, os.X_OK) else os.strerror(errno.EACCES).lower()
