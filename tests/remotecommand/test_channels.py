"""The channel protocol: events for bytes, bytes for actions, and what counts as the end."""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameDecoder

from rawkube.remotecommand.channels import (
    MAX_ERROR,
    Channels,
    Closed,
    Discarded,
    Event,
    NoHalfClose,
    Output,
    Ping,
    Violation,
    _legal,
)
from rawkube.remotecommand.protocols import PROTOCOLS, V1, V1_BASE64, V4, V4_BASE64, V5, Protocol
from rawkube.remotecommand.result import INCOMPLETE, ExitCode, Interrupted, NoStatus, Success
from tests.support.examples import examples
from tests.support.rows import looped

SUCCESS = b'{"metadata":{},"status":"Success"}'


def exit_status(code: int) -> bytes:
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}).encode()


def frame(opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0, mask: bytes = b"") -> bytes:
    """One frame as a server would send it, or as it must not."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    size, bit = len(payload), 0x80 if mask else 0
    if size < 126:
        head = bytes((first, bit | size))
    elif size < 1 << 16:
        head = bytes((first, bit | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, bit | 127)) + size.to_bytes(8, "big")
    return head + mask + payload


def binary(channel: int, payload: bytes) -> bytes:
    return frame(2, bytes((channel,)) + payload)


def close(code: int = 1000, reason: bytes = b"") -> bytes:
    return frame(8, code.to_bytes(2, "big") + reason)


def content(protocol: Protocol, channel: int, payload: bytes) -> bytes:
    """A message's bytes, before it is cut into frames."""
    if protocol.base64:
        return b"%d" % channel + base64.b64encode(payload)
    return bytes((channel,)) + payload


def joined(events: Iterable[Event]) -> list[Event]:
    """Neighbouring pieces of one channel put together: where they were cut is no part of the meaning."""
    found: list[Event] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Output) and isinstance(last, Output) and event.channel == last.channel:
            found[-1] = Output(event.channel, last.data + event.data)
        elif isinstance(event, Discarded) and isinstance(last, Discarded) and event.channel == last.channel:
            found[-1] = Discarded(event.channel, last.data + event.data)
        else:
            found.append(event)
    return found


def typed(events: Iterable[Event]) -> list[tuple[str, Event]]:
    """With the type's name: NamedTuples of equal members are equal."""
    return [(type(event).__name__, event) for event in events]


def sent(data: bytes) -> list[tuple[int, bytes]]:
    """(opcode, payload) of whole frames that a client sent; masked, unfragmented, nothing left over."""
    decoder = FrameDecoder(client=False)
    decoder.receive_bytes(data)
    found: dict[int, tuple[int, bytes]] = {}
    number, opened = 0, False
    while (piece := decoder.process_buffer()) is not None:
        assert isinstance(piece.payload, bytes | bytearray)
        assert piece.message_finished
        opcode, payload = found[number] if opened else (int(piece.opcode), b"")
        found[number] = (opcode, payload + bytes(piece.payload))
        opened = not piece.frame_finished
        number += piece.frame_finished
    assert len(decoder.buffer) == 0
    assert not opened
    return list(found.values())


def run(protocol: Protocol, *pieces: bytes, tty: bool = False, eof: bool = False) -> tuple[Channels, list[Event]]:
    channels = Channels(protocol, tty=tty)
    events = [event for piece in pieces for event in channels.feed(piece)]
    if eof:
        events += channels.eof()
    return channels, events


# --- sessions as kubectl 1.37 was seen to take them, with the stricter rules for what counts as success -------------

EOF_TEXT = "error reading from error stream: next reader: websocket: close 1006 (abnormal closure): unexpected EOF"
NEXT = "error: error reading from error stream: next reader: websocket: close"
HAD = "(the command's status had come before:"

