"""A session, in this process: a scripted far side, and files, pipes, sockets, terminals on this side."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import signal
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from rawkube.remotecommand import protocols
from rawkube.remotecommand.channels import Channels
from rawkube.remotecommand.life_signs import Timing
from rawkube.remotecommand.result import INCOMPLETE, Result
from rawkube.remotecommand.session import STDIN_PIECE, Local, Session, StdinEnded
from rawkube.remotecommand.terminal import Resizes, Stopped, StopSignals
from rawkube.wire.stream import Stream
from tests.support.server import Peer, PeerGone
from tests.support.tls import Authority
from tests.support.websocket import (
    BINARY,
    CONTINUATION,
    HALF_CLOSE,
    PING,
    PONG,
    RESIZE,
    STDIN,
    STDOUT,
    SUCCESS,
    Far,
    Frame,
    Script,
    close_frame,
    exit_status,
    far_pair,
    fragments,
    frame,
    in_thread,
    message,
    says,
)

# A session that hangs ends by itself, and its test fails.
PATIENT = Timing(5.0, 20.0, 20.0)
EVERY_BYTE = bytes(range(256))
READING = "error: error reading from error stream: next reader: "


class Ran(NamedTuple):
    """What a session left: how it ended, what it wrote, how many seconds it took."""

    result: Result
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def end(self) -> tuple[int, str]:
        """(exit code, the line for stderr)."""
        return self.result.exit_code, self.result.line


def run(
    script: Script,
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    protocol: str = "v5.channel.k8s.io",
    tty: bool = False,
    timing: Timing = PATIENT,
    data: bytes = b"",
    resizes: Resizes | None = None,
    size: tuple[int, int] | None = None,
    on_stdin_end: Callable[[], bool] = lambda: False,
    pair: tuple[Far, socket.socket] | None = None,
    stream: Stream | None = None,
) -> Ran:
    """Runs a session against a script, which runs beside it. stdout and stderr are files unless given."""
    far, client = pair or far_pair()
    far.protocol = protocol
    chosen = protocols.find(protocol)
    assert chosen is not None

    def work() -> None:
        try:
            script(far)
        finally:
            far.peer.close()

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, in_thread(work):
        started = time.monotonic()
        stream = stream or Stream(client)
        local = Local(stdin, out.fileno() if stdout is None else stdout, err.fileno(), resizes, size)
        channels = Channels(chosen, tty=tty)
        session = Session(stream, channels, local, data=data, timing=timing, on_stdin_end=on_stdin_end)
        try:
            result = session.run()
        finally:
            stream.close()
        seconds = time.monotonic() - started
        found = []
        for file in (out, err):
            file.seek(0)
            found.append(file.read())
        return Ran(result, found[0], found[1], seconds)


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """(reader, writer); both are closed at the end, unless they are already."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


@contextlib.contextmanager
def fed(data: bytes) -> Iterator[int]:
    """A pipe that gets these bytes, however slowly they are taken, and then ends."""
    with pipe() as (reader, writer):

        def feed() -> None:
            view = memoryview(data)
            with contextlib.suppress(OSError):
                while view:
                    view = view[os.write(writer, view[:65536]) :]
            os.close(writer)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        yield reader
        os.close(reader)
        thread.join(10)


def tls_pair() -> tuple[Far, socket.socket]:
    """As far_pair, inside TLS."""
    far, client = far_pair()
    authority = Authority()

    def shake() -> None:
        far.peer.sock = authority.server("h").wrap_socket(far.peer.sock, server_side=True)

    with in_thread(shake):
        context = ssl.create_default_context(cadata=authority.pem.decode())
        secure = context.wrap_socket(client, server_hostname="h")
    return far, secure


# Output


