"""`attach`, as a user runs it: its words, its notices, the terminal, the keys that leave, the container's own end."""

from __future__ import annotations

import io
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.arguments import Wanted
from rawkube.api.client import ApiClient
from rawkube.cli.attach import NO_PROMPT, RECORDED, _Attach, read_arguments
from rawkube.cli.commands import read_command
from rawkube.cli.output import Output
from rawkube.errors import UsageError
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.detach import (
    DETACH_KEYS,
    DetachableChannels,
    Detached,
    KeySequence,
    parse_detach_keys,
)
from rawkube.remotecommand.ended import ContainerEnd, NotKnown, StillRunning, container_end
from rawkube.remotecommand.protocols import V4, V5
from rawkube.remotecommand.result import Success
from rawkube.remotecommand.target import Target
from rawkube.remotecommand.terminal import Mode
from tests.remotecommand.test_channels import sent
from tests.support.exec_process import KUBECTL, RAWKUBE, Ended, Running, Terminal, command_of, signals_reach_commands
from tests.support.here import own_streams, run_at
from tests.support.pods_server import Object, PodsServer, a_pod, statuses, terminated
from tests.support.rows import looped
from tests.support.run import environment
from tests.support.websocket import CLOSE, HALF_CLOSE, RESIZE, STDIN, Far, Script, exit_status

PATH = "/api/v1/namespaces/default/pods/p/attach"

# The command line


@looped(
    ("args", "wanted"),
    [
        (["p"], Wanted("pods", "p")),
        (["pod/p"], Wanted("pod", "p")),
        (["deploy", "web"], Wanted("deploy", "web")),
        (["pod/p", "pod/q"], Wanted("pod", "q")),
        (["p,q"], Wanted("pods", "p,q")),
    ],
)
def test_what_is_named(args: list[str], wanted: Wanted) -> None:
    assert read_arguments(args, timeout=60.0) == wanted


