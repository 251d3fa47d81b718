"""`cp` against what a real cluster sent to kubectl, and beside what kubectl sent."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.copies import cp
from tests.support.recordings import FIXTURES, expected, sides
from tests.support.websocket import BINARY, HALF_CLOSE, STDIN, ExecServer, Far, FrameReader, exit_status, words

VERBS = FIXTURES / "verbs"


def heads(name: str) -> dict[int, dict[str, tuple[str, bytes]]]:
    """{conn: {side: (head, the bytes behind it)}} of the connections that became WebSockets."""
    found = {}
    for conn, both in sides(VERBS / f"{name}.jsonl").items():
        if b"Upgrade: websocket" in both["client"]:
            parts = {side: data.partition(b"\r\n\r\n") for side, data in both.items()}
            found[conn] = {side: (head.decode(), rest) for side, (head, _, rest) in parts.items()}
    return found


def target(session: dict[str, tuple[str, bytes]]) -> str:
    return session["client"][0].split(" ")[1]


def without_container(url: str) -> list[str]:
    """The parameters of an exec, but for the container, whose name is the test server's own."""
    return [part for part in urlsplit(url).query.split("&") if not part.startswith("container=")]


def test_a_directory_comes_down(tmp_path: Path) -> None:
    """kubectl leaves as soon as it has the archive, so the recording has no status: it is added."""
    (session,) = heads("cp-down").values()

    def script(far: Far) -> None:
        far.raw(session["server"][1])
        far.end()

    with ExecServer(script) as server:
        done = cp(server, "demo/shell:/tmp/up", tmp_path / "down")
    assert (done.code, done.stderr) == (0, "tar: removing leading '/' from member names\n")
    assert without_container(server.upgrades[0].target) == without_container(target(session))
    there = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("down/**/*"))
    listed = expected(VERBS / "cp-down.jsonl")["transcript"].splitlines()
    assert there == sorted([*(line for line in listed if line.startswith("down/")), "down/link"])
    assert (tmp_path / "down" / "link").readlink() == Path("a.txt")  # which kubectl warns of and leaves out
    assert not any((tmp_path / "down" / "sub" / "zeros").read_bytes())


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    """kubectl has left before the status, and said nothing."""
    (session,) = heads("cp-missing").values()

    def script(far: Far) -> None:
        far.raw(session["server"][1])
        far.end(exit_status(1))

    with ExecServer(script) as server:
        done = cp(server, "demo/shell:/srv/absent", tmp_path / "x")
    assert done.code == 1
    assert done.stderr.splitlines() == [
        "tar: /srv/absent: No such file or directory",
        "tar: error exit delayed from previous errors",
        "command terminated with exit code 1",
    ]
    assert without_container(server.upgrades[0].target) == without_container(target(session))
    assert list(tmp_path.iterdir()) == []


def stdin_of(frames: bytes) -> bytes:
    """What kubectl has sent as input."""
    data, found = [frames], bytearray()

    def more() -> bytes:
        return data.pop()

    reader = FrameReader(more)
    while (got := reader.read()).payload[:1] != bytes((HALF_CLOSE,)):
        if got.opcode == BINARY and got.payload[0] == STDIN:
            found += got.payload[1:]
    return bytes(found)


def members(data: bytes) -> list[tuple[str, bytes, int, float, str, bytes]]:
    """All but the owner, and the times of links, which were not kept when the tree was made again."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = []
        for one in tar:
            file = tar.extractfile(one) if one.isreg() else None
            found.append(
                (
                    one.name,
                    one.type,
                    one.mode,
                    0 if one.issym() else one.mtime,
                    one.linkname,
                    file.read() if file else b"",
                )
            )
        return found


def test_a_directory_goes_up(tmp_path: Path) -> None:
    """Every command and every member as kubectl's."""
    asked, sent = heads("cp-up").values()
    theirs = stdin_of(sent["client"][1])
    with tarfile.open(fileobj=io.BytesIO(theirs)) as tar:
        tar.extractall(tmp_path, filter="fully_trusted")
    got: list[bytes] = []

    def script(far: Far) -> None:
        assert far.request is not None
        if words(far.request)[0] == "tar":
            got.append(far.stdin())
        far.raw((sent if got else asked)["server"][1])
        far.wait_close()

    with ExecServer(script) as server:
        done = cp(server, "--touch", "--verify=never", tmp_path / "up", "demo/shell:/tmp/up")
    assert (done.code, done.stdout, done.stderr) == (0, "", "")
    assert [without_container(seen.target) for seen in server.upgrades] == [
        without_container(target(asked)),
        without_container(target(sent)),
    ]
    assert members(got[0]) == members(theirs)
