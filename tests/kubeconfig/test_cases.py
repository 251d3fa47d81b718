"""Kubeconfigs that have broken clients of Kubernetes, as whole files on a disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from rawkube.errors import ConfigError
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Access, Overrides
from rawkube.kubeconfig.credentials import Credentials
from rawkube.kubeconfig.load import load
from tests.support.tls import Authority


def write(file: Path, value: object) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return str(file)


def joined(*files: str) -> dict[str, str]:
    return {"KUBECONFIG": os.pathsep.join(files)}


def whole(server: str = "https://h", *, user: object = None, **cluster: Any) -> dict[str, Any]:
    """One context `x` of a cluster `c` and a user `u`."""
    return {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


class TestSeveralFiles:
    CLUSTERS = "clusters: [{name: c, cluster: {server: https://h}}]\n"
    REST = "users: [{name: u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"

    @pytest.mark.parametrize(
        "current", ["", "current-context: ''\n", "current-context: null\n"], ids=["absent", "empty", "null"]
    )
    def test_only_a_later_file_names_the_current_context(self, current: str, tmp_path: Path) -> None:
        first = write(tmp_path / "1", self.CLUSTERS + current)
        second = write(tmp_path / "2", self.REST + "current-context: x\n")
        access = access_from(environ=joined(first, second)).access
        assert (access.context, access.server, access.token) == ("x", "https://h", "t")

    def test_the_first_current_context_counts(self, tmp_path: Path) -> None:
        first = write(tmp_path / "1", self.CLUSTERS + self.REST + "current-context: x\n")
        second = write(tmp_path / "2", "contexts: [{name: z}]\ncurrent-context: z\n")
        assert access_from(environ=joined(first, second)).access.context == "x"

    def test_a_list_is_never_one_file_name(self, tmp_path: Path) -> None:
        first, second = write(tmp_path / "1", self.CLUSTERS), write(tmp_path / "2", self.REST + "current-context: x\n")
        config = access_from(environ=joined(first, "", str(tmp_path / "none"), second, first)).config
        assert config.files == (first, second)
        assert config.missing == (str(tmp_path / "none"),)

    def test_an_explicit_file_is_combined_with_nothing(self, tmp_path: Path) -> None:
        home = write(tmp_path / ".kube" / "config", whole("https://home"))
        listed = write(tmp_path / "listed", whole("https://listed", user={"token": "t"}))
        named = write(tmp_path / "named", "current-context: x\ncontexts: [{name: x}]\n")
        found = access_from(named, environ={**joined(listed, home), "HOME": str(tmp_path)})
        assert found.config.files == (named,)
        assert (found.access.server, found.access.token) == ("http://localhost:8080", "")

    def test_entries_are_taken_whole_from_the_first_file(self, tmp_path: Path) -> None:
        """Also where the first has less: no field, list or map of the second is mixed in."""
        first = write(tmp_path / "1", whole(user={"as": "jane", "as-groups": ["a"], "as-user-extra": {"k": ["1"]}}))
        second = write(
            tmp_path / "2",
            whole(
                "https://second",
                user={"token": "t", "as": "joe", "as-groups": ["b", "c"], "as-user-extra": {"k": ["2"], "l": ["3"]}},
                **{"tls-server-name": "sni", "disable-compression": True},
            ),
        )
        access = access_from(environ=joined(first, second)).access
        assert (access.server, access.tls_server_name, access.disable_compression) == ("https://h", "", False)
        assert (access.token, access.impersonate_user) == ("", "jane")
        assert (access.impersonate_groups, access.impersonate_extra) == (("a",), (("k", ("1",)),))


class TestMissing:
    def test_a_mistyped_variable_names_the_file(self, tmp_path: Path) -> None:
        mistyped = str(tmp_path / "zzz")
        notes = access_from(environ={**joined(mistyped), "HOME": str(tmp_path)}).access.notes
        assert any(mistyped in note for note in notes)

    def test_among_others_it_is_passed_over(self, tmp_path: Path) -> None:
        good = write(tmp_path / "good", whole())
        access = access_from(environ=joined(str(tmp_path / "zzz"), good)).access
        assert (access.server, access.notes) == ("https://h", ())

    def test_a_path_that_was_asked_for_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="zzz: no such file or directory"):
            access_from(str(tmp_path / "zzz"), environ={})


class TestNulls:
    def test_only_a_current_context_leaves_empty_maps(self, tmp_path: Path) -> None:
        config = load(write(tmp_path / "c", "current-context: x\n"), environ={})
        assert (config.clusters, config.users, config.contexts) == ({}, {}, {})

    def pod(self, folder: Path, host: str = "10.0.0.1") -> dict[str, str]:
        write(folder / "token", "t0k3n\n")
        write(folder / "namespace", "pod-ns")
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443"}

    @pytest.mark.parametrize("lists", ["null", "[]", "~", ""], ids=["null", "empty", "tilde", "nothing"])
    def test_the_file_that_kubectl_writes_in_a_pod(self, lists: str, tmp_path: Path) -> None:
        text = (
            f"apiVersion: v1\nkind: Config\nclusters: {lists}\nusers: {lists}\ncurrent-context: x\n"
            "contexts:\n- name: x\n  context: {cluster: '', user: '', namespace: mine}\npreferences: {}\n"
        )
        environ = {**self.pod(tmp_path / "sa"), "KUBECONFIG": write(tmp_path / "c", text)}
        access = access_from(environ=environ, service_account=str(tmp_path / "sa")).access
        assert (access.server, access.namespace) == ("https://10.0.0.1:6443", "mine")
        assert Credentials(access).headers(now=0.0) == [("Authorization", "Bearer t0k3n")]

    @pytest.mark.parametrize(
        "user",
        [{"name": "u"}, {"name": "u", "user": None}, {"name": "u", "user": {}}],
        ids=["absent", "null", "empty"],
    )
    def test_a_user_without_a_body_is_anonymous(self, user: object, tmp_path: Path) -> None:
        access = access_from(write(tmp_path / "c", {**whole("http://h"), "users": [user]}), environ={}).access
        assert Credentials(access).headers(now=0.0) == []
        assert access.notes == ()

    def test_contexts_null_and_a_current_context(self, tmp_path: Path) -> None:
        file = write(tmp_path / "c", {**whole(), "contexts": None, "current-context": "dev03"})
        with pytest.raises(ConfigError) as raised:
            access_from(file, environ={})
        assert "dev03" in str(raised.value)
        assert file in " ".join(raised.value.detail)

    @pytest.mark.parametrize("text", ["", "---\n", "\n# nothing\n"], ids=["zero-bytes", "marker", "comment"])
    def test_an_empty_file_alone_and_among_others(self, text: str, tmp_path: Path) -> None:
        empty, good = write(tmp_path / "empty", text), write(tmp_path / "good", whole())
        assert access_from(environ=joined(empty, good)).access.server == "https://h"
        assert access_from(empty, environ={}).access.notes == (f"no configuration in {empty}",)


SHAPES: dict[str, dict[str, Any]] = {
    "file": {"certificate-authority": "ca.pem"},
    "data": {"certificate-authority-data": "Q0E="},
    "insecure": {"insecure-skip-tls-verify": True},
    "none": {},
}


@pytest.mark.parametrize("chosen", SHAPES)
def test_each_cluster_has_the_trust_of_its_own(chosen: str, tmp_path: Path) -> None:
    """No CA is the system's roots, never trust in everybody; a fault of another cluster does not matter."""
    shapes = {**SHAPES, "broken": {"certificate-authority": "/none/ca.pem"}}
    value = {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}", **shapes[name]}} for name in shapes],
        "contexts": [{"name": name, "context": {"cluster": name}} for name in shapes],
    }
    write(tmp_path / "ca.pem", "CA")
    access = access_from(write(tmp_path / "c", value), Overrides(context=chosen), environ={}).access
    wanted = {
        "file": (str(tmp_path / "ca.pem"), None, False),
        "data": ("", b"CA", False),
        "insecure": ("", None, True),
        "none": ("", None, False),
    }
    assert (access.ca_file, access.ca_data, access.insecure) == wanted[chosen]
    assert access.server == f"https://{chosen}"


