"""`rawkube config …`: the kubeconfig as it is. No server is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from rawkube._typing import Any
from rawkube.cli.columns import columns
from rawkube.cli.command import PROGRAM
from rawkube.cli.flags import Parsed
from rawkube.cli.output import Output
from rawkube.errors import ConfigError, RawkubeError, UsageError
from rawkube.gotext import go_quote, one_line
from rawkube.kubeconfig.load import Config, Entry, load


def view(parsed: Parsed, out: Output) -> int:
    """`config view`: the merged files as one object."""
    from rawkube.kubeconfig import view as views

    values = parsed.values
    if parsed.args:
        words = one_line(" ".join(parsed.args))
        raise UsageError(f"unexpected arguments: [{words}]\nSee '{PROGRAM} config view -h' for help and examples")
    if not values["merge"] and not values["kubeconfig"]:
        raise UsageError("if merge==false a precise file must be specified")
    write = printer(values["output"], out)
    found = views.view(
        _load(parsed),
        context=values["context"],
        minify=values["minify"],
        raw=values["raw"],
        flatten=_read if values["flatten"] else None,
    )
    write(found)
    return 0


def current_context(parsed: Parsed, out: Output) -> int:
    """`config current-context`."""
    config = _load(parsed)
    if not config.current_context:
        raise ConfigError("current-context is not set")
    out.line(config.current_context)
    return 0


def get_contexts(parsed: Parsed, out: Output) -> int:
    """`config get-contexts`: a table, or names."""
    form = parsed.values["output"]
    if form not in ("", "name"):
        raise UsageError(
            f"--output {one_line(form)} is not available in {PROGRAM} config get-contexts; "
            "resetting to default output format"
        )
    config = _load(parsed)
    names = sorted(parsed.args or config.contexts)
    found = [config.contexts[name] for name in names if name in config.contexts]
    if form == "name":
        for entry in found:
            out.line(entry.name)
    else:
        headers = [] if parsed.values["no-headers"] else [("CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE")]
        for line in columns([*headers, *(_row(entry, config) for entry in found)]):
            out.line(line)
    missing = [RawkubeError(f"context {one_line(name)} not found") for name in names if name not in config.contexts]
    if missing:
        out.errors(missing)
    return 1 if missing else 0


def _row(entry: Entry, config: Config) -> tuple[str, ...]:
    mark = "*" if entry.name == config.current_context else ""
    return mark, entry.name, *(entry.value.get(field) or "" for field in ("cluster", "user", "namespace"))


def _load(parsed: Parsed) -> Config:
    return load(parsed.values["kubeconfig"], environ=os.environ)


def _read(file: str) -> bytes:
    from rawkube.kubeconfig.files import Unreadable, read

    try:
        return read(file)
    except Unreadable as error:
        raise ConfigError(str(error)) from None


def printer(form: str, out: Output) -> Callable[[Any], None]:
    """What prints an object in the form of `-o`. UsageError, in kubectl's words, for a form that is not there."""
    from rawkube.cli import printers

    if form not in ("json", "yaml"):
        raise UsageError(
            f"unable to match a printer suitable for the output format {go_quote(form)}, allowed formats are: json,yaml"
        )
    text = typed_json if form == "json" else printers.to_yaml
    return lambda found: out.write(text(found))


def typed_json(found: object) -> str:
    """As kubectl prints an object of a type that it knows: keys in the type's order, not sorted."""
    text = json.dumps(found, indent=4, ensure_ascii=False)
    for char in "&<>\u2028\u2029":  # as encoding/json: so that it may stand in HTML and JavaScript
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"
