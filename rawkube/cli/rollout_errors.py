"""What `rollout status` says at its end on stderr, of everything that went wrong. Pure."""

from __future__ import annotations

from rawkube.cli.list_errors import listing_error
from rawkube.cli.report_lines import place_of
from rawkube.cli.rollout_options import Options
from rawkube.cli.text import plain_text
from rawkube.errors import RawkubeError, RolloutFailed, StatusError
from rawkube.rollout.happenings import COMPLETE, Overall, Result, Workload


def errors_of(overall: Overall, options: Options, selector: str) -> list[RawkubeError]:
    """The errors, in order: kubectl's; of many at once each says whose it is. None where enough are complete."""
    if overall.outcome == COMPLETE:
        return []
    several = options.parallel and len(overall.results) > 1
    errors = [
        RawkubeError(line_of(result, options), detail=result.error.detail)
        if several
        else _as_listed(result.error, result.workload, selector)
        for result in overall.results
        if result.error is not None
    ]
    if options.require is not None:
        done, total = overall.counts.get(COMPLETE, 0), len(overall.results)
        never = f"{overall.required} can never be complete: there are only {total}"
        text = f"{done} of {total} are complete, {overall.required} required"
        errors.append(RolloutFailed(text, detail=[never] if 0 < total < overall.required else []))
    return errors


def notes_of(overall: Overall, options: Options) -> list[str]:
    """What went wrong where enough are complete all the same."""
    if overall.outcome != COMPLETE:
        return []
    return [line_of(result, options) for result in overall.results if result.error is not None]


def line_of(result: Result, options: Options) -> str:
    """Whose error it is, and kubectl's words for it."""
    text = "" if result.error is None else plain_text(result.error)
    return f"{place_of(result.workload, options.all_namespaces)}: {text}" if result.workload else text


def _as_listed(error: RawkubeError, workload: Workload | None, selector: str) -> RawkubeError:
    if workload is None or workload.name or not isinstance(error, StatusError):
        return error
    return listing_error(error, workload.resource, selector)
