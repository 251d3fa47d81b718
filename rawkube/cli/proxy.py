"""`rawkube proxy [FLAGS] [-- COMMAND…]`: the resolved connection for other clients, which is recorded and traced."""

from __future__ import annotations

import os

from rawkube.cli.connection import client_for
from rawkube.cli.flags import Parsed
from rawkube.cli.observing import tap_for
from rawkube.cli.output import Output
from rawkube.cli.running import run_with
from rawkube.errors import UsageError

_PORTS = range(65536)
# What is recorded is what passes here; a rawkube that runs with it would write to the same files.
_OURS = ("RAWKUBE_RECORD", "RAWKUBE_TRACE")


def proxy(parsed: Parsed, out: Output) -> int:
    """`proxy`: serves until interrupted, or while the command behind `--` runs."""
    from rawkube.observe.proxy import ReverseProxy

    named = parsed.args if parsed.dash < 0 else parsed.args[: parsed.dash]
    command = [] if parsed.dash < 0 else parsed.args[parsed.dash :]
    if named:
        raise UsageError("proxy takes nothing but a command after --\nSee 'rawkube proxy --help' for usage.")
    port: int = parsed.values["port"]
    if port not in _PORTS:
        raise UsageError(f'invalid argument "{port}" for "--port" flag: a number from 0 to 65535')
    tap = tap_for(parsed, out)
    environ = {name: value for name, value in os.environ.items() if name not in _OURS}
    with client_for(parsed, out, tap, stdin="used by the command behind --" if command else "") as client:
        server = ReverseProxy(client, tap, port=port, origins=parsed.values["allow-origin"])
        return run_with(server, command, environ=environ)
