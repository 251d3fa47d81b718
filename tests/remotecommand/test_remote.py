"""Commands as a program runs them: what goes over the wire, what comes back, and how each of them ends."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.upgrade import Upgraded
from rawkube.errors import StatusError, UpgradeRefused, UsageError, WaitTimeout
from rawkube.kubeconfig.access import Access
from rawkube.remotecommand import life_signs, remote
from rawkube.remotecommand.call import CommandFailed, Completed, exec, open_exec
from rawkube.remotecommand.channels import NoHalfClose, Output
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.protocols import V1, V4, V5, Protocol
from rawkube.remotecommand.remote import OutputNotRead, RemoteCommand
from rawkube.remotecommand.result import ExitCode, Failure, Interrupted, NoStatus, Success
from rawkube.wire.stream import Stream
from tests.support.script import failure
from tests.support.server import PeerGone
from tests.support.tls import Authority
from tests.support.websocket import (
    CLOSE,
    HALF_CLOSE,
    PING,
    RESIZE,
    STDIN,
    SUCCESS,
    ExecServer,
    Far,
    Script,
    exit_status,
    far_pair,
    in_thread,
    words,
)

MIB = 1024 * 1024
# Far more than both sockets' buffers hold.
LOTS = 24 * MIB


def client_of(server: ExecServer, namespace: str = "default") -> ApiClient:
    return ApiClient(Access(server=server.url, namespace=namespace))


def run(script: Script, *command: str, stdin: bytes = b"", timeout: float | None = 20.0) -> Completed:
    with ExecServer(script) as server, client_of(server) as client:
        return exec(client, "p", command or ["true"], stdin=stdin, timeout=timeout)


@pytest.fixture
def pair() -> Iterator[tuple[Far, Upgraded]]:
    """Both ends of a session, without a server: the client's is closed with the command."""
    far, client = far_pair()
    stream = Stream(client)
    yield far, Upgraded(stream, b"", "v5.channel.k8s.io")
    stream.close()
    far.peer.close()


# Run to the end


def test_output_and_exit_code_of_a_command() -> None:
    def script(far: Far) -> None:
        far.out(b"one\n\x00\xff")
        far.err(b"two\n")
        far.out(b"three")
        far.end(exit_status(3))

    with ExecServer(script) as server, client_of(server, namespace="demo") as client:
        completed = exec(client, "web-0", ["sh", "-c", "a;b &\n+#"])
    assert completed == (b"one\n\x00\xffthree", b"two\n", 3, 1000, ExitCode(3, "command terminated with exit code 3"))
    (asked,) = server.upgrades
    assert asked.path == "/api/v1/namespaces/demo/pods/web-0/exec"
    assert words(asked) == ["sh", "-c", "a;b &\n+#"]
    assert (asked.query["container"], asked.query.get("stdin"), asked.query["stderr"]) == ("main", None, "true")
    assert asked.header("Sec-WebSocket-Protocol") == "v5.channel.k8s.io, v4.channel.k8s.io"


def test_namespace_and_container_can_be_named() -> None:
    with ExecServer() as server, client_of(server) as client:
        assert exec(client, "pod/p", ["true"], namespace="other", container="main").result == Success()
    assert server.upgrades[0].path == "/api/v1/namespaces/other/pods/p/exec"


@pytest.mark.parametrize("given", [b"some input", [b"some ", b"", b"input"]], ids=["bytes", "pieces"])
def test_input_is_sent_and_ended(given: bytes | list[bytes]) -> None:
    def script(far: Far) -> None:
        far.out(far.stdin())
        far.end()

    with ExecServer(script) as server, client_of(server) as client:
        assert exec(client, "p", ["cat"], stdin=given).stdout == b"some input"
    assert server.upgrades[0].query["stdin"] == "true"
    assert server.upgrades[0].header("Sec-WebSocket-Protocol") == "v5.channel.k8s.io"
    assert server.far[0].messages()[-1] == (HALF_CLOSE, bytes((STDIN,)))


