"""`python -m rawkube`, and the console script `rawkube`."""

from __future__ import annotations

import os
import signal
import sys

from rawkube._typing import NoReturn

# First of all: Ctrl-C during the imports below ends the process as it ends a compiled one, without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run() -> None:
    """Run the command line of this process and exit with its code."""
    import gc

    # Tens of thousands of objects are made before the first request, and hardly any of them is garbage.
    gc.set_threshold(20_000, 20, 50)
    from rawkube.cli.main import main

    _leave(main(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """Exit without taking the interpreter apart, which takes as long as two round trips to a server next door.

    Commands close what they have opened, and wait for the threads that matter.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or never open; the command has said what it had to say
            pass
    os._exit(code)


if __name__ == "__main__":
    run()
