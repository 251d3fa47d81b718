"""The version, and how the program names itself."""

from __future__ import annotations

import os
import sys

__version__ = "0.1.0"

# Go's names (GOARCH), which is what API servers' logs are full of.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm"}


def platform() -> str:
    """`OS/ARCH`, with Go's name of the architecture: `linux/amd64`."""
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}"


def user_agent() -> str:
    """The `User-Agent` header: `rawkube/VERSION (OS/ARCH)`."""
    return f"rawkube/{__version__} ({platform()})"
