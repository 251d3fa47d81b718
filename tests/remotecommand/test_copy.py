"""Names, links, archives: what of a copy needs no connection."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import itertools
import os
import stat
import subprocess
import tarfile
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.errors import UsageError
from rawkube.remotecommand import copy_names as names
from rawkube.remotecommand.copy_archive import ArchiveCut
from rawkube.remotecommand.copy_names import Refused, Spec, check_link, member_parts, read_spec
from rawkube.remotecommand.copy_pack import Packer
from rawkube.remotecommand.copy_report import Report
from rawkube.remotecommand.copy_unpack import CannotWrite, Unpacker
from tests.support.examples import examples
from tests.support.rows import looped


class Heard(Report):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


class Pieces:
    """A stream that gives what it has in pieces."""

    def __init__(self, data: bytes, size: int = 1 << 20) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, self._size))


def member(name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b"", link: str = "", mode: int = 0o644) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode, info.mtime = kind, link, len(data), mode, 1_000_000_000
    padding = -len(data) % tarfile.BLOCKSIZE
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + data + bytes(padding)


def archive(*members: bytes) -> bytes:
    return b"".join(members) + bytes(2 * tarfile.BLOCKSIZE)


def unpack(data: bytes, to: Path, *, prefix: str = "top", piece: int = 1 << 20, base: str = "base") -> Heard:
    report = Heard()
    Unpacker(str(to), base, names.prefix_of(prefix), report, digest_limit=1 << 30).run(Pieces(data, piece))
    return report


def everything(top: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "dir"
    return found


# The command line


@looped(
    ("word", "spec"),
    [
        ("a", Spec("", "", "a")),
        ("a/", Spec("", "", "a")),
        ("a//", Spec("", "", "a/")),
        ("/", Spec("", "", "/")),
        ("p:", Spec("", "p", "")),
        ("p:/", Spec("", "p", "/")),
        ("p:/x/", Spec("", "p", "/x")),
        ("p:a:b", Spec("", "p", "a:b")),
        ("ns/p:a b", Spec("ns", "p", "a b")),
        ("./a:b", Spec(".", "a", "b")),
        ("", Spec("", "", "")),
    ],
)
def test_one_side_of_a_copy(word: str, spec: Spec) -> None:
    assert read_spec(word) == spec


@pytest.mark.parametrize("word", [":x", "a/b/c:x", "ns/:x", "/:"])
def test_what_names_no_pod(word: str) -> None:
    with pytest.raises(UsageError, match="must match the canonical format"):
        read_spec(word)


def test_one_side_of_a_copy_is_in_a_pod() -> None:
    local, remote = Spec("", "", "a"), Spec("", "p", "b")
    assert names.read_specs(["a", "p:b"]) == (local, remote)
    assert names.read_specs(["p:b", "a"]) == (remote, local)
    for args, text in [
        ([], "source and destination are required"),
        (["a", "b", "c"], "source and destination are required"),
        (["p:a", "q:b"], "one of src or dest must be a local file specification"),
        (["p:", "b"], "filepath can not be empty"),
        (["p:a", ""], "filepath can not be empty"),
        (["a", "b"], "one of src or dest must be a remote file specification"),
    ]:
        with pytest.raises(UsageError, match=f"^{text}$"):
            names.read_specs(args)


def test_the_commands_in_the_container() -> None:
    assert names.pack("/a", dereference=True) == ["tar", "chf", "-", "/a"]
    assert names.unpack("/d") == ["tar", "-xf", "-", "-C", "/d"]
    assert names.unpack("-d", touch=True) == ["tar", "-xmf", "-", "-C", "./-d"]
    no_preserve = ["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", "/d"]
    assert names.unpack("/d", no_preserve=True) == no_preserve
    done = subprocess.run(names.limited(["cat"], 3), input=b"12345", capture_output=True, check=True)
    assert done.stdout == b"123"


def test_the_checksum_of_the_beginning_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    done = subprocess.run(names.checksum(str(tmp_path / "a"), 3), capture_output=True, check=True)
    assert names.read_checksum(done.stdout) == hashlib.sha256(b"123").hexdigest()


@looped(
    ("path", "argument", "prefix"),
    [
        ("/tmp/up", "/tmp/up", ("tmp", "up")),
        ("a", "a", ("a",)),
        ("./a", "./a", ("a",)),
        (".", ".", ()),
        ("/", "/", ()),
        ("-x", "./-x", ("-x",)),
        ("-x/../y", "y", ("y",)),
        ("/a/../b", "/b", ("b",)),
        ("/../b", "/b", ("b",)),
        ("../b", "../b", ("b",)),
        ("a/../../b", "../b", ("b",)),
        ("a/./b//c", "a/./b//c", ("a", "b", "c")),
    ],
)
def test_the_source_in_the_container(path: str, argument: str, prefix: tuple[str, ...]) -> None:
    assert names.pack(path) == ["tar", "cf", "-", argument]
    assert names.prefix_of(path) == prefix


@looped(
    ("directory", "source", "place"),
    [
        ("/d", "a", "/d/a"),
        ("/d", "x/a", "/d/a"),
        ("/d", "x/.", "/d"),
        ("/d", "..", "/d"),
        ("/d", ".", "/d"),
        ("/", "/", "/"),
        (".", "a", "a"),
    ],
)
def test_a_destination_that_is_a_directory(directory: str, source: str, place: str) -> None:
    assert names.destination_in(directory, source) == place


@looped(
    ("path", "split"),
    [
        ("/a/b", ("/a", "b")),
        ("/a", ("/", "a")),
        ("a", (".", "a")),
        ("/", ("/", "")),
        (".", (".", "")),
        ("..", ("..", "")),
    ],
)
def test_where_tar_unpacks(path: str, split: tuple[str, str]) -> None:
    assert names.split(path) == split


@pytest.mark.parametrize(
    ("printed", "checksum"),
    [
        (b"A" * 64 + b"  -\n", "a" * 64),
        (b"", ""),
        (b"sh: sha256sum: not found\n", ""),
        (b"g" * 64, ""),
        (b"\xff" * 64, ""),
    ],
)
def test_what_sha256sum_prints(printed: bytes, checksum: str) -> None:
    assert names.read_checksum(printed) == checksum


def test_a_resumed_command_keeps_its_exit_code_and_drops_what_had_come() -> None:
    for code in (0, 3):
        words = names.resume(["sh", "-c", f"printf 0123456789; exit {code}"], 4)
        done = subprocess.run(words, capture_output=True, check=False)
        assert (done.stdout, done.returncode) == (b"456789", code)


# Names


@looped(
    ("name", "parts"),
    [
        ("top", ()),
        ("top/", ()),
        ("./top/a", ("a",)),
        ("top//a/./b", ("a", "b")),
        ("top/a\\b", ("a\\b",)),
        ("top/...", ("...",)),
        ("top/a\nb", ("a\nb",)),
    ],
)
def test_names_that_may_be(name: str, parts: tuple[str, ...]) -> None:
    assert member_parts(name, ("top",)) == parts


@looped("name", ["top/a\0b", "/top/a", "//top", "top/../a", "top/a/..", "..", "topper", "to", "", ".", "other/a"])
def test_names_that_may_not_be(name: str) -> None:
    with pytest.raises(Refused):
        member_parts(name, ("top",))


WORDS = st.sampled_from(["a", "b", "..", ".", "", "top", "...", " "])
NAMES = st.lists(WORDS, max_size=7).map("/".join)


@given(NAMES)
def test_a_name_is_inside_or_refused(name: str) -> None:
    """The reference: where the system would write it, seen from the destination."""
    with contextlib.suppress(Refused):
        parts = member_parts(name, ())
        placed = os.path.normpath("/".join(("/dest", *parts)))
        assert placed == os.path.normpath(f"/dest/{name}")
        assert placed == "/dest" or placed.startswith("/dest/")


TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", ".", ""]), max_size=5).map("/".join)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/c"]), TARGETS), max_size=8))
def test_links_that_are_allowed_stay_inside(links: list[tuple[str, str]]) -> None:
    """The reference: realpath, after all links are made, whatever they make of each other."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "root"
        (root / "d" / "e").mkdir(parents=True)
        for name, target in links:
            with contextlib.suppress(Refused, FileExistsError):
                check_link(tuple(name.split("/"))[:-1], target)
                (root / name).symlink_to(target)
        for name, _ in links:
            leads = real_path(root / name)
            assert leads is None or leads.is_relative_to(root)


