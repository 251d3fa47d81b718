"""The user's preferences (`kuberc`): what they say about credential plugins. The rest of the file is not read.

As kubectl 1.37: `--kuberc`, else `$KUBERC`, else `~/.kube/kuberc`; `KUBERC=off` and `KUBECTL_KUBERC=false` turn it
off. Of several YAML documents the first that is a Preference counts. A file that holds none has no say, and a note
says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from rawkube._typing import TYPE_CHECKING, Any, NamedTuple
from rawkube.errors import PreferencesError
from rawkube.gotext import one_line
from rawkube.kubeconfig.files import Unreadable, read

if TYPE_CHECKING:
    from rawkube.kubeconfig.plugin_policy import Policy

OFF = "off"

_path = os.path  # pathlib imports urllib, which every start of a command would pay for
_GROUP = "kubectl.config.k8s.io"
# v1alpha1 knows nothing of plugins: such a file is one without a policy.
_VERSIONS = (f"{_GROUP}/v1beta1", f"{_GROUP}/v1alpha1")
_FALSE = frozenset(("false", "False", "FALSE"))


class Preferences(NamedTuple):
    """`policy`: which plugins may run; None: all. `notes`: lines for a person."""

    policy: Policy | None = None
    notes: tuple[str, ...] = ()


def load(explicit: str = "", *, environ: Mapping[str, str], home: str) -> Preferences:
    """The preferences. `explicit`: the file of `--kuberc`; `home`: the home folder.

    Raises PreferencesError for a named file that cannot be read, and for a policy that contradicts itself.
    """
    if environ.get("KUBECTL_KUBERC") in _FALSE:
        return Preferences()
    named = environ.get("KUBERC", "")
    if named == OFF:
        if explicit:
            raise _error("kuberc error disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive")
        return Preferences()
    file = explicit or named or _path.join(home, ".kube", "kuberc")
    try:
        data = read(file)
    except Unreadable as error:
        if error.missing and not explicit and not named:
            return Preferences()
        raise _error(f"kuberc error kuberc: {error}") from None
    return _preferences(data, file)


def _error(text: str) -> PreferencesError:
    return PreferencesError(f"error occurred while applying preferences {text}")


def _preferences(data: bytes, file: str) -> Preferences:
    if not data.strip():
        return Preferences()
    from rawkube.kubeconfig.plugin_policy import problem_with

    policy = decode(data)
    if policy is None:
        shown = one_line(file)
        text = f"kuberc: no preferences loaded from {shown}: no valid preferences found in {shown}, "
        text += "so that its rules for credential plugins do not apply"
        return Preferences(notes=(text,))
    problem = problem_with(policy)
    if problem:
        raise _error(problem)
    return Preferences(policy._replace(file=file))


def decode(data: bytes) -> Policy | None:
    """The policy of the first Preference in the text; None without one."""
    for value in _documents(data):
        policy = _policy(value)
        if policy is not None:
            return policy
    return None


def _documents(data: bytes) -> Iterator[Any]:
    """The values of the YAML documents (or of the one JSON text); one that is no YAML is left out."""
    from rawkube.kubeconfig.document import DocumentError, parse

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return
    for document in _split(text):
        if document.lstrip()[:1] == "{":
            from json import loads

            try:
                yield loads(document)
            except (ValueError, RecursionError):
                pass
            continue
        try:
            yield parse(document).value
        except DocumentError:
            continue


def _split(text: str) -> list[str]:
    """At the lines that are `---`, as apimachinery's reader of YAML does."""
    pieces: list[str] = [""]
    for line in text.splitlines(keepends=True):
        if line.startswith("---") and not line[3:].strip():
            pieces.append("")
        else:
            pieces[-1] += line
    return pieces


def _policy(value: Any) -> Policy | None:  # noqa: ANN401 - what YAML can hold
    """None if the value is no Preference, or its fields are of another kind."""
    if not isinstance(value, dict) or value.get("kind") != "Preference" or value.get("apiVersion") not in _VERSIONS:
        return None
    from rawkube.kubeconfig.plugin_policy import Policy

    if value["apiVersion"] == _VERSIONS[1]:
        return Policy()
    name = value.get("credentialPluginPolicy")
    entries = value.get("credentialPluginAllowlist")
    if not isinstance(name, str | None) or not isinstance(entries, list | None):
        return None
    if entries is None:
        return Policy(name or "")
    commands = [_command(entry) for entry in entries]
    return None if None in commands else Policy(name or "", tuple(command or "" for command in commands))


def _command(entry: Any) -> str | None:  # noqa: ANN401 - what YAML can hold
    """The command of an entry; None if it is no entry. `name` is what the key was called at first."""
    if entry is None:
        return ""
    if not isinstance(entry, dict):
        return None
    command, name = entry.get("command"), entry.get("name")
    if not isinstance(command, str | None) or not isinstance(name, str | None) or (command and name):
        return None
    return command or name or ""
