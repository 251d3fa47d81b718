"""Merged files, flags and environment → one connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import Access, Origin, Overrides
from rawkube.kubeconfig.in_cluster import InCluster
from rawkube.kubeconfig.load import Config, load
from rawkube.kubeconfig.resolve import problems, resolve

POD = InCluster("https://10.0.0.1:443", "/sa/token", "/sa/ca.crt", "pod-ns", "/sa/namespace")


def config_of(tmp_path: Path, value: object) -> Config:
    file = tmp_path / "config"
    file.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return load(str(file), environ={})


def simple(cluster: object = None, user: object = None, **context: str) -> dict[str, Any]:
    """A kubeconfig with cluster `c`, user `u` and the current context `x`."""
    found: dict[str, Any] = {
        "contexts": [
            {
                "name": "x",
                "context": {"cluster": "c", **({"user": "u"} if user is not None else {}), **context},
            }
        ],
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "https://h:6443"} if cluster is None else cluster}],
    }
    if user is not None:
        found["users"] = [{"name": "u", "user": user}]
    return found


def access(
    tmp_path: Path,
    value: object,
    pod: InCluster | None = None,
    environ: dict[str, str] | None = None,
    **flags: Any,
) -> Access:
    return resolve(config_of(tmp_path, value), Overrides(**flags), environ=environ or {}, in_cluster=pod)


def refusal(tmp_path: Path, value: object, environ: dict[str, str] | None = None, **flags: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        access(tmp_path, value, environ=environ, **flags)
    shown = str(caught.value) + "".join(caught.value.detail)
    assert "s3cret" not in shown
    assert shown.isprintable()
    return caught.value


class TestChoice:
    TWO: ClassVar[dict[str, Any]] = {
        "clusters": [{"name": n, "cluster": {"server": f"https://{n}"}} for n in "ab"],
        "users": [{"name": n, "user": {"token": f"t-{n}"}} for n in "ab"],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n, "namespace": f"ns-{n}"}} for n in "ab"],
        "current-context": "a",
    }

    def test_the_current_context(self, tmp_path: Path) -> None:
        found = access(tmp_path, self.TWO)
        assert (found.server, found.token, found.namespace) == ("https://a", "t-a", "ns-a")
        assert (found.context, found.cluster, found.user) == ("a", "a", "a")

    def test_flags_choose_entries(self, tmp_path: Path) -> None:
        found = access(tmp_path, self.TWO, context="b")
        assert (found.server, found.token, found.namespace) == ("https://b", "t-b", "ns-b")
        found = access(tmp_path, self.TWO, cluster="b")
        assert (found.server, found.token, found.namespace) == ("https://b", "t-a", "ns-a")
        found = access(tmp_path, self.TWO, user="b", namespace="mine")
        assert (found.server, found.token, found.namespace) == ("https://a", "t-b", "mine")

    def test_no_context_at_all(self, tmp_path: Path) -> None:
        value = {**self.TWO, "current-context": ""}
        assert access(tmp_path, value).server == "http://localhost:8080"
        assert access(tmp_path, value, cluster="b", user="b").token == "t-b"

    @pytest.mark.parametrize("contexts", [None, [], [{"name": "other"}]])
    def test_an_unknown_current_context(self, tmp_path: Path, contexts: object) -> None:
        error = refusal(tmp_path, {"contexts": contexts, "current-context": "dev03"})
        assert str(error) == "context was not found for specified context: dev03"
        assert error.in_configuration
        assert f"{tmp_path / 'config'}" in " ".join(error.detail)
        assert ("other" if contexts else "none") in error.detail[-1]

    def test_an_unknown_context_by_flag(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, self.TWO, context="missing")
        assert str(error) == "context was not found for specified context: missing"
        assert error.detail[0].endswith("config: a, b")

    def test_an_unknown_cluster_or_user_by_flag(self, tmp_path: Path) -> None:
        assert str(refusal(tmp_path, self.TWO, cluster="z")) == 'no server found for cluster "z"'
        assert str(refusal(tmp_path, self.TWO, user="z")) == 'auth info "z" does not exist'

    def test_entries_by_flag_without_a_kubeconfig(self) -> None:
        with pytest.raises(ConfigError) as caught:
            resolve(load(environ={"KUBECONFIG": "/none"}), Overrides(user="z"), environ={})
        assert (str(caught.value), caught.value.detail) == (
            'auth info "z" does not exist',
            ("no kubeconfig was found",),
        )

    @pytest.mark.parametrize(("what", "line"), [("cluster", 3), ("user", 4)])
    def test_a_context_that_names_a_missing_entry(self, tmp_path: Path, what: str, line: int) -> None:
        text = "contexts:\n- name: x\n  context: {cluster: %s,\n    user: %s}\n" % (
            ("gone", "u") if what == "cluster" else ("c", "gone")
        )
        text += "clusters: [{name: c, cluster: {server: 'https://h'}}]\nusers: [{name: u}]\ncurrent-context: x"
        error = refusal(tmp_path, text)
        assert str(error) == f'{what} "gone" was not found for context "x" ({tmp_path / "config"}:{line})'

    def test_flags_stand_in_for_missing_entries(self, tmp_path: Path) -> None:
        value = {
            "contexts": [{"name": "x", "context": {"cluster": "gone", "user": "gone"}}],
            "current-context": "x",
        }
        found = access(tmp_path, value, server="https://s", token="t")
        assert (found.server, found.token) == ("https://s", "t")

    @pytest.mark.parametrize("user", [{}, None])
    def test_a_user_without_credentials_is_anonymous(self, tmp_path: Path, user: object) -> None:
        value = simple()
        value["users"] = [{"name": "u", "user": user}]
        value["contexts"][0]["context"]["user"] = "u"
        found = access(tmp_path, value)
        assert (found.token, found.username, found.cert_file, found.notes) == ("", "", "", ())

    def test_faults_of_other_entries_do_not_matter(self, tmp_path: Path) -> None:
        value = simple()
        value["clusters"].append({"name": "bad", "cluster": {"server": "::", "certificate-authority": "/none"}})
        value["users"] = [{"name": "", "user": {"exec": {}}}]
        assert access(tmp_path, value).server == "https://h:6443"


class TestFields:
    def test_all_of_a_file(self, tmp_path: Path) -> None:
        cluster = {
            "server": "https://h:1/pre/",
            "tls-server-name": "sni",
            "certificate-authority": "ca.pem",
            "disable-compression": True,
        }
        user = {
            "client-certificate": "c.pem",
            "client-key-data": "S0VZ",
            "tokenFile": "t",
            "token": "static",
            "as": "jane",
            "as-uid": "7",
            "as-groups": ["a", "b"],
            "as-user-extra": {"reason": ["r", "s"]},
        }
        found = access(tmp_path, simple(cluster, user, namespace="ns"))
        line = 1 + (tmp_path / "config").read_text().splitlines().index("    namespace: ns")
        wanted = Access(
            server="https://h:1/pre",
            namespace="ns",
            namespace_from=f"{tmp_path}/config:{line} (contexts[x].context.namespace)",
            context="x",
            cluster="c",
            user="u",
            ca_file=f"{tmp_path}/ca.pem",
            tls_server_name="sni",
            cert_file=f"{tmp_path}/c.pem",
            key_data=b"KEY",
            token="static",
            token_file=f"{tmp_path}/t",
            impersonate_user="jane",
            impersonate_uid="7",
            impersonate_groups=("a", "b"),
            impersonate_extra=(("reason", ("r", "s")),),
            disable_compression=True,
        )
        assert found._replace(origins={}, proxy_why="") == wanted

    def test_data(self, tmp_path: Path) -> None:
        cluster = {"server": "https://h", "certificate-authority-data": "Q0\n E="}
        user = {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}
        found = access(tmp_path, simple(cluster, user))
        assert (found.ca_data, found.cert_data, found.key_data) == (b"CA", b"CERT", b"KEY")

    def test_yaml_binary_is_the_data_itself(self, tmp_path: Path) -> None:
        text = yaml.safe_dump(simple()).replace("server:", "certificate-authority-data: !!binary Q0E=\n    server:")
        assert access(tmp_path, text).ca_data == b"CA"

    def test_origins(self, tmp_path: Path) -> None:
        text = (
            "clusters:\n- name: c\n  cluster:\n    server: https://h\n    certificate-authority: ca\n"
            "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
        )
        found = access(tmp_path, text, token="t", namespace="n")
        file = str(tmp_path / "config")
        assert found.origins["server"] == Origin("file", file, 4, "clusters[c].cluster.server")
        assert str(found.origins["ca_file"]) == f"{file}:5 (clusters[c].cluster.certificate-authority)"
        assert str(found.origins["token"]) == "--token"
        assert (found.namespace, found.namespace_from) == ("n", "--namespace")

    def test_no_secret_in_repr(self, tmp_path: Path) -> None:
        user = {"token": "s3cret", "client-certificate-data": "czNjcmV0", "client-key-data": "czNjcmV0"}
        found = access(tmp_path, simple(user=user))
        assert "s3cret" not in repr(found)
        assert "https://h:6443" in repr(found)
        assert "s3cret" not in repr(Overrides(token="s3cret", password="s3cret"))

    def test_prefix_and_ipv6(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple({"server": "https://[fd00::1]:6443/k8s/clusters/x/"}))
        assert found.server == "https://[fd00::1]:6443/k8s/clusters/x"


class TestFlags:
    def test_server_clears_the_name_of_another(self, tmp_path: Path) -> None:
        value = simple({"server": "https://h", "tls-server-name": "sni"})
        assert access(tmp_path, value, server="https://s").tls_server_name == ""
        assert access(tmp_path, value, server="https://s", tls_server_name="m").tls_server_name == "m"
        assert access(tmp_path, value, tls_server_name="m").server == "https://h"

    def test_ca_file_over_data_and_insecure(self, tmp_path: Path) -> None:
        for cluster in ({"certificate-authority-data": "Q0E="}, {"insecure-skip-tls-verify": True}):
            found = access(tmp_path, simple({"server": "https://h", **cluster}), certificate_authority="ca")
            assert (found.ca_file, found.ca_data, found.insecure) == ("ca", None, False)

    @pytest.mark.parametrize("ca", [{"certificate-authority-data": "Q0E="}, {"certificate-authority": "ca"}])
    def test_insecure_over_ca(self, tmp_path: Path, ca: dict[str, str]) -> None:
        found = access(tmp_path, simple({"server": "https://h", **ca}), insecure_skip_tls_verify=True)
        assert (found.ca_file, found.ca_data, found.insecure) == ("", None, True)

    def test_false_beats_the_file(self, tmp_path: Path) -> None:
        value = simple({"server": "https://h", "insecure-skip-tls-verify": True, "disable-compression": True})
        found = access(tmp_path, value, insecure_skip_tls_verify=False, disable_compression=False)
        assert (found.insecure, found.disable_compression) == (False, False)
        assert access(tmp_path, value).insecure

    def test_certificate_over_data(self, tmp_path: Path) -> None:
        user = {"client-certificate-data": "Qw==", "client-key-data": "Sw=="}
        found = access(tmp_path, simple(user=user), client_certificate="c", client_key="k")
        assert (found.cert_file, found.key_file, found.cert_data, found.key_data) == ("c", "k", None, None)

    @pytest.mark.parametrize("user", [{"tokenFile": "/t"}, {"token": "old"}, {"username": "a", "password": "b"}])
    def test_token_beats_what_the_file_has(self, tmp_path: Path, user: dict[str, str]) -> None:
        found = access(tmp_path, simple(user=user), token="new")
        assert (found.token, found.token_file, found.username, found.password) == ("new", "", "", "")

    def test_token_keeps_the_client_certificate(self, tmp_path: Path) -> None:
        user = {"client-certificate": "/c", "client-key": "/k"}
        assert access(tmp_path, simple(user=user), token="new").cert_file == "/c"

    def test_basic_beats_the_token_of_the_file(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple(user={"token": "t", "tokenFile": "/t"}), username="a", password="b")
        assert (found.token, found.token_file, found.username, found.password) == ("", "", "a", "b")

    def test_both_by_flag_is_an_error(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, simple(), token="s3cret", username="a", password="s3cret")
        assert "more than one authentication method found for" in str(error)

    def test_impersonation(self, tmp_path: Path) -> None:
        user = {"as": "a", "as-uid": "1", "as-groups": ["g"], "as-user-extra": {"k": ["v"], "l": ["w"]}}
        value = simple(user=user)
        found = access(tmp_path, value, as_user="b")
        assert (found.impersonate_user, found.impersonate_uid, found.impersonate_groups) == ("b", "1", ("g",))
        assert access(tmp_path, value, as_groups=("x", "y")).impersonate_groups == ("x", "y")
        assert access(tmp_path, value, as_groups=("",)).impersonate_groups == ("",)
        found = access(tmp_path, value, as_user_extra=("k=1", "k=2", "m=a=b", "dropped"))
        assert found.impersonate_extra == (("k", ("1", "2")), ("l", ("w",)), ("m", ("a=b",)))

    def test_groups_without_a_user(self, tmp_path: Path) -> None:
        for flags in ({"as_groups": ("g",)}, {"as_uid": "1"}, {"as_user_extra": ("a=b",)}):
            error = refusal(tmp_path, simple(user={}), **flags)
            assert str(error) == "requesting uid, groups or user-extra for u without impersonating a user"

    def test_impersonation_over_plain_http(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple(user={"as": "a", "as-groups": ["g"]}), server="http://s")
        assert (found.impersonate_user, found.impersonate_groups) == ("a", ("g",))

    def test_request_timeout(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple(), request_timeout=1.5).request_timeout == 1.5
        assert access(tmp_path, simple(), request_timeout=0.0).request_timeout == 0.0

    def test_paths_are_not_joined(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple(), certificate_authority="x/../ca").ca_file == "x/../ca"


class TestServer:
    def test_default(self, tmp_path: Path) -> None:
        found = access(tmp_path, {})
        assert (found.server, str(found.origins["server"])) == ("http://localhost:8080", "default")
        assert found.notes == (f"no configuration in {tmp_path / 'config'}",)
        assert access(tmp_path, simple({"server": ""})).server == "http://localhost:8080"

    def test_kubernetes_master(self, tmp_path: Path) -> None:
        found = access(tmp_path, {}, environ={"KUBERNETES_MASTER": "http://m:1"})
        assert (found.server, str(found.origins["server"])) == ("http://m:1", "$KUBERNETES_MASTER")

    def test_host_and_port_alone(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple({"server": "h:8080"})).server == "http://h:8080"

    @pytest.mark.parametrize(
        ("cluster", "user", "field"),
        [
            ({"certificate-authority": "/ca"}, None, "certificate-authority"),
            ({"certificate-authority-data": "Q0E="}, None, "certificate-authority-data"),
            ({"insecure-skip-tls-verify": True}, None, "insecure-skip-tls-verify"),
            ({"tls-server-name": "sni"}, None, "tls-server-name"),
            ({}, {"token": "s3cret"}, "token"),
            ({}, {"tokenFile": "/t"}, "tokenFile"),
            ({}, {"username": "a", "password": "s3cret"}, "username"),
            ({}, {"client-certificate": "/c", "client-key": "/k"}, "client-certificate"),
            ({}, {"auth-provider": {"name": "oidc"}}, "auth-provider"),
        ],
    )
    def test_host_and_port_with_what_needs_tls(
        self, tmp_path: Path, cluster: dict[str, object], user: object, field: str
    ) -> None:
        error = refusal(tmp_path, simple({"server": "h:8080", **cluster}, user))
        assert str(error) == (
            f'server "h:8080" has no scheme, which means plain http, but {field} is set: write https:// before it'
        )
        assert "config:" in error.detail[0]

    def test_no_credential_over_plain_http(self, tmp_path: Path) -> None:
        cluster = {"server": "http://h", "certificate-authority-data": "Q0E="}
        for user in (
            {"token": "s3cret", "client-certificate-data": "Qw==", "client-key-data": "Sw=="},
            {"username": "a", "password": "s3cret"},
            {"tokenFile": "/t"},
            {"auth-provider": {"name": "oidc"}},
            {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1"}},
        ):
            found = access(tmp_path, simple(cluster, user))
            assert found._replace(origins={}, notes=(), proxy_why="") == Access(
                "http://h", context="x", cluster="c", user="u", namespace_from="default"
            )
            (note,) = found.notes
            assert "no credential is sent over plain http (http://h)" in note
            assert "s3cret" not in note

    def test_no_note_without_a_credential(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple({"server": "http://h"})).notes == ()

    @pytest.mark.parametrize("server", ["https://u:s3cret@h", "u:s3cret@h", "h/p", "ftp://h", "https://h:x"])
    def test_bad_addresses_name_where_they_stand(self, tmp_path: Path, server: str) -> None:
        assert refusal(tmp_path, simple({"server": server})).detail[0].startswith(f"server is set by {tmp_path}")
        assert refusal(tmp_path, simple(), server=server).detail == ("server is set by --server",)


class TestNamespace:
    def test_default(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple())
        assert (found.namespace, found.namespace_from) == ("default", "default")

    def test_it_is_used_as_it_stands(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple(namespace="Foo_Bar")).namespace == "Foo_Bar"

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("ns/foo", "may not contain '/'"),
            ("a%b", "may not contain '%'"),
            ("..", "may not be '..'"),
            (".", "may not be '.'"),
        ],
    )
    def test_what_no_path_may_hold(self, tmp_path: Path, name: str, problem: str) -> None:
        assert str(refusal(tmp_path, simple(), namespace=name)) == f'invalid namespace "{name}": [{problem}]'
        assert str(refusal(tmp_path, simple(namespace=name))) == f'invalid namespace "{name}": [{problem}]'

    def test_flag_without_any_configuration(self, tmp_path: Path) -> None:
        assert access(tmp_path, {}, namespace="n").namespace == "n"

    def test_in_a_pod(self, tmp_path: Path) -> None:
        assert access(tmp_path, simple(), POD).namespace == "pod-ns"
        assert access(tmp_path, simple(namespace="default"), POD).namespace == "default"
        assert access(tmp_path, simple(namespace="mine"), POD).namespace == "mine"
        assert access(tmp_path, simple(), POD, namespace="test").namespace == "test"


class TestInCluster:
    def test_without_a_kubeconfig(self, tmp_path: Path) -> None:
        found = access(tmp_path, {}, POD)
        assert found._replace(origins={}, proxy_why="") == Access(
            server="https://10.0.0.1:443",
            token_file="/sa/token",
            ca_file="/sa/ca.crt",
            namespace="pod-ns",
            namespace_from="/sa/namespace",
        )
        assert found.origins["server"].source == "in-cluster"

    @pytest.mark.parametrize(
        "value",
        [
            {"clusters": [{"name": "c", "cluster": {"server": "https://h"}}]},
            simple({"server": "http://localhost:8080"}),
            simple({}),
            {
                "clusters": None,
                "users": None,
                "contexts": [{"name": "x", "context": {"cluster": "", "user": ""}}],
            },
        ],
        ids=["no-current-context", "the-default-server", "no-server", "null-lists"],
    )
    def test_when_no_server_is_named(self, tmp_path: Path, value: object) -> None:
        assert access(tmp_path, value, POD).server == POD.server

    def test_the_context_of_kubectl_in_a_pod_keeps_its_namespace(self, tmp_path: Path) -> None:
        text = (
            "clusters: null\nusers: null\ncurrent-context: x\n"
            "contexts: [{name: x, context: {cluster: '', user: '', namespace: mine}}]"
        )
        found = access(tmp_path, text, POD)
        assert (found.server, found.namespace) == (POD.server, "mine")

    def test_a_server_of_the_file_wins(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple(user={"token": "t"}), POD)
        assert (found.server, found.token, found.token_file) == ("https://h:6443", "t", "")

    def test_kubernetes_master_is_the_default(self, tmp_path: Path) -> None:
        environ = {"KUBERNETES_MASTER": "http://x"}
        assert access(tmp_path, {}, POD, environ).server == POD.server
        assert access(tmp_path, simple({"server": "http://x"}), POD, environ).server == POD.server
        assert access(tmp_path, simple({"server": "http://localhost:8080"}), POD, environ).server == (
            "http://localhost:8080"
        )

    @pytest.mark.parametrize(
        ("flags", "changes"),
        [
            ({"server": "https://s"}, {"server": "https://s"}),
            ({"server": "http://s"}, {"server": "http://s", "token_file": "", "ca_file": ""}),
            ({"token": "t"}, {"token": "t", "token_file": ""}),
            ({"certificate_authority": "/ca"}, {"ca_file": "/ca"}),
            ({"insecure_skip_tls_verify": True}, {"insecure": True, "ca_file": ""}),
            ({"username": "a", "password": "b"}, {"username": "a", "password": "b", "token_file": ""}),
            (
                {"client_certificate": "/c", "client_key": "/k"},
                {"cert_file": "/c", "key_file": "/k", "token_file": ""},
            ),
            (
                {"as_user": "jane", "as_groups": ("g",)},
                {"impersonate_user": "jane", "impersonate_groups": ("g",)},
            ),
            ({"request_timeout": 5.0}, {"request_timeout": 5.0}),
            ({"disable_compression": True}, {"disable_compression": True}),
            ({"tls_server_name": "n"}, {"tls_server_name": "n"}),
            ({"namespace": "n"}, {"namespace": "n", "namespace_from": "--namespace"}),
        ],
    )
    def test_flags_lie_over_it(self, tmp_path: Path, flags: dict[str, Any], changes: dict[str, Any]) -> None:
        plain = access(tmp_path, {}, POD)
        found = access(tmp_path, {}, POD, **flags)
        assert found._replace(origins={}, notes=()) == plain._replace(origins={}, notes=(), **changes)

    def test_a_missing_context_is_still_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="context was not found"):
            access(tmp_path, {}, POD, context="missing")

    def test_a_user_that_is_not_used_is_named(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple({}, {"token": "s3cret", "as": "jane"}), POD)
        assert (found.token, found.token_file, found.impersonate_user) == ("", "/sa/token", "jane")
        assert 'user "u"' in found.notes[0]
        assert "s3cret" not in found.notes[0]


class TestNotes:
    def test_kubeconfig_that_names_no_file(self) -> None:
        environ = {"KUBECONFIG": "/none/a:/none/b"}
        found = resolve(load(environ=environ), Overrides(), environ=environ)
        assert found.notes == ("KUBECONFIG names no file that exists: /none/a, /none/b",)
        found = resolve(load(environ=environ), Overrides(), environ=environ, in_cluster=POD)
        assert found.notes == ("KUBECONFIG names no file that exists: /none/a, /none/b",)

    def test_no_file_at_home(self, tmp_path: Path) -> None:
        environ = {"HOME": str(tmp_path)}
        config = load(environ=environ)
        assert f"{tmp_path}/.kube/config does not exist" in resolve(config, Overrides(), environ=environ).notes[0]
        assert resolve(config, Overrides(server="https://s"), environ=environ).notes == ()
        assert resolve(config, Overrides(), environ=environ, in_cluster=POD).notes == ()


class TestProblems:
    """All that resolve() would raise one after the other."""

    def said(self, tmp_path: Path, value: object, **flags: Any) -> list[str]:
        return [str(error) for error in problems(config_of(tmp_path, value), Overrides(**flags), environ={})]

    def test_none(self, tmp_path: Path) -> None:
        assert self.said(tmp_path, simple(user={"token": "t"})) == self.said(tmp_path, {}) == []

    def test_several(self, tmp_path: Path) -> None:
        value = simple({"server": "https://h:x"}, {"token": "s3cret", "username": "me"}, namespace="a/b")
        assert self.said(tmp_path, value) == [
            "more than one authentication method found for u; found [token basicAuth], only one is allowed",
            'invalid port ":x" after host',
            "invalid namespace \"a/b\": [may not contain '/']",
        ]
        value_of_two = simple(user={"token": "s3cret", "username": "me"})
        assert self.said(tmp_path, value_of_two) == self.said(tmp_path, value)[:1]
        assert self.said(tmp_path, value, cluster="y", user="z")[:2] == [
            'no server found for cluster "y"',
            'auth info "z" does not exist',
        ]

    def test_without_a_context_there_is_one(self, tmp_path: Path) -> None:
        value = simple({"server": "https://h:x"})
        assert self.said(tmp_path, value, context="n") == ["context was not found for specified context: n"]


def test_an_auth_provider(tmp_path: Path) -> None:
    config = {"idp-issuer-url": "https://i", "client-id": "c", "id-token": None}
    found = access(tmp_path, simple(user={"auth-provider": {"name": "oidc", "config": config}})).auth_provider
    assert found is not None
    assert (found.name, found.config) == ("oidc", {**config, "id-token": ""})
