"""What time it is for the API server: by its clock are the times in its objects."""

from __future__ import annotations

import time

from rawkube.api.client import ApiClient
from rawkube.kubeconfig.timestamp import TimeError, seconds_of

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def server_time(client: ApiClient) -> float:
    """Seconds since 1970 by the `Date` of the last answer, and what has passed since; by the own clock without one."""
    if client.answered is not None:
        when, date = client.answered
        said = seconds_of_date(date)
        if said is not None:
            return said + max(0.0, client.clock() - when)
    return time.time()


def seconds_of_date(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date (`Mon, 30 Nov 2026 18:46:52 GMT`, RFC 9110, 5.6.7); None if it is none."""
    parts = text.split(" ")
    if len(parts) != 6 or parts[5] != "GMT" or parts[2] not in _MONTHS:
        return None
    _, day, month, year, clock, _ = parts
    try:
        return seconds_of(f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{clock}Z")
    except TimeError:
        return None


def rfc3339(seconds: float) -> str:
    """Seconds since 1970 as the API server writes a time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
