"""`rawkube version`."""

from __future__ import annotations

import json
import sys

from rawkube._version import __version__, platform
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import UsageError


def version(parsed: Parsed, out: Output) -> int:
    """Show the version of rawkube and of what it runs on, as text or as a JSON object."""
    form = parsed.values["output"]
    if form not in ("", "text", "json"):
        raise UsageError(f'--output must be "text" or "json", not "{form}"')
    python = ".".join(str(part) for part in sys.version_info[:3])
    if form == "json":
        facts = {"version": __version__, "python": python, "platform": platform()}
        out.write(json.dumps(facts, indent=2) + "\n")
    else:
        out.line(f"rawkube {__version__} (Python {python}, {platform()})")
    return 0
