"""`rawkube get --watch`: what there is, then each change, in kubectl's lines; a watch that ends is opened again."""

from __future__ import annotations

from collections.abc import Iterator

from rawkube.api.list_watch import Changed, How, Listed, ListWatch, Selection
from rawkube.api.missing import get_or_explain
from rawkube.api.object_store import INITIAL, ObjectStore, Seen
from rawkube.api.objects import Object, metadata_of, rows_of
from rawkube.cli.get import Plan, Target
from rawkube.cli.get_formats import NameForm, ObjectForm, TableForm
from rawkube.cli.list_errors import listing_error
from rawkube.cli.tables_text import TextTable, slim
from rawkube.errors import StatusError, UsageError


def follow(plan: Plan) -> int:
    """Print until a signal ends it; 1 where there is nothing to watch, 0 where that is to be ignored."""
    target = _only_target(plan)
    try:
        return _Watch(plan, target).run()
    except StatusError as error:
        served = plan.as_served(target, error)
        if served is not None:
            return _Watch(plan, served).run()
        if plan.is_ignored(error):
            return 0
        raise error if target.name else listing_error(error, target.resource, plan.label, plan.field) from None


def _only_target(plan: Plan) -> Target:
    if plan.errors:
        raise plan.errors[0]
    if len({target.resource for target in plan.targets}) > 1:
        raise UsageError("you may only specify a single resource type")
    if len(plan.targets) != 1:
        raise UsageError("you may only watch a single resource or type of resource at a time")
    return plan.targets[0]


class _Watch:
    def __init__(self, plan: Plan, target: Target) -> None:
        self._plan = plan
        self._target = target
        self._form = plan.form()
        self._store = ObjectStore()
        several_documents = isinstance(self._form, ObjectForm) and plan.values["output"].lower() == "yaml"
        self._separator = "---\n" if several_documents else ""
        self._written = False
        self._table: TextTable | None = None
        if isinstance(self._form, TableForm):
            self._table = TextTable(self._form.layout(target.resource))

    def run(self) -> int:
        plan, (resource, namespace, name) = self._plan, self._target
        selection = Selection(resource, namespace, name, plan.label, plan.field)
        loop = ListWatch(
            plan.client,
            selection,
            on_note=plan.out.note,
            how=How(self._form.accept, 0 if name else plan.values["chunk-size"], self._slim),
        )
        listed = False
        for step in loop.steps():
            if isinstance(step, Listed):
                if name and not listed and not step.items:
                    get_or_explain(plan.client, resource, namespace, name)  # its error is the answer
                    loop.list_again()
                    continue
                listed = True
            self._print(list(self._seen(step)))
        return 0

    def _seen(self, step: Listed | Changed) -> Iterator[Object]:
        """What a step tells that is to be printed."""
        if isinstance(step, Listed):
            whole = {_key(item): item for item in step.items}
            for seen in self._store.listed(step.items):
                if seen.origin != INITIAL or not self._plan.values["watch-only"]:
                    yield self._whole(seen, whole)
            return
        for item in self._rows(step.object):
            slimmed = self._slim(item)
            self._store.changed(step.type, slimmed)
            yield slimmed

    def _rows(self, item: Object) -> list[Object]:
        return rows_of(item) if self._table is not None and item.get("kind") == "Table" else [item]

    def _whole(self, seen: Seen, listed: dict[tuple[object, ...], Object]) -> Object:
        """The object as it was listed; of one that is gone, what is remembered."""
        return seen.object if seen.type == "DELETED" else listed[_key(seen.object)]

    def _slim(self, item: Object) -> Object:
        """Of a row, what is shown of it and what tells it from others."""
        if self._table is None:
            return item
        assert isinstance(self._form, TableForm)
        metadata = metadata_of(item)
        kept = {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion") if key in metadata}
        return {**slim(self._form.table(item)), "kind": "Table", "metadata": kept}

    def _print(self, items: list[Object]) -> None:
        if self._table is not None:
            text = self._table.text(items)
            if text:
                self._plan.out.write(text)
            return
        for item in items:
            self._plan.out.write((self._separator if self._written else "") + self._one(item))
            self._written = True

    def _one(self, item: Object) -> str:
        if isinstance(self._form, ObjectForm):
            return self._form.one(item)
        assert isinstance(self._form, NameForm)
        return self._form.line(self._target.resource, str(metadata_of(item).get("name") or ""))


def _key(item: Object) -> tuple[object, ...]:
    metadata = metadata_of(item)
    return metadata.get("namespace"), metadata.get("name")
