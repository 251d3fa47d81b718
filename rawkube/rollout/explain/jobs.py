"""Jobs that have failed, or do not run. Pure. The reasons are those of batch/v1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rawkube._typing import Any
from rawkube.rollout.explain.fields import flag, mapping, number, raw, text
from rawkube.rollout.explain.finding import NEVER, Evidence, Finding
from rawkube.rollout.explain.view import View

_REASONS = {
    "MaxFailedIndexesExceeded": "more indexes failed than maxFailedIndexes allows",
    "FailedIndexes": "some of its indexes failed",
}


def findings(view: View) -> Iterator[Finding]:
    """Why a Job does not complete, as far as the Job itself says it."""
    if view.kind != "Job":
        return
    failed = view.condition("Failed") or view.condition("FailureTarget")
    if failed and raw(failed, "status") == "True":
        reason, message = text(failed, "reason"), text(failed, "message")
        code, why = _why(view, reason)
        words = ": ".join(part for part in ("the Job has failed", why or message or reason) if part)
        since = text(failed, "lastTransitionTime")
        kind = text(failed, "type")
        said = ": ".join(part for part in (reason, message) if part)
        evidence = Evidence(f"{view.ref}: status.conditions[{kind}]", said, since)
        advice = "delete it and create it again once the cause is gone"
        yield Finding(code, words, view.ref, evidence=(evidence,), resolves=NEVER, advice=advice, since=since)
    elif flag(view.workload, "spec", "suspend"):
        seen = view.condition("Suspended")
        evidence = Evidence(f"{view.ref}: spec.suspend", "true", text(seen, "lastTransitionTime"))
        advice = f'kubectl patch job {view.name} -n {view.namespace} -p \'{{"spec":{{"suspend":false}}}}\''
        words = "the Job is suspended"
        since = text(seen, "lastTransitionTime")
        yield Finding("JobSuspended", words, view.ref, evidence=(evidence,), resolves=NEVER, advice=advice, since=since)


def _why(view: View, reason: str) -> tuple[str, str]:
    """The code, and what the reason means; empty where the message must say it."""
    spec = mapping(view.workload, "spec")
    if reason == "DeadlineExceeded":
        return "JobDeadlineExceeded", f"it ran longer than {_limit(spec, 'activeDeadlineSeconds')} allows"
    if reason == "BackoffLimitExceeded":
        return "JobFailed", f"its Pods failed more often than {_limit(spec, 'backoffLimit')} allows"
    return "JobFailed", _REASONS.get(reason, "")


def _limit(spec: Mapping[str, Any], field: str) -> str:
    known = number(spec, field, default=-1)
    return f"its {field} of {known}" if known >= 0 else f"its {field}"
