"""Every command and every piece of code in the README runs.

The two commands that install something (marked `try` and `test`) are run by `.ci/run`, which takes them from the
README; here they are checked for what can be checked without installing.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rawkube.cli.commands import FIRST_WORDS, all_commands, read_command
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.cli.rollout_codes import CODES as EXIT_CODES
from rawkube.cli.running import Child, own_program
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.observe.replay import Replay
from rawkube.rollout.explain.finding import CODES
from rawkube.rollout.fail_fast import PULL_SECONDS, RESTARTS, SECONDS
from tests.doctor.cluster import Cluster as DoctorCluster
from tests.support.cluster import Cluster as RolloutCluster
from tests.support.container import Container
from tests.support.following import Followed, status, validator
from tests.support.here import own_streams, run_at, run_here
from tests.support.logs_server import Log, LogsServer, line
from tests.support.pods_server import PodsServer, a_pod
from tests.support.proxy import ProxyServer
from tests.support.revisions import web
from tests.support.rows import looped
from tests.support.run import kubeconfig
from tests.support.server import Peer, ScriptedServer, SeenRequest
from tests.support.stateful import StatefulServer
from tests.support.websocket import Far
from tests.support.workloads import deployment

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BIN = Path(sys.executable).parent


def marked(name: str) -> list[str]:
    """The command lines of the code block behind a marker comment."""
    block = re.search(rf"<!-- {name} -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert block, f"the README has no block marked {name}"
    return block[1].splitlines()


def shown(name: str) -> list[str]:
    """What the README says that the commands of a block print: the indented lines below it."""
    below = README.partition(f"<!-- {name} -->\n")[2].split("```\n", 1)[1].lstrip("\n")
    lines = re.match(r"(?: {4}.*\n)+", below)
    assert lines, f"nothing is shown below {name}"
    return [line[4:] for line in lines[0].splitlines()]


def table(name: str) -> list[list[str]]:
    """The cells of the table behind a marker comment, without its head."""
    below = README.partition(f"<!-- {name} -->\n")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in below]


def run(command: str, *, kubeconfig: str | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a line as a shell would, `rawkube` being this checkout, `< README.md` the README.

    In this process what needs none of its own.
    """
    command, _, source = command.partition(" < ")
    words = shlex.split(command)
    env = {"PATH": f"{BIN}:{os.environ.get('PATH', '')}", "PYTHONPATH": str(ROOT), "HOME": "/nonexistent"}
    if kubeconfig:
        env["KUBECONFIG"] = kubeconfig
    if words[0] == "rawkube" and not source and "kubectl" not in words:
        return here(lambda: main(words[1:]), env, cwd)
    if words[0].endswith("rawkube"):
        words[:1] = [sys.executable, "-m", "rawkube"]
    with (ROOT / source if source else Path(os.devnull)).open("rb") as stdin:
        return subprocess.run(words, cwd=cwd, env=env, stdin=stdin, capture_output=True, text=True, timeout=60)