def test_files_are_looked_for_beside_the_kubeconfig_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = Authority("ours"), Authority("theirs")
    for name, authority in (("1", ours), ("2", theirs)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ca.pem").write_bytes(authority.pem)
        (tmp_path / name / "token").write_text(f"token-{name}")
    clusters = {"1": "clusters", "2": "others"}
    for name in clusters:
        value = {
            "clusters": [{"name": f"c{name}", "cluster": {"server": "https://h", "certificate-authority": "./ca.pem"}}],
            "users": [{"name": f"u{name}", "user": {"tokenFile": "token"}}],
            "contexts": [{"name": f"x{name}", "context": {"cluster": f"c{name}", "user": f"u{name}"}}],
        }
        write(tmp_path / name / "config", value)
    third = tmp_path / "third"
    third.mkdir()
    monkeypatch.chdir(third)
    for name, pem in (("1", ours.pem), ("2", theirs.pem)):
        found = access_from("", Overrides(context=f"x{name}"), environ=joined("../1/config", "../2/config"))
        credentials = Credentials(found.access)
        assert credentials.ca_pem() == pem
        assert credentials.headers(now=0.0) == [("Authorization", f"Bearer token-{name}")]


class TestNumbers:
    """An unquoted number is refused by the name of its place, never guessed at."""

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("users: [{name: u, user: {token: 123456}}]", "users[u].user.token"),
            ("users: [{name: u, user: {password: 0123}}]", "users[u].user.password"),
            ("users: [{name: u, user: {password: 1e5}}]", "users[u].user.password"),
            ("users: [{name: u, user: {client-key-data: 123}}]", "users[u].user.client-key-data"),
            ("clusters: [{name: c, cluster: {certificate-authority-data: 123}}]", "certificate-authority-data"),
            ("current-context: 100000123456", "current-context"),
            ("contexts: [{name: 123456789012}]", "name"),
            ("contexts: [{name: x, context: {user: 123456789012}}]", "contexts[x].context.user"),
        ],
    )
    def test_where_a_string_belongs(self, text: str, place: str, tmp_path: Path) -> None:
        file = write(tmp_path / "c", "# line one\n" + text)
        with pytest.raises(ConfigError) as raised:
            load(file, environ={})
        told = " ".join([str(raised.value), *raised.value.detail])
        assert place in told
        assert f"{file}:2" in told

    def test_quoted_ones_are_strings(self, tmp_path: Path) -> None:
        text = (
            "current-context: '100000123456'\ncontexts: [{name: '100000123456', context: {cluster: '0', user: '1e5'}}]\n"
            "clusters: [{name: '0', cluster: {server: https://h}}]\nusers: [{name: '1e5', user: {token: '0123'}}]\n"
        )
        access = access_from(write(tmp_path / "c", text), environ={}).access
        assert (access.context, access.cluster, access.user, access.token) == ("100000123456", "0", "1e5", "0123")


