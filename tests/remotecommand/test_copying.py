"""A copy over commands whose ends are scripted: what is resumed, verified, told."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConnectionLost, RawkubeError, TransportError, WaitTimeout
from rawkube.remotecommand import copy
from rawkube.remotecommand.channels import Output
from rawkube.remotecommand.copy import ALWAYS, AUTO, NEVER, NoSource, Options, Outcome, check_source, download, upload
from rawkube.remotecommand.copy_pack import Packer
from rawkube.remotecommand.protocols import STDERR, STDOUT, V4, V5, Protocol
from rawkube.remotecommand.result import ExitCode, NoStatus, Result, Success
from tests.remotecommand.test_copy import Heard

LOST = NoStatus("the connection is lost", 1006)


class Command:
    """A command that says this and ends so. `takes`: how many writes until it has ended."""

    def __init__(
        self,
        said: Iterable[bytes | Output] = (),
        result: Result | None = None,
        *,
        protocol: Protocol = V5,
        takes: int = 1 << 30,
    ) -> None:
        self._said = deque(Output(STDOUT, each) if isinstance(each, bytes) else each for each in said)
        self.result = result or Success()
        self.protocol = protocol
        self.takes = takes
        self.written = b""
        self.ended = self.closed = False

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Any:
        return iter(self._said)

    def receive(self, timeout: float | None = None) -> Output | None:
        if self._said:
            return self._said.popleft()
        if timeout == 0 and self.takes > 0:
            raise WaitTimeout
        return None

    def write(self, data: bytes) -> None:
        self.written += data
        self.takes -= 1

    def close_stdin(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True


Answer = Command | RawkubeError


class Container:
    """Gives the next command, or raises the next error; `asked`: what was started, with or without input."""

    def __init__(self, *commands: Answer) -> None:
        self._commands = deque(commands)
        self.asked: list[tuple[Sequence[str], bool]] = []

    def __call__(self, words: Sequence[str], has_input: bool) -> Any:
        self.asked.append((words, has_input))
        found = self._commands.popleft()
        if isinstance(found, RawkubeError):
            raise found
        return found


class Told(Heard):
    def __init__(self) -> None:
        super().__init__()
        self.stderr = b""

    def remote(self, data: bytes) -> None:
        self.stderr += data


def archive(data: bytes = b"hello", name: str = "a") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


ARCHIVE = archive()
SUM = hashlib.sha256(b"hello").hexdigest()


def sums(text: str = SUM) -> Command:
    return Command([f"{text}  -\n".encode()])


def down(
    to: Path, *commands: Answer, waits: list[float] | None = None, **options: Any
) -> tuple[Outcome, Told, Container]:
    container, report = Container(*commands), Told()
    sleeping: list[float] = [] if waits is None else waits
    return download(container, "a", str(to), Options(**options), report, sleeping.append), report, container


def test_a_download(tmp_path: Path) -> None:
    said: list[bytes | Output] = [
        ARCHIVE[:700],
        Output(STDERR, b"tar: note\n"),
        ARCHIVE[700:],
        Output(STDERR, b"tar: last\n"),
    ]
    outcome, told, container = down(tmp_path / "a", Command(said), sums())
    assert outcome == Outcome(Success(), "")
    assert (tmp_path / "a").read_bytes() == b"hello"
    assert told.stderr == b"tar: note\ntar: last\n"
    assert container.asked[0] == (["tar", "cf", "-", "a"], False)
    assert container.asked[1][0][-1] == "a"


def test_what_the_archive_is_not(tmp_path: Path) -> None:
    empty, _, _ = down(tmp_path / "x", Command([bytes(1024)]))
    assert empty == Outcome(Success(), "the archive that the container sent is empty")
    failed = ExitCode(2, "command terminated with exit code 2")
    outcome, told, _ = down(tmp_path / "y", Command([Output(STDERR, b"no such file\n")], failed))
    assert (outcome, told.stderr) == (Outcome(failed, ""), b"no such file\n")
    outcome, _, _ = down(tmp_path / "z", Command([ARCHIVE[:600]], failed))
    assert outcome.result == failed and outcome.problem != ""


def test_a_download_that_is_taken_up_again(tmp_path: Path) -> None:
    waits: list[float] = []
    parts: list[Answer] = [
        Command([ARCHIVE[:700]], LOST),
        ConnectionLost("EOF"),
        Command([], LOST),
        Command([ARCHIVE[700:]]),
        sums(),
    ]
    outcome, told, container = down(tmp_path / "a", *parts, waits=waits, retries=-1)
    assert outcome == Outcome(Success(), "")
    assert (tmp_path / "a").read_bytes() == b"hello"
    assert told.lines == [
        "Resuming copy at 700 bytes, retry 1",
        "warning: EOF",
        "Resuming copy at 700 bytes, retry 2",
        "Resuming copy at 700 bytes, retry 3",
    ]
    assert waits == [1.0, 2.0]
    assert container.asked[1][0][2].count("tail -c+701") == 1


def test_a_download_that_is_given_up(tmp_path: Path) -> None:
    outcome, told, _ = down(tmp_path / "a", *[Command([ARCHIVE[:100]], LOST) for _ in range(3)], retries=2)
    assert told.lines == [
        "Resuming copy at 100 bytes, retry 1/2",
        "Resuming copy at 200 bytes, retry 2/2",
        "Dropping out copy after 2 retries",
    ]
    assert outcome.result == LOST
    again, told, _ = down(tmp_path / "b", Command([ARCHIVE[:100]], LOST))
    assert (again.result, told.lines) == (LOST, [])


def test_what_a_checksum_says(tmp_path: Path) -> None:
    other = "0" * 64
    lost = ConnectionLost("EOF")
    rows: list[tuple[str, Answer, str, str]] = [
        (AUTO, sums(other), f'the copy of "a" differs: SHA-256 {SUM} here, {other} in the container', ""),
        (AUTO, Command([b"sh: sha256sum: not found\n"]), "", ""),
        (ALWAYS, Command(), "the copy could not be verified: the container has no sha256sum", ""),
        (AUTO, lost, "", "warning: the copy could not be verified: EOF"),
        (ALWAYS, lost, "the copy could not be verified: EOF", ""),
    ]
    for number, (verify, last, problem, note) in enumerate(rows):
        outcome, told, _ = down(tmp_path / str(number), Command([ARCHIVE]), last, verify=verify)
        assert (outcome.problem, "".join(told.lines)) == (problem, note), number
    outcome, _, container = down(tmp_path / "never", Command([ARCHIVE]), verify=NEVER)
    assert (outcome.problem, len(container.asked)) == ("", 1)


def test_a_large_file_is_verified_only_where_it_is_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "VERIFY_AT_ONCE", 4)
    _, _, container = down(tmp_path / "a", Command([ARCHIVE]), retries=1)
    assert len(container.asked) == 1
    resumed = [Command([ARCHIVE[:700]], LOST), Command([ARCHIVE[700:]]), sums("0" * 64)]
    outcome, _, _ = down(tmp_path / "b", *resumed, retries=1)
    assert outcome.problem.startswith('the copy of "a" differs')


# Up.


def up(file: Path, *commands: Answer, **options: Any) -> tuple[Outcome, Told, Container]:
    container, report = Container(*commands), Told()
    return upload(container, str(file), "/d", Options(**options), report), report, container


NO_DIRECTORY = ExitCode(1, "command terminated with exit code 1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"hello")
    return tmp_path / "a"


def content(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}  # type: ignore[union-attr]


def test_an_upload_into_a_directory_and_under_another_name(file: Path) -> None:
    for probe, directory, name in ((Command(), "/d", "a"), (Command(result=NO_DIRECTORY), "/", "d")):
        running = Command([Output(STDERR, b"tar: note\n")])
        outcome, told, container = up(file, probe, running, sums())
        assert (outcome, told.stderr) == (Outcome(Success(), ""), b"tar: note\n")
        assert container.asked[:2] == [(["test", "-d", "/d"], False), (["tar", "-xf", "-", "-C", directory], True)]
        assert content(running.written) == {name: b"hello"}
        assert running.ended


def test_an_older_subprotocol_is_told_the_size(file: Path) -> None:
    for probe, before in ((Command(protocol=V4), []), (Command(), [Command(protocol=V4)])):
        running = Command(protocol=V4)
        outcome, _, container = up(file, probe, *before, running, verify=NEVER)
        assert outcome == Outcome(Success(), "")
        assert all(each.closed for each in before)
        assert container.asked[-1][0][:3] == ["sh", "-c", f'head -c {len(running.written)} | "$@"']
        assert not running.ended


def test_a_command_that_ends_before_it_has_everything(file: Path) -> None:
    file.write_bytes(b"x" * 300_000)
    early = "the command in the container ended before it had everything"
    full = ExitCode(2, "command terminated with exit code 2")
    for result, problem in ((Success(), early), (full, "")):
        outcome, _, _ = up(file, Command(), Command(result=result, takes=1), verify=NEVER)
        assert outcome == Outcome(result, problem)


def test_what_grows_while_it_is_copied(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Packer, "measure", lambda self: 512)
    running = Command(protocol=V4)
    outcome, _, _ = up(file, Command(protocol=V4), running, verify=NEVER)
    assert outcome.problem == "what is copied has grown meanwhile"
    assert running.closed


def test_what_cannot_begin(file: Path) -> None:
    with pytest.raises(NoSource, match="doesn't exist in local filesystem"):
        check_source(str(file.with_name("none")))
    with pytest.raises(TransportError, match="the connection is lost"):
        up(file, Command(result=LOST))
    link = file.with_name("link")
    link.symlink_to(file)
    _, told, _ = up(link, Command(), Command(), verify=NEVER)
    assert told.lines == [f'"{link}" is a symbolic link, and is copied as one (-L copies what it leads to)']
    running = Command()
    _, told, _ = up(link, Command(), running, verify=NEVER, dereference=True)
    assert (told.lines, content(running.written)) == ([], {"link": b"hello"})
