"""What a start costs, told by the modules that it imports: names do not depend on how busy a machine is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rawkube
from tests.support.api_server import ApiServer
from tests.support.run import environment
from tests.support.script import Workload, modified
from tests.support.workloads import deployment

# Each of these costs more than all that a command does itself.
NEVER = {
    "argparse",
    "asyncio",
    "dataclasses",
    "email",
    "h11",
    "httpx",
    "importlib.metadata",
    "logging",
    "ssl",
    "subprocess",
    "typing",
    "urllib.parse",
    "urllib.request",
    "wsproto",
    "yaml",
}
OF_THE_NETWORK = {"socket", "rawkube.api.client", "rawkube.wire.dial"}
LAST_LINE = "\nimport sys, json; sys.stdout.flush(); print(); print(json.dumps(sorted(sys.modules)))"
COMMAND = "import sys; from rawkube.cli.main import main; code = main(sys.argv[1:])"


def imported(code: str, *args: str, env: dict[str, str] | None = None) -> tuple[str, set[str]]:
    """What a program prints, and the modules that are loaded at its end. `-S`: nothing that site-packages adds."""
    env = {**(env or {"HOME": "/"}), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-S", "-c", code + LAST_LINE, *args], env=env, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    *printed, modules = ran.stdout.rstrip("\n").split("\n")
    return "\n".join(printed), set(json.loads(modules))


def found_in(modules: set[str], names: set[str]) -> list[str]:
    return sorted(names & modules)


def test_the_package_itself_loads_nothing() -> None:
    _, modules = imported("import rawkube")
    assert {name for name in modules if name.partition(".")[0] == "rawkube"} == {"rawkube", "rawkube._version"}
    # `json` and what it needs are this test's own.
    assert found_in(modules, NEVER | OF_THE_NETWORK | {"contextlib", "threading"}) == []


# Modules stay loaded: what a program that uses all of them has not loaded, none of them has.


def test_only_the_httpx_client_loads_httpx() -> None:
    names = sorted(set(rawkube.__all__) - {"Client", "__version__"})
    assert len(names) > 5
    _, modules = imported("import rawkube; " + "; ".join(f"rawkube.{name}" for name in names))
    assert "httpx" not in modules
    assert found_in(modules, {"asyncio", "argparse", "logging", "ssl", "yaml"}) == []


def test_what_is_pure_loads_no_connection() -> None:
    pure = ("evaluate", "WatchDecoder", "lookup", "RawkubeError")
    _, modules = imported("import rawkube; " + "; ".join(f"rawkube.{name}" for name in pure))
    assert found_in(modules, {"socket", "rawkube.wire.dial"}) == []


def test_commands_that_ask_nobody() -> None:
    lines = ("version", "--help", "rollout status --help", "options")
    code = "import sys; from rawkube.cli.main import main\nfor line in sys.argv[1:]: main(line.split()); print('\\f', flush=True)"
    printed, modules = imported(code, *lines)
    *texts, end = printed.split("\f")
    assert [line for line, text in zip(lines, texts, strict=True) if not ("rawkube" in text or "flags" in text)] == []
    assert not end.strip()
    assert found_in(modules, NEVER | OF_THE_NETWORK | {"threading"}) == []


def test_a_command_line_that_cannot_be_read_loads_no_connection() -> None:
    code = COMMAND.replace("main(sys.argv[1:])", "(__import__('os').dup2(1, 2), main(sys.argv[1:]))")
    printed, modules = imported(code, "rollout", "status", "--nope")
    assert "unknown flag: --nope" in printed
    assert found_in(modules, NEVER | OF_THE_NETWORK) == []


@pytest.mark.parametrize("watched", [False, True], ids=["finished", "watched"])
def test_rollout_status(watched: bool, tmp_path: Path) -> None:
    """A kubeconfig that is JSON, a server without TLS: the least there is to do."""
    workload = Workload(deployment(u=1), steps=[modified(deployment())]) if watched else Workload(deployment())
    with ApiServer(workload) as server:
        env = environment(tmp_path, server.url)
        printed, modules = imported(COMMAND, "rollout", "status", "deployment/web", env=env)
    assert printed.rstrip("\n").endswith('deployment "web" successfully rolled out')
    assert found_in(modules, NEVER) == []
    # Only what has an error to explain, a secret to hide or a token to encode needs these.
    assert found_in(modules, {"rawkube.wire.redact", "rawkube.api.httpx_client", "rawkube.wire.tls", "ipaddress"}) == []


def test_a_kubeconfig_in_yaml_costs_no_more_than_yaml(tmp_path: Path) -> None:
    with ApiServer(Workload(deployment())) as server:
        env = environment(tmp_path, server.url)
        (tmp_path / "config").write_text(
            "current-context: test\n"
            "contexts: [{name: test, context: {cluster: test}}]\n"
            f"clusters: [{{name: test, cluster: {{server: '{server.url}'}}}}]\n"
        )
        _, modules = imported(COMMAND, "rollout", "status", "deployment/web", env=env)
    assert "yaml" in modules
    assert found_in(modules, NEVER - {"yaml"}) == []
