"""The standard streams of this process as files, for a command in this process that starts another one."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from rawkube.cli.main import main

_NUMBERS = (0, 1, 2)


class Caught:
    """What was written, known when the streams are given back."""

    stdout = b""
    stderr = ""
    code = -1


@contextlib.contextmanager
def own_descriptors(stdin: bytes = b"") -> Iterator[Caught]:
    """Descriptors 0, 1 and 2 are files meanwhile: here, and in whatever is started."""
    caught = Caught()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in _NUMBERS]
        files[0].write(stdin)
        files[0].seek(0)
        stack.enter_context(_in_place_of_the_streams(files))
        stack.enter_context(contextlib.redirect_stdout(_text(1)))
        stack.enter_context(contextlib.redirect_stderr(_text(2)))
        yield caught
        sys.stdout.flush()
        sys.stderr.flush()
        caught.stdout, caught.stderr = _read(files[1]), _read(files[2]).decode()


def run_with_streams(*args: str, stdin: bytes = b"") -> Caught:
    """`rawkube ARGS` to its end, in this process and its environment."""
    with own_descriptors(stdin) as caught:
        caught.code = main(args)
    return caught


@contextlib.contextmanager
def _in_place_of_the_streams(files: Sequence[IO[bytes]]) -> Iterator[None]:
    kept = [os.dup(number) for number in _NUMBERS]
    try:
        for number, file in zip(_NUMBERS, files, strict=True):
            os.dup2(file.fileno(), number)
        yield
    finally:
        for number, before in zip(_NUMBERS, kept, strict=True):
            os.dup2(before, number)
            os.close(before)


def _text(number: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", write_through=True)


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
