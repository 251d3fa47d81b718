"""The user's preferences: which credential plugins may run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import PreferencesError
from rawkube.kubeconfig.kuberc import Preferences, load
from rawkube.kubeconfig.plugin_policy import NotAllowed, Policy, check, problem_with
from tests.support.rows import looped

PREFIX = "error occurred while applying preferences "
UNLISTED = 'credential plugin policy set to "Allowlist", but allowlist is unspecified'
EMPTY = 'credential plugin policy set to "Allowlist", but allowlist is empty; use "DenyAll" policy instead'


def policy_of(preferences: Preferences) -> Policy:
    return preferences.policy or Policy()


def preference(policy: Any = None, entries: Any = None, *, version: str = "v1beta1", **more: Any) -> str:
    value = {"apiVersion": f"kubectl.config.k8s.io/{version}", "kind": "Preference", **more}
    value |= {} if policy is None else {"credentialPluginPolicy": policy}
    value |= {} if entries is None else {"credentialPluginAllowlist": entries}
    return json.dumps(value)


DENY = preference("DenyAll")


def loaded(tmp_path: Path, text: str | None, explicit: str = "", **environ: str) -> Preferences:
    if text is not None:
        (tmp_path / ".kube").mkdir(exist_ok=True)
        (tmp_path / ".kube" / "kuberc").write_text(text)
    return load(explicit, environ=environ, home=str(tmp_path))


class TestFile:
    def test_none(self, tmp_path: Path) -> None:
        assert loaded(tmp_path, None) == Preferences()

    def test_of_the_home_folder(self, tmp_path: Path) -> None:
        file = str(tmp_path / ".kube" / "kuberc")
        assert loaded(tmp_path, DENY) == Preferences(Policy("DenyAll", None, file))

    def test_the_flag_beats_the_variable_and_that_the_home_folder(self, tmp_path: Path) -> None:
        flag, variable = tmp_path / "flag", tmp_path / "variable"
        flag.write_text(preference("AllowAll"))
        variable.write_text(preference(""))
        assert loaded(tmp_path, DENY, str(flag), KUBERC=str(variable)).policy == Policy("AllowAll", None, str(flag))
        assert loaded(tmp_path, DENY, KUBERC=str(variable)).policy == Policy("", None, str(variable))
        assert policy_of(loaded(tmp_path, DENY, KUBERC="")).name == "DenyAll"

    @pytest.mark.parametrize(
        ("environ", "policy"),
        [
            ({"KUBERC": "off"}, ""),
            ({"KUBECTL_KUBERC": "false"}, ""),
            ({"KUBECTL_KUBERC": "0"}, "DenyAll"),
            ({"KUBECTL_KUBERC": "true"}, "DenyAll"),
        ],
    )
    def test_turned_off(self, tmp_path: Path, environ: Mapping[str, str], policy: str) -> None:
        assert policy_of(loaded(tmp_path, DENY, **environ)).name == policy

    @pytest.mark.parametrize(
        ("explicit", "environ", "text"),
        [
            ("/no/such", {}, "kuberc error kuberc: open /no/such: no such file or directory"),
            ("off", {}, "kuberc error kuberc: open off: no such file or directory"),
            ("", {"KUBERC": "/no/such"}, "kuberc error kuberc: open /no/such: no such file or directory"),
            ("", {"KUBERC": "/"}, "kuberc error kuberc: read /: is a directory"),
            (
                "/x",
                {"KUBERC": "off"},
                "kuberc error disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive",
            ),
        ],
    )
    def test_what_is_named_must_be_there(
        self, tmp_path: Path, explicit: str, environ: Mapping[str, str], text: str
    ) -> None:
        with pytest.raises(PreferencesError) as caught:
            loaded(tmp_path, DENY, explicit, **environ)
        assert str(caught.value) == PREFIX + text


class TestDocuments:
    @pytest.mark.parametrize(
        ("text", "policy"),
        [
            (DENY, Policy("DenyAll")),
            (preference("DenyAll", foo=1, defaults=[{"command": "get"}]), Policy("DenyAll")),
            (preference("DenyAll", version="v1alpha1"), Policy()),
            (preference("Allowlist", [{"command": "a"}, {"name": "b"}]), Policy("Allowlist", ("a", "b"))),
            (f"{preference('AllowAll')}\n---\n{DENY}", Policy("AllowAll")),
            (f"foo: bar\n---\n{DENY}", Policy("DenyAll")),
            (f"apiVersion: [\n--- \n{DENY}", Policy("DenyAll")),
            (f"{preference('AllowAll', version='v9')}\n---\n{DENY}", Policy("DenyAll")),
            ("apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: AllowAll\n"
             "credentialPluginPolicy: DenyAll\n", Policy("DenyAll")),
            ("", Policy()),
        ],
    )  # fmt: skip
    def test_the_first_preference_counts(self, tmp_path: Path, text: str, policy: Policy) -> None:
        found = loaded(tmp_path, text)
        assert policy_of(found)._replace(file="") == policy
        assert found.notes == ()

    @pytest.mark.parametrize(
        "text",
        [
            preference("DenyAll", version="v1"),
            "credentialPluginPolicy: DenyAll\n",
            "hello",
            "a: [\n",
            "apiVersion: v1\nkind: Pod\n",
            preference(3),
            preference("Allowlist", {}),
            preference("Allowlist", ["cred"]),
            preference("Allowlist", [{"name": "cred", "command": "other"}]),
            preference("Allowlist", [{"command": 3}]),
            DENY + '{"a":1}',
            "\udcff",
        ],
    )
    def test_what_is_none_has_no_say_and_that_is_said(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "rc").write_bytes(text.encode("utf-8", "surrogateescape"))
        found = loaded(tmp_path, None, str(tmp_path / "rc"))
        assert found.policy is None
        (note,) = found.notes
        assert note.startswith(f"kuberc: no preferences loaded from {tmp_path}/rc: no valid preferences found in ")

    @pytest.mark.parametrize(
        ("policy", "entries", "text"),
        [
            ("Allowlist", None, UNLISTED),
            ("Allowlist", [], EMPTY),
            ("Allowlist", [{"command": "x"}, {"command": ""}],
             "misconfigured credential plugin allowlist: empty allowlist entry #2"),
            ("Allowlist", [None], "misconfigured credential plugin allowlist: empty allowlist entry #1"),
            ("Allowlist", [{"command": "./plug/cred"}], 'non-normalized file path: "./plug/cred" vs "plug/cred"'),
            ("Allowlist", [{"command": "/x//y"}], 'non-normalized file path: "/x//y" vs "/x/y"'),
            ("AllowAll", [{"command": "x"}],
             'misconfigured credential plugin allowlist: plugin policy is "AllowAll" but allowlist is non-nil'),
            (None, [],
             'misconfigured credential plugin allowlist: plugin policy is "" but allowlist is non-nil'),
            ("DenyAll", [],
             'misconfigured credential plugin allowlist: plugin policy is "DenyAll" but allowlist is non-nil'),
            ("Foo", None, 'unknown plugin policy: "Foo"'),
        ],
    )  # fmt: skip
    def test_contradictions(self, tmp_path: Path, policy: str | None, entries: Any, text: str) -> None:
        with pytest.raises(PreferencesError) as caught:
            loaded(tmp_path, preference(policy, entries))
        assert str(caught.value) == PREFIX + text


FILES = {"cred": "/usr/bin/cred", "/opt/cred": "/opt/cred", "/usr/bin/cred": "/usr/bin/cred"}


def look_path(command: str) -> str:
    if command not in FILES:
        raise LookupError("gone")
    return FILES[command]


class TestCheck:
    @looped("policy", ["", "AllowAll", "DenyAll", "Allowlist", "illegal"])
    @looped("commands", [None, (), ("cred",), ("other",)])
    @looped("exists", [True, False])
    def test_matrix(self, policy: str, commands: tuple[str, ...] | None, exists: bool) -> None:
        """Allowed: no list under AllowAll, or a hit under Allowlist; all else is an error of the one kind or other."""
        wanted = Policy(policy, commands)
        allowed = not problem_with(wanted)
        if allowed:
            try:
                check(wanted, "cred", look_path if exists else lambda _: look_path("nowhere"))
            except NotAllowed:
                allowed = False
        by_all = policy in ("", "AllowAll") and commands is None
        by_list = policy == "Allowlist" and commands == ("cred",)
        assert allowed is (by_all or by_list)

    @looped(
        ("command", "entries"),
        [
            ("cred", ("cred",)),
            ("cred", ("/usr/bin/cred",)),
            ("/usr/bin/cred", ("cred",)),
            ("/opt/cred", ("/opt/cred",)),
            ("nowhere", ("nowhere",)),
            ("cred", ("/gone/cred", "/usr/bin/cred")),
        ],
    )
    def test_hits(self, command: str, entries: tuple[str, ...]) -> None:
        check(Policy("Allowlist", entries), command, look_path)

    @looped(
        ("policy", "command", "text"),
        [
            (Policy("DenyAll"), "/x/cred", 'plugin "/x/cred" not allowed: policy set to "DenyAll"'),
            (Policy("Allowlist", ("cred",)), "/opt/cred",
             'plugin path "/opt/cred" is not permitted by the credential plugin allowlist'),
            (Policy("Allowlist", ("other",)), "cred",
             'plugin path "/usr/bin/cred" is not permitted by the credential plugin allowlist'),
            (Policy("Allowlist", ("/gone/cred",)), "cred",
             'plugin path "/usr/bin/cred" is not permitted by the credential plugin allowlist'),
            (Policy("Allowlist", ("cred",)), "nowhere",
             'plugin path "nowhere" cannot be resolved for credential plugin allowlist check: gone'),
        ],
    )  # fmt: skip
    def test_misses(self, policy: Policy, command: str, text: str) -> None:
        with pytest.raises(NotAllowed) as caught:
            check(policy, command, look_path)
        assert str(caught.value) == text
