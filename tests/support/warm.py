"""kubectl's discovery, done once: what it knows of the recorded server is there before it starts.

Only for servers that answer discovery as that one: kubectl does not ask them, unless it misses a word. It takes half of
what a start of kubectl costs.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
import threading
from pathlib import Path

from tests.support.api_server import ApiServer
from tests.support.run import kubectl_command, run

_lock = threading.Lock()


@functools.cache
def _known() -> Path:
    """A folder that lives as long as this process: what kubectl keeps of a server."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with ApiServer() as server:
        run(kubectl_command(), "get", "pods", url=server.url, home=Path(folder))
    (found,) = (Path(folder) / "cache" / "discovery").iterdir()
    return found


def warm(home: Path, url: str) -> None:
    """To be called before kubectl runs in that home, for a server of that URL."""
    with _lock:
        found = _known()
    place = home / "cache" / "discovery"
    place.mkdir(parents=True, exist_ok=True)
    link = place / url.partition("://")[2].replace(":", "_")
    if not link.is_symlink():
        link.symlink_to(found, target_is_directory=True)
