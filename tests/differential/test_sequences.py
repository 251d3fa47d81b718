"""What happens while a rollout is watched: changes, ends of streams, expired versions, refusals, deletion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.rig import Case, Ours, Outcome, Runs, both, lines
from tests.support.api_server import ApiServer
from tests.support.hurry import hurried
from tests.support.script import (
    AS_USUAL,
    Answer,
    Object,
    Step,
    Workload,
    added,
    appears,
    bookmark,
    close,
    cuts,
    deleted,
    drops,
    error,
    failure,
    forgets,
    modified,
    pause,
    sends,
    then_answers,
    unseen,
)
from tests.support.workloads import deployment


@pytest.fixture(autouse=True, scope="module")
def hurry() -> Iterator[None]:
    """For what is run before the tests ask for it, too."""
    with hurried():
        yield


TIMED_OUT = "error: timed out waiting for the condition"
DELETED = "error: object has been deleted"
OK = 'deployment "web" successfully rolled out'
UNOBSERVED = "Waiting for deployment spec update to be observed..."

STALE = deployment(g=3, o=2)
STARTED = deployment(g=3, o=3, t=4, u=1)
OLD_LEFT = deployment(g=3, o=3, t=5, u=3, a=1)
UNAVAILABLE = deployment(g=3, o=3, t=3, u=3, a=2)
DONE = deployment(g=3, o=3)
AGAIN = DONE | {"metadata": {"name": "web", "generation": 3, "uid": "another"}}


def rollout(text: str) -> str:
    return f'Waiting for deployment "web" rollout to finish: {text}...'


UPDATED_1 = rollout("1 out of 3 new replicas have been updated")
OLD_2 = rollout("2 old replicas are pending termination")
AVAILABLE_2 = rollout("2 of 3 updated replicas are available")


def case(
    name: str,
    states: list[Object],
    steps: list[Step],
    stdout: str,
    last: str = "",
    code: int = 0,
    *,
    args: tuple[str, ...] = (),
    answers: dict[str, list[Answer]] | None = None,
    found: Object | None = None,
    ours: Ours | None = None,
    seen: list[str] | None = None,
    kubectl_seen: list[str] | None = None,
    notices: bool = False,
    list_watch: bool = True,
) -> Case:
    def world() -> ApiServer:
        return ApiServer(Workload(*states, steps=list(steps), found=found, name="web"), answers=answers)

    arguments = ["deployment/web", *args]
    return Case(name, world, arguments, stdout, last, code, ours, seen, kubectl_seen, notices, list_watch)


CHANGES = [
    case(
        "every-event-prints",
        [STALE],
        [modified(s) for s in (STALE, STARTED, STARTED, OLD_LEFT, UNAVAILABLE, DONE)],
        lines(UNOBSERVED, UNOBSERVED, UPDATED_1, UPDATED_1, OLD_2, AVAILABLE_2, OK),
        seen=["list", "watch rv=101"],
        kubectl_seen=["get web", "watch-list"],
    ),
    case(
        "only-the-last-state-of-the-start",
        [STALE, STARTED, UNAVAILABLE],
        [modified(DONE)],
        lines(AVAILABLE_2, OK),
        seen=["list", "watch rv=103"],
    ),
    case("done-at-once", [DONE], [], lines(OK), seen=["list"], kubectl_seen=["get web", "watch-list"]),
    case("bookmarks-print-nothing", [STARTED], [bookmark(), bookmark(), modified(DONE)], lines(UPDATED_1, OK)),
    case("deleted", [STARTED], [deleted()], lines(UPDATED_1), DELETED, 1),
    case("deleted-and-created-again", [STARTED], [deleted(), added(DONE)], lines(UPDATED_1), DELETED, 1),
    case(
        "another-name-is-reported-too",
        [STARTED],
        [added(deployment("other", g=3, o=3, t=5)), modified(DONE)],
        lines(
            UPDATED_1,
            'Waiting for deployment "other" rollout to finish: 2 old replicas are pending termination...',
            OK,
        ),
        ours=Ours(
            "a neighbour that a server sends in spite of the selector is not ours", Outcome(lines(UPDATED_1, OK))
        ),
    ),
    case(
        "deadline-while-watched",
        [STARTED],
        [modified(deployment(g=3, o=3, u=1, condition=("Progressing", "False", "ProgressDeadlineExceeded")))],
        lines(UPDATED_1),
        'error: deployment "web" exceeded its progress deadline',
        1,
    ),
    case(
        "stale-deadline-then-done",
        [deployment(g=8, o=7, condition=("Progressing", "False", "ProgressDeadlineExceeded"))],
        [modified(deployment(g=8, o=8))],
        lines(UNOBSERVED, OK),
    ),
    case(
        "revision-changes-while-watched",
        [deployment(u=1, revision="2")],
        [modified(deployment(u=1, revision="3"))],
        lines(UPDATED_1),
        "error: desired revision (2) is different from the running revision (3)",
        1,
        args=("--revision=2",),
    ),
    case("paused-then-resumed", [deployment(u=1, paused=True)], [modified(deployment())], lines(UPDATED_1, OK)),
    case(
        "appears-later",
        [],
        [appears(DONE, after=1.0)],
        lines(OK),
        found=STARTED,
        args=("--timeout=10s",),
        notices=True,
    ),
    case(
        "gone-before-the-start",
        [],
        [],
        "",
        TIMED_OUT,
        1,
        found=STARTED,
        args=("--timeout=500ms",),
    ),
    case("watch-false-ignores-events", [STARTED], [modified(DONE)], lines(UPDATED_1), args=("--watch=false",)),
    case(
        "unreadable-while-watched",
        [STARTED],
        [modified(deployment() | {"spec": {"replicas": "x"}})],
        lines(UPDATED_1),
        "error: failed to convert *unstructured.Unstructured to *v1.Deployment: unrecognized type: int32",
        1,
    ),
]

ENDS = [
    case(
        "closed-after-an-event",
        [STALE],
        [modified(STARTED), close(), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, OK),
        seen=["list", "watch rv=101", "watch rv=102"],
        kubectl_seen=["get web", "watch-list", "watch rv=102"],
    ),
    case(
        "closed-after-a-second-of-silence",
        [STARTED],
        [pause(1.1), close(), modified(DONE)],
        lines(UPDATED_1, OK),
        seen=["list", "watch rv=101", "watch rv=101"],
        kubectl_seen=["get web", "watch-list", "watch rv=101"],
    ),
    case(
        "closed-three-times",
        [STALE],
        [
            modified(STARTED),
            close(),
            modified(OLD_LEFT),
            close(),
            modified(UNAVAILABLE),
            close(),
            modified(DONE),
        ],
        lines(UNOBSERVED, UPDATED_1, OLD_2, AVAILABLE_2, OK),
    ),
    case(
        "closed-after-a-bookmark",
        [STARTED],
        [bookmark(888), close(), modified(DONE)],
        lines(UPDATED_1, OK),
        seen=["list", "watch rv=101", "watch rv=888"],
        kubectl_seen=["get web", "watch-list", "watch rv=888"],
    ),
    case(
        "connection-dropped-after-an-event",
        [STALE],
        [modified(STARTED), drops(), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "connection-reset-after-an-event",
        [STALE],
        [modified(STARTED), pause(0.3), drops("reset"), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "event-cut-then-clean-end",
        [STALE],
        [modified(STARTED), cuts(UNAVAILABLE), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, AVAILABLE_2, OK),
        notices=True,
    ),
    case(
        "event-cut-then-dropped",
        [STALE],
        [modified(STARTED), cuts(UNAVAILABLE, end=False), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, AVAILABLE_2, OK),
        notices=True,
    ),
    case(
        "short-stream-without-events",
        [STARTED],
        [close(), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        kubectl_seen=["get web", "watch-list", "watch-list rv=101"],
        ours=Ours("a watch that ends early is reopened without a LIST", Outcome(lines(UPDATED_1, OK))),
        seen=["list", "watch rv=101", "watch rv=101"],
    ),
]

EXPIRED = [
    case(
        "expired",
        [STARTED],
        [pause(0.1), error(410), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        seen=["list", "watch rv=101", "list", "watch rv=101"],
        kubectl_seen=["get web", "watch-list", "watch-list rv=101"],
        notices=True,
    ),
    case(
        "gone-without-a-code-of-its-own",
        [STARTED],
        [pause(0.1), error(0, reason="Gone"), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        seen=["list", "watch rv=101", "list", "watch rv=101"],
        notices=True,
    ),
    case(
        "expired-and-unseen-change",
        [STARTED],
        [unseen("MODIFIED", UNAVAILABLE), error(410), modified(DONE)],
        lines(UPDATED_1, AVAILABLE_2, OK),
        notices=True,
    ),
    case(
        "expired-twice",
        [STARTED],
        [modified(STARTED), error(410), error(410), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "expired-and-deleted-meanwhile",
        [STARTED],
        [pause(0.1), unseen("DELETED"), error(410)],
        lines(UPDATED_1),
        DELETED,
        1,
    ),
    case(
        "made-again-between-two-lists",
        [STARTED],
        [pause(0.1), unseen("DELETED"), unseen("ADDED", AGAIN), error(410)],
        lines(UPDATED_1, OK),
        ours=Ours("another object of the same name is not what was asked for", Outcome(lines(UPDATED_1), DELETED, 1)),
        notices=True,
    ),
    case(
        "compacted-while-away",
        [STALE],
        [modified(STARTED), forgets(), close(), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "answer-410-to-the-next-watch",
        [STALE],
        [
            modified(STARTED),
            then_answers("watch", failure(410, "too old resource version: 1 (2)")),
            close(),
            modified(DONE),
        ],
        lines(UNOBSERVED, UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
]

ERRORS = [
    case(
        "too-many-requests-in-the-stream",
        [STALE],
        [modified(STARTED), error(429), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, OK),
        seen=["list", "watch rv=101", "watch rv=102"],
        kubectl_seen=["get web", "watch-list", "watch rv=102"],
        notices=True,
    ),
    case(
        "internal-error-in-the-stream",
        [STARTED],
        [pause(0.1), error(500, "boom"), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "forbidden-in-the-stream",
        [STARTED],
        [pause(0.1), error(403, "no"), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "no-json-in-the-stream",
        [STARTED],
        [pause(0.1), sends(b"<html>\n", end=True), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "unknown-event-type",
        [STARTED],
        [
            pause(0.1),
            sends(b'{"type":"FOO","object":{"kind":"Deployment","metadata":{}}}\n', end=True),
            modified(DONE),
        ],
        lines(UPDATED_1, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "next-watch-answers-429",
        [STALE],
        [modified(STARTED), then_answers("watch", failure(429, "later")), close(), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "next-watch-answers-500",
        [STALE],
        [modified(STARTED), then_answers("watch", failure(500, "boom")), close(), modified(DONE)],
        lines(UNOBSERVED, UPDATED_1, UPDATED_1, OK),
        ours=Ours(
            "a 5xx is waited for and the watch is reopened from the last version, without a LIST",
            Outcome(lines(UNOBSERVED, UPDATED_1, OK)),
        ),
        notices=True,
    ),
    case(
        "next-watch-answers-503-with-retry-after",
        [STALE],
        [
            modified(STARTED),
            then_answers("watch", failure(503, "later", headers=(("Retry-After", "1"),))),
            close(),
            modified(DONE),
        ],
        lines(UNOBSERVED, UPDATED_1, OK),
        notices=True,
    ),
    case(
        "next-watch-is-forbidden",
        [STALE],
        [
            modified(STARTED),
            then_answers("watch", *[failure(403, 'deployments.apps "web" is forbidden')] * 20),
            then_answers("watch-list", *[failure(403, 'deployments.apps "web" is forbidden')] * 20),
            then_answers("list", *[failure(403, 'deployments.apps "web" is forbidden')] * 20),
            close(),
        ],
        lines(UNOBSERVED, UPDATED_1),
        TIMED_OUT,
        1,
        args=("--timeout=3s",),
        ours=Ours(
            "a 403 on a watch is final",
            Outcome(
                lines(UNOBSERVED, UPDATED_1),
                'Error from server (Forbidden): deployments.apps "web" is forbidden',
                1,
            ),
        ),
    ),
]

STREAMING_LIST = [
    case(
        "streaming-list-is-invalid",
        [STARTED],
        [modified(DONE)],
        lines(UPDATED_1, OK),
        answers={"watch-list": [failure(422, "sendInitialEvents is forbidden for watch")]},
        kubectl_seen=["get web", "watch-list", "list rv=0 limit=500", "watch rv=101"],
        list_watch=False,
    ),
    case(
        "streaming-list-fails",
        [STARTED],
        [modified(DONE)],
        lines(UPDATED_1, OK),
        answers={"watch-list": [failure(500, "boom")]},
        kubectl_seen=["get web", "watch-list", "list rv=0 limit=500", "watch rv=101"],
        list_watch=False,
    ),
    case(
        "streaming-list-expired",
        [STARTED],
        [modified(DONE)],
        lines(UPDATED_1, OK),
        answers={"watch-list": [failure(410, "too old")]},
        kubectl_seen=["get web", "watch-list", "watch-list"],
        list_watch=False,
    ),
    case(
        "streaming-list-expired-after-an-expired-watch",
        [STARTED],
        [pause(0.1), then_answers("watch-list", failure(410, "too old")), error(410), modified(DONE)],
        lines(UPDATED_1, UPDATED_1, OK),
        kubectl_seen=["get web", "watch-list", "watch-list rv=101", "watch-list"],
        notices=True,
        list_watch=False,
    ),
    Case(
        "list-expired",
        lambda: ApiServer(
            Workload(STARTED, steps=[modified(DONE)]),
            answers={
                "watch-list": [failure(422, "no")],
                "list": [failure(410, "too old resource version: 0 (1)")],
            },
        ),
        ["deployment/web"],
        lines(UPDATED_1, OK),
        kubectl_seen=["get web", "watch-list", "list rv=0 limit=500", "list limit=500", "watch rv=101"],
        ours=Ours(
            "a LIST without a version cannot be too old: the server's answer to the first one is final",
            Outcome("", "Error from server (Expired): too old resource version: 0 (1)", 1),
        ),
    ),
    case(
        "relist-fails-once",
        [STARTED],
        [
            pause(0.1),
            then_answers("watch-list", failure(500, "boom")),
            then_answers("list", AS_USUAL),
            error(410),
            modified(DONE),
        ],
        lines(UPDATED_1, UPDATED_1, OK),
        notices=True,
        list_watch=False,
    ),
]

CASES = CHANGES + ENDS + EXPIRED + ERRORS + STREAMING_LIST


@pytest.mark.parametrize(("program", "case"), both(CASES))
def test_sequences(program: str, case: Case, runs: Runs) -> None:
    runs.check(program, case)
