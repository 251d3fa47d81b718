"""Proxies of the system (Debian's squid, microsocks, haproxy), started for a test; None where one is not installed."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.tls import Pair

USER, PASSWORD = "me", "p@ss:/"
# crypt(3) of the password (`openssl passwd -1`)
_CRYPTED = "$1$rawkube$i3psnR7krV/iMXlZJbyZ4."
_NCSA = ("/usr/lib/squid/basic_ncsa_auth", "/usr/lib64/squid/basic_ncsa_auth", "/usr/libexec/squid/basic_ncsa_auth")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def find(program: str) -> str:
    return shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin") or ""


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """A daemon in the foreground, once its port answers."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            _wait_for(process, port)
            yield port
        finally:
            process.kill()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            said = process.communicate()[0].decode(errors="replace")
            raise AssertionError(f"{process.args!r} does not listen: {said[-2000:]}")
        time.sleep(0.02)


def squid(folder: Path, *, password: bool) -> contextlib.AbstractContextManager[int] | None:
    """squid on loopback, which opens tunnels to anywhere. `folder`: readable for everybody."""
    program, ncsa = find("squid"), next((path for path in _NCSA if Path(path).exists()), "")
    if not program or not ncsa:
        return None
    port = free_port()
    name = "closed" if password else "open"
    (folder / "passwd").write_text(f"{USER}:{_CRYPTED}\n")
    rules = [
        f"auth_param basic program {ncsa} {folder}/passwd",
        "auth_param basic children 1",
        "acl known proxy_auth REQUIRED",
    ]
    lines = [
        f"http_port 127.0.0.1:{port}",
        f"pid_filename {folder}/{name}.pid",
        "visible_hostname proxy.test",
        "access_log none",
        "cache_log /dev/null",
        "cache deny all",
        "shutdown_lifetime 0 seconds",
        "max_filedescriptors 1024",
        *(rules if password else []),
        "http_access allow known" if password else "http_access allow all",
        "http_access deny all",
    ]
    config = folder / f"{name}.conf"
    config.write_text("\n".join(lines) + "\n")
    return running([program, "-N", "-f", str(config)], port)


def microsocks(*, password: bool) -> contextlib.AbstractContextManager[int] | None:
    program = find("microsocks")
    port = free_port()
    user = ["-u", USER, "-P", PASSWORD] if password else []
    return running([program, "-i", "127.0.0.1", "-p", str(port), *user], port) if program else None


def haproxy(folder: Path, pair: Pair, behind: int) -> contextlib.AbstractContextManager[int] | None:
    """TLS on loopback, in front of the port `behind`."""
    program = find("haproxy")
    if not program:
        return None
    port = free_port()
    (folder / "haproxy.pem").write_bytes(pair.cert + pair.key)
    config = folder / "haproxy.cfg"
    config.write_text(
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
        f"frontend f\n  bind 127.0.0.1:{port} ssl crt {folder}/haproxy.pem\n  default_backend b\n"
        f"backend b\n  server s 127.0.0.1:{behind}\n"
    )
    return running([program, "-db", "-f", str(config)], port)