# name, what the server sends, FIN after it, stdout, stderr, last line, exit code
SESSIONS = [
    ("s-ok", [frame(2, b"\1"), binary(1, b"hello"), binary(2, b"err"), binary(3, SUCCESS), close()], False, b"hello", b"err", "", 0),
    ("s-3", [binary(1, b"out"), binary(3, exit_status(3)), close()], False, b"out", b"", "command terminated with exit code 3", 3),
    ("s-late", [binary(3, exit_status(9)), binary(1, b"late"), binary(2, b"lateerr"), close()], False, b"late", b"lateerr", "command terminated with exit code 9", 9),
    ("s-nostatus", [binary(1, b"out"), close()], False, b"out", b"", f"error: {INCOMPLETE}", 1),
    ("s-drop", [binary(1, b"out"), binary(3, exit_status(4))], True, b"out", b"", f"error: {EOF_TEXT} {HAD} exit code 4)", 1),
    ("s-drop without a status", [binary(1, b"out")], True, b"out", b"", f"error: {EOF_TEXT}", 1),
    ("s-drop in a frame", [binary(1, b"out")[:-1]], True, b"ou", b"", f"error: {EOF_TEXT.replace('next reader', 'read message')}", 1),
    ("s-drop in a frame of a dropped message", [binary(7, b"out")[:-1]], True, b"", b"", f"error: {EOF_TEXT}", 1),
    ("s-drop behind a frame's header", [binary(1, b"out")[:2]], True, b"", b"", f"error: {EOF_TEXT.replace('next reader', 'read stream id')}", 1),
    ("s-drop behind an empty first fragment", [frame(2, b"", fin=False)], True, b"", b"", f"error: {EOF_TEXT.replace('next reader', 'read stream id')}", 1),
    ("s-drop in a header", [binary(1, b"out")[:1]], True, b"", b"", f"error: {EOF_TEXT}", 1),
    ("s-drop in a ping", [frame(9, b"out")[:3]], True, b"", b"", f"error: {EOF_TEXT}", 1),
    ("s-1011", [binary(3, exit_status(5)), close(1011)], False, b"", b"", f"{NEXT} 1011 (internal server error) {HAD} exit code 5)", 1),
    ("s-1001", [binary(3, SUCCESS), close(1001, b"why")], False, b"", b"", f"{NEXT} 1001 (going away): why {HAD} success)", 1),
    ("s-4000", [close(4000, b"why")], False, b"", b"", f"{NEXT} 4000: why", 1),
    ("s-1005", [frame(8, b"")], False, b"", b"", f"{NEXT} 1005 (no status)", 1),
    ("s-escape", [close(4000, b"\x1b[2J")], False, b"", b"", f"{NEXT} 4000: \\x1b[2J", 1),
    ("s-split", [binary(3, SUCCESS[:9]), binary(3, SUCCESS[9:]), close()], False, b"", b"", "", 0),
    ("s-frag", [frame(2, b"\1he", fin=False), frame(9, b"p"), frame(0, b"llo"), binary(3, SUCCESS), close()], False, b"hello", b"", "", 0),
    ("first fragment empty", [frame(2, b"", fin=False), frame(0, b"\1a", fin=False), frame(0, b"b"), binary(3, SUCCESS), close()], False, b"ab", b"", "", 0),
    ("first fragment is the channel", [frame(2, b"\1", fin=False), frame(0, b"ab", fin=False), frame(0, b""), binary(3, SUCCESS), close()], False, b"ab", b"", "", 0),
    ("empty messages on every channel", [frame(2, bytes((c,))) for c in (1, 2, 3, 0, 4, 255)] + [binary(1, b"x"), binary(3, SUCCESS), close()], False, b"x", b"", "", 0),
    ("close within a message", [binary(3, SUCCESS), frame(2, b"\1ab", fin=False), close()], False, b"ab", b"", f"error: error reading from error stream: read message: websocket: close 1000 (normal) {HAD} success)", 1),
    ("close within a dropped message", [binary(3, SUCCESS), frame(2, b"\7ab", fin=False), close()], False, b"", b"", "", 0),
    ("70000 bytes in three messages", [binary(1, b"x" * 32768), binary(1, b"x" * 32768), binary(1, b"x" * 4464), binary(3, SUCCESS), close()], False, b"x" * 70000, b"", "", 0),
    ("one message of 1 MiB", [binary(1, b"x" * (1 << 20)), binary(3, SUCCESS), close()], False, b"x" * (1 << 20), b"", "", 0),
    ("every byte value", [binary(1, bytes(range(256))), binary(3, SUCCESS), close()], False, bytes(range(256)), b"", "", 0),
]  # fmt: skip