def real_path(path: Path) -> Path | None:
    """Where a path leads; None where that is nowhere, since links lead round in a circle."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
    return Path(os.path.realpath(path))


@looped(
    ("parent", "target", "allowed"),
    [
        ((), "a", True),
        ((), "a/b", True),
        ((), "..", False),
        (("d",), "..", True),
        (("d",), "../a", True),
        (("d",), "../..", False),
        (("d",), "./../a", True),
        (("d",), "a/../b", False),  # a may be a link
        ((), "/etc", False),
        ((), "", False),
        ((), ".", True),
    ],
)
def test_where_a_link_may_lead(parent: tuple[str, ...], target: str, allowed: bool) -> None:
    with contextlib.nullcontext() if allowed else pytest.raises(Refused):
        check_link(parent, target)


# Archives that come


GOOD = archive(
    member("top/", tarfile.DIRTYPE, mode=0o755),
    member("top/a", data=b"a" * 700, mode=0o600),
    member("top/d/", tarfile.DIRTYPE, mode=0o500),
    member("top/d/" + "long" * 60, data=b"b"),
    member("top/l", tarfile.SYMTYPE, link="d/x"),
    member("top/h", tarfile.LNKTYPE, link="top/a"),
)
GOOD_END = len(GOOD) - tarfile.BLOCKSIZE  # one block of zeros is the end


def test_a_good_archive(tmp_path: Path) -> None:
    report = unpack(GOOD, tmp_path / "x")
    assert (report.problems, report.entries, report.bytes) == (0, 6, 701)
    assert everything(tmp_path / "x") == {
        "a": b"a" * 700,
        "d": "dir",
        "d/" + "long" * 60: b"b",
        "h": b"a" * 700,
        "l": "d/x",
    }
    assert stat.S_IMODE((tmp_path / "x" / "a").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "x" / "d").stat().st_mode) == 0o500
    assert {int((tmp_path / "x" / name).lstat().st_mtime) for name in ("", "a", "d", "l")} == {1_000_000_000}
    assert (tmp_path / "x" / "h").samefile(tmp_path / "x" / "a")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 1500))
def test_it_does_not_matter_how_it_comes(piece: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert unpack(GOOD, Path(folder, "x"), piece=piece).problems == 0
        assert len(everything(Path(folder, "x"))) == 5


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, GOOD_END - 1))
def test_cut_anywhere_it_is_an_error(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ArchiveCut):
        unpack(GOOD[:size], Path(folder, "x"))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255), st.binary(max_size=3))
def test_whatever_is_wrong_nothing_else_is_raised(at: int, flip: int, more: bytes) -> None:
    data = bytearray(GOOD)
    data[at] ^= flip
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.suppress(ArchiveCut):
            unpack(bytes(data) + more, Path(folder, "a", "x"))
        assert [path.name for path in Path(folder).iterdir()] in ([], ["a"])
        assert [path.name for path in Path(folder, "a").glob("*")] in ([], ["x"])


def test_data_behind_the_end(tmp_path: Path) -> None:
    assert unpack(GOOD + bytes(100_000), tmp_path / "x").problems == 0
    with pytest.raises(ArchiveCut, match="data behind the end"):
        unpack(GOOD + bytes(100_000) + b"1", tmp_path / "y")


def test_a_name_that_would_fill_the_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    with pytest.raises(ArchiveCut, match="impossible size"):
        unpack(info.tobuf(tarfile.GNU_FORMAT) + bytes(10_000), tmp_path / "x")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../x", tarfile.REGTYPE), ("top/x", tarfile.REGTYPE), ("top/x", tarfile.CHRTYPE), ("top/x", b"Z")],
)
def test_a_size_that_is_only_claimed(name: str, kind: bytes, tmp_path: Path) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, 1 << 60
    with pytest.raises(ArchiveCut, match=r"the archive (ended too early$|is broken)"):
        unpack(info.tobuf(tarfile.GNU_FORMAT) + b"x" * 10_000, tmp_path / "x")


def sparse(size: int, places: str, data: bytes) -> bytes:
    """A sparse file in the format 1.0 of GNU tar. `places`: the map, one number a line."""
    padded = places.encode().ljust(-(-len(places) // 512) * 512, b"\0") + data
    info = tarfile.TarInfo("top")
    info.size = len(padded)
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "top",
        "GNU.sparse.realsize": str(size),
    }
    return info.tobuf(tarfile.PAX_FORMAT) + padded + bytes(-len(padded) % 512)


@pytest.mark.parametrize(
    ("size", "places", "said"),
    [
        (1 << 43, "1\n0\n1\n", "map ends at 1"),
        (10, "1\n0\n99\n", "map ends at 99"),
        (10, "2\n0\n5\n3\n2\n", "overlap"),
        (10, "2\n5\n1\n0\n1\n", "overlap"),
        (-5, "0\n", "impossible size"),
    ],
)
def test_sparse_files_that_cannot_be(size: int, places: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveCut, match=rf"^top: the archive is broken \(a .*{said}"):
        unpack(archive(sparse(size, places, b"x")), tmp_path / "x")


def test_the_map_of_a_sparse_file_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rawkube.remotecommand.copy_archive._MAX_MAP", 10_000)
    with pytest.raises(ArchiveCut, match="too many pieces"):
        unpack(archive(sparse(1, "9999\n" + "0\n0\n" * 9999, b"")), tmp_path / "x")


@pytest.mark.parametrize("size", [2 << 30, 1 << 40])
def test_holes_cost_no_time(size: int, tmp_path: Path) -> None:
    places = f"2\n4096\n4096\n{size}\n0\n"
    report = Heard()
    unpacker = Unpacker(str(tmp_path / "x"), "base", ("top",), report)
    unpacker.run(Pieces(archive(sparse(size, places, b"d" * 4096))))
    found = (tmp_path / "x").stat()
    assert (found.st_size, report.problems) == (size, 0)
    assert found.st_blocks * 512 < 1 << 20
    with (tmp_path / "x").open("rb") as file:
        assert file.read(3 * 4096) == bytes(4096) + b"d" * 4096 + bytes(4096)


def test_endless_holes_are_not_hashed_nor_written_to_a_device(tmp_path: Path) -> None:
    data = archive(sparse(1 << 43, f"1\n{1 << 43}\n0\n", b""))
    report = Heard()
    unpacker = Unpacker(str(tmp_path / "x"), "base", ("top",), report, digest_limit=1 << 60)
    unpacker.run(Pieces(data))
    assert (unpacker.sha256, report.problems) == ("", 0)
    assert report.lines == ['warning: "top" is not verified: it has too large holes']
    assert unpack(data, Path(os.devnull)).problems == 1


def test_headers_within_headers(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_LONGNAME
    with pytest.raises(ArchiveCut, match="the archive is broken"):
        unpack(info.tobuf(tarfile.GNU_FORMAT) * 3000, tmp_path / "x")


# Archives that mean harm. (members, what may be there afterwards, how many are refused)
HOSTILE: dict[str, tuple[tuple[bytes, ...], dict[str, bytes | str], int]] = {
    "absolute": ((member("/etc/x", data=b"1"), member("top/ok")), {"ok": b""}, 1),
    "absolute inside": ((member("/top/x", data=b"1"),), {}, 1),
    "above": ((member("top/../../x", data=b"1"), member("../x"), member("top/..")), {}, 3),
    "another tree": ((member("other/x", data=b"1"), member("topx")), {}, 2),
    "link to a directory outside, then through it": (
        (member("top/l", tarfile.SYMTYPE, link="/tmp"), member("top/l/x", data=b"1")),
        {"l": "dir", "l/x": b"1"},
        1,
    ),
    "link inside, then through it": (
        (member("top/d/", tarfile.DIRTYPE), member("top/l", tarfile.SYMTYPE, link="d"), member("top/l/x", data=b"1")),
        {"d": "dir", "l": "d"},
        1,
    ),
    "a link to the link's place": (
        (member("top/l", tarfile.SYMTYPE, link="."), member("top/m", tarfile.SYMTYPE, link="l/../..")),
        {"l": "."},
        1,
    ),
    "link up step by step": (
        (member("top/d/l", tarfile.SYMTYPE, link=".."), member("top/m", tarfile.SYMTYPE, link="d/l/../x")),
        {"d": "dir", "d/l": ".."},
        1,
    ),
    "a link, then a file in its place": (
        (member("top/l", tarfile.SYMTYPE, link="a"), member("top/l", data=b"1"), member("top/a", data=b"2")),
        {"a": b"2", "l": b"1"},
        0,
    ),
    "a directory, then a link in its place": (
        (member("top/d/x", data=b"1"), member("top/d", tarfile.SYMTYPE, link="a")),
        {"d": "dir", "d/x": b"1"},
        1,
    ),
    "hard link out": (
        (member("top/h", tarfile.LNKTYPE, link="../../outside"), member("top/i", tarfile.LNKTYPE, link="/etc/passwd")),
        {},
        2,
    ),
    "hard link to a link": (
        (member("top/l", tarfile.SYMTYPE, link="x"), member("top/h", tarfile.LNKTYPE, link="top/l")),
        {"l": "x"},
        1,
    ),
    "hard link to nothing": ((member("top/h", tarfile.LNKTYPE, link="top/none"),), {}, 1),
    "hard link through a link": (
        (
            member("top/d/x", data=b"1"),
            member("top/l", tarfile.SYMTYPE, link="d"),
            member("top/h", tarfile.LNKTYPE, link="top/l/x"),
        ),
        {"d": "dir", "d/x": b"1", "l": "d"},
        1,
    ),
    "devices and pipes": (
        (member("top/c", tarfile.CHRTYPE), member("top/b", tarfile.BLKTYPE), member("top/p", tarfile.FIFOTYPE)),
        {},
        3,
    ),
    "an unknown type with data": ((member("top/q", b"Q", b"data"), member("top/ok", data=b"1")), {"ok": b"1"}, 1),
    "a set-user-id program": ((member("top/s", data=b"1", mode=0o6755),), {"s": b"1"}, 0),
    "a file, then a file below it": ((member("top/a", data=b"1"), member("top/a/b", data=b"2")), {"a": b"1"}, 1),
    "only a link": ((member("top", tarfile.SYMTYPE, link="a"),), {}, 1),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives(case: str, tmp_path: Path) -> None:
    members, left, refused = HOSTILE[case]
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    report = unpack(archive(*members), tmp_path / "in" / "x")
    assert everything(tmp_path / "in" / "x") == left, report.lines
    assert report.problems == refused, report.lines
    assert outside.read_bytes() == b"mine"
    assert sorted(p.name for p in tmp_path.iterdir()) in (["outside"], ["in", "outside"])
    assert {p.name for p in tmp_path.glob("in/*")} <= {"x"}
    assert not any(stat.S_IMODE(p.lstat().st_mode) & 0o7000 for p in (tmp_path / "in").rglob("*"))


def test_what_was_here_before_is_not_written_through(tmp_path: Path) -> None:
    """Links, hard links and files of the user's own, where members want to be."""
    here, outside = tmp_path / "x", tmp_path / "outside"
    here.mkdir()
    outside.mkdir()
    (outside / "f").write_bytes(b"mine")
    (here / "dir").symlink_to(outside)
    (here / "file").symlink_to(outside / "f")
    (here / "hard").hardlink_to(outside / "f")
    (here / "plain").write_bytes(b"old and longer")
    (here / "plain").chmod(0o444)
    data = archive(
        member("top/dir/f", data=b"1"),
        member("top/file", data=b"2"),
        member("top/hard", data=b"3"),
        member("top/plain", data=b"4"),
        member("top/m", tarfile.SYMTYPE, link="dir/f"),
    )
    report = unpack(data, here)
    assert (outside / "f").read_bytes() == b"mine"
    assert everything(here) == {"dir": str(outside), "file": b"2", "hard": b"3", "plain": b"4"}
    assert report.problems == 2
    assert "is a symbolic link here" in report.lines[0]