class TestOutput:
    def test_every_byte_on_both_streams(self) -> None:
        def script(far: Far) -> None:
            far.out(EVERY_BYTE)
            far.err(EVERY_BYTE[::-1])
            far.end()

        ran = run(script)
        assert (ran.stdout, ran.stderr, ran.end) == (EVERY_BYTE, EVERY_BYTE[::-1], (0, ""))

    def test_a_character_cut_in_two(self) -> None:
        euro = "€".encode()
        ran = run(says(message(1, b"a" * 4095 + euro[:1]), message(1, euro[1:]), message(3, SUCCESS), close_frame()))
        assert ran.stdout == b"a" * 4095 + euro

    def test_70000_bytes_in_three_messages(self) -> None:
        data = os.urandom(70_000)
        pieces = (data[:32768], data[32768:65536], data[65536:])
        ran = run(says(*(message(1, piece) for piece in pieces), message(3, SUCCESS), close_frame()))
        assert (ran.stdout == data, ran.end) == (True, (0, ""))

    def test_one_message_of_a_megabyte(self) -> None:
        data = os.urandom(1 << 20)

        def script(far: Far) -> None:
            far.out(data)
            far.end()

        assert run(script).stdout == data

    def test_frames_in_one_tls_record_and_then_silence(self) -> None:
        def script(far: Far) -> None:
            # One call of send is one record.
            frames = [message(1, b"one"), message(1, b"two"), message(2, b"three"), message(3, exit_status(2))]
            far.raw(b"".join([*frames, close_frame()]))
            assert far.wait_close() == 1000
            far.until_gone()

        ran = run(script, pair=tls_pair())
        assert (ran.stdout, ran.stderr, ran.result.exit_code) == (b"onetwo", b"three", 2)
        assert ran.seconds < 5

    def test_the_rest_of_a_tls_record_of_which_the_handshake_took_a_part(self) -> None:
        far, client = tls_pair()
        far.raw(message(1, b"one") + message(1, b"two") + message(3, SUCCESS) + close_frame())
        stream = Stream(client)
        data = stream.recv(4, timeout=10)
        ran = run(Far.until_gone, pair=(far, client), stream=stream, data=data)
        assert (data, ran.stdout, ran.end) == (b"\x82\x04\x01o", b"onetwo", (0, ""))
        assert ran.seconds < 5

    @pytest.mark.parametrize("first", [b"", b"\x01", b"\x01h"], ids=["0", "1", "2"])
    def test_fragments_with_pings_between(self, first: bytes) -> None:
        rest = b"\x01hello"[len(first) :]

        def script(far: Far) -> None:
            far.raw(frame(BINARY, first, fin=False) + frame(PING, b"a") + frame(CONTINUATION, rest[:2], fin=False))
            far.raw(frame(PING, b"b") + frame(CONTINUATION, b"", fin=False) + frame(CONTINUATION, rest[2:]))
            far.end()
            assert [got for got in far.seen if got.opcode == PONG] == [Frame(PONG, b"a"), Frame(PONG, b"b")]

        ran = run(script)
        assert (ran.stdout, ran.end) == (b"hello", (0, ""))

    def test_a_fragment_of_one_channel_is_not_one_of_another(self) -> None:
        pieces = fragments(1, b"\x02", b"\x03", b"\x01"), fragments(2, b"\x01", b"\x03")
        ran = run(says(*pieces, message(3, SUCCESS), close_frame()))
        assert (ran.stdout, ran.stderr, ran.end) == (b"\x02\x03\x01", b"\x01\x03", (0, ""))

    def test_empty_messages_say_nothing(self) -> None:
        ready = b"".join(message(channel) for channel in (1, 2, 3, 1, 2, 3))
        ran = run(says(ready, message(1, b"x"), ready, message(3, SUCCESS), message(3), close_frame()))
        assert (ran.stdout, ran.stderr, ran.end) == (b"x", b"", (0, ""))

    def test_what_came_with_the_handshake(self) -> None:
        ran = run(says(close_frame()), data=message(1, b"x") + message(3, exit_status(4)))
        assert (ran.stdout, ran.result.exit_code) == (b"x", 4)

    def test_everything_came_with_the_handshake(self) -> None:
        data = message(1, b"x") + message(3, SUCCESS) + close_frame()
        ran = run(lambda far: far.until_gone(), data=data)
        assert (ran.stdout, ran.end) == (b"x", (0, ""))

    def test_unknown_channels_and_stdin_are_discarded(self) -> None:
        noise = [message(channel, b"noise") for channel in (0, 4, 7, 255)]
        ran = run(says(*noise, message(1, b"x"), message(3, SUCCESS), close_frame()))
        assert (ran.stdout, ran.stderr, ran.end) == (b"x", b"", (0, ""))

    def test_with_a_tty_there_is_no_stderr(self) -> None:
        ran = run(says(message(2, b"noise"), message(1, b"x"), message(3, SUCCESS), close_frame()), tty=True)
        assert (ran.stdout, ran.stderr) == (b"x", b"")