@looped(
    ("args", "timeout", "text"),
    [
        ([], 60.0, "at least 1 argument is required for attach"),
        (["a", "b", "c"], 60.0, "expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw 3: [a b c]"),
        (["p"], 0.0, "--pod-running-timeout must be higher than zero\nSee 'rawkube attach -h' for help and examples"),
        ([""], 60.0, "resource name may not be empty"),
        (["a/b/c"], 60.0, "arguments in resource/name form may not have more than one slash"),
    ],
)
def test_what_cannot_be_meant(args: list[str], timeout: float, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_arguments(args, timeout=timeout)
    assert str(raised.value) == text


# The keys that leave


@looped(
    ("text", "keys"),
    [
        ("", b"\x10\x11"),
        (DETACH_KEYS, b"\x10\x11"),
        ("a,ctrl-a,DEL,~", b"a\x01\x7f~"),
        ("ctrl-@,ctrl-[,ctrl-\\,ctrl-],ctrl-^,ctrl-_", b"\x00\x1b\x1c\x1d\x1e\x1f"),
    ],
)
def test_keys_by_their_names(text: str, keys: bytes) -> None:
    assert parse_detach_keys(text) == keys


@looped("key", ["foo", "ctrl-A", "ctrl-", "é", "ctrl-1"])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(UsageError, match=f"^could not bind detach keys: Unknown character: '{key}'$"):
        parse_detach_keys(f"a,{key}")


@looped(
    ("typed", "passed", "matched"),
    [
        ([b"abc"], [b"abc"], False),
        ([b"ab\x10\x11cd"], [b"ab"], True),
        ([b"\x10", b"\x11"], [b"", b""], True),
        ([b"a\x10", b"b"], [b"a", b"\x10b"], False),
        ([b"\x10\x10\x11"], [b"\x10\x10\x11"], False),
        ([b"\x11\x10"], [b"\x11"], False),
    ],
)
def test_the_sequence_is_looked_for_in_what_is_typed(typed: list[bytes], passed: list[bytes], matched: bool) -> None:
    sequence = KeySequence(b"\x10\x11")
    assert [sequence.feed(data) for data in typed] == passed
    assert sequence.matched == matched


@looped("protocol", [V5, V4], ids=lambda protocol: protocol.name)
def test_what_was_typed_before_the_keys_is_sent_on_leaving(protocol: Any) -> None:
    channels = DetachableChannels(protocol, b"\x10\x11", tty=True)
    with pytest.raises(Detached):
        channels.stdin(b"ab\x10\x11cd")
    leaving = channels.close_stdin() if protocol.half_close else b""
    frames = sent(leaving + channels.close())
    ends = [(2, b"\xff\x00")] if protocol.half_close else []
    assert frames == [(2, b"\x00ab"), *ends, (8, b"\x03\xe8")]
    assert isinstance(channels, Channels)


# The container's end


def pod_with(uid: str = "u", **status: Any) -> Object:
    return {"metadata": {"uid": uid}, "status": status}


RUNNING: Object = {"running": {}}
BEFORE = pod_with(**statuses(state=RUNNING))


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        pytest.param(BEFORE, BEFORE, StillRunning(), id="runs"),
        pytest.param(BEFORE, pod_with(**statuses(state=terminated(3))), ContainerEnd(3, "Error"), id="ended"),
        pytest.param(
            BEFORE, pod_with(**statuses(state=terminated(0, "Completed"))), ContainerEnd(0, "Completed"), id="ended-0"
        ),
        pytest.param(
            BEFORE,
            pod_with(**statuses(state=RUNNING, last=terminated(137, "OOMKilled"), ident="c2")),
            ContainerEnd(137, "OOMKilled"),
            id="ended-and-restarted",
        ),
        pytest.param(
            BEFORE,
            pod_with(**statuses(state={"waiting": {"reason": "CrashLoopBackOff"}}, last=terminated(2))),
            ContainerEnd(2, "Error"),
            id="ended-and-waiting",
        ),
        pytest.param(
            pod_with(**statuses(state=RUNNING, last=terminated(9, ident="c0"))),
            pod_with(**statuses(state=RUNNING, last=terminated(9, ident="c0"))),
            StillRunning(),
            id="the-end-before-is-another",
        ),
        pytest.param(
            BEFORE,
            pod_with(**statuses(state=RUNNING, last=terminated(1, ident="c2"), ident="c3")),
            NotKnown("it was restarted"),
            id="restarted-twice",
        ),
        pytest.param(
            BEFORE,
            pod_with("v", **statuses(state=RUNNING)),
            NotKnown("another pod has taken its place"),
            id="another-pod",
        ),
        pytest.param(pod_with(), pod_with(**statuses(state=terminated(4))), ContainerEnd(4, "Error"), id="no-id"),
        pytest.param(BEFORE, pod_with(), NotKnown("the pod does not say"), id="no-status"),
        pytest.param({}, {"status": {"containerStatuses": "?"}}, NotKnown("the pod does not say"), id="nonsense"),
        pytest.param(
            pod_with(ephemeralContainerStatuses=[{"name": "main", "containerID": "c1"}]),
            pod_with(ephemeralContainerStatuses=[{"name": "main", "containerID": "c1", "state": terminated(5)}]),
            ContainerEnd(5, "Error"),
            id="ephemeral",
        ),
    ],
)
def test_what_the_pod_tells(before: Object, after: Object, end: object) -> None:
    assert container_end(before, after, "main") == end
    assert type(container_end(before, after, "main")) is type(end)


# The whole


class Attaching(Running):
    """As Running, with the other verb."""

    def __init__(self, args: list[str], *, url: str, home: Path, program: str = RAWKUBE, **streams: Any) -> None:
        wrapper = streams.pop("wrapper", ())
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.started = 0.0
        self.process = subprocess.Popen(
            [*wrapper, *command_of(program), "attach", *args],
            env=environment(home, url),
            cwd=home,
            **(given | streams),
        )


both = pytest.mark.parametrize("program", [RAWKUBE, pytest.param(KUBECTL, marks=pytest.mark.kubectl)])


def run(server: PodsServer, home: Path, *args: str, program: str = RAWKUBE, **streams: Any) -> Ended:
    """To its end: rawkube in this process, unless it has streams of its own."""
    if program == RAWKUBE and not streams:
        with own_streams():
            ran = run_at(server.url, "attach", *args, home=home)
        return Ended(ran.data, ran.stderr, ran.code)
    with Attaching(list(args), url=server.url, home=home, program=program, **streams) as running:
        return running.wait()