def test_a_destination_that_is_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert unpack(GOOD, tmp_path / "link").problems == 0
    assert (tmp_path / "real" / "a").exists()


def test_a_single_file(tmp_path: Path) -> None:
    data = archive(member("dir/top", data=b"12345"))
    for destination, lands in (("new", "new"), ("a/b/new", "a/b/new"), ("", "base"), ("new", "new")):
        assert unpack(data, tmp_path / destination, prefix="dir/top").problems == 0
        assert (tmp_path / lands).read_bytes() == b"12345"


def test_a_pipe_that_the_user_names(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    reader = os.open(tmp_path / "p", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert unpack(archive(member("top", data=b"12345")), tmp_path / "p").problems == 0
        assert os.read(reader, 10) == b"12345"
    finally:
        os.close(reader)


def test_zeros_are_left_out(tmp_path: Path) -> None:
    size = 8 << 20
    unpack(archive(member("top", data=bytes(size))), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == bytes(size)
    assert (tmp_path / "x").stat().st_blocks * 512 < size // 4


def test_a_sparse_member_of_gnu_tar(tmp_path: Path) -> None:
    with (tmp_path / "top").open("wb") as file:
        file.seek(3_000_000)
        file.write(b"data")
        file.truncate(5_000_000)
    for style in ("gnu", "posix"):
        done = subprocess.run(["tar", "-S", f"--format={style}", "-cf", "-", "top"], cwd=tmp_path, capture_output=True)
        assert len(done.stdout) < 1_000_000
        assert unpack(done.stdout, tmp_path / style).problems == 0
        assert (tmp_path / style).read_bytes() == (tmp_path / "top").read_bytes()


def test_a_full_disk_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rawkube.remotecommand.copy_unpack.os.write", full)
    with pytest.raises(CannotWrite, match='write "top/a": no space left on device'):
        unpack(GOOD, tmp_path / "x")


def test_many_entries_take_no_memory(tmp_path: Path) -> None:
    class Long:
        """A stream with the same entry in it, 1000 times."""

        def __init__(self) -> None:
            self._pieces = itertools.chain(itertools.repeat(member("top/a/", tarfile.DIRTYPE), 1000), [bytes(1024)])

        def read(self, size: int, /) -> bytes:
            return next(self._pieces, b"")

    report = Report()
    tracemalloc.start()
    Unpacker(str(tmp_path / "x"), "", ("top",), report).run(Long())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.entries == 1000
    assert peak < 330_000  # kept, they would be three times that


# Archives that go


class Taken:
    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes, /) -> int:
        self.data += data
        return len(data)


def packed(source: Path, name: str = "top", *, dereference: bool = False) -> tuple[bytes, Heard]:
    report, taken = Heard(), Taken()
    packer = Packer(str(source), name, report, dereference=dereference, digest_limit=1 << 30)
    size = packer.measure()
    packer.write(taken)
    assert len(taken.data) == size, "measure() is not what write() writes"
    return bytes(taken.data), report


def described(data: bytes) -> list[tuple[str, bytes, int, str]]:
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as tar:
        return [(m.name, m.type, m.mode, m.linkname) for m in tar]


def test_what_is_packed(tmp_path: Path) -> None:
    top = tmp_path / "t"
    for name in ("usual", "empty", "own"):
        (top / name).mkdir(parents=True, mode=0o755)
    (top / "own").chmod(0o700)
    (top / "usual" / "f").write_bytes(b"1")
    (top / "usual" / "f").chmod(0o600)
    (top / "own" / "same").hardlink_to(top / "usual" / "f")
    (top / "l").symlink_to("/etc/passwd")
    data, report = packed(top)
    assert report.problems == 0
    assert described(data) == [
        ("top/empty", tarfile.DIRTYPE, 0o755, ""),
        ("top/l", tarfile.SYMTYPE, 0o777, "/etc/passwd"),
        ("top/own", tarfile.DIRTYPE, 0o700, ""),
        ("top/own/same", tarfile.REGTYPE, 0o600, ""),
        ("top/usual/f", tarfile.LNKTYPE, 0o600, "top/own/same"),
    ]
    assert len(data) % tarfile.RECORDSIZE == 0


@settings(max_examples=examples(25), deadline=None)
@given(
    st.dictionaries(
        st.binary(min_size=1, max_size=120).filter(lambda n: not set(n) & {0, 0x2F} and n not in (b".", b"..")),
        st.binary(max_size=600),
        max_size=5,
    )
)
def test_any_names_and_contents_come_back(files: dict[bytes, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, "t")
        top.mkdir()
        for name, content in files.items():
            Path(top, os.fsdecode(name)).write_bytes(content)
        data, _ = packed(top)
        assert unpack(data, Path(folder, "back")).problems == 0
        assert everything(Path(folder, "back")) == everything(top)


def test_a_file_that_shrinks_is_said_and_padded(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    report, taken = Heard(), Taken()
    packer = Packer(str(tmp_path / "f"), "f", report)
    entries = packer._entries()
    entry = next(entries)
    (tmp_path / "f").write_bytes(b"xy")
    packer._entries = lambda: iter([entry])  # type: ignore[method-assign]
    packer.write(taken)
    assert report.lines == ['warning: "f": only 2 of 100 bytes could be read, the rest is zeros']
    with tarfile.open(fileobj=io.BytesIO(bytes(taken.data))) as tar:
        file = tar.extractfile("f")
        assert file is not None
        assert file.read() == b"xy" + bytes(98)
    assert not list(entries)


def test_links_that_lead_round_and_round(tmp_path: Path) -> None:
    (tmp_path / "t" / "d").mkdir(parents=True)
    (tmp_path / "t" / "d" / "f").write_bytes(b"1")
    (tmp_path / "t" / "d" / "up").symlink_to("..")
    (tmp_path / "t" / "gone").symlink_to("nowhere")
    data, report = packed(tmp_path / "t", dereference=True)
    assert [name for name, *_ in described(data)] == ["top/d/f"]
    assert len(report.lines) == 2
    assert "leads back to a directory that it is in" in report.lines[0]
    assert "no such file or directory" in report.lines[1]


def test_a_source_that_is_gone_when_it_is_packed(tmp_path: Path) -> None:
    data, report = packed(tmp_path / "none")
    assert described(data) == []
    assert report.lines == [f'warning: cannot read "{tmp_path}/none": no such file or directory']
