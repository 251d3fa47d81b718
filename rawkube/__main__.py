"""`python -m rawkube`, and the console script `rawkube`."""

from __future__ import annotations

import signal
import sys

# First of all: Ctrl-C during the imports below ends the process as it ends a compiled one, without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run() -> None:
    """Run the command line of this process and exit with its code."""
    from rawkube.cli.main import main

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