def query(server: PodsServer) -> dict[str, str]:
    (upgrade,) = server.upgrades
    assert upgrade.path == PATH
    return upgrade.query


def says(far: Far) -> None:
    far.out(b"out\n")
    far.err(b"err\n")
    far.end()


NOTICES = f"{RECORDED}\n{NO_PROMPT}\n"
ENDED = statuses("a", state=terminated(0, "Completed"))
TWO = a_pod("p", "a", "b", status=ENDED)
WITH_TTY = a_pod("p", {"name": "a", "tty": True, "stdin": True}, status=ENDED)
DEFAULTED = 'Defaulted container "a" out of: a, b\n'
NO_TTY = "error: Unable to use a TTY - container a did not allocate one\n"
NOT_A_TERMINAL = "Unable to use a TTY - input is not a terminal or the right kind of file\n"
PLAIN = {"container": "a", "stdout": "true", "stderr": "true"}


@both
@pytest.mark.parametrize(
    ("args", "pod", "notices", "asked"),
    [
        ("p", TWO, DEFAULTED + NOTICES, PLAIN),
        ("p -q", TWO, "", PLAIN),
        ("p -c a", TWO, NOTICES, PLAIN),
        ("pod p -c a", TWO, NOTICES, PLAIN),
        ("p -t", TWO, DEFAULTED + NO_TTY + NOTICES, PLAIN),
        ("p -it", TWO, DEFAULTED + NO_TTY + NOTICES, PLAIN | {"stdin": "true"}),
        ("p -t", WITH_TTY, NOTICES, PLAIN),
        ("p -i", WITH_TTY, NOT_A_TERMINAL + NOTICES, PLAIN | {"stdin": "true"}),
        ("p --detach-keys=nonsense", WITH_TTY, NOTICES, PLAIN),
    ],
)
def test_notices_and_the_request(
    tmp_path: Path, program: str, args: str, pod: Object, notices: str, asked: dict[str, str]
) -> None:
    with PodsServer({"p": says}, [pod]) as server:
        ended = run(server, tmp_path, *args.split(), program=program)
    own = 'container "a" of pod p ended with exit code 0 (Completed)\n'
    tail = own if program == RAWKUBE and "-q" not in args else ""
    assert (ended.code, ended.stdout) == (0, b"out\n")
    assert ended.stderr == notices + "err\n" + tail
    assert query(server) == asked


@both
@pytest.mark.parametrize(
    ("args", "pod", "text"),
    [
        ("p", a_pod("p", phase="Failed"), "cannot attach a container in a completed pod; current phase is Failed"),
        ("p -c zz", TWO, "cannot attach to the container: container zz is not valid for pod p out of: a, b"),
        ("", TWO, "at least 1 argument is required for attach"),
    ],
)
def test_errors_are_kubectls(tmp_path: Path, program: str, args: str, pod: Object, text: str) -> None:
    with PodsServer({"p": says}, [pod]) as server:
        ended = run(server, tmp_path, *args.split(), program=program)
    assert (ended.code, ended.stderr) == (1, f"error: {text}\n")
    assert not server.upgrades


@both
def test_input_is_passed_on_and_ended(tmp_path: Path, program: str) -> None:
    def script(far: Far) -> None:
        far.out(far.stdin())
        far.end()

    with (
        PodsServer({"p": script}, [TWO]) as server,
        Attaching(["-i", "p", "-q"], url=server.url, home=tmp_path, program=program, stdin=subprocess.PIPE) as running,
    ):
        ended = running.wait(b"typed \x10\x11\n")
    assert (ended.stdout, ended.code) == (b"typed \x10\x11\n", 0)
    assert server.far[0].messages()[-1] == (HALF_CLOSE, bytes((STDIN,)))


# The exit code


def test_the_code_that_only_the_pod_knows(tmp_path: Path) -> None:
    """The stream says Success, and at first the Pod does not know better."""
    pod = a_pod("p", "a", status=statuses("a", state=RUNNING))

    class Late(PodsServer):
        def _answer(self, peer: Any, request: Any) -> None:
            if len(self.gets()) == 3:
                self.pods["p"] = a_pod("p", "a", status=statuses("a", state=terminated(3)))
            super()._answer(peer, request)

    with Late({"p": says}, [pod]) as server:
        ended = run(server, tmp_path, "p", "-q")
    assert ended.code == 3
    assert ended.last == 'container "a" of pod p ended with exit code 3 (Error)'
    assert server.gets() == ["p", "p", "p"]