def test_more_than_all_buffers_hold_goes_through_cat_both_ways() -> None:
    data = bytes(range(256)) * (LOTS // 256)

    def script(far: Far) -> None:
        while (got := far.next())[0] != HALF_CLOSE:
            assert len(got[1]) <= 32 * 1024
            far.out(got[1])
        far.end()

    completed = run(script, "cat", stdin=data)
    assert hashlib.sha256(completed.stdout).digest() == hashlib.sha256(data).digest()


def test_over_tls() -> None:
    authority = Authority()

    def script(far: Far) -> None:
        far.out(far.stdin())
        far.end()

    data = bytes(1 * MIB)
    with ExecServer(script, tls=authority.server("127.0.0.1")) as server:
        access = Access(server=server.url, ca_data=authority.pem)
        with ApiClient(access) as client:
            assert exec(client, "p", ["cat"], stdin=data, timeout=20).stdout == data


def test_a_command_that_ends_without_reading_its_input() -> None:
    def script(far: Far) -> None:
        far.next()
        far.end(exit_status(7))

    assert run(script, stdin=bytes(LOTS)).exit_code == 7


def test_an_endless_source_ends_with_the_command() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(1000)

    def script(far: Far) -> None:
        far.next()
        far.end()

    with ExecServer(script) as server, client_of(server) as client:
        assert exec(client, "yes", ["head"], stdin=endless(), timeout=20).result == Success()


def test_check_raises_with_all_that_the_command_left() -> None:
    def script(far: Far) -> None:
        far.out(b"out")
        far.err(b"err")
        far.end(exit_status(4))

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        pytest.raises(CommandFailed, match=r"^command terminated with exit code 4$") as raised,
    ):
        exec(client, "p", ["false"], check=True)
    assert raised.value.completed[:3] == (b"out", b"err", 4)
    assert raised.value.exit_code == 4


def test_check_says_nothing_about_success() -> None:
    with ExecServer() as server, client_of(server) as client:
        assert exec(client, "p", ["true"], check=True).exit_code == 0


BOO = b'{"status":"Failure","message":"boo","reason":"InternalError","code":500}'


@pytest.mark.parametrize(
    ("script", "kind", "close_code"),
    [
        pytest.param(lambda far: far.end(BOO), Failure, 1000, id="not-run"),
        pytest.param(lambda far: far.peer.close(), NoStatus, 1006, id="gone"),
        pytest.param(lambda far: far.close(1011, b"why"), NoStatus, 1011, id="close-1011"),
        pytest.param(lambda far: far.close(1000), NoStatus, 1000, id="close-1000-without-status"),
        pytest.param(lambda far: far.close(1005), NoStatus, 1005, id="close-without-code"),
        pytest.param(lambda far: (far.status(), far.close(1001)), Interrupted, 1001, id="status-then-1001"),
        pytest.param(lambda far: far.raw(b"\x81\x01x"), NoStatus, 1006, id="text-frame"),
        pytest.param(lambda far: far.raw(b"\xf2\x01x"), NoStatus, 1002, id="reserved-bits"),
    ],
)
def test_an_end_that_is_not_the_commands(script: Script, kind: type, close_code: int) -> None:
    def whole(far: Far) -> None:
        far.out(b"before")
        script(far)

    completed = run(whole)
    assert isinstance(completed.result, kind)
    assert (completed.stdout, completed.exit_code, completed.close_code) == (b"before", 1, close_code)


def test_a_timeout_closes_the_connection_cleanly() -> None:
    def script(far: Far) -> None:
        far.out(b"begun")
        far.pongs = False
        assert far.wait_for(CLOSE).payload == (1000).to_bytes(2, "big")
        assert (HALF_CLOSE, bytes((STDIN,))) in far.messages()
        far.close()
        far.until_gone()

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        pytest.raises(WaitTimeout, match=r"^the command was still running after 300ms$"),
    ):
        exec(client, "p", ["sleep", "9"], stdin=b"x", timeout=0.3)


def test_errors_before_the_command() -> None:
    with ExecServer(refusals=[failure(403, "no")]) as server, client_of(server) as client:
        with pytest.raises(UpgradeRefused, match="unable to upgrade connection: no"):
            exec(client, "p", ["true"])
        with pytest.raises(StatusError):
            exec(client, "deploy/none", ["true"])
        with pytest.raises(UsageError, match="you must specify at least one command"):
            exec(client, "p", [])
        with pytest.raises(TypeError, match="list of words"):
            exec(client, "p", "ls -l")
    assert len(server.upgrades) == 1