def here(what: Callable[[], int | None], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Do this in this process, and the command of rawkube that it starts, too."""

    def child(_self: Child, argv: Sequence[str], env: Mapping[str, str]) -> int:
        start = len(own_program())
        assert list(argv[:start]) == own_program()
        with patch.dict(os.environ, env, clear=True):
            return main(argv[start:])

    out, err = io.BytesIO(), io.BytesIO()
    with (
        redirect_stdout(io.TextIOWrapper(out, write_through=True)),
        redirect_stderr(io.TextIOWrapper(err, write_through=True)),
        chdir(cwd),
        patch.dict(os.environ, env, clear=True),
        patch.object(Child, "run", child),
    ):
        code = what() or 0
        return subprocess.CompletedProcess("", code, out.getvalue().decode(), err.getvalue().decode())


def recording(name: str) -> Path:
    return ROOT / "fixtures" / f"{name}.jsonl"


def test_the_first_command_shows_a_real_rolling_update() -> None:
    (line,) = marked("try")
    command = line.rpartition("&&")[2].strip()
    assert command.startswith(".venv/bin/rawkube replay ")
    ran = run(command)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("Waiting for deployment") == 9
    assert ran.stdout.endswith('deployment "web" successfully rolled out\n')


def test_the_second_command_is_what_the_checks_run() -> None:
    (line,) = marked("test")
    assert (
        "pip install" in line and "[test]" in line and line.rpartition("&&")[2].strip().startswith(".venv/bin/pytest")
    )
    assert "readme_command test" in (ROOT / ".ci" / "run").read_text()


@looped("line", marked("cluster"))
def test_commands_for_a_cluster(line: str) -> None:
    source = "rollout-listwatch/selector" if " -l " in line else "rollout-listwatch/deployment-done"
    if "--revision" in line:
        line = line.replace("--revision=9", "--revision=0")  # the recording is of another revision
    with Replay(recording(source)) as server:
        ran = run(line, kubeconfig=server.kubeconfig)
    assert (ran.returncode, ran.stdout) == (0, 'deployment "web" successfully rolled out\n'), ran.stderr


def replayed(line: str) -> Followed:
    """What `rawkube replay FILE --speed=max -- COMMAND` prints, in this process."""
    outer, inner = (shlex.split(part) for part in line.split(" -- ", 1))
    assert outer[:2] == ["rawkube", "replay"]
    assert outer[3:] == ["--speed=max"]
    with Replay(ROOT / outer[2]) as server:
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["--kubeconfig", server.kubeconfig, *inner], out=Output(out, err))
    return Followed(out.getvalue().decode(), err.getvalue().decode(), code)


def test_rollouts_that_are_stuck_or_of_other_kinds() -> None:
    names = ("stuck", "fail-fast", "json", "any-kind", "wait")
    ran = {name: [replayed(line) for line in marked(name)] for name in names}
    codes = {name: [each.code for each in ran[name]] for name in names}
    assert codes == {"stuck": [1], "fail-fast": [1], "json": [6], "any-kind": [0], "wait": [0, 1]}, ran
    printed = {name: [line for each in ran[name] for line in (*each.lines, *each.notes)] for name in names}
    for name in ("stuck", "any-kind", "wait"):
        assert printed[name] == shown(name)
    assert printed["fail-fast"][-1] == shown("fail-fast")[-1]
    example = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert example
    expected = json.loads(example[1])
    validator().validate(expected)
    of_this_run = {name: expected[name] for name in ("time", "duration")}
    assert {**ran["json"][0].records[-1], **of_this_run} == expected


def test_many_rollouts_at_once(tmp_path: Path) -> None:
    workloads = [deployment(name, labels={"app": "web"}) for name in ("blue", "green", "web")]
    with RolloutCluster(*workloads) as cluster:
        for line in marked("many"):
            ran = status(cluster.url, tmp_path, *shlex.split(line)[3:])
            assert ran.code == 0, (line, ran.stderr)
            assert "successfully rolled out" in ran.stdout, line


def test_its_tables_of_rollouts_are_those_of_the_program() -> None:
    assert table("codes") == [[f"`{code}`", what] for code, what in CODES.items()]
    assert f"The {len(CODES)} codes of findings" in README
    outcomes = {row[0].split("`")[1]: row[1] for row in table("outcomes")}
    assert outcomes.pop("interrupted") == "128 + N"
    assert outcomes == {outcome: str(code) for outcome, code in EXIT_CODES.items()}
    patience = [row[1] for row in table("patience")]
    assert (RESTARTS, patience[1].endswith("three")) == (3, True)
    assert patience[2:4] == [f"{PULL_SECONDS:g} s", f"{SECONDS:g} s"]


class Cluster(PodsServer):
    """A Deployment `web` with one pod, and a pod `shell`; what runs in them are programs of this machine."""

    def __init__(self) -> None:
        container = Container()
        container.listener.close()  # it serves behind this server

        def run_in_container(far: Far) -> None:
            if far.request and far.request.path.endswith("/attach"):
                far.out(b"tick\n")
                far.end()
            else:
                container._run(far)

        labels = {"app": "web"}
        pods = [a_pod("web-0", "app", labels=labels), a_pod("shell", "app")]
        super().__init__({pod["metadata"]["name"]: run_in_container for pod in pods}, pods)

    def _answer(self, peer: Peer, request: SeenRequest) -> None:
        if request.path.endswith("/deployments/web"):
            labels = {"matchLabels": {"app": "web"}}
            metadata = {"name": "web", "namespace": "default"}
            web = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata, "spec": {"selector": labels}}
            peer.reply(json.dumps(web))
        else:
            super()._answer(peer, request)


def test_commands_in_containers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where a container's own programs find themselves
    for folder in ("log/app", "srv", "site"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(folder)
    with Cluster() as server:
        config = tmp_path / "config"
        config.write_text(kubeconfig(server.url))
        lines = [line.partition(" < ") for line in marked("exec")]
        with own_streams():
            ran = {
                line: run_here(
                    *shlex.split(line)[1:], config=config, stdin=(ROOT / source).read_bytes() if source else None
                )
                for line, _, source in lines
            }
    codes = [each.code for each in ran.values()]
    assert codes == [3, *[0] * (len(ran) - 1)], [each.stderr for each in ran.values()]
    failing, reading, *_ = ran.values()
    assert failing.stderr.endswith("command terminated with exit code 3\n")
    assert reading.stdout == README
    assert "tick\n" in ran["rawkube attach web-0"].stdout
    assert (tmp_path / "logs" / "file").read_text() == "log/app"
    assert (tmp_path / "srv" / "site" / "file").read_text() == "site"


@pytest.mark.parametrize("line", marked("replay"))
def test_commands_for_recordings(line: str) -> None:
    if "-- kubectl" in line and not (shutil.which("kubectl", path=str(BIN)) or shutil.which("kubectl")):
        pytest.skip("there is no kubectl here")
    ran = run(line)
    assert ran.returncode == 0, ran.stderr
    assert "roll" in ran.stdout


def run_with(url: str, lines: list[str], folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run lines one after the other against a server."""
    config = folder / "config"
    config.write_text(kubeconfig(url))
    return [run(line, kubeconfig=str(config)) for line in lines]


def test_revisions(tmp_path: Path) -> None:
    with StatefulServer(*web()) as server:
        ran = run_with(server.url, marked("revisions"), tmp_path)
    assert [each.returncode for each in ran] == [0] * 6, [each.stderr for each in ran]
    history, *rest = [each.stdout for each in ran]
    assert "REVISION  CHANGE-CAUSE" in history
    ends = ("rolled back (server dry run)", "rolled back", "restarted", "paused", "resumed")
    assert rest == [f"deployment.apps/web {end}\n" for end in ends]


def test_logs(tmp_path: Path) -> None:
    log = Log([line(0, "one"), line(1, "two"), line(2, "three")])
    pods = [a_pod("web-0", "app", labels={"app": "web"})]
    selector = {"matchLabels": {"app": "web"}}
    deployment: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": selector}}
    deployment["metadata"] = {"name": "web", "namespace": "default"}
    objects = {"/apis/apps/v1/namespaces/default/deployments/web": deployment}
    with LogsServer(pods, {"web-0/app": [log]}, objects) as server:
        ran = run_with(server.url, marked("logs"), tmp_path)
    assert [each.returncode for each in ran] == [0] * 3, [each.stderr for each in ran]
    assert all("three\n" in each.stdout for each in ran)


@pytest.mark.parametrize("line", [*marked("get"), *marked("watch")])
def test_get_and_watch(line: str) -> None:
    ran = run(line)
    assert ran.returncode == 0, ran.stderr
    shown = [text[4:] for text in README[README.index(line) :].splitlines()[2:7] if text.strip() and "…" not in text]
    assert shown, "the README shows what the command prints"
    for text in shown:
        # The first word of a watch's line is the time.
        assert (text.partition(" ")[2] if "-- watch" in line else text).strip() in ran.stdout


@pytest.mark.parametrize("line", marked("trace"))
def test_traces(line: str, tmp_path: Path) -> None:
    with Replay(recording("rollout-listwatch/deployment-done")) as server:
        ran = run(line, kubeconfig=server.kubeconfig, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, 'deployment "web" successfully rolled out\n'), ran.stderr
    seen = ran.stderr + "".join(path.read_text() for path in tmp_path.iterdir())
    assert "GET /apis/apps/v1/namespaces/" in seen


@pytest.mark.parametrize("line", [*marked("inspect"), *marked("inspect-diff")])
def test_inspect(line: str) -> None:
    ran = run(line)
    assert ran.returncode == ("--diff" in line), ran.stderr
    shown = [text[4:].strip() for text in README[README.index(line) :].splitlines()[2:7] if "…" not in text]
    for text in filter(None, shown):
        assert text in ran.stdout


@pytest.mark.parametrize("line", marked("inspect-files"))
def test_files_for_a_browser(line: str, tmp_path: Path) -> None:
    ran = run(line.replace("fixtures/", f"{ROOT}/fixtures/"), cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) in [
        (0, "rollout.har written\nrollout.html written\n", ""),
        (0, "", "rollout.har written\nrollout.html written\n"),
    ]
    assert json.loads((tmp_path / "rollout.har").read_text())["log"]["version"] == "1.2"
    assert "<html" in (tmp_path / "rollout.html").read_text()


@pytest.mark.parametrize("line", marked("raw"))
def test_raw(line: str, tmp_path: Path) -> None:
    def answer(peer: Peer) -> None:
        peer.read_request()
        peer.reply('{"kind": "Any"}')

    with ScriptedServer(answer) as server:
        (ran,) = run_with(server.url, [line], tmp_path)
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, '{"kind": "Any"}'), ran.stderr
    assert ("HTTP/1.1 200 OK" in ran.stdout) is (" -i " in line)