def dropped(far: Far) -> None:
    far.out(b"x")
    far.peer.close()


LOST = "error: error reading from error stream: next reader: websocket: close 1006 (abnormal closure): unexpected EOF"


@pytest.mark.parametrize(
    ("script", "status", "code", "lines"),
    [
        pytest.param(
            lambda far: far.end(exit_status(7)),
            ENDED,
            7,
            ["command terminated with exit code 7"],
            id="the-stream-tells",
        ),
        pytest.param(
            lambda far: far.end(b'{"status":"Failure","message":"boo"}'),
            statuses("a", state=terminated(3)),
            1,
            ["error: boo"],
            id="not-attached",
        ),
        pytest.param(
            dropped,
            statuses("a", state=terminated(137, "OOMKilled")),
            137,
            ['container "a" of pod p ended with exit code 137 (OOMKilled)', LOST],
            id="lost-and-ended",
        ),
        pytest.param(
            dropped,
            ENDED,
            1,
            ['container "a" of pod p ended with exit code 0 (Completed)', LOST],
            id="lost-and-ended-0",
        ),
        pytest.param(
            lambda far: far.end(),
            {},
            0,
            ['how container "a" of pod p ended is not known: the pod does not say'],
            id="the-pod-does-not-say",
        ),
        pytest.param(
            lambda far: far.end(),
            statuses("a", state=terminated(-1073741510)),
            1,
            ['container "a" of pod p ended with exit code -1073741510 (Error)'],
            id="a-code-of-32-bits",
        ),
    ],
)
def test_the_exit_code(tmp_path: Path, script: Script, status: Object, code: int, lines: list[str]) -> None:
    with PodsServer({"p": script}, [a_pod("p", "a", status=status)]) as server:
        ended = run(server, tmp_path, "p")
    assert ended.code == code
    assert ended.stderr.removeprefix(NOTICES).splitlines() == lines


def test_a_container_that_goes_on_is_asked_about_for_a_while(tmp_path: Path) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pod = a_pod("p", "a", status=statuses("a", state=RUNNING))
    target = Target("default", "p", "a", None, pod)
    mode = Mode(False, False, False, None)
    said = io.BytesIO()
    with PodsServer({}, [pod]) as server:
        client = ApiClient(Access(server=server.url), sleep=sleep, clock=lambda: now)
        parsed = read_command(["attach", "p"])[1]
        with client:
            run = _Attach(client, Output(io.BytesIO(), said), parsed, [V5], target, mode, b"")
            assert run._finish(Success()) == 0
    assert said.getvalue() == b'container "a" of pod p is still running\n'
    assert 2.0 <= now <= 3.0
    assert set(server.gets()) == {"p"}


