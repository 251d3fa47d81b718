"""What is refused in the chosen entries: kubectl's texts, plugins and proxies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import Overrides
from rawkube.kubeconfig.resolve import resolve
from rawkube.kubeconfig.validate import proxy_url_problem
from tests.kubeconfig.test_resolve import POD, access, config_of, refusal, simple

PAIR = {"client-certificate-data": "Qw==", "client-key-data": "Sw=="}
EXEC = {"command": "aws", "apiVersion": "client.authentication.k8s.io/v1beta1"}
V1 = "client.authentication.k8s.io/v1"

ROWS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {},
        {**PAIR, "client-certificate": "/c"},
        "client-cert-data and client-cert are both specified for u. client-cert-data will override.",
    ),
    (
        {},
        {**PAIR, "client-key": "/k"},
        "client-key-data and client-key are both specified for u; client-key-data will override",
    ),
    (
        {},
        {"client-certificate": "/c"},
        "client-key-data or client-key must be specified for u to use the clientCert authentication method.",
    ),
    (
        {},
        {"exec": EXEC, "auth-provider": {"name": "x"}},
        "authProvider cannot be provided in combination with an exec plugin for u",
    ),
    (
        {},
        {"exec": {**EXEC, "command": ""}},
        "command must be specified for u to use exec authentication plugin",
    ),
    (
        {},
        {"exec": {"command": "x", "interactiveMode": "Never"}},
        "apiVersion must be specified for u to use exec authentication plugin",
    ),
    (
        {},
        {"exec": {**EXEC, "env": [{"value": "x"}]}},
        "env variable name must be specified for u to use exec authentication plugin",
    ),
    (
        {},
        {"exec": {**EXEC, "apiVersion": V1}},
        "interactiveMode must be specified for u to use exec authentication plugin",
    ),
    ({}, {"exec": {**EXEC, "interactiveMode": "Sometimes"}}, 'invalid interactiveMode for u: "Sometimes"'),
    (
        {},
        {"token": "s3cret", "username": "a"},
        "more than one authentication method found for u; found [token basicAuth], only one is allowed",
    ),
    ({}, {"as-groups": ["g"]}, "requesting uid, groups or user-extra for u without impersonating a user"),
    (
        {"proxy-url": "ftp://s3cret@x"},
        {},
        'invalid \'proxy-url\' "ftp://<redacted>@x" for cluster "c": '
        'unsupported scheme "ftp", must be http, https, or socks5',
    ),
    (
        {"certificate-authority": "/ca", "certificate-authority-data": "Q0E="},
        {},
        "certificate-authority-data and certificate-authority are both specified for c. "
        "certificate-authority-data will override.",
    ),
    (
        {"certificate-authority": "/ca", "insecure-skip-tls-verify": True},
        {},
        "specifying a root certificates file with the insecure flag is not allowed",
    ),
    (
        {},
        {"tokenFile": "/t", "username": "a", "password": "s3cret"},
        "username/password or bearer token may be set, but not both",
    ),
]


@pytest.mark.parametrize(("cluster", "user", "text"), ROWS, ids=[row[2][:50] for row in ROWS])
def test_one_problem(tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], text: str) -> None:
    error = refusal(tmp_path, simple({"server": "https://h", **cluster}, user))
    assert str(error) == text
    assert error.problems == (text,)
    assert not error.in_configuration
    assert f"{tmp_path}/config:" in error.detail[0]


def test_several_problems_are_collected_in_order(tmp_path: Path) -> None:
    user = {"token": "s3cret", "username": "a", "as-uid": "1"}
    error = refusal(tmp_path, simple({"server": "https://h", "proxy-url": "x.example"}, user))
    assert [problem[:20] for problem in error.problems] == [
        "more than one authen",
        "requesting uid, grou",
        "invalid 'proxy-url' ",
    ]
    assert error.in_configuration
    assert str(error) == f"invalid configuration: [{', '.join(error.problems)}]"


def test_unreadable_files(tmp_path: Path) -> None:
    value = simple(
        {"server": "https://h", "certificate-authority": "ca"},
        {"client-certificate": "c", "client-key": "sub/k"},
    )

    def unreadable(path: str) -> str:
        return f"open {path}: no such file or directory"

    with pytest.raises(ConfigError) as caught:
        resolve(config_of(tmp_path, value), Overrides(), environ={}, unreadable=unreadable)
    assert caught.value.problems == tuple(
        f"unable to read {what} {tmp_path}/{file} for {owner} due to open {tmp_path}/{file}: no such file or directory"
        for what, file, owner in (
            ("client-cert", "c", "u"),
            ("client-key", "sub/k", "u"),
            ("certificate-authority", "ca", "c"),
        )
    )
    assert any("users[u].user.client-key" in line for line in caught.value.detail)


class TestPlugins:
    def test_exec(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, simple(user={"exec": {**EXEC, "args": ["s3cret"], "env": None}}))
        line = 1 + (tmp_path / "config").read_text().splitlines().index("    exec:")
        assert str(error) == (
            f'user "u" ({tmp_path}/config:{line}) uses the exec credential plugin "aws"; '
            "this version of rawkube runs no credential plugins: use --token or a client certificate"
        )

    def test_auth_provider(self, tmp_path: Path) -> None:
        user = {"auth-provider": {"name": "oidc", "config": {"id-token": "s3cret"}}}
        assert 'uses the auth provider "oidc"; this version' in str(refusal(tmp_path, simple(user=user)))

    @pytest.mark.parametrize("other", [{"token": "t"}, {"tokenFile": "/t"}, {"username": "a"}, PAIR])
    def test_exec_is_not_asked_beside_another_credential(self, tmp_path: Path, other: dict[str, str]) -> None:
        assert access(tmp_path, simple(user={"exec": EXEC, **other})).server == "https://h:6443"

    @pytest.mark.parametrize("plugin", [{"exec": EXEC}, {"auth-provider": {"name": "gcp"}}])
    def test_a_token_by_flag_asks_no_plugin(self, tmp_path: Path, plugin: dict[str, Any]) -> None:
        assert access(tmp_path, simple(user=plugin), token="t").token == "t"

    def test_a_plugin_of_a_user_that_is_not_chosen(self, tmp_path: Path) -> None:
        value = simple(user={"token": "t"})
        value["users"].append({"name": "other", "user": {"exec": EXEC}})
        assert access(tmp_path, value).token == "t"


class TestNoPrompt:
    def test_a_password_without_a_user_name(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, simple(user={"password": "s3cret"}))
        assert str(error).startswith('user "u" has a password but no username')


class TestProxies:
    @pytest.mark.parametrize("server", ["https://h", "http://h", "https://127.0.0.1"])
    def test_proxy_url(self, tmp_path: Path, server: str) -> None:
        error = refusal(tmp_path, simple({"server": server, "proxy-url": "http://u:s3cret@p:3128"}))
        assert str(error).startswith('cluster "c" is reached through a proxy')
        assert "clusters[c].cluster.proxy-url" in str(error)

    def test_proxy_url_without_a_server_in_a_pod(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="is reached through a proxy"):
            access(tmp_path, simple({"proxy-url": "http://p:3128"}), POD)

    def test_flag(self, tmp_path: Path) -> None:
        assert "(--proxy-url)" in str(refusal(tmp_path, simple(), proxy_url="socks5://p"))

    def test_environment(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, simple(), environ={"HTTPS_PROXY": "http://u:s3cret@p:3128"})
        assert str(error) == (
            "HTTPS_PROXY is set and applies to https://h:6443; this version of rawkube speaks through no proxy: "
            "name h in NO_PROXY to connect directly"
        )

    @pytest.mark.parametrize(
        "environ",
        [
            {"HTTPS_PROXY": "http://p", "NO_PROXY": "h"},
            {"HTTP_PROXY": "http://p"},
            {"ALL_PROXY": "http://p"},
        ],
    )
    def test_environment_that_does_not_apply(self, tmp_path: Path, environ: dict[str, str]) -> None:
        assert access(tmp_path, simple(), environ=environ).server == "https://h:6443"

    def test_environment_in_a_pod(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"HTTPS_PROXY is set and applies to https://10\.0\.0\.1:443"):
            access(tmp_path, {}, POD, {"HTTPS_PROXY": "http://p"})

    @pytest.mark.parametrize("text", ["socks5://p", "https://p", "http://example.com", "HTTP://p"])
    def test_good_proxy_urls(self, text: str) -> None:
        assert proxy_url_problem(text) == ""

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("socks6://p", 'unsupported scheme "socks6", must be http, https, or socks5'),
            ("socks5h://p", 'unsupported scheme "socks5h", must be http, https, or socks5'),
            ("example.com", 'unsupported scheme "", must be http, https, or socks5'),
            ("chewbacca@example.com", 'unsupported scheme "", must be http, https, or socks5'),
            ("127.0.0.1:99", "could not parse: first path segment in URL cannot contain colon"),
        ],
    )
    def test_bad_proxy_urls(self, text: str, problem: str) -> None:
        assert proxy_url_problem(text) == problem
