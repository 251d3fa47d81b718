"""Several containers' logs, followed at once: what comes, in the order in which it comes.

Threads follow the logs and feed one bounded queue, which the caller empties: a caller that stalls stalls the logs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial

from rawkube._typing import NamedTuple
from rawkube.api import crew as crew_of
from rawkube.api.client import ApiClient
from rawkube.api.crew import Crew
from rawkube.errors import RawkubeError
from rawkube.remotecommand.logs import Followed, Source, Timing, Wanted

NOBODY = -1
"""The place of a note, which belongs to none of the logs."""

_WAITING = 32
_USUAL = Timing()


class Chunk(NamedTuple):
    """Bytes of one of the logs, by its place: whole lines, unless one is longer than is kept."""

    at: int
    data: bytes


class Note(NamedTuple):
    """A line for a person."""

    text: str


class Ended(NamedTuple):
    """One of the logs is over; `error`: not as it should."""

    at: int
    error: RawkubeError | None = None


def follow_all(
    client: ApiClient, sources: Sequence[Source], wanted: Wanted, *, starting: float = 0.0, timing: Timing = _USUAL
) -> Generator[Chunk | Note | Ended, None, None]:
    """What comes from all of these logs, until each has ended. Closing the iterator ends what still runs.

    `starting` as in Followed.
    """
    with Crew[int, Chunk | Note](limit=_WAITING) as crew:

        def note(text: str) -> None:
            crew.put(NOBODY, Note(text))

        for at, source in enumerate(sources):
            followed = Followed(
                client, source, wanted, on_note=note, sleep=crew.sleep, starting=starting, timing=timing
            )
            crew.add(at, partial(_chunks, at, followed), interrupt=followed.interrupt)
        for at, item in crew.items():
            yield _ended(at, item.error) if isinstance(item, crew_of.Ended) else item


def _chunks(at: int, followed: Followed) -> Iterator[Chunk]:
    with closing(followed.chunks()) as chunks:
        for data in chunks:
            if data:
                yield Chunk(at, data)


def _ended(at: int, error: BaseException | None) -> Ended:
    """Raises what nobody expected."""
    if error is None or isinstance(error, RawkubeError):
        return Ended(at, error)
    raise error