# The end


class TestEnd:
    def test_the_status_in_pieces(self) -> None:
        status = exit_status(9)
        pieces = [message(3, status[:1]), message(3, status[1:40]), message(1, b"x"), message(3, status[40:])]
        ran = run(says(*pieces, close_frame()))
        assert (ran.stdout, ran.end) == (b"x", (9, "command terminated with exit code 9"))

    def test_output_behind_the_status(self) -> None:
        ran = run(says(message(3, exit_status(9)), message(1, b"late"), message(2, b"lateerr"), close_frame()))
        assert (ran.stdout, ran.stderr, ran.result.exit_code) == (b"late", b"lateerr", 9)

    @pytest.mark.parametrize("code", [0, 1, 127, 137, 255])
    def test_the_exit_code_is_the_commands(self, code: int) -> None:
        ran = run(lambda far: far.end(exit_status(code)))
        assert ran.end == (code, f"command terminated with exit code {code}")

    @pytest.mark.parametrize(
        ("end", "said"),
        [
            (close_frame(1001, b"why"), "websocket: close 1001 (going away): why"),
            (close_frame(1011), "websocket: close 1011 (internal server error)"),
            (close_frame(4000, b"why"), "websocket: close 4000: why"),
            (close_frame(1005), "websocket: close 1005 (no status)"),
        ],
        ids=["1001", "1011", "4000", "1005"],
    )
    def test_another_close_than_1000_is_a_failure_and_is_answered(self, end: bytes, said: str) -> None:
        codes = []

        def script(far: Far) -> None:
            far.out(b"x")
            far.status(exit_status(5))
            far.raw(end)
            codes.append(far.wait_close())

        ran = run(script)
        assert ran.stdout == b"x"
        assert ran.end == (1, f"{READING}{said} (the command's status had come before: exit code 5)")
        assert codes == [int.from_bytes(end[2:4], "big") or 1005]

    def test_1000_without_a_status(self) -> None:
        ran = run(says(message(1, b"out"), close_frame()))
        assert (ran.stdout, ran.end) == (b"out", (1, f"error: {INCOMPLETE}"))

    @pytest.mark.parametrize("status", [b"", SUCCESS], ids=["no-status", "success"])
    def test_the_connection_just_ends(self, status: bytes) -> None:
        def script(far: Far) -> None:
            far.out(b"out")
            far.status(status)
            far.peer.close()

        ran = run(script)
        had = " (the command's status had come before: success)" if status else ""
        said = f"{READING}websocket: close 1006 (abnormal closure): unexpected EOF{had}"
        assert (ran.stdout, ran.end) == (b"out", (1, said))

    def test_a_reset(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            client = socket.create_connection(listener.getsockname())
            far = Far(Peer(listener.accept()[0], 1, threading.Event()))

        def script(far: Far) -> None:
            far.out(b"out")
            far.stdin(1)
            far.peer.reset()

        # Input that does not end: a write after the reset would use up the error that the read is to see.
        stdin, held = os.pipe()
        os.write(held, b"x")
        try:
            ran = run(script, pair=(far, client), stdin=stdin)
        finally:
            os.close(stdin)
            os.close(held)
        assert ran.stdout == b"out"
        assert ran.end[1].startswith(f"{READING}read tcp 127.0.0.1:")
        assert ran.end[1].endswith(": read: connection reset by peer")

    @pytest.mark.parametrize(
        ("said", "text"),
        [
            (frame(1, b"\x01x"), "error reading from error stream: unexpected message type: 1"),
            (frame(2, b""), "error reading from error stream: read stream id: EOF"),
            (b"\xc2\x01\x01", "error reading from error stream: next reader: websocket: RSV1 set"),
        ],
        ids=["text", "empty", "rsv1"],
    )
    def test_a_breach_of_the_protocol(self, said: bytes, text: str) -> None:
        ran = run(says(message(1, b"out"), said))
        assert (ran.stdout, ran.end) == (b"out", (1, f"error: {text}"))

    @pytest.mark.parametrize(
        ("rest", "place"), [(1, "read message: "), (5, "read stream id: ")], ids=["payload", "header"]
    )
    def test_the_end_in_the_middle_of_a_message(self, rest: int, place: str) -> None:
        def script(far: Far) -> None:
            far.raw(message(1, b"outp")[:-rest])
            far.peer.close()

        ran = run(script)
        said = f"error: error reading from error stream: {place}websocket: close 1006 (abnormal closure): "
        assert (ran.stdout, ran.end) == (b"outp"[: max(0, 4 - rest)], (1, said + "unexpected EOF"))

    def test_nothing_more_is_sent_behind_the_answer_to_a_close(self) -> None:
        def script(far: Far) -> None:
            far.end()
            with pytest.raises(PeerGone):
                far.read()

        with fed(b"") as stdin:
            assert run(script, stdin=stdin).end == (0, "")


# Time


class TestTime:
    def test_a_server_that_stays_open_after_the_status_is_closed(self) -> None:
        codes = []

        def script(far: Far) -> None:
            far.out(b"x")
            far.status(exit_status(3))
            codes.append(far.wait_close())
            far.out(b"last")
            far.close()

        ran = run(script, timing=Timing(5, 20, 0.2))
        assert (ran.stdout, ran.end) == (b"xlast", (3, "command terminated with exit code 3"))
        assert codes == [1000]
        assert 0.2 <= ran.seconds < 5

    def test_and_its_status_counts_even_if_it_never_answers(self) -> None:
        def script(far: Far) -> None:
            far.status()
            far.until_gone()

        assert run(script, timing=Timing(5, 20, 0.1)).end == (0, "")

    def test_output_after_the_status_prolongs_its_grace_and_pings_do_not(self) -> None:
        late: list[float] = []

        def script(far: Far) -> None:
            far.status()
            started = time.monotonic()
            for _ in range(4):
                far.peer.stopping.wait(0.15)
                far.out(b"x")
            last = time.monotonic()
            far.peer.sock.settimeout(0.05)
            while True:
                far.ping()
                with contextlib.suppress(PeerGone):
                    if far.read().opcode == 8:
                        break
            late.extend((last - started, time.monotonic() - last))

        ran = run(script, timing=Timing(5, 20, 0.4))
        assert (ran.stdout, ran.end) == (b"xxxx", (0, ""))
        assert late[0] > 0.5
        assert 0.2 < late[1] < 5

    def test_a_reader_that_sleeps_is_no_silence_after_the_status(self) -> None:
        """What follows the status waits in the socket for longer than the grace; nothing is closed meanwhile."""
        more = b"y" * 300_000
        awake = threading.Event()

        def script(far: Far) -> None:
            far.raw(message(1, b"x" * 200_000) + message(3, SUCCESS) + message(1, more))
            assert awake.wait(10)
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                assert far.read().opcode == PING
            far.close()
            far.until_gone()

        with pipe() as (reader, writer):
            got = bytearray()

            def read_late() -> None:
                awake.wait(0.9)
                awake.set()
                while piece := os.read(reader, 65536):
                    got.extend(piece)

            with in_thread(read_late):
                ran = run(script, stdout=writer, timing=Timing(0.1, 20, 0.7))
                os.close(writer)
        assert (bytes(got) == b"x" * 200_000 + more, ran.end) == (True, (0, ""))

    def test_silence(self) -> None:
        def script(far: Far) -> None:
            far.pongs = False
            far.out(b"x")
            far.until_gone()
            assert [got.payload for got in far.seen if got.opcode == PING][:2] == [b"", b""]

        ran = run(script, timing=Timing(0.1, 0.4, 10))
        assert (ran.stdout, ran.result.exit_code) == (b"x", 1)
        assert ran.result.line.startswith(f"{READING}read tcp ")
        assert ran.result.line.endswith(": i/o timeout")
        assert 0.4 <= ran.seconds < 5

    @pytest.mark.parametrize("life", [message(1, b"."), frame(PING), frame(PONG), b"\x82"], ids=lambda data: data.hex())
    def test_whatever_comes_is_a_sign_of_life(self, life: bytes) -> None:
        # One byte stands for a message that comes byte by byte.
        pieces = [bytes((byte,)) for byte in message(1, b"slowly")] if len(life) == 1 else [life] * 8

        def script(far: Far) -> None:
            far.pongs = False
            for piece in pieces:
                far.peer.stopping.wait(0.06)
                far.raw(piece)
            far.raw(message(3, SUCCESS) + close_frame())
            far.until_gone()

        ran = run(script, timing=Timing(0.05, 0.4, 10))
        assert ran.end == (0, "")
        assert ran.seconds > 0.45

    def test_pings_at_their_interval(self) -> None:
        def script(far: Far) -> None:
            for _ in range(3):
                far.wait_for(PING)
            far.end()

        ran = run(script, timing=Timing(0.1, 20, 10))
        assert ran.end == (0, "")
        assert 0.3 <= ran.seconds < 5

    def test_no_pings_and_no_limit(self) -> None:
        def script(far: Far) -> None:
            far.peer.stopping.wait(0.3)
            far.end()
            assert [got for got in far.seen if got.opcode == PING] == []

        assert run(script, timing=Timing(math.inf, math.inf, math.inf)).end == (0, "")

    def test_the_servers_pings_are_answered_with_their_payload(self) -> None:
        def script(far: Far) -> None:
            far.ping(b"test heartbeat message")
            assert far.wait_for(PONG).payload == b"test heartbeat message"
            far.end()

        assert run(script).end == (0, "")

    def test_a_blocked_read_of_stdin_does_not_delay_the_end(self) -> None:
        with pipe() as (reader, _):
            ran = run(lambda far: far.end(exit_status(6)), stdin=reader)
        assert ran.result.exit_code == 6
        assert ran.seconds < 2


# stdin


class TestStdin:
    def test_pieces_of_at_most_32_kib_and_one_half_close(self) -> None:
        data = os.urandom(5 << 20)
        got: list[bytes] = []

        def script(far: Far) -> None:
            got.append(far.stdin())
            far.end()
            sizes = [len(payload) for channel, payload in far.messages() if channel == STDIN]
            assert max(sizes) <= STDIN_PIECE == 32 * 1024
            assert far.messages()[-1] == (HALF_CLOSE, b"\0")
            assert sum(channel == HALF_CLOSE for channel, _ in far.messages()) == 1

        with fed(data) as stdin:
            ran = run(script, stdin=stdin)
        assert (got == [data], ran.end) == (True, (0, ""))

    def test_never_a_close_before_the_status(self) -> None:
        def script(far: Far) -> None:
            far.stdin()
            far.peer.stopping.wait(0.3)
            far.peer.sock.settimeout(0.05)
            with pytest.raises(PeerGone) as raised:
                far.read()
            assert isinstance(raised.value.__cause__, TimeoutError)
            far.peer.sock.settimeout(None)
            far.end()

        with fed(b"data") as stdin:
            assert run(script, stdin=stdin).end == (0, "")

    def test_an_echo_larger_than_any_buffer(self) -> None:
        data = os.urandom(3 << 20)

        def script(far: Far) -> None:
            while True:
                channel, payload = far.next()
                if channel == HALF_CLOSE:
                    break
                far.out(payload)
                far.err(payload[::-1])
            far.end()

        with fed(data) as stdin:
            ran = run(script, stdin=stdin)
        assert (ran.stdout == data, len(ran.stderr), ran.end) == (True, len(data), (0, ""))

    def test_the_command_ends_while_5_mb_are_still_being_sent(self) -> None:
        def script(far: Far) -> None:
            far.stdin(1)
            far.raw(message(1, b"enough") + message(3, exit_status(7)) + close_frame())
            # Nothing more is read: what the client still sends fills the buffers, and then meets a closed socket.

        with fed(b"x" * 5_000_000) as stdin:
            ran = run(script, stdin=stdin)
        assert (ran.stdout, ran.end) == (b"enough", (7, "command terminated with exit code 7"))

    def test_a_server_that_reads_nothing_gets_no_more_than_the_buffers_hold(self) -> None:
        taken = 0

        with pipe() as (reader, writer):
            os.set_blocking(writer, False)

            def script(far: Far) -> None:
                nonlocal taken
                quiet = 0
                while quiet < 20:
                    try:
                        taken += os.write(writer, b"x" * 4096)
                        quiet = 0
                    except BlockingIOError:
                        quiet += 1
                        far.peer.stopping.wait(0.01)
                os.close(writer)
                assert len(far.stdin()) == taken
                far.end()

            assert run(script, stdin=reader).end == (0, "")
        assert 32 * 1024 < taken < 2 << 20

    @pytest.mark.parametrize("kind", ["file", "null", "socket", "closed", "directory", "empty-pipe"])
    def test_kinds_of_stdin(self, kind: str, tmp_path: Path) -> None:
        data = b"" if kind in ("null", "closed", "directory", "empty-pipe") else b"line\n" * 20_000

        def script(far: Far) -> None:
            assert far.stdin() == data
            far.end()

        with opened(kind, data, tmp_path) as stdin:
            assert run(script, stdin=stdin).end == (0, "")

    def test_a_terminal_in_its_usual_mode(self) -> None:
        person, program = pty.openpty()

        def script(far: Far) -> None:
            os.write(person, b"hello\n")
            assert far.next() == (STDIN, b"hello\n")
            os.write(person, b"more\x04")
            assert far.next() == (STDIN, b"more")
            os.write(person, b"\x04")
            assert far.next() == (HALF_CLOSE, b"\0")
            far.end()

        try:
            assert run(script, stdin=program).end == (0, "")
        finally:
            os.close(person)
            os.close(program)

    def test_a_pipe_that_its_owner_made_non_blocking(self) -> None:
        def script(far: Far) -> None:
            os.write(writer, b"a")
            assert far.next() == (STDIN, b"a")
            os.close(writer)
            assert far.next() == (HALF_CLOSE, b"\0")
            far.end()

        with pipe() as (reader, writer):
            os.set_blocking(reader, False)
            assert run(script, stdin=reader).end == (0, "")

    def test_without_stdin_nothing_is_sent(self) -> None:
        def script(far: Far) -> None:
            far.out(b"x")
            far.end()
            assert far.messages() == []

        assert run(script).end == (0, "")


@contextlib.contextmanager
def opened(kind: str, data: bytes, home: Path) -> Iterator[int]:
    """A descriptor of some kind that holds the data and then ends."""
    if kind == "file":
        (home / "stdin").write_bytes(data)
    paths = {"file": home / "stdin", "null": Path(os.devnull), "directory": home}
    if kind == "socket":
        ours, theirs = socket.socketpair()

        def send() -> None:
            theirs.sendall(data)
            theirs.close()

        sender = threading.Thread(target=send)
        sender.start()
        with ours:
            yield ours.fileno()
        sender.join()
    elif kind == "empty-pipe":
        with fed(b"") as reader:
            yield reader
    elif kind == "closed":
        descriptor = os.open(os.devnull, os.O_RDONLY)
        spare = os.dup2(descriptor, 200)
        os.close(descriptor)
        os.close(spare)
        yield spare
    else:
        descriptor = os.open(paths[kind], os.O_RDONLY)
        yield descriptor
        os.close(descriptor)


# Protocols that cannot send the end of the input


class TestOlderProtocols:
    def test_v4_waits_for_the_server_after_the_end_of_the_input(self) -> None:
        ended: list[bool] = []

        def note() -> bool:
            ended.append(True)
            return False

        def script(far: Far) -> None:
            assert far.stdin(3) == b"abc"
            far.wait_for(PING)
            assert [channel for channel, _ in far.messages()] == [STDIN]
            far.end(exit_status(2))

        with fed(b"abc") as stdin:
            ran = run(
                script,
                stdin=stdin,
                protocol="v4.channel.k8s.io",
                timing=Timing(0.1, 20, 10),
                on_stdin_end=note,
            )
        assert (ran.result.exit_code, ended) == (2, [True])

    def test_v4_can_close_instead(self) -> None:
        def script(far: Far) -> None:
            assert far.wait_close() == 1000
            far.out(b"last")
            far.close()

        with fed(b"abc") as stdin:
            ran = run(script, stdin=stdin, protocol="v4.channel.k8s.io", on_stdin_end=lambda: True)
        assert (ran.stdout, ran.end) == (b"last", (1, f"error: {INCOMPLETE}"))

    def test_v4_can_make_it_an_error(self) -> None:
        def refuse() -> bool:
            raise StdinEnded("no")

        with fed(b"abc") as stdin, pytest.raises(StdinEnded, match="no"):
            run(Far.until_gone, stdin=stdin, protocol="v4.channel.k8s.io", on_stdin_end=refuse)

    @pytest.mark.parametrize("protocol", ["channel.k8s.io", "base64.channel.k8s.io"])
    @pytest.mark.parametrize("text", [b"", b"command terminated with non-zero exit code: 3"], ids=["silence", "text"])
    def test_v1_has_text_for_a_status(self, protocol: str, text: bytes) -> None:
        def script(far: Far) -> None:
            assert far.stdin(len(EVERY_BYTE)) == EVERY_BYTE
            far.out(EVERY_BYTE)
            far.err(b"oops")
            far.status(text)
            far.close()
            far.until_gone()

        with fed(EVERY_BYTE) as stdin:
            ran = run(script, stdin=stdin, protocol=protocol)
        end = (1, f"error: error executing remote command: {text.decode()}") if text else (0, "")
        assert (ran.stdout, ran.stderr, ran.end) == (EVERY_BYTE, b"oops", end)

    def test_v4_in_base64(self) -> None:
        def script(far: Far) -> None:
            assert far.stdin(100_000) == b"\xff" * 100_000
            far.out(EVERY_BYTE)
            far.end(exit_status(3))

        with fed(b"\xff" * 100_000) as stdin:
            ran = run(script, stdin=stdin, protocol="v4.base64.channel.k8s.io")
        assert (ran.stdout, ran.result.exit_code) == (EVERY_BYTE, 3)


# This side's output


class TestLocalOutput:
    @pytest.mark.parametrize("kind", ["pipe", "socket", "non-blocking-socket"])
    def test_a_reader_that_sleeps_loses_nothing_and_stops_the_server(self, kind: str) -> None:
        data, sent = os.urandom(4 << 20), 0
        stalled = threading.Event()

        def script(far: Far) -> None:
            nonlocal sent
            far.peer.sock.settimeout(0.3)
            view = memoryview(b"".join(message(1, data[at : at + 32768]) for at in range(0, len(data), 32768)))
            while view:
                try:
                    taken = far.peer.sock.send(view[:65536])
                except TimeoutError:
                    stalled.set()
                    far.peer.sock.settimeout(None)
                    continue
                view = view[taken:]
                sent += 0 if stalled.is_set() else taken
            far.end()

        got = bytearray()
        reader, writer = local_pair(kind)
        try:

            def read_late() -> None:
                assert stalled.wait(10), "the server was never stopped"
                while piece := os.read(reader, 65536):
                    got.extend(piece)

            with in_thread(read_late):
                ran = run(script, stdout=writer)
                os.close(writer)
        finally:
            os.close(reader)
        assert (bytes(got) == data, ran.end) == (True, (0, ""))
        assert sent < 2 << 20

    def test_the_other_streams_settings_stay_as_they_are(self) -> None:
        with pipe() as (reader, writer):
            run(says(message(1, b"x"), message(3, SUCCESS), close_frame()), stdout=writer)
            assert os.get_blocking(writer)
            assert os.read(reader, 10) == b"x"

    def test_a_reader_that_has_gone(self) -> None:
        with pipe() as (reader, writer):
            os.close(reader)
            with pytest.raises(BrokenPipeError):
                run(says(message(1, b"x"), message(3, SUCCESS), close_frame()), stdout=writer)

    def test_a_reader_that_goes(self) -> None:
        def script(far: Far) -> None:
            with contextlib.suppress(PeerGone):
                far.out(b"x" * 300_000)
                assert os.read(reader, 1) == b"x"
                os.close(reader)
                far.until_gone()

        with pipe() as (reader, writer), pytest.raises(BrokenPipeError):
            run(script, stdout=writer)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
    def test_a_full_disk(self) -> None:
        descriptor = os.open("/dev/full", os.O_WRONLY)
        try:
            with pytest.raises(OSError, match="No space left"):
                run(says(message(1, b"x")), stdout=descriptor)
        finally:
            os.close(descriptor)

    def test_answers_to_pings_do_not_pile_up(self) -> None:
        """A server that sends pings and never reads."""
        far, client = far_pair()
        far.peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

        def script(far: Far) -> None:
            for _ in range(400):
                far.raw(frame(PING, b"p" * 125) * 10)
            far.raw(message(3, SUCCESS) + close_frame())
            far.until_gone()

        stream = Watched(client)
        assert run(script, pair=(far, client), stream=stream).end == (0, "")
        assert 0 < stream.most < 32 * 1024


class Watched(Stream):
    """A stream that knows the most that ever waited to be sent."""

    most = 0

    def send_now(self, data: bytes | memoryview) -> int:
        self.most = max(self.most, len(data))
        return super().send_now(data)


def local_pair(kind: str) -> tuple[int, int]:
    """(reader, writer) of a kind."""
    if kind == "pipe":
        return os.pipe()
    ours, theirs = socket.socketpair()
    theirs.setblocking(kind == "socket")
    return ours.detach(), theirs.detach()


# The terminal's size, and leaving early


class Changes(Resizes):
    """Changes of size that a test makes."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.sizes: list[tuple[int, int]] = []

    def fileno(self) -> int:
        return self.reader

    def take(self) -> tuple[int, int] | None:
        os.read(self.reader, 1)
        return self.sizes.pop(0)

    def change(self, columns: int, lines: int) -> None:
        self.sizes.append((columns, lines))
        os.write(self.writer, b"\0")

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def changes() -> Iterator[Changes]:
    made = Changes()
    yield made
    made.close()


def test_the_first_message_is_the_size(changes: Changes) -> None:
    def script(far: Far) -> None:
        assert far.next() == (RESIZE, b'{"Width":132,"Height":43}\n')
        far.end()

    with fed(b"typed") as stdin:
        assert run(script, tty=True, stdin=stdin, resizes=changes, size=(132, 43)).end == (0, "")


def test_stdin_and_many_sizes_at_once(changes: Changes) -> None:
    data = os.urandom(1 << 20)
    sizes = [(number, number + 1) for number in range(1, 200)]

    def script(far: Far) -> None:
        for size in sizes:
            changes.change(*size)
        got = far.stdin()
        far.end()
        assert got == data
        told = [payload for channel, payload in far.messages() if channel == RESIZE]
        assert [tuple(json.loads(payload).values()) for payload in told] == sizes

    with fed(data) as stdin:
        assert run(script, tty=True, stdin=stdin, resizes=changes).end == (0, "")


def test_leaving_early_says_both_ends() -> None:
    far, client = far_pair()
    stream = Stream(client)
    with tempfile.TemporaryFile() as file:
        local = Local(None, file.fileno(), file.fileno())
        session = Session(stream, Channels(protocols.V5), local)
        session.interrupt()
        stream.close()
    assert far.next() == (HALF_CLOSE, b"\0")
    assert far.wait_close() == 1000
    with pytest.raises(PeerGone):
        far.read()
    far.peer.close()


@pytest.mark.parametrize("pieces", [[1, 2], [3]], ids=str)
def test_a_script_that_ends_and_a_result_that_does_not_depend_on_how_it_was_cut(pieces: Sequence[int]) -> None:
    data = message(STDOUT, b"hello") + message(3, exit_status(2)) + close_frame()

    def script(far: Far) -> None:
        at = 0
        for size in (*pieces, len(data)):
            far.raw(data[at : at + size])
            at += size
        far.until_gone()

    ran = run(script)
    assert (ran.stdout, ran.result.exit_code) == (b"hello", 2)


class Interrupted(Stream):
    """A signal comes in the middle of the third call of send_now, which takes little."""

    calls = 0

    def send_now(self, data: bytes | memoryview) -> int:
        taken = super().send_now(memoryview(data)[:1000])
        self.calls += 1
        if self.calls == 3:
            # To this thread: another one of the tests' process would take it otherwise.
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        return taken


def test_a_signal_while_something_is_sent_breaks_no_frame(tmp_path: Path) -> None:
    data = os.urandom(60_000)
    far, client = far_pair()
    stream = Interrupted(client)
    with opened("file", data, tmp_path) as stdin, tempfile.TemporaryFile() as file:
        session = Session(stream, Channels(protocols.V5), Local(stdin, file.fileno(), file.fileno()))
        with StopSignals(), pytest.raises(Stopped):
            session.run()
        session.interrupt()
        stream.close()
    assert far.wait_close() == 1000
    *pieces, last = far.messages()
    assert last == (HALF_CLOSE, b"\0")
    assert data.startswith(b"".join(payload for _, payload in pieces))
    assert pieces
    far.peer.close()