def test_one_file() -> None:
    """To build it takes seconds: these are the command lines that test_zipapp runs."""
    assert marked("zipapp") == [
        ".venv/bin/python -m rawkube.zipapp rawkube.pyz",
        "python3 -I -S rawkube.pyz version",
    ]


def test_web_sockets() -> None:
    typed, failing = [run(line) for line in marked("ws")]
    assert (typed.returncode, failing.returncode) == (0, 3), (typed.stdout, typed.stderr, failing.stderr)
    assert "→ binary close stdin" in typed.stdout
    for text in (
        '← binary stdout 4 B "out\\n"',
        '← binary stderr 4 B "err\\n"',
        "← status NonZeroExitCode 3",
        "← close 1000",
    ):
        assert text in failing.stdout
        assert text in README


def test_a_proxy() -> None:
    (ran,) = [run(line) for line in marked("proxy")]
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith('deployment "web" successfully rolled out\n')
    assert "GET /apis/apps/v1/namespaces/" in ran.stderr


def test_doctor(tmp_path: Path) -> None:
    config = tmp_path / "config"
    with DoctorCluster(lasts=1.9) as server, ThreadPoolExecutor() as pool:  # most of it is waiting
        config.write_text(kubeconfig(server.url))
        words = [shlex.split(line)[1:] for line in marked("doctor")]
        ran = list(pool.map(lambda each: run_at(server.url, *each, home=tmp_path), words))
    assert [each.code for each in ran] == [0] * 3, [each.stdout for each in ran]
    assert "pass     watch " in ran[0].stdout
    assert "left alone for 1.0 s" in ran[2].stdout
    assert {each["result"] for each in json.loads(ran[1].stdout)} <= {"pass", "warn"}


