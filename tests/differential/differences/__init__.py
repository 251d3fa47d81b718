"""Where rawkube knowingly differs from kubectl: the tables of the README, and the test that asserts each row.

`python -m tests.differential.differences` prints the tables, as they stand in the README.
"""

from __future__ import annotations

from tests.differential.differences import (
    connections,
    credentials,
    lists,
    logs,
    proxies,
    rollouts,
    sessions,
    waits,
    words,
)
from tests.differential.differences.row import Difference

__all__ = ["DIFFERENCES", "Difference", "tables"]

_TOPICS = (connections, rollouts, waits, sessions, logs, lists, words, credentials, proxies)
DIFFERENCES: dict[str, list[Difference]] = {
    heading: rows for topic in _TOPICS for heading, rows in topic.GROUPS.items()
}
"""The heading of a table, in HTML → its rows."""


def tables() -> str:
    """All of them, as Markdown."""
    return "\n".join(_table(heading, rows) for heading, rows in DIFFERENCES.items())


def _table(heading: str, rows: list[Difference]) -> str:
    lines = [f"| {row.topic} | {row.kubectl} | {row.rawkube} |" for row in rows]
    head = [f"<details><summary>{heading}</summary>", "", "| what | kubectl | rawkube |", "|---|---|---|"]
    return "".join(line + "\n" for line in (*head, *lines, "", "</details>"))
