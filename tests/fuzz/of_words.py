"""What a person writes: a command line, a selector, a path, a kubeconfig."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from rawkube.api.arguments import check_name, parse_arguments
from rawkube.api.json_path import JSONPath, JSONPathError
from rawkube.api.label_selector import labels_match, parse_labels
from rawkube.api.selectors import SelectorError, from_label_selector
from rawkube.cli.commands import read_command
from rawkube.cli.text import error_text
from rawkube.duration import parse_duration
from rawkube.errors import ConfigError, UsageError
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.load import Config, read_data
from rawkube.kubeconfig.resolve import resolve
from rawkube.kubeconfig.yaml_scalars import ScalarError, plain, tagged
from rawkube.observe.faults import parse_fault


def arguments(data: bytes) -> None:
    """A line each: a selector, then words of a command line."""
    selector, *words = _text(data).split("\n")
    try:
        for wanted in parse_arguments(words, selector=selector):
            if wanted.name:
                check_name(wanted.name)
    except UsageError as error:
        assert error_text([error])


def flags(data: bytes) -> None:
    """A line each: the words of a command line."""
    try:
        command, parsed = read_command(_text(data).split("\n"))
        assert parsed.values.keys() >= {flag.name for flag in command.flags}
    except UsageError as error:
        assert error_text([error])


def faults(data: bytes) -> None:
    """A value of `--fault`, and at once a duration."""
    with suppress(ValueError):
        assert parse_fault(_text(data)).kind
    with suppress(UsageError, ValueError):
        assert isinstance(parse_duration(_text(data)), float)


def selectors(data: bytes) -> None:
    """A label selector as text; the JSON of one."""
    text = _text(data)
    with suppress(SelectorError):
        labels_match(parse_labels(text), {"metadata": {"labels": {"app": "web", "n": "3"}}})
    value = _json(data)
    with suppress(SelectorError):
        written = from_label_selector(value)
        assert parse_labels(written) is not None, written


def json_path(data: bytes) -> None:
    """A JSONPath and, on the next line, what it is asked about."""
    path, _, value = _text(data).partition("\n")
    with suppress(JSONPathError):
        found = JSONPath(path).find(_json(value.encode("utf-8", "replace")))
        assert isinstance(found, list)


def kubeconfig(data: bytes) -> None:
    """A kubeconfig, and a connection with each of its contexts."""
    config = Config()
    try:
        config.add(read_data("/k/config", data))
    except ConfigError as error:
        assert str(error).isprintable(), error
        return
    for name in list(config.contexts)[:20] or [""]:
        with suppress(ConfigError):
            access = resolve(config, Overrides(context=name), environ={"HTTPS_PROXY": "http://proxy"})
            assert access.server.startswith(("http://", "https://")), access.server


def scalars(data: bytes) -> None:
    """A tag and, on the next line, a scalar of YAML."""
    tag, _, text = _text(data).partition("\n")
    assert plain(text) is None or isinstance(plain(text), str | int | float)
    with suppress(ScalarError):
        tagged(text, f"tag:yaml.org,2002:{tag}")


def _text(data: bytes) -> str:
    """As Python reads a command line."""
    return data.decode("utf-8", "surrogateescape")


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return {"a": [{"b": 1}, {"b": "x", "c": [1, 2.5, None, True]}], "d": {"e.f": "g"}}
