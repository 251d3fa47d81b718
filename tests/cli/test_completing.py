"""What may stand where a command line is being typed, and the scripts that ask for it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rawkube.cli.completing import Ask, plan
from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.logs_server import LogsServer
from tests.support.pods_server import a_pod
from tests.support.rows import looped
from tests.support.run import ROOT, environment, kubeconfig
from tests.support.server import Peer, ScriptedServer


@looped(
    ("words", "expected"),
    [
        ("", {"logs", "exec", "rollout", "completion"}),
        ("rollout ", {"status"}),
        ("-n x rollout ", {"status"}),
        ("rollout status ", {"deployments", "daemonsets", "statefulsets"}),
        ("logs -", {"--follow", "--tail=", "--namespace=", "--help"}),
        ("version --output=", {"--output=json"}),
        ("version -o ", {"json"}),
        ("logs --prefix=", {"--prefix=true", "--prefix=false"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("help ", {"logs", "exec"}),
        ("help rollout ", {"status"}),
        ("logs d", {"deployment/", "daemonset/"}),
    ],
)
def test_words_from_the_tables(words: str, expected: set[str]) -> None:
    assert expected <= set(plan(words.split(" ")).words)


@looped(
    "words",
    [
        "help nope ",
        "rollout status ds/web ",
        "rollout status ds,sts ",
        "nope ",
        "exec p -- ",
        "completion bash ",
        "cp web:/b",
        "logs --tail ",
        "logs --nope=",
        "options ",
    ],
)
def test_nothing_to_say(words: str) -> None:
    made = plan(words.split(" "))
    assert (made.words, made.asks, made.files) == ((), (), False)


@looped(
    ("words", "expected"),
    [
        ("logs ", Ask("objects", "pods")),
        ("exec -it ", Ask("objects", "pods")),
        ("attach ", Ask("objects", "pods")),
        ("cp ", Ask("objects", "pods", after=":")),
        ("logs deploy/w", Ask("objects", "deploy", before="deploy/")),
        ("rollout status ds ", Ask("objects", "ds")),
        ("rollout status sts/", Ask("objects", "sts", before="sts/")),
        ("logs -n ", Ask("objects", "namespaces")),
        ("logs -fn ", Ask("objects", "namespaces")),
        ("logs -nf ", Ask("objects", "pods")),
        ("logs --nope ", Ask("objects", "pods")),
        ("--namespace=", Ask("objects", "namespaces", before="--namespace=")),
        ("logs --context ", Ask("contexts")),
        ("logs --user=a", Ask("users", before="--user=")),
        ("logs web -c ", Ask("containers", name="web")),
        ("exec pod/web --container=", Ask("containers", name="web", before="--container=")),
        ("logs web ", Ask("containers", name="web")),
    ],
)
def test_what_is_asked_for(words: str, expected: Ask) -> None:
    assert plan(words.split(" ")).asks == (expected,)


@looped("words", ["replay ", "logs --kubeconfig ", "logs --kubeconfig=a", "cp ", "cp ./a"])
def test_files(words: str) -> None:
    assert plan(words.split(" ")).files


def test_completion_is_not_in_the_way() -> None:
    assert not any(word.startswith("__") for word in plan([""]).words)


# With a server.


@pytest.fixture
def server() -> Iterator[LogsServer]:
    items = [{"metadata": {"name": name}} for name in ("default", "demo")]
    namespaces = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": items}
    with LogsServer([a_pod("web-0", "app", "side"), a_pod("web-1")], {}, {"/api/v1/namespaces": namespaces}) as made:
        yield made


def candidates(*words: str, config: str) -> list[str]:
    out, err = io.BytesIO(), io.BytesIO()
    given = ["--kubeconfig", config, *words]
    assert main(["__complete", "--", *given], out=Output(out, err)) == 0
    assert err.getvalue() == b""
    return out.getvalue().decode().splitlines()


def test_names_from_the_server(server: LogsServer, tmp_path: Path) -> None:
    config = environment(tmp_path, server.url)["KUBECONFIG"]
    assert candidates("logs", "w", config=config) == ["web-0", "web-1"]
    assert candidates("cp", "web-1", config=config) == ["web-1:", ":files"]
    assert candidates("logs", "web-0", "-c", "", config=config) == ["app", "side"]
    assert candidates("logs", "-nd", "web-0", "--container=s", config=config) == ["--container=side"]
    assert candidates("logs", "-n", "", config=config) == ["default", "demo"]
    assert candidates("--context=", config=config) == ["--context=test"]
    assert candidates("logs", "nope", "-c", "", config=config) == []
    assert candidates("rollout", "status", "widgets", "", config=config) == []
    assert candidates("logs", "--nope", "-n", "", config=config) == []
    assert "PartialObjectMetadataList" in str(server.asked[0].header("Accept"))


def test_no_program_is_run_for_credentials(server: LogsServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    touched = tmp_path / "touched"
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(touched)]}
    config.write_text(kubeconfig(server.url, user={"exec": {**plugin, "interactiveMode": "Never"}}))
    assert candidates("logs", "", config=str(config)) == []
    assert not touched.exists()
    assert server.asked == []


@pytest.mark.parametrize("content", ["{", "[]", "", '{"apiVersion": "v1", "kind": "Config"}'])
def test_a_kubeconfig_that_cannot_be_read_is_silence(content: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(content)
    assert candidates("logs", "", config=str(tmp_path / "config")) == []
    assert candidates("--context", "", config=str(tmp_path / "config")) == []


@looped(("seconds", "expected"), [("5", ["test"]), ("", ["test"]), ("soon", ["test"]), ("nan", []), ("inf", [])])
def test_how_long_to_wait_may_be_said(seconds: str, expected: list[str], tmp_path: Path) -> None:
    """A time that is none is silence at worst."""
    (tmp_path / "config").write_text(kubeconfig("http://127.0.0.1:1"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAWKUBE_COMPLETION_SECONDS", seconds)
        assert candidates("--context", "", config=str(tmp_path / "config")) == expected


def test_a_silent_server_costs_half_a_second(tmp_path: Path) -> None:
    with ScriptedServer(Peer.stall) as server:
        config = environment(tmp_path, server.url)["KUBECONFIG"]
        started = time.monotonic()
        assert candidates("logs", "w", config=config) == []
        assert 0.4 < time.monotonic() - started < 3.0


def test_a_silent_server_does_not_keep_the_process(tmp_path: Path) -> None:
    with ScriptedServer(Peer.stall) as server:
        command = [sys.executable, "-m", "rawkube", "__complete", "--", "logs", "w"]
        ran = subprocess.run(command, env=environment(tmp_path, server.url), capture_output=True, timeout=10)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@looped("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_a_shell_must_be_named(words: list[str]) -> None:
    out, err = io.BytesIO(), io.BytesIO()
    assert main(["completion", *words], out=Output(out, err)) == 1
    assert b"bash, zsh, fish" in err.getvalue()
    assert out.getvalue() == b""


# With the shells.


@pytest.fixture
def env(server: LogsServer, tmp_path: Path) -> dict[str, str]:
    """`rawkube` is on PATH, and there is a server."""
    program = tmp_path / "bin" / "rawkube"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rawkube "$@"\n')
    program.chmod(0o755)
    made = environment(tmp_path, server.url, PYTHONPATH=str(ROOT), TERM="dumb", RAWKUBE_COMPLETION_SECONDS="30")
    return made | {"PATH": f"{program.parent}{os.pathsep}{made['PATH']}"}


def shell(name: str, script: str, env: dict[str, str]) -> list[str]:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"no {name}")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    ran = subprocess.run(
        [program, *options, "-c", script], env=env, cwd=env["HOME"], capture_output=True, text=True, timeout=30
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


BASH = """
source <(rawkube completion bash)
try() {
    COMP_LINE="$1" COMP_POINT=${#1} COMP_CWORD=$(($# - 2)); shift
    COMP_WORDS=("$@")
    COMPREPLY=(); _rawkube; echo "${COMPREPLY[*]}"
}
complete -p rawkube
try 'rawkube lo' rawkube lo
try 'rawkube logs w' rawkube logs w
try 'rawkube logs web-0 --container=s' rawkube logs web-0 --container = s
try 'rawkube version --output=' rawkube version --output =
try 'rawkube logs web-0 -c ' rawkube logs web-0 -c ''
try 'rawkube replay b' rawkube replay b
try 'rawkube cp web-1:/b' rawkube cp web-1 : /b
try 'rawkube rollout status ' rawkube rollout status ''
try 'rawkube nope ' rawkube nope ''
"""


def test_bash(env: dict[str, str]) -> None:
    assert shell("bash", BASH, env) == [
        "complete -F _rawkube rawkube",
        "logs",
        "web-0 web-1",
        "side",
        "json",
        "app side",
        "bin",
        "",
        "daemonsets deployments statefulsets",
        "",
    ]


ZSH = """
autoload -Uz compinit && compinit -u -D
source <(rawkube completion zsh)
compadd() { shift ${@[(i)--]}; print -r -- "$@" }
_files() { print files }
compset() { : }
try() { words=("$@"); CURRENT=$#; _rawkube }
print -r -- $_comps[rawkube]
try rawkube lo
try rawkube logs w
try rawkube logs web-0 --container=s
try rawkube replay ''
try rawkube nope ''
try rawkube cp web-1
"""


def test_zsh(env: dict[str, str]) -> None:
    assert shell("zsh", ZSH, env) == ["_rawkube", "logs", "web-0 web-1", "--container=side", "files", "web-1:", "files"]


FISH = """
rawkube completion fish | source
for line in 'lo' 'logs w' 'logs web-0 --container=s' 'logs web-0 -c ' 'replay b' 'nope '
    complete -C "rawkube $line" | string join ' '
    echo .
end
"""


def test_fish(env: dict[str, str]) -> None:
    said = " ".join(shell("fish", FISH, env)).split(" .")
    assert [part.strip() for part in said][:6] == ["logs", "web-0 web-1", "--container=side", "app side", "bin/", ""]