@pytest.mark.parametrize("line", marked("proxies"))
def test_proxies(line: str) -> None:
    named = re.search(r"--proxy-url (http|socks5)(://\S+)", line)
    assert named
    with Replay(recording("rollout-listwatch/deployment-done")) as server, ProxyServer(named[1]) as proxy:
        ran = run(
            line.replace(named[1] + named[2], f"{named[1]}://127.0.0.1:{proxy.port}"), kubeconfig=server.kubeconfig
        )
    assert (ran.returncode, ran.stdout) == (0, 'deployment "web" successfully rolled out\n'), ran.stderr


@pytest.mark.parametrize("line", marked("words"))
def test_words(line: str) -> None:
    with Replay(recording("discovery/crds-and-broken-apiservice")) as server:
        ran = run(line, kubeconfig=server.kubeconfig)
    assert ran.returncode == 0, ran.stderr
    assert "deploy" in ran.stdout or "helm" in ran.stdout.lower() or "NAME" in ran.stdout


@pytest.mark.parametrize("line", marked("config"))
def test_the_configuration(line: str, tmp_path: Path) -> None:
    (ran,) = run_with("https://192.0.2.1:6443", [line], tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


# Those that run commands in containers are run by tests/remotecommand/test_examples.py.
CODE = [
    code
    for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    if not re.search(r"rawkube\.exec\(|open_exec|asyncio", code)
]


@pytest.mark.parametrize("code", CODE)
def test_code(code: str) -> None:
    source = "watch/pods-initial" if "/pods" in code else "rollout-listwatch/deployment-done"
    with Replay(recording(source)) as server:
        ran = here(lambda: exec(code, {}), {"KUBECONFIG": server.kubeconfig, "HOME": "/nonexistent"}, ROOT)
    assert ran.stdout.strip()


def command_lines() -> list[str]:
    """Each command line of rawkube in a block, without what follows a pipe or a redirection."""
    blocks = re.findall(r"^```(?:sh|console|text)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [re.split(r" [|<] ", line)[0] for line in lines if line.startswith("rawkube ")]


def test_every_command_line_can_be_read() -> None:
    command_line_words = [shlex.split(each)[1:] for each in command_lines()]
    assert len(command_line_words) > 60
    for words in command_line_words:
        read_command(words)
        inner = words[words.index("--") + 1 :] if "--" in words else []
        if words[0] in ("replay", "proxy") and inner and inner[0] in FIRST_WORDS:
            read_command(inner)


def test_it_names_every_command_and_no_flag_that_is_none() -> None:
    assert {word for word in FIRST_WORDS if not re.search(rf"`?rawkube {word}\b", README)} <= {"help", "version"}
    flags = {flag.name for command in all_commands() for flag in command.flags} | {flag.name for flag in GLOBAL_FLAGS}
    prose = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", prose))
    assert named - flags - {"help"} == NOT_OF_A_COMMAND


NOT_OF_A_COMMAND = {"local", "output-watch-events", "server-print", "show-kind", "template", "input", "seconds"}
NOT_OF_A_COMMAND |= {"www", "address", "unix-socket", "api-prefix"}
"""Flags of kubectl of which the README says that rawkube has them not, and those of `python -m tests.fuzz`."""


def test_the_parts_that_it_names_exist() -> None:
    for name in sorted(set(re.findall(r"`(rawkube\.(?!pyz)[a-z_.]+[a-z](?:\.\w+)?)", README))):
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last) or import_module(name), name


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_links_into_it_lead_somewhere() -> None:
    without_code = re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
    anchors = {slug(heading) for heading in re.findall(r"^#+ (.+)$", without_code, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors


def test_files_that_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    for word in re.findall(r"fixtures/[\w./-]+\.jsonl", README):
        assert (ROOT / word).exists(), word


def test_its_picture_of_the_folders_is_true() -> None:
    for folder in re.findall(r"^    (\S+/)\s", README, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
