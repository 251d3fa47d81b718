"""`rawkube completion SHELL`, and `rawkube __complete -- WORD…`, which its scripts call at every TAB.

Whatever goes wrong there, nothing is printed about it: a shell that completes nothing is the message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from rawkube._typing import TYPE_CHECKING
from rawkube.cli.completing import FILES, Ask, Plan, fitting, plan
from rawkube.errors import UsageError

if TYPE_CHECKING:
    from rawkube.api.client import ApiClient
    from rawkube.cli.flags import Parsed
    from rawkube.cli.output import Output

PATIENCE = 0.5
"""Seconds for everything that is asked for, the kubeconfig included; `$RAWKUBE_COMPLETION_SECONDS` may say others."""

_MOST = 1000
_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"


def completion(parsed: Parsed, out: Output) -> int:
    """Print the script of a shell."""
    from rawkube.cli.completion_scripts import SCRIPTS

    if len(parsed.args) != 1 or parsed.args[0] not in SCRIPTS:
        known = ", ".join(SCRIPTS)
        raise UsageError(
            f"the name of one shell must be given: {known}\nSee 'rawkube completion -h' for help and examples"
        )
    out.write(SCRIPTS[parsed.args[0]])
    return 0


def complete(parsed: Parsed, out: Output) -> int:
    """Print the candidates for the last word, one a line."""
    try:
        words = parsed.args or [""]
        made = plan(words)
        found = [*made.words, *(_within(_patience(), lambda: _answers(made)) if made.asks else ())]
        lines = fitting(found, words[-1])
    except Exception:
        return 0
    # A name that is no plain text is nothing to type.
    lines = [line for line in lines if line.isprintable()]
    out.write("".join(f"{line}\n" for line in [*lines, *([FILES] if made.files else [])]))
    return 0


def _patience() -> float:
    try:
        return float(os.environ.get("RAWKUBE_COMPLETION_SECONDS") or PATIENCE)
    except ValueError:
        return PATIENCE


def _within(seconds: float, ask: Callable[[], list[str]]) -> list[str]:
    """What `ask` gives, or nothing when it takes longer or fails. It may go on behind the back of the caller."""
    found: list[str] = []

    def run() -> None:
        with suppress(Exception):
            found.extend(ask())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return list(found)


def _answers(made: Plan) -> list[str]:
    if made.parsed is None:
        return []
    found: list[str] = []
    for ask in made.asks:
        found += [f"{ask.before}{name}{ask.after}" for name in _names(ask, made.parsed)]
    return found


def _names(ask: Ask, parsed: Parsed) -> Iterable[str]:
    if ask.what in ("contexts", "clusters", "users"):
        from rawkube.kubeconfig.load import load

        config = load(parsed.values["kubeconfig"], environ=os.environ)
        return sorted(getattr(config, ask.what))
    client = _client(parsed)
    if client is None:
        return []
    with client:
        return _containers(client, ask.name) if ask.what == "containers" else _objects(client, ask.type)


def _client(parsed: Parsed) -> ApiClient | None:
    """A client that tells nobody anything; None where a program would be run for its credentials: that may ask back."""
    from rawkube.api.connect import connect
    from rawkube.cli.connection import overrides
    from rawkube.kubeconfig.load import load

    wanted = overrides(parsed)._replace(request_timeout=None)
    client = connect(kubeconfig=parsed.values["kubeconfig"], overrides=wanted)
    user = load(parsed.values["kubeconfig"], environ=os.environ).users.get(client.access.user)
    return None if user is not None and user.value.get("exec") else client


def _objects(client: ApiClient, word: str) -> list[str]:
    from rawkube.api.builtin import lookup
    from rawkube.api.paths import resource_path

    resource = lookup(word)
    if resource is None:
        return []
    path = resource_path(resource, client.access.namespace if resource.namespaced else "")
    query = [("limit", str(_MOST))]
    deadline = client.clock() + PATIENCE
    with client.send("GET", path, query, accept=_NAMES_ONLY, deadline=deadline) as response:
        listing = client.read_object(response, verb="list", resource=resource)
    return sorted(str(item["metadata"]["name"]) for item in listing["items"])


def _containers(client: ApiClient, pod: str) -> list[str]:
    from rawkube.api.arguments import check_name
    from rawkube.api.builtin import known

    check_name(pod)
    spec = client.get(known("pods"), client.access.namespace, pod, deadline=client.clock() + PATIENCE)["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return [str(each["name"]) for kind in kinds for each in spec.get(kind) or ()]