# Held


def test_a_conversation() -> None:
    def script(far: Far) -> None:
        far.out(b"$ ")
        assert far.next() == (STDIN, b"date\n")
        far.out(b"Monday\n")
        assert far.next() == (HALF_CLOSE, bytes((STDIN,)))
        far.err(b"bye\n")
        far.end(exit_status(2))

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        open_exec(client, "p", ["sh"], stdin=True) as command,
    ):
        assert command.receive(20) == Output(1, b"$ ")
        with pytest.raises(RuntimeError, match="has not ended"):
            command.result  # noqa: B018
        assert (command.close_code, command.protocol) == (0, V5)
        command.write(b"date\n")
        assert command.receive(20) == (1, b"Monday\n")
        command.close_stdin()
        assert list(command) == [(2, b"bye\n")]
        assert command.receive() is None
        assert isinstance(command.result, ExitCode)
        assert command.close_code == 1000


def test_a_terminal_and_its_size() -> None:
    def script(far: Far) -> None:
        assert far.next() == (RESIZE, b'{"Width":80,"Height":24}\n')
        far.end()

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        open_exec(client, "p", ["sh"], stdin=True, tty=True) as command,
    ):
        command.resize(80, 24)
        assert list(command) == []
    query = server.upgrades[0].query
    assert (query["tty"], query["stdin"], query.get("stderr")) == ("true", "true", None)


def test_what_was_not_asked_for_cannot_be_used() -> None:
    with ExecServer() as server, client_of(server) as client, open_exec(client, "p", ["true"]) as command:
        uses: list[Callable[[], None]] = [lambda: command.write(b"x"), command.close_stdin, lambda: command.feed([])]
        for use in uses:
            with pytest.raises(ValueError, match="no stdin was asked for"):
                use()
        with pytest.raises(ValueError, match="no terminal was asked for"):
            command.resize(1, 1)
        assert list(command) == []


@pytest.mark.parametrize("protocol", [V4, V1], ids=lambda protocol: protocol.name)
def test_older_subprotocols_cannot_end_the_input(protocol: Protocol) -> None:
    def script(far: Far) -> None:
        assert far.stdin(1) == b"x"
        if protocol.json_status:
            far.status()
        far.close()
        far.until_gone()

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        open_exec(client, "p", ["sh"], stdin=True, protocols=[protocol]) as command,
    ):
        with pytest.raises(NoHalfClose):
            command.close_stdin()
        command.feed([b"x"])
        assert list(command) == []
        assert command.result == Success()
    assert server.upgrades[0].header("Sec-WebSocket-Protocol") == protocol.name


