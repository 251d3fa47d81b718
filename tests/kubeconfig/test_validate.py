"""What is refused in the chosen entries: kubectl's texts, plugins and proxies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import ConfigError
from rawkube.kubeconfig.access import ExecConfig, Overrides
from rawkube.kubeconfig.resolve import resolve
from rawkube.kubeconfig.validate import proxy_url_problem
from tests.kubeconfig.test_resolve import POD, access, config_of, refusal, simple
from tests.support.rows import looped

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
        found = access(tmp_path, simple(user={"exec": {**EXEC, "args": ["s3cret"], "env": None}}))
        line = 1 + (tmp_path / "config").read_text().splitlines().index("    exec:")
        assert found.exec == ExecConfig("aws", ("s3cret",), api_version=EXEC["apiVersion"])
        assert str(found.origins["exec"]) == f"{tmp_path}/config:{line} (users[u].user.exec)"
        assert "s3cret" not in repr(found)

    @pytest.mark.parametrize("other", [{}, {"token": "t"}])
    def test_an_api_version_that_nobody_speaks(self, tmp_path: Path, other: dict[str, str]) -> None:
        version = "client.authentication.k8s.io/v1alpha1"
        error = refusal(tmp_path, simple(user={"exec": {**EXEC, "apiVersion": version}, **other}))
        assert str(error) == f'exec plugin: invalid apiVersion "{version}"'

    def test_auth_provider(self, tmp_path: Path) -> None:
        user = {"auth-provider": {"name": "oidc", "config": {"id-token": "s3cret"}}}
        error = refusal(tmp_path, simple(user=user))
        assert str(error) == "Must provide idp-issuer-url"
        assert "s3cret" not in str(error.detail)

    @pytest.mark.parametrize("other", [{"token": "t"}, {"tokenFile": "/t"}, {"username": "a"}, PAIR])
    def test_exec_is_not_asked_beside_another_credential(self, tmp_path: Path, other: dict[str, str]) -> None:
        found = access(tmp_path, simple(user={"exec": EXEC, **other}))
        assert (found.server, found.exec) == ("https://h:6443", None)

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
        url = "http://u:s3cret@p:3128"
        found = access(tmp_path, simple({"server": server, "proxy-url": url}), environ={"NO_PROXY": "*"})
        assert found.proxy_url == url
        assert "clusters[c].cluster.proxy-url" in str(found.origins["proxy_url"])
        assert "NO_PROXY and loopback make no exception" in found.proxy_why
        assert "s3cret" not in repr(found)

    def test_proxy_url_without_a_server_in_a_pod(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple({"proxy-url": "http://p:3128"}), POD)
        assert (found.server, found.proxy_url) == ("http://localhost:8080", "http://p:3128")

    def test_flag(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple({"server": "https://h", "proxy-url": "http://file"}), proxy_url="socks5://flag")
        assert (found.proxy_url, str(found.origins["proxy_url"])) == ("socks5://flag", "--proxy-url")

    def test_environment(self, tmp_path: Path) -> None:
        found = access(tmp_path, simple(), environ={"HTTPS_PROXY": "http://u:s3cret@p:3128", "NO_PROXY": "x"})
        assert (found.proxy_url, str(found.origins["proxy_url"])) == ("http://u:s3cret@p:3128", "$HTTPS_PROXY")
        assert found.proxy_why == "HTTPS_PROXY applies to https servers, and NO_PROXY does not name it"

    @pytest.mark.parametrize(
        ("environ", "server", "why", "origin"),
        [
            ({}, "https://h", "no proxy is configured", "default"),
            ({"HTTPS_PROXY": "p", "NO_PROXY": "x, h"}, "https://h", 'NO_PROXY names it: "h"', "$NO_PROXY"),
            ({"HTTPS_PROXY": "p", "no_proxy": ".h"}, "https://a.h", 'no_proxy names it: ".h"', "$no_proxy"),
            ({"HTTP_PROXY": "http://p"}, "https://h", "no proxy is configured", "default"),
            ({"ALL_PROXY": "http://p"}, "https://h", "no proxy is configured", "default"),
            ({"HTTPS_PROXY": "p"}, "https://[::1]", "loopback is never proxied by HTTPS_PROXY", "default"),
        ],
    )
    def test_environment_that_does_not_apply(
        self, tmp_path: Path, environ: dict[str, str], server: str, why: str, origin: str
    ) -> None:
        found = access(tmp_path, simple({"server": server}), environ=environ)
        assert (found.proxy_url, found.proxy_why, str(found.origins["proxy_url"])) == ("", why, origin)

    def test_environment_in_a_pod(self, tmp_path: Path) -> None:
        assert access(tmp_path, {}, POD, {"HTTPS_PROXY": "http://p"}).proxy_url == "http://p"

    @pytest.mark.parametrize("no_proxy", ["", "h"])
    def test_in_a_cgi_program(self, tmp_path: Path, no_proxy: str) -> None:
        """HTTP_PROXY may be what a client of that program sent as its header `Proxy`."""
        environ = {"HTTP_PROXY": "http://p", "REQUEST_METHOD": "GET", "NO_PROXY": no_proxy}
        error = refusal(tmp_path, simple({"server": "http://h"}), environ=environ)
        assert str(error) == "refusing to use HTTP_PROXY value in CGI environment; see golang.org/s/cgihttpproxy"
        environ = {"HTTPS_PROXY": "http://p", "REQUEST_METHOD": "GET"}
        assert access(tmp_path, simple({"server": "https://h"}), environ=environ).proxy_url == "http://p"

    @pytest.mark.parametrize(
        ("url", "problem"),
        [
            ("socks4://u:s3cret@p", 'unsupported scheme "socks4", must be http, https, or socks5'),
            ("http://u:s3cret@p:x", 'invalid port ":x" after host'),
            ("http://u:s3cret@", "the proxy's address has no host"),
            ("http://u:s3cret%zz@p", 'a "%" in the user name or password of a proxy is written %25'),
        ],
    )
    def test_no_address(self, tmp_path: Path, url: str, problem: str) -> None:
        """Never a direct connection in its stead, and no password in the message."""
        scheme, _, where = url.partition("://u:s3cret")
        shown = f"{scheme}://<redacted>@{where.rpartition('@')[2]}"
        error = refusal(tmp_path, simple(), environ={"HTTPS_PROXY": url})
        assert str(error) == f'invalid proxy "{shown}": {problem}'
        assert error.detail == ("it is set by $HTTPS_PROXY",)

    @looped("text", ["socks5://p", "socks5h://p", "https://p", "http://example.com", "HTTP://p"])
    def test_good_proxy_urls(self, text: str) -> None:
        assert proxy_url_problem(text) == ""

    @looped(
        ("text", "problem"),
        [
            ("socks6://p", 'unsupported scheme "socks6", must be http, https, or socks5'),
            ("example.com", 'unsupported scheme "", must be http, https, or socks5'),
            ("chewbacca@example.com", 'unsupported scheme "", must be http, https, or socks5'),
            ("127.0.0.1:99", "could not parse: first path segment in URL cannot contain colon"),
        ],
    )
    def test_bad_proxy_urls(self, text: str, problem: str) -> None:
        assert proxy_url_problem(text) == problem
