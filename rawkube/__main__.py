"""`python -m rawkube`, and the console script `rawkube`."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line of this process and exit with its code."""
    from rawkube.cli.main import main

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