@looped("whole", [True, False], ids=["whole", "frame by frame"])
@looped(
    ("frames", "fin", "stdout", "stderr", "line", "code"),
    [row[1:] for row in SESSIONS],
    ids=[row[0] for row in SESSIONS],
)
@looped("protocol", [V5, V4], ids=["v5", "v4"])
def test_a_session_gives_its_output_and_its_end(
    protocol: Protocol, whole: bool, frames: list[bytes], fin: bool, stdout: bytes, stderr: bytes, line: str, code: int
) -> None:
    channels, events = run(protocol, *([b"".join(frames)] if whole else frames), eof=fin)
    output = [event for event in events if isinstance(event, Output)]
    assert b"".join(event.data for event in output if event.channel == 1) == stdout
    assert b"".join(event.data for event in output if event.channel == 2) == stderr
    assert all(event.data for event in output)
    assert channels.closed
    assert isinstance(events[-1], Closed)
    assert (channels.result().line, channels.result().exit_code) == (line, code)


def test_output_comes_before_its_frame_is_whole() -> None:
    channels = Channels(V5)
    data = binary(1, b"abcdef")
    assert channels.feed(data[:5]) == [Output(1, b"ab")]
    assert channels.feed(data[5:6]) == [Output(1, b"c")]


def test_what_comes_out_is_bytes() -> None:
    _, events = run(
        V5,
        binary(1, b"a")
        + frame(9, b"p")
        + frame(10, b"q")
        + binary(7, b"x")
        + frame(2, b"\1", fin=False)
        + frame(0, b"b"),
    )
    assert [type(event[-1]) for event in events] == [bytes] * 5


def test_v1_silence_and_a_clean_close_is_success_and_text_is_failure() -> None:
    assert isinstance(run(V1, close())[0].result(), Success)
    channels, _ = run(V1, binary(3, b"no such file"), close())
    assert channels.result().line == "error: error executing remote command: no such file"
    assert channels.result().exit_code == 1
    assert isinstance(run(V1, eof=True)[0].result(), NoStatus)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_while_the_session_is_open_nothing_is_known(protocol: Protocol) -> None:
    result = Channels(protocol).result()
    assert isinstance(result, NoStatus)
    assert result.close_code == 0


@looped(
    ("code", "reason", "payload"),
    [
        (1000, "", b"\x03\xe8"),
        (1000, "bye €", b"\x03\xe8bye \xe2\x82\xac"),
        (1005, "", b""),
        (1005, "", b"\x03"),
        (1012, "", b"\x03\xf4"),
        (3000, "", b"\x0b\xb8"),
        (4999, "", b"\x13\x87"),
    ],
)
def test_a_close_is_echoed_without_its_reason_and_is_the_end(code: int, reason: str, payload: bytes) -> None:
    channels, events = run(V5, frame(8, payload) + binary(1, b"behind"))
    assert typed(events) == [("Closed", (code, reason))]
    assert sent(channels.data_to_send()) == [(8, b"" if code == 1005 else code.to_bytes(2, "big"))]
    assert channels.data_to_send() == b""
    assert channels.feed(binary(1, b"later")) == []
    assert channels.eof() == []
    assert channels.stdin(b"x") + channels.ping() + channels.close() + channels.resize(1, 1) == b""


def test_the_end_of_the_stream_without_a_close_is_1006() -> None:
    channels, events = run(V5, eof=True)
    assert typed(events) == [("Closed", (1006, "unexpected EOF"))]
    assert channels.data_to_send() == b""


@pytest.mark.parametrize(
    "error", ["read tcp 1.2.3.4:5->6.7.8.9:10: read: connection reset by peer", "read tcp A->B: i/o timeout"]
)
def test_a_stream_that_breaks_is_told_as_by_go(error: str) -> None:
    channels = Channels(V5)
    channels.feed(binary(3, SUCCESS))
    assert channels.eof(error) == [Closed(1006, error)]
    result = channels.result()
    assert isinstance(result, Interrupted)
    assert result.text == f"error reading from error stream: next reader: {error} {HAD} success)"


# --- what is not as it should be ---------------------------------------------------------------------------------

