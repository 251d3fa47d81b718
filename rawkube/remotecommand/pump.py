"""File descriptors of this process, written without ever waiting in the call itself; and signals as one of them.

A loop that waits for several things must not be held up by one of them: a terminal that is stopped, a pipe whose
reader sleeps. But the descriptors of stdin and stdout are shared with other processes, so they must not be made
non-blocking: the shell would find its terminal changed.
"""

from __future__ import annotations

import os
import select
import signal
import stat
from collections import deque
from itertools import islice
from types import TracebackType

from rawkube._threads import in_main_thread

_PIPE = 4096
"""How much a writable pipe takes at least (POSIX: PIPE_BUF is 512 or more; 4096 on Linux and macOS)."""


PIECES = 64
"""How many pieces are written at once, without joining them, at most (POSIX: IOV_MAX is 16 or more; Linux: 1024)."""


class Writer:
    """Writes to a descriptor what it takes now, and keeps the rest.

    `fileno()` is what to wait on for writing while `waiting` is true. Raises BrokenPipeError when the reader has gone,
    OSError for other failures (a full disk).
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._own = _reopened(descriptor)
        self._regular = _is_regular(descriptor)
        self._queue: deque[memoryview] = deque()

    @property
    def waiting(self) -> bool:
        """Whether something is left that was not taken yet."""
        return bool(self._queue)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._own if self._own >= 0 else self._descriptor

    def write(self, *pieces: bytes) -> None:
        """Write what is taken now; the rest waits for flush()."""
        waited = self.waiting
        self._queue.extend(memoryview(piece) for piece in pieces if piece)
        if not waited:
            self.flush()

    def flush(self) -> None:
        """Write what is taken now of what has waited."""
        while self._queue and (taken := self._write_some()):
            while taken:
                first = self._queue.popleft()
                if taken < len(first):
                    self._queue.appendleft(first[taken:])
                taken -= min(taken, len(first))

    def _write_some(self) -> int:
        """How much of the first pieces was taken."""
        first = self._queue[0]
        try:
            if not self._regular and self._own < 0:
                return os.write(self._descriptor, first[:_PIPE]) if is_ready(self._descriptor, write=True) else 0
            descriptor = self._descriptor if self._regular else self._own
            if len(self._queue) == 1 or not hasattr(os, "writev"):
                return os.write(descriptor, first)
            return os.writev(descriptor, list(islice(self._queue, PIECES)))
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """Close what this object has opened itself; the descriptor stays as it is."""
        own, self._own = self._own, -1
        if own >= 0:
            os.close(own)


class Wakeup:
    """Readable when a signal has come, for a loop that waits on descriptors.

    Python runs a handler between two instructions; a signal that comes just before the loop begins to wait would go
    unseen until the wait is over. A context manager; outside the main thread, where no handler runs, `fileno()` is -1.
    """

    def __init__(self) -> None:
        self._reader = self._writer = -1

    def __enter__(self) -> None:
        if in_main_thread():
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._reader, False)
            os.set_blocking(self._writer, False)
            self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def fileno(self) -> int:
        """The descriptor to wait on for reading."""
        return self._reader

    def drain(self) -> None:
        """Make it wait for the next signal."""
        try:
            if self._reader >= 0:
                os.read(self._reader, 4096)
        except BlockingIOError:
            pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reader >= 0:
            signal.set_wakeup_fd(self._before)
            os.close(self._reader)
            os.close(self._writer)
            self._reader = self._writer = -1


def _is_regular(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _reopened(descriptor: int) -> int:
    """A non-blocking description of its own for the same pipe or terminal, -1 where the system gives none."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        pass
    return -1


def is_ready(descriptor: int, *, write: bool) -> bool:
    """Whether a descriptor can be read or written now (its end and its errors count as ready)."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT if write else select.POLLIN)
    return bool(poll.poll(0))