def test_a_pod_that_is_gone(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        server.pods.clear()
        far.end()

    with PodsServer({"p": script}, [TWO]) as server:
        ended = run(server, tmp_path, "p", "-c", "a")
    assert (ended.code, ended.last) == (0, 'how container "a" of pod p ended is not known: the pod is gone')


def test_ctrl_c_without_a_terminal(tmp_path: Path) -> None:
    def script(far: Far) -> None:
        far.out(b"begun\n")
        assert far.wait_close() == 1000
        far.until_gone()

    with (
        PodsServer({"p": script}, [TWO]) as server,
        signals_reach_commands(),
        Attaching(["p", "-q"], url=server.url, home=tmp_path) as running,
    ):
        assert running.stdout.readline() == b"begun\n"
        running.send(signal.SIGINT)
        assert running.wait().code == 130


# In a terminal


def in_terminal(
    terminal: Terminal, server: PodsServer, home: Path, *args: str, program: str = RAWKUBE, **streams: Any
) -> Attaching:
    given: dict[str, Any] = {"stdin": terminal.program, "stdout": terminal.program}
    return Attaching(list(args), url=server.url, home=home, program=program, **(given | streams))


@both
def test_the_size_is_nudged_so_that_the_screen_is_drawn_anew(tmp_path: Path, program: str) -> None:
    def script(far: Far) -> None:
        sizes = [far.next(), far.next()]
        assert sizes == [(RESIZE, b'{"Width":81,"Height":25}\n'), (RESIZE, b'{"Width":80,"Height":24}\n')]
        far.out(b"$ ")
        assert far.next() == (STDIN, b"x")
        far.end()

    with PodsServer({"p": script}, [WITH_TTY]) as server, Terminal() as terminal:
        before = terminal.attributes()
        with in_terminal(terminal, server, tmp_path, "-i", "p", program=program) as running:
            terminal.look_for(b"$ ")
            assert terminal.is_raw()
            terminal.type(b"x")
            ended = running.wait()
        assert terminal.attributes() == before
        shown = terminal.rest().decode()
    assert ended.code == 0
    assert shown == f"Session ended, resume using '{program} attach p -c a -n default -i -t' command\r\n"
    assert ended.stderr.startswith(NOTICES)
    assert query(server) == {"container": "a", "stdin": "true", "stdout": "true", "tty": "true"}


@both
def test_an_ephemeral_container_is_spoken_of_otherwise(tmp_path: Path, program: str) -> None:
    pod = a_pod("p", "a", ephemeralContainers=[{"name": "e", "tty": True}])
    with PodsServer({"p": lambda far: far.end()}, [pod]) as server, Terminal() as terminal:
        with in_terminal(terminal, server, tmp_path, "-it", "p", "-c", "e", program=program) as running:
            assert running.wait().code == 0
        assert terminal.rest().decode() == (
            "Session ended, the ephemeral container will not be restarted but may be reattached using "
            f"'{program} attach p -c e -n default -i -t' if it is still running\r\n"
        )


@pytest.mark.parametrize(
    ("args", "typed", "before"),
    [([], b"ab\x10\x11", b"ab"), (["--detach-keys=ctrl-a,d"], b"\x10\x11\x01d", b"\x10\x11")],
    ids=["usual", "others"],
)
def test_the_keys_leave_it_running(tmp_path: Path, args: list[str], typed: bytes, before: bytes) -> None:
    def script(far: Far) -> None:
        far.out(b"$ ")
        assert far.wait_for(CLOSE).payload == (1000).to_bytes(2, "big")
        messages = [each for each in far.messages() if each[0] != RESIZE]
        assert messages == [(STDIN, before), (HALF_CLOSE, bytes((STDIN,)))]
        far.until_gone()

    with PodsServer({"p": script}, [WITH_TTY]) as server, Terminal() as terminal:
        state = terminal.attributes()
        with in_terminal(terminal, server, tmp_path, "-it", "p", *args) as running:
            terminal.look_for(b"$ ")
            terminal.type(typed)
            ended = running.wait()
        assert terminal.attributes() == state
        assert terminal.rest().startswith(b"Session ended, resume using")
    assert (ended.code, ended.stderr) == (0, NOTICES)
    assert server.gets() == ["p"], "nobody asks how a container ended that was left"


@both
def test_keys_that_cannot_be_typed_are_an_error_before_anything(tmp_path: Path, program: str) -> None:
    with (
        PodsServer({"p": says}, [WITH_TTY]) as server,
        Terminal() as terminal,
        in_terminal(terminal, server, tmp_path, "-it", "p", "--detach-keys=foo", program=program) as running,
    ):
        ended = running.wait()
    assert (ended.code, ended.last) == (1, "error: could not bind detach keys: Unknown character: 'foo'")
    assert not server.upgrades


@both
def test_no_size_for_an_output_that_is_no_terminal(tmp_path: Path, program: str) -> None:
    def script(far: Far) -> None:
        far.end()
        assert not far.messages()

    with (
        PodsServer({"p": script}, [WITH_TTY]) as server,
        Terminal() as terminal,
        in_terminal(terminal, server, tmp_path, "-it", "p", program=program, stdout=subprocess.PIPE) as running,
    ):
        ended = running.wait()
    assert (ended.code, query(server)["tty"]) == (0, "true")


def test_the_recorded_notices_are_these() -> None:
    """What kubectl said to a real cluster."""
    path = Path(__file__).parents[2] / "fixtures" / "exec" / "attach-tty-less.expected.json"
    assert json.loads(path.read_text())["stderr"] == NOTICES