# name, bytes, Violation, text of the 1002 that answers it (None: no answer)
VIOLATIONS = [
    ("masked", frame(2, b"\1a", mask=b"\0\0\0\0"), "websocket: bad MASK", "bad MASK"),
    ("masked and long", frame(2, b"\1" * 300, mask=b"abcd"), "websocket: bad MASK", "bad MASK"),
    ("RSV1", frame(2, b"\1a", rsv=4), "websocket: RSV1 set", "RSV1 set"),
    ("RSV2 and RSV3", frame(2, b"\1a", rsv=3), "websocket: RSV2 set, RSV3 set", "RSV2 set, RSV3 set"),
    ("opcode 3", frame(3, b"\1a"), "websocket: bad opcode 3", "bad opcode 3"),
    ("opcode 15", frame(15, b""), "websocket: bad opcode 15", "bad opcode 15"),
    ("several at once", frame(3, b"", rsv=4, mask=b"abcd"), "websocket: RSV1 set, bad opcode 3, bad MASK", "RSV1 set, bad opcode 3, bad MASK"),
    ("oversized control frame", frame(9, b"x" * 126), "websocket: len > 125 for control", "len > 125 for control"),
    ("fragmented control frame", frame(9, b"x", fin=False), "websocket: FIN not set on control", "FIN not set on control"),
    ("continuation of nothing", frame(0, b"\1a"), "websocket: continuation after FIN", "continuation after FIN"),
    ("message within a message", frame(2, b"\1a", fin=False) + frame(2, b"\1b"), "websocket: data before FIN", "data before FIN"),
    ("a length in two bytes that fits one", b"\x82\x7e\x00\x01\x01", "websocket: bad frame length", "bad frame length"),
    ("close code 1006", close(1006), "websocket: bad close code 1006", "bad close code 1006"),
    ("close code 1005", close(1005), "websocket: bad close code 1005", "bad close code 1005"),
    ("close code 1004", close(1004), "websocket: bad close code 1004", "bad close code 1004"),
    ("close code 1014", close(1014), "websocket: bad close code 1014", "bad close code 1014"),
    ("close code 1015", close(1015), "websocket: bad close code 1015", "bad close code 1015"),
    ("close code 999", close(999), "websocket: bad close code 999", "bad close code 999"),
    ("close code 2999", close(2999), "websocket: bad close code 2999", "bad close code 2999"),
    ("close code 5000", close(5000), "websocket: bad close code 5000", "bad close code 5000"),
    ("close reason", close(1000, b"\xff"), "websocket: invalid utf8 payload in close frame", "invalid utf8 payload in close frame"),
    ("text", frame(1, b"\1a"), "unexpected message type: 1", None),
    ("text that is no UTF-8", frame(1, b"\xff\xff"), "unexpected message type: 1", None),
    ("empty message", frame(2, b""), "read stream id: EOF", None),
    ("empty message in fragments", frame(2, b"", fin=False) + frame(0, b""), "read stream id: EOF", None),
]  # fmt: skip


@looped("whole", [True, False], ids=["whole", "byte by byte"])
@looped(("data", "text", "answer"), [row[1:] for row in VIOLATIONS], ids=[row[0] for row in VIOLATIONS])
def test_a_violation_ends_it_in_the_words_of_kubectl(whole: bool, data: bytes, text: str, answer: str | None) -> None:
    data += binary(1, b"behind")
    channels, events = run(V5, binary(3, SUCCESS), *([data] if whole else [bytes((byte,)) for byte in data]))
    assert typed(events[-1:]) == [("Violation", (text,))]
    assert channels.closed
    assert channels.feed(binary(1, b"later")) == channels.eof() == []
    expected = [(8, b"\x03\xea" + answer.encode())] if answer else []
    assert sent(channels.data_to_send()) == expected
    place = ("read message: " if "data before" in text else "next reader: ") if text.startswith("websocket: ") else ""
    result = channels.result()
    assert result.line == f"error: error reading from error stream: {place}{text} {HAD} success)"
    assert result.exit_code == 1


@looped(("channel", "tty"), [(0, False), (4, False), (5, False), (7, False), (255, False), (2, True), (0, True)])
def test_data_for_a_channel_that_is_not_open_is_dropped_and_told(channel: int, tty: bool) -> None:
    channels, events = run(V5, binary(channel, b"abc"), binary(1, b"on"), binary(3, SUCCESS), close(), tty=tty)
    assert typed(events) == [("Discarded", (channel, b"abc")), ("Output", (1, b"on")), ("Closed", (1000, ""))]
    assert isinstance(channels.result(), Success)


