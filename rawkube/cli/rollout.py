"""`rawkube rollout …`: arguments → workloads → their states on the screen, one workload after the other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rawkube.api.arguments import check_name, parse_arguments
from rawkube.api.client import ApiClient
from rawkube.api.label_selector import Requirement, labels_match
from rawkube.api.mapper import Mapper, Named
from rawkube.api.missing import get_or_explain
from rawkube.api.objects import Object, metadata_of
from rawkube.api.resource import Resource
from rawkube.cli import sources
from rawkube.cli.output import Output
from rawkube.errors import RawkubeError, RolloutFailed, StatusError, UsageError
from rawkube.gotext import go_quote
from rawkube.rollout.follow import Workload, follow
from rawkube.rollout.status import unsupported_kind

if TYPE_CHECKING:
    from types import FrameType

    from rawkube.cli.flags import Parsed

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]


class Stopped(BaseException):
    """A signal ended the watching; kubectl then prints nothing and exits with 1."""


def rollout_status(parsed: Parsed, connect: Callable[[], ApiClient], out: Output) -> int:
    """`rollout status`: 0 when everything that was named is rolled out (or `--watch=false`), else 1.

    `connect` is called once the command line is known to be sound: a wrong word contacts nobody.
    """
    revision = parsed.values["revision"]
    if revision < 0:
        raise UsageError(f"revision must be a positive integer: {revision}")
    from_files = sources.are_named(parsed)
    found = sources.read(parsed) if from_files else []
    if not from_files:
        parse_arguments(parsed.args, selector=parsed.values["selector"])
    labels = sources.selector_of(parsed.values["selector"]) if from_files else frozenset()
    with connect() as client:
        command = _Status(client, out, parsed)
        try:
            if from_files:
                command.visit_objects(found, labels)
            else:
                command.visit_all()
        except Stopped:
            return 1
    return command.finish()


class _Status:
    """The workloads of one command line, visited in order; an error of one does not stop the others."""

    def __init__(self, client: ApiClient, out: Output, parsed: Parsed) -> None:
        self._client = client
        self._out = out
        self._parsed = parsed
        self._options = parsed.values
        self._mapper = Mapper(client, on_warning=out.warning)
        self._errors: list[RawkubeError] = []
        self._visited = 0

    def visit_all(self) -> None:
        """What the positionals name. Raises UsageError, and what discovery may raise."""
        selector = self._options["selector"]
        for named in self._mapper.wanted(self._parsed.args, selector=selector):
            self.visit(named, selector)

    def visit_objects(self, found: list[Object | UsageError], labels: frozenset[Requirement]) -> None:
        """The objects of manifests, those with these labels: the server's labels, not the manifest's."""
        for one in sources.resolved(found, self._parsed, self._mapper, self._client.access.namespace):
            if isinstance(one, RawkubeError):
                self._failed(one)
                continue
            try:
                workload = Workload(one.resource, one.namespace, one.name)
                if not labels or labels_match(labels, get_or_explain(self._client, *workload)):
                    self._visited += 1
                    self._show(workload)
            except RawkubeError as error:
                self._failed(error)

    def visit(self, named: Named, selector: str) -> None:
        """Show one workload to its end, or each one of a collection."""
        resource = named.resource
        namespace = self._client.access.namespace if resource.namespaced else ""
        try:
            for name in [named.name] if named.name else self._names(resource, namespace, selector):
                self._visited += 1
                self._show(Workload(resource, namespace, name))
        except RawkubeError as error:
            self._failed(error)

    def _failed(self, error: RawkubeError) -> None:
        self._visited += 1
        self._errors.append(error)

    def _names(self, resource: Resource, namespace: str, selector: str) -> list[str]:
        query = [("labelSelector", selector)] if selector else []
        try:
            listing = self._client.list(resource, namespace, query=query)
        except StatusError as error:
            raise told_what_was_listed(error, resource, selector) from None
        return [str(metadata_of(item).get("name") or "") for item in listing["items"]]

    def _show(self, workload: Workload) -> None:
        try:
            self._follow_as_served(workload)
        except RawkubeError as error:
            self._errors.append(error)

    def _follow_as_served(self, workload: Workload) -> None:
        """As the table of built-in resources has it, else as the server does: an old one may know other versions."""
        try:
            self._follow(workload)
        except StatusError as error:
            served = self._mapper.after_not_found(workload.resource, error)
            if served is None:
                raise
            self._follow(workload._replace(resource=served))

    def _follow(self, workload: Workload) -> None:
        check_name(workload.name)
        unsupported = unsupported_kind(workload.resource.group, workload.resource.kind)
        if unsupported:
            get_or_explain(self._client, *workload)
            raise RolloutFailed(unsupported)
        seconds = self._options["watch-timeout"]
        states = follow(
            self._client,
            workload,
            revision=self._options["revision"],
            timeout=self._options["timeout"],
            watch_timeout=(lambda: int(seconds)) if seconds else None,
            on_note=self._out.note,
        )
        with _signals_stop() as arm:
            for state in states:
                self._out.line(state.message)
                if not self._options["watch"]:
                    return
                arm()

    def finish(self) -> int:
        """Say what went wrong; the exit code."""
        if self._errors:
            self._out.errors(self._errors)
            return 1
        if not self._visited:
            self._out.note(f"No resources found in {self._client.access.namespace} namespace.")
        return 0


def told_what_was_listed(error: StatusError, resource: Resource, selector: str) -> StatusError:
    """cli-runtime's words for a collection that cannot be listed (`resource.Selector`)."""
    if error.reason not in ("BadRequest", "NotFound"):
        return error
    what = go_quote(f"{resource.group_version}, Resource={resource.plural}")
    found = f'Unable to find {what} that match label selector {go_quote(selector)}, field selector ""'
    text = f"{found if selector else f'Unable to list {what}'}: {error}"
    return StatusError({**error.status, "message": text}, detail=error.detail)


@contextmanager
def _signals_stop() -> Iterator[Callable[[], None]]:
    """Once armed, the signals that end kubectl's watching raise Stopped; before, they do what they always do.

    In another thread than the main one, where Python takes no handlers, nothing changes.
    """
    before: dict[int, object] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    def arm() -> None:
        if not before and threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, stop)

    try:
        yield arm
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