class TestOverrides:
    def test_another_server_without_tls_keeps_the_whole_impersonation(self, tmp_path: Path) -> None:
        user = {"as": "a", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": {"k": ["v", "w"]}, "token": "t"}
        file = write(tmp_path / "c", whole(user=user))
        access = access_from(file, Overrides(server="http://something"), environ={}).access
        assert access._replace(origins={}, notes=(), proxy_why="") == Access(
            "http://something",
            context="x",
            cluster="c",
            user="u",
            impersonate_user="a",
            impersonate_uid="7",
            impersonate_groups=("g", "h"),
            impersonate_extra=(("k", ("v", "w")),),
        )

    @pytest.mark.parametrize(
        ("flags", "wanted"),
        [
            (Overrides(server="https://s", token="t"), ("https://s", "t", False, "sa")),
            (Overrides(token="t", certificate_authority="/ca"), ("https://10.0.0.1:443", "t", False, "/ca")),
            (Overrides(server="https://s", certificate_authority="/ca"), ("https://s", "", True, "/ca")),
            (
                Overrides(server="https://s", token="t", certificate_authority="/ca"),
                ("https://s", "t", False, "/ca"),
            ),
        ],
        ids=["server-token", "token-ca", "server-ca", "all"],
    )
    def test_several_flags_over_the_account_of_a_pod(
        self, flags: Overrides, wanted: tuple[str, str, bool, str], tmp_path: Path
    ) -> None:
        account = tmp_path / "sa"
        write(account / "token", "of-the-pod")
        (account / "ca.crt").write_bytes(Authority().pem)
        ca = tmp_path / "ca.pem"
        ca.write_bytes(Authority().pem)
        if flags.certificate_authority:
            flags = flags._replace(certificate_authority=str(ca))
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
        access = access_from("", flags, environ=environ, service_account=str(account)).access
        server, token, of_the_pod, authority = wanted
        assert (access.server, access.token) == (server, token)
        assert access.token_file == (f"{account}/token" if of_the_pod else "")
        assert access.ca_file == (f"{account}/ca.crt" if authority == "sa" else str(ca))

    def test_the_namespace_of_a_context_that_a_flag_chose_is_explicit(self, tmp_path: Path) -> None:
        account = tmp_path / "sa"
        write(account / "token", "t")
        write(account / "namespace", "of-the-pod")
        environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        value = whole()
        value["contexts"].append({"name": "z", "context": {"cluster": "c", "namespace": "default"}})
        file = write(tmp_path / "c", value)

        def namespace(**flags: str) -> str:
            found = access_from(file, Overrides(**flags), environ=environ, service_account=str(account))  # type: ignore[arg-type]
            return found.access.namespace

        assert namespace() == "of-the-pod"
        assert namespace(context="z") == "default"
        assert namespace(namespace="test") == "test"