def test_the_error_channel_is_bounded() -> None:
    channels = Channels(V5)
    for _ in range(MAX_ERROR // 32768):
        assert channels.feed(binary(3, b"x" * 32768)) == []
    text = f"more than {MAX_ERROR} bytes on the error channel"
    assert typed(channels.feed(binary(3, b"x"))) == [("Violation", (text,))]
    assert sent(channels.data_to_send()) == [(8, b"\x03\xf1" + text.encode())]
    assert channels.result().line.startswith(f"error: error reading from error stream: {text}")
    assert len(channels.result().line) < 500


def test_an_opcode_that_is_none() -> None:
    for opcode in (3, 7, 11, 15):
        channels, events = run(V5, bytes((0x80 | opcode, 0)))
        assert typed(events) == [("Violation", (f"websocket: bad opcode {opcode}",))]
        assert f"bad opcode {opcode}" in channels.result().line


def test_what_is_legal_of_base64_stays() -> None:
    for data in (b"YWJj", b"YWJjZGVm", b"YWI="):
        assert _legal(data) == base64.b64decode(data)
        assert _legal(data + b"YW!j") == base64.b64decode(data)
    assert _legal(b"YWI=YWJj") == b"ab"


# --- base64 -------------------------------------------------------------------------------------------------------


@looped("cut", range(14))
def test_base64_comes_as_text_with_a_digit(cut: int) -> None:
    data = (
        frame(1, b"1")
        + frame(1, b"1b3V0Cg==")
        + frame(1, b"2ZQ==")
        + frame(1, b"3" + base64.b64encode(SUCCESS))
        + close()
    )
    channels, events = run(V4_BASE64, data[:cut], data[cut:])
    assert typed(joined(events)) == [("Output", (1, b"out\n")), ("Output", (2, b"e")), ("Closed", (1000, ""))]
    assert isinstance(channels.result(), Success)


@looped(
    ("payload", "text"),
    [
        (b"1a", "illegal base64 data on channel 1"),
        (b"1ab=", "illegal base64 data on channel 1"),
        (b"1ab==ab==", "illegal base64 data on channel 1"),
        (b"1ab==\n", "illegal base64 data on channel 1"),
        (b"3!!!!", "illegal base64 data on channel 3"),
        (b"1\xff\xff\xff\xff", "illegal base64 data on channel 1"),
        (b"", "read stream id: EOF"),
    ],
)
@looped("whole", [True, False], ids=["whole", "byte by byte"])
def test_what_is_no_base64_is_a_violation(payload: bytes, text: str, whole: bool) -> None:
    data = frame(1, payload)
    _, events = run(V1_BASE64, *([data] if whole else [bytes((byte,)) for byte in data]))
    assert typed(events)[-1:] == [("Violation", (text,))]


def test_base64_refuses_binary_messages_and_drops_unknown_channels() -> None:
    assert typed(run(V4_BASE64, binary(1, b"a"))[1]) == [("Violation", ("unexpected message type: 2",))]
    assert typed(run(V4_BASE64, frame(1, b"7!!"))[1]) == [("Discarded", (7, b"!!"))]
    assert typed(run(V4_BASE64, frame(1, b"\x01!!"))[1]) == [("Discarded", (0xD1, b"!!"))]


# --- actions ------------------------------------------------------------------------------------------------------


def test_actions_are_masked_unfragmented_messages() -> None:
    channels = Channels(V5, tty=True)
    assert sent(channels.stdin(b"hello world\n")) == [(2, b"\0hello world\n")]
    assert sent(channels.resize(80, 24)) == [(2, b'\4{"Width":80,"Height":24}\n')]
    assert sent(channels.close_stdin()) == [(2, b"\xff\0")]
    assert sent(channels.ping()) == [(9, b"")]
    assert sent(channels.ping(b"x" * 125)) == [(9, b"x" * 125)]
    assert sent(channels.close()) == [(8, b"\x03\xe8")]


@looped("size", [1, 124, 125, 126, 32768, 65534, 65535, 65536, 200_001])
def test_stdin_of_any_size_is_one_message(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert sent(Channels(V5).stdin(data[:size])) == [(2, b"\0" + data[:size])]


def test_stdin_base64() -> None:
    channels = Channels(V4_BASE64)
    assert sent(channels.stdin(b"\xff")) == [(1, b"0/w==")]
    assert sent(channels.resize(1, 2)) == [(1, b"4" + base64.b64encode(b'{"Width":1,"Height":2}\n'))]


def test_the_end_of_stdin_is_sent_once_and_nothing_behind_it() -> None:
    channels = Channels(V5)
    assert channels.stdin(b"") == b""
    assert channels.close_stdin()
    assert channels.close_stdin() == b""
    with pytest.raises(ValueError, match="stdin was closed"):
        channels.stdin(b"x")


@pytest.mark.parametrize("protocol", [V4, V1, V4_BASE64, V1_BASE64], ids=lambda protocol: protocol.name)
def test_only_v5_can_end_stdin(protocol: Protocol) -> None:
    with pytest.raises(NoHalfClose, match=f"^{protocol.name} cannot send the end of the input$"):
        Channels(protocol).close_stdin()


def test_a_ping_payload_has_a_bound() -> None:
    with pytest.raises(ValueError, match="more than 125 bytes"):
        Channels(V5).ping(b"x" * 126)


def test_masks_differ() -> None:
    channels = Channels(V5)
    assert len({channels.stdin(b"same") for _ in range(8)}) > 1


def test_pings_are_answered_and_pongs_are_told() -> None:
    channels, events = run(V5, frame(9, b"test heartbeat message") + frame(10, b"") + frame(9, b""))
    assert typed(events) == [("Ping", (b"test heartbeat message",)), ("Pong", (b"",)), ("Ping", (b"",))]
    assert sent(channels.data_to_send()) == [(10, b"test heartbeat message"), (10, b"")]
    assert channels.data_to_send() == b""


def test_unsent_pongs_are_bounded_and_the_last_ones_stay() -> None:
    channels, _ = run(V5, *(frame(9, b"%d" % number) for number in range(10_000)))
    answers = sent(channels.data_to_send())
    assert len(answers) == 64
    assert answers[-1] == (10, b"9999")


def test_our_own_close_goes_behind_what_is_owed_and_is_the_last_word() -> None:
    channels, _ = run(V5, frame(9, b"p"))
    assert sent(channels.close(1000, "done")) == [(10, b"p"), (8, b"\x03\xe8done")]
    assert channels.stdin(b"x") + channels.close() + channels.ping() == b""
    assert typed(channels.feed(frame(9, b"q") + binary(1, b"late"))) == [("Ping", (b"q",)), ("Output", (1, b"late"))]
    assert typed(channels.feed(close())) == [("Closed", (1000, ""))]
    assert channels.data_to_send() == b""


@pytest.mark.parametrize(
    "ending",
    [close(), close(1001), frame(8, b""), frame(3, b""), None],
    ids=["1000", "1001", "1005", "violation", "eof"],
)
def test_a_status_counts_when_we_close_the_connection_ourselves(ending: bytes | None) -> None:
    channels = Channels(V5)
    channels.feed(binary(3, exit_status(7)))
    assert channels.holds_status
    channels.close()
    assert channels.result() == ExitCode(7, "command terminated with exit code 7")
    assert (channels.eof() if ending is None else channels.feed(ending))[-1:]
    assert channels.result() == ExitCode(7, "command terminated with exit code 7")


@pytest.mark.parametrize("protocol", [V5, V1], ids=["v5", "v1"])
def test_our_own_close_without_a_status_is_no_success(protocol: Protocol) -> None:
    channels = Channels(protocol)
    channels.close()
    channels.feed(close())
    assert isinstance(channels.result(), NoStatus)


def test_a_status_is_seen_once_it_is_whole() -> None:
    channels = Channels(V5)
    for byte in SUCCESS[:-1]:
        channels.feed(binary(3, bytes((byte,))))
        assert not any(channels.holds_status for _ in range(100))
    channels.feed(binary(3, SUCCESS[-1:]))
    assert channels.holds_status
    assert channels.holds_status
    assert isinstance(channels.result(), Success)


def test_looking_for_a_whole_status_is_bounded() -> None:
    channels = Channels(V5)
    channels.feed(binary(3, b'{"status":"Success","a":"'))
    for _ in range(100):
        channels.feed(binary(3, b"}"))
        assert not channels.holds_status
    channels.feed(binary(3, b'"}'))
    assert not channels.holds_status
    channels.feed(close())
    assert isinstance(channels.result(), Success)


def test_a_violation_behind_our_own_close_is_not_answered() -> None:
    channels = Channels(V5)
    channels.close()
    assert typed(channels.feed(frame(3, b""))) == [("Violation", ("websocket: bad opcode 3",))]
    assert channels.data_to_send() == b""


def test_memory_stays_constant() -> None:
    channels = Channels(V5)
    chunk = binary(1, b"x" * 32768) * 8
    channels.feed(chunk)
    tracemalloc.start()
    for _ in range(40):
        channels.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


# --- properties ---------------------------------------------------------------------------------------------------

MESSAGES = st.lists(st.tuples(st.sampled_from([1, 1, 2, 2, 3, 7]), st.binary(max_size=300)), max_size=8)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Protocol, bool, list[tuple[int, bytes]], list[bytes], bytes]:
    """(protocol, tty, messages, ping payloads, server bytes): re-fragmented at random, with pings between the frames."""
    protocol, tty, messages = draw(st.sampled_from(PROTOCOLS)), draw(st.booleans()), draw(MESSAGES)
    pings: list[bytes] = []
    data = b""
    for channel, payload in messages:
        data += fragmented(draw, content(protocol, channel, payload), 1 if protocol.base64 else 2, pings)
    return protocol, tty, messages, pings, data + close()


def fragmented(draw: st.DrawFn, message: bytes, opcode: int, pings: list[bytes]) -> bytes:
    cuts = sorted(draw(st.lists(st.integers(0, len(message)), max_size=4)))
    edges = [0, *cuts, len(message)]
    data = b""
    for number, (start, end) in enumerate(pairwise(edges)):
        if draw(st.booleans()):
            pings.append(draw(st.binary(max_size=5)))
            data += frame(9, pings[-1])
        data += frame(0 if number else opcode, message[start:end], fin=number == len(cuts))
    return data


def chopped(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(streams(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_fragments_pings_and_reads_are_no_part_of_the_meaning(
    stream: tuple[Protocol, bool, list[tuple[int, bytes]], list[bytes], bytes], draw: st.DataObject
) -> None:
    protocol, tty, messages, pings, data = stream
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=12))
    channels, events = run(protocol, *chopped(data, cuts), tty=tty)
    for channel in (1, 2):
        expected = (
            b"" if tty and channel == 2 else b"".join(payload for number, payload in messages if number == channel)
        )
        assert b"".join(e.data for e in events if isinstance(e, Output) and e.channel == channel) == expected
    assert [event.payload for event in events if isinstance(event, Ping)] == pings
    assert [payload for opcode, payload in sent(channels.data_to_send()) if opcode == 10] == pings
    assert typed(events[-1:]) == [("Closed", (1000, ""))]
    whole, events_of_whole = run(protocol, data, tty=tty)
    assert typed(joined(events)) == typed(joined(events_of_whole))
    assert channels.result() == whole.result()


HOSTILE = st.binary(max_size=80) | st.lists(
    st.builds(
        lambda first, second, rest: bytes((first, second)) + rest,
        st.sampled_from([0x82, 0x02, 0x00, 0x80, 0x81, 0x88, 0x89, 0x8A, 0xC2, 0x83]),
        st.sampled_from([0, 1, 2, 3, 5, 125, 126, 127, 0x82]),
        st.binary(max_size=9),
    ),
    max_size=6,
).map(b"".join)


@given(HOSTILE, st.sampled_from(PROTOCOLS), st.integers(0, 80), st.booleans())
@settings(max_examples=examples(250), deadline=None)
def test_whatever_comes_nothing_is_raised_and_the_end_is_the_end(
    data: bytes, protocol: Protocol, cut: int, ours: bool
) -> None:
    channels = Channels(protocol)
    if ours:
        channels.close()
    events = channels.feed(data[:cut]) + channels.feed(data[cut:])
    last = [event for event in events if isinstance(event, Closed | Violation)]
    assert last == ([events[-1]] if channels.closed else [])
    assert len(channels.data_to_send()) <= 64 * 131
    assert channels.eof() == ([] if last else [Closed(1006, "unexpected EOF")])
    assert channels.feed(data) == channels.eof() == []
    assert channels.stdin(b"x") + channels.ping() + channels.close() == b""
    assert channels.result().exit_code in range(256)
    # Cut elsewhere: the same, except that a violation may show before what stood in front of it was passed on.
    other = Channels(protocol)
    if ours:
        other.close()
    again = [event for byte in data for event in other.feed(bytes((byte,)))]
    if not protocol.base64:
        assert typed(joined(again)) == typed(joined(events))
    assert [e for e in again if isinstance(e, Closed | Violation)] == last