def test_waiting_for_output_has_an_end_of_its_own(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair
    with RemoteCommand(upgraded) as command:
        with pytest.raises(WaitTimeout, match=r"^no output came within 50ms$"):
            command.receive(0.05)
        far.out(b"later")
        assert command.receive(20) == (1, b"later")
        far.status()
        far.close()
        assert command.receive() is None


def test_bytes_that_came_with_the_101_are_not_lost(pair: tuple[Far, Upgraded]) -> None:
    _, upgraded = pair
    with RemoteCommand(upgraded._replace(data=b"\x82\x03\x01ab\x88\x02\x03\xe8")) as command:
        assert list(command) == [(1, b"ab")]
        assert isinstance(command.result, NoStatus)


def test_leaving_early_says_so(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair
    codes: list[int] = []

    def server() -> None:
        far.out(b"on and on")
        codes.append(far.wait_close())
        far.out(b"still")
        far.close()
        far.until_gone()

    with in_thread(server):
        with RemoteCommand(upgraded) as command:
            assert command.receive(20) == (1, b"on and on")
        assert command.receive() is None
    assert codes == [1000]
    assert far.messages() == [(HALF_CLOSE, bytes((STDIN,)))]
    assert isinstance(command.result, NoStatus)


def test_an_exception_inside_closes_the_connection_too(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair

    def server() -> None:
        far.wait_close()
        far.close()
        far.until_gone()

    with in_thread(server), pytest.raises(ZeroDivisionError), RemoteCommand(upgraded):
        raise ZeroDivisionError
    assert upgraded.stream.fileno() == -1


def test_a_server_that_takes_no_notice_is_left(pair: tuple[Far, Upgraded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_signs, "CLOSING", 0.05)
    _, upgraded = pair
    with RemoteCommand(upgraded) as command:
        pass
    assert command.close_code == 1006


# Both sides busy


def test_while_input_is_written_output_is_read() -> None:
    """The server takes input only as fast as its own output is taken: with a client that does one thing at a time
    both would wait for ever."""
    half = LOTS // 2

    def script(far: Far) -> None:
        for _ in range(half // MIB):
            far.out(bytes(MIB))
        assert len(far.stdin()) == half
        far.end()

    with (
        ExecServer(script) as server,
        client_of(server) as client,
        open_exec(client, "p", ["x"], stdin=True, timeout=20) as command,
    ):
        command.write(bytes(half))
        command.close_stdin()
        assert sum(len(data) for _, data in command) == half
        assert command.result == Success()


def test_a_writer_that_never_reads_is_told(monkeypatch: pytest.MonkeyPatch, pair: tuple[Far, Upgraded]) -> None:
    monkeypatch.setattr(remote, "MAX_UNREAD", MIB)
    far, upgraded = pair
    done = threading.Event()

    def server() -> None:
        try:
            while not done.is_set():
                far.out(bytes(100_000))  # and takes no input at all
        except PeerGone:
            pass

    with in_thread(server):
        command = RemoteCommand(upgraded, timeout=20)
        with pytest.raises(OutputNotRead, match="1048576 bytes of output"):
            command.write(bytes(LOTS))
        done.set()
        upgraded.stream.close()


def test_input_after_the_end_is_dropped(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair
    far.raw(b"\x82" + bytes((len(SUCCESS) + 1, 3)) + SUCCESS + b"\x88\x02\x03\xe8")
    with RemoteCommand(upgraded) as command:
        assert list(command) == []
        command.write(b"too late")
        assert command.result == Success()


def test_time_is_over_while_nothing_is_taken(pair: tuple[Far, Upgraded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_signs, "CLOSING", 0.05)
    _, upgraded = pair
    with RemoteCommand(upgraded, timeout=0.1) as command, pytest.raises(WaitTimeout):
        command.write(bytes(LOTS))


# Signs of life


def test_pings_go_out_while_it_waits(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair

    def server() -> None:
        far.wait_for(PING)
        far.wait_for(PING)
        far.status()
        far.close()
        far.until_gone()

    with in_thread(server), RemoteCommand(upgraded, timing=Timing(0.02, 20.0)) as command:
        assert list(command) == []
        assert command.result == Success()


def test_silence_is_an_end(pair: tuple[Far, Upgraded]) -> None:
    _, upgraded = pair
    with RemoteCommand(upgraded, timing=Timing(0.01, 0.1)) as command:
        assert list(command) == []
        assert command.result.line.endswith("i/o timeout")


class Clock:
    """Time that passes only when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_time_that_the_caller_spends_elsewhere_is_not_silence(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair
    clock = Clock()
    with RemoteCommand(upgraded, clock=clock) as command:
        far.out(b"a")
        assert command.receive() == (1, b"a")
        clock.now += 3600
        far.out(b"b")
        assert command.receive() == (1, b"b")
        far.status()
        far.close()
        assert list(command) == []
        assert command.result == Success()


def test_a_status_counts_though_the_server_stays(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair

    def server() -> None:
        far.status(exit_status(9))
        assert far.wait_close() == 1000
        far.close()
        far.until_gone()

    with in_thread(server), RemoteCommand(upgraded, timing=Timing(5.0, 60.0, 0.05)) as command:
        assert list(command) == []
        assert command.result == ExitCode(9, "command terminated with exit code 9")


def test_without_limits_it_waits_without_one(pair: tuple[Far, Upgraded]) -> None:
    far, upgraded = pair
    endless = float("inf")
    far.status()
    far.close()
    with RemoteCommand(upgraded, timing=Timing(endless, endless)) as command:
        assert list(command) == []


def test_a_subprotocol_that_nobody_knows(pair: tuple[Far, Upgraded]) -> None:
    with pytest.raises(ValueError, match="unknown protocol"):
        RemoteCommand(pair[1]._replace(protocol="v9"))
