"""What a command with one thread needs of threads: importing `threading` takes longer than reading a file."""

from __future__ import annotations

import sys
from _thread import allocate_lock

Lock = allocate_lock
"""As `threading.Lock`, which is this."""


def in_main_thread() -> bool:
    """Whether this is the thread that handles signals."""
    threading = sys.modules.get("threading")
    # Who has not imported it has started no thread.
    return threading is None or threading.current_thread() is threading.main_thread()
