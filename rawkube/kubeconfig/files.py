"""Reading a file that somebody named: bounded in size, and in time where it is a pipe or a device."""

from __future__ import annotations

import os
import stat

MAX_SIZE = 16 * 1024 * 1024
"""Bytes of a kubeconfig, certificate or token file; a larger one is a mistake."""
MAX_WAIT = 10.0
"""Seconds that a pipe may take until its end (`--kubeconfig <(command)`)."""

_PIECE = 1 << 20


class Unreadable(Exception):
    """Why a file cannot be read, in Go's words: `open F: no such file or directory`, `read F: is a
    directory`.

    `missing`: there is no such file.
    """

    def __init__(self, text: str, *, missing: bool = False) -> None:
        super().__init__(text)
        self.missing = missing


def _because(step: str, path: str, error: OSError | ValueError) -> Unreadable:
    if not isinstance(error, OSError):  # a path with NUL
        return Unreadable(f"{step} {_shown(path)}: invalid argument")
    reason = (error.strerror or error.__class__.__name__).lower()
    return Unreadable(f"{step} {_shown(path)}: {reason}", missing=isinstance(error, FileNotFoundError))


def _shown(path: str) -> str:
    from rawkube.gotext import one_line

    return one_line(path)


def _open(path: str) -> int:
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        # without O_NONBLOCK, opening a FIFO that nobody writes to would wait for ever
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except (OSError, ValueError) as error:
        raise _because("open", path, error) from None


def why_unreadable(path: str) -> str:
    """Empty if the file can be opened for reading, else the reason (`open F: permission denied`)."""
    try:
        os.close(_open(path))
    except Unreadable as error:
        return str(error)
    return ""


def read(path: str, *, limit: int = MAX_SIZE, wait: float = MAX_WAIT) -> bytes:
    """The whole content of `path`. A pipe or device may take `wait` seconds. Raises Unreadable."""
    descriptor = _open(path)
    try:
        pieces = _pieces(descriptor, limit, wait)
    except OSError as error:
        raise _because("read", path, error) from None
    finally:
        os.close(descriptor)
    data = b"".join(pieces)
    if len(data) > limit:
        raise Unreadable(f"read {_shown(path)}: larger than {limit >> 20} MiB")
    return data


def _pieces(descriptor: int, limit: int, wait: float) -> list[bytes]:
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    pieces: list[bytes] = []
    size = 0
    deadline = 0.0 if regular else _now() + wait
    while size <= limit:
        if not regular:
            _await(descriptor, deadline)
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            continue
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return pieces


def _now() -> float:
    from time import monotonic

    return monotonic()


def _await(descriptor: int, deadline: float) -> None:
    """Until there is something to read, or the end. A directory, which cannot be waited for, is not."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        return
    import select

    if hasattr(select, "poll"):
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        ready = bool(poller.poll(max(deadline - _now(), 0) * 1000))
    else:
        ready = bool(select.select([descriptor], [], [], max(deadline - _now(), 0))[0])
    if not ready:
        raise TimeoutError(0, "i/o timeout")
