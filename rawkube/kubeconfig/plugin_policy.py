"""Which credential plugins may be run: `credentialPluginPolicy` and `credentialPluginAllowlist` of a kuberc. Pure.

KEP-3104 (kuberc); conditions and texts are client-go's (plugin/pkg/client/auth/exec) and kubectl 1.37's.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from rawkube._typing import NamedTuple
from rawkube.gotext import go_quote

_path = os.path  # pathlib imports urllib, which every start of a command would pay for

ALLOW_ALL, DENY_ALL, ALLOWLIST = "AllowAll", "DenyAll", "Allowlist"


class Policy(NamedTuple):
    """`name`: one of the policies, empty for AllowAll; `commands`: the allow list, None where there is none.

    `file`: the kuberc that it comes from, empty without one.
    """

    name: str = ""
    commands: tuple[str, ...] | None = None
    file: str = ""


class NotAllowed(Exception):
    """A plugin that may not be run; the text is client-go's."""


def problem_with(policy: Policy) -> str:
    """Why a policy contradicts itself; empty if it does not."""
    if policy.name not in ("", ALLOW_ALL, DENY_ALL, ALLOWLIST):
        return f"unknown plugin policy: {go_quote(policy.name)}"
    listed = 'credential plugin policy set to "Allowlist", but allowlist is'
    if policy.name != ALLOWLIST:
        text = f"misconfigured credential plugin allowlist: plugin policy is {go_quote(policy.name)} "
        return "" if policy.commands is None else text + "but allowlist is non-nil"
    if policy.commands is None:
        return f"{listed} unspecified"
    if not policy.commands:
        return f'{listed} empty; use "DenyAll" policy instead'
    return next(filter(None, map(_problem_with_entry, range(1, len(policy.commands) + 1), policy.commands)), "")


def _problem_with_entry(number: int, command: str) -> str:
    if not command:
        return f"misconfigured credential plugin allowlist: empty allowlist entry #{number}"
    clean = _path.normpath(command)
    clean = clean[1:] if clean.startswith("//") else clean
    return "" if clean == command else f"non-normalized file path: {go_quote(command)} vs {go_quote(clean)}"


def check(policy: Policy, command: str, look_path: Callable[[str], str]) -> None:
    """Raises NotAllowed if the policy forbids `command` (cleaned).

    `look_path`: a command → its file; what it raises for one that is nowhere is the reason in the text.
    """
    if policy.name in ("", ALLOW_ALL):
        return
    if policy.name == DENY_ALL:
        raise NotAllowed(f'plugin {go_quote(command)} not allowed: policy set to "DenyAll"')
    commands = policy.commands or ()
    if command in commands:
        return
    try:
        path = _path.abspath(look_path(command))
    except Exception as error:
        text = f"plugin path {go_quote(command)} cannot be resolved for credential plugin allowlist check: {error}"
        raise NotAllowed(text) from None
    if path in commands or path in _resolved(commands, _path.basename(command), look_path):
        return
    raise NotAllowed(f"plugin path {go_quote(path)} is not permitted by the credential plugin allowlist")


def _resolved(commands: tuple[str, ...], name: str, look_path: Callable[[str], str]) -> list[str]:
    """The files of those entries that are called `name`; an entry that is nowhere admits nothing."""
    found = []
    for entry in commands:
        if _path.basename(entry) == name:
            try:
                found.append(_path.abspath(look_path(entry)))
            except Exception:  # noqa: S112 - whatever the caller's says
                continue
    return found
