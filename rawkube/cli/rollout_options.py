"""The flags of `rollout status`, checked, and what follows from them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rawkube._typing import TYPE_CHECKING, Any, NamedTuple
from rawkube.errors import UsageError
from rawkube.gotext import go_quote
from rawkube.rollout.follow_many import How, Require
from rawkube.rollout.status import Progress, evaluate, unsupported_kind
from rawkube.rollout.why import AUTO, LIVE, NEVER

if TYPE_CHECKING:
    from rawkube.api.expected import FieldIs
    from rawkube.rollout.fail_fast import FailFast

FORMATS = ("json",)
KINDS = "deployments,daemonsets,statefulsets"
"""What `--all` follows where no type is named."""


class Options(NamedTuple):
    """What a command line asks for, beside what it names.

    `parallel` holds for everything that implies it, too. `require`: None for all.
    """

    output: str
    parallel: bool
    prefix: bool
    explain: str
    require: Require | None
    everything: bool
    all_namespaces: bool
    detailed: bool
    judge: Callable[[Mapping[str, Any]], Progress]
    unsupported: Callable[[str, str], str]
    fail_fast: FailFast | None
    progress: bool = False

    @property
    def armed(self) -> bool:
        """Whether signals are taken from the beginning: somebody waits for a last word."""
        return self.output != "" or self.progress

    def required(self, total: int) -> int:
        """How many of so many have to be complete."""
        return total if self.require is None else self.require.of(total)


def options_of(values: Mapping[str, Any]) -> Options:
    """The flags as read. Raises UsageError."""
    if values["revision"] < 0:
        raise UsageError(f"revision must be a positive integer: {values['revision']}")
    output = values["output"]
    if output and output not in FORMATS:
        what = f"unable to match a printer suitable for the output format {go_quote(output)}"
        raise UsageError(f"{what}, allowed formats are: {','.join(FORMATS)}")
    if values["explain"] not in (AUTO, LIVE, NEVER):
        raise _invalid("explain", values["explain"], "must be auto, live or never")
    if values["timeout-total"] < 0:
        raise UsageError("--timeout-total must not be less than 0")
    require, progress = _require(values), values["progress"]
    if output and progress:
        raise UsageError("only one of --output and --progress can be specified")
    return Options(
        output,
        bool(values["parallel"] or values["prefix"] or output or require or progress),
        values["prefix"],
        LIVE if progress and values["explain"] == AUTO else values["explain"],
        require,
        values["all"],
        values["all-namespaces"],
        values["detailed-exitcode"],
        *_judge(values),
        _fail_fast(values),
        progress,
    )


def how_of(options: Options, values: Mapping[str, Any], began: float) -> How:
    """How to follow. `began`: what the client's clock said when the command began."""
    seconds = values["watch-timeout"]
    total = values["timeout-total"]
    return How(
        judge=options.judge,
        unsupported=options.unsupported,
        watch=values["watch"],
        timeout=values["timeout"],
        began=began,
        deadline=began + total if total else None,
        watch_timeout=(lambda: int(seconds)) if seconds else None,
        require=options.require,
        explain=options.explain,
        fail_fast=options.fail_fast,
    )


def _fail_fast(values: Mapping[str, Any]) -> FailFast | None:
    restarts = values["fail-fast"]
    if restarts is None:
        return None
    if restarts < 0:
        raise _invalid("fail-fast", str(restarts), "must not be less than 0")
    from rawkube.rollout.fail_fast import FailFast

    return FailFast(restarts)


def _judge(
    values: Mapping[str, Any],
) -> tuple[Callable[[Mapping[str, Any]], Progress], Callable[[str, str], str]]:
    """What tells where a rollout is, and of which kinds it does not. Raises UsageError."""
    if not (values["any-kind"] or values["condition"] or values["field"]):
        return partial(evaluate, revision=values["revision"]), unsupported_kind
    from rawkube.api.expected import condition
    from rawkube.rollout.kinds import judge, unsupported

    conditions, fields = map(condition, values["condition"]), map(_field, values["field"])
    common: dict[str, Any] = {"any_kind": values["any-kind"]}
    look = partial(judge, revision=values["revision"], conditions=[*conditions], fields=[*fields], **common)
    return look, partial(unsupported, **common)


def _field(text: str) -> FieldIs:
    from rawkube.api.expected import field
    from rawkube.api.json_path import JSONPathError

    try:
        return field(text)
    except JSONPathError as error:
        raise UsageError(f"--field {go_quote(text)}: {error}") from None
    except UsageError:
        raise UsageError(f"--field is PATH=VALUE, such as .status.phase=Running, not {go_quote(text)}") from None


def _require(values: Mapping[str, Any]) -> Require | None:
    text = values["require"]
    if text and values["any"]:
        raise UsageError("only one of --any and --require can be specified")
    if values["any"]:
        return Require(1)
    if not text:
        return None
    number = text.removesuffix("%")
    percent = number != text
    count = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0
    if not 0 < count <= (100 if percent else count):
        raise _invalid("require", text, "must be a number from 1, or 1% to 100%")
    return Require(count, percent)


def _invalid(flag: str, value: str, why: str) -> UsageError:
    return UsageError(f'invalid argument {go_quote(value)} for "--{flag}" flag: {why}')
