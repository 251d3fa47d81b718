"""The tables of clientcmd's own tests: overrides over the files, and when a pod's own account is used."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rawkube.duration import parse_request_timeout
from rawkube.errors import ConfigError, UsageError
from rawkube.kubeconfig.access import Access, Overrides
from rawkube.kubeconfig.credentials import Credentials
from rawkube.kubeconfig.in_cluster import InCluster
from rawkube.kubeconfig.load import load
from rawkube.kubeconfig.resolve import resolve
from tests.support.rows import looped

POD = InCluster("https://10.0.0.1:443", "/sa/token", "/sa/ca.crt", "icc", "/sa/namespace")
DATA = base64.b64encode(b"data").decode()
AS = {"as": "jane", "as-uid": "u", "as-groups": ["g"], "as-user-extra": {"k": ["v"]}}


class Row(NamedTuple):
    """`cluster`, `user`, `context`: of the file (no cluster: an empty file). `wanted`: fields of the outcome."""

    id: str
    wanted: dict[str, Any]
    flags: dict[str, Any] = {}  # noqa: RUF012 - never changed
    cluster: dict[str, Any] | None = {"server": "https://h:6443"}  # noqa: RUF012
    user: dict[str, Any] = {}  # noqa: RUF012
    context: dict[str, Any] = {}  # noqa: RUF012
    environ: dict[str, str] = {}  # noqa: RUF012
    pod: InCluster | None = None


def outcome(row: Row, folder: Path) -> Access:
    file = folder / "config"
    value = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **row.context}}],
        "clusters": [{"name": "c", "cluster": row.cluster}],
        "users": [{"name": "u", "user": row.user}],
    }
    file.write_text("" if row.cluster is None else json.dumps(value))
    config = load(str(file), environ={})
    return resolve(config, Overrides(**row.flags), environ=row.environ, in_cluster=row.pod)


def https(**more: Any) -> dict[str, Any]:
    return {"server": "https://h:6443", **{key.replace("_", "-"): value for key, value in more.items()}}


IMPERSONATED = {
    "impersonate_user": "jane",
    "impersonate_uid": "u",
    "impersonate_groups": ("g",),
    "impersonate_extra": (("k", ("v",)),),
}
OVERRIDES = [
    Row(
        "CA data of the file, insecure by flag",
        {"insecure": True, "ca_data": None, "ca_file": ""},
        {"insecure_skip_tls_verify": True},
        https(certificate_authority_data=DATA),
    ),
    Row(
        "CA data of the file, CA file by flag",
        {"insecure": False, "ca_data": None, "ca_file": "/ca"},
        {"certificate_authority": "/ca"},
        https(certificate_authority_data=DATA),
    ),
    Row(
        "insecure in the file, CA file by flag",
        {"insecure": False, "ca_file": "/ca"},
        {"certificate_authority": "/ca"},
        https(insecure_skip_tls_verify=True),
    ),
    Row("server name by flag", {"tls_server_name": "n"}, {"tls_server_name": "n"}, https(tls_server_name="old")),
    Row("server by flag, no name", {"tls_server_name": ""}, {"server": "https://n"}, https(tls_server_name="old")),
    Row(
        "server and name by flag",
        {"tls_server_name": "n", "server": "https://n"},
        {"server": "https://n", "tls_server_name": "n"},
        https(tls_server_name="old"),
    ),
    Row("impersonation over plain http", IMPERSONATED, {"server": "http://h"}, user=AS),
    Row("namespace without a file", {"namespace": "ns", "server": "http://localhost:8080"}, {"namespace": "ns"}, None),
    Row("no server", {"server": "http://localhost:8080"}, cluster={}),
    Row("no server, another default", {"server": "https://m"}, cluster={}, environ={"KUBERNETES_MASTER": "https://m"}),
    Row("prefix", {"server": "https://h:8080/foo/bar"}, cluster={"server": "https://h:8080/foo/bar/"}),
    Row("only slashes", {"server": "http://h:8080"}, cluster={"server": "http://h:8080//"}),
    Row("a word", {"server": "http://anything"}, cluster={"server": "anything"}),
    Row(
        "certificate files over data",
        {"cert_file": "/c", "key_file": "/k", "cert_data": None, "key_data": None},
        {"client_certificate": "/c", "client_key": "/k"},
        user={"client-certificate-data": DATA, "client-key-data": DATA},
    ),
    Row(
        "static token and file",
        {"token": "expected", "token_file": "/t"},
        user={"token": "expected", "tokenFile": "/t"},
    ),
    Row(
        "user token to http",
        {"token": "", "server": "http://h"},
        {"server": "http://h"},
        user={"token": "t"},
    ),
]


@pytest.mark.parametrize("row", OVERRIDES, ids=[row.id for row in OVERRIDES])
def test_overrides(row: Row, tmp_path: Path) -> None:
    found = outcome(row, tmp_path)
    assert {name: getattr(found, name) for name in row.wanted} == row.wanted


def test_a_token_over_http_is_in_no_request(tmp_path: Path) -> None:
    found = outcome(Row("", {}, {"server": "http://h"}, user={"token": "t", **AS}), tmp_path)
    names = {name for name, _ in Credentials(found).headers(now=0.0)}
    assert names == {"Impersonate-User", "Impersonate-Uid", "Impersonate-Group", "Impersonate-Extra-k"}


REFUSED = [
    (Row("", {}, {"context": "not-present"}), "context was not found for specified context: not-present"),
    (Row("", {}, cluster={"server": "h:8080/foo/bar"}), 'host must be a URL or a host:port pair: "h:8080/foo/bar"'),
    (
        Row("", {}, cluster={"server": "h:8080", "certificate-authority": "/ca"}),
        'server "h:8080" has no scheme, which means plain http, but certificate-authority is set: write https:// before it',
    ),
    (Row("", {}, {"namespace": "ns/foo"}), "invalid namespace \"ns/foo\": [may not contain '/']"),
    *(
        (
            Row("", {}, cluster=https(proxy_url=url)),
            f"invalid 'proxy-url' {shown} for cluster \"c\": unsupported scheme",
        )
        for url, shown in (
            ("socks6://h", '"socks6://h"'),
            ("example.com", '"example.com"'),
            ("chewbacca@example.com", '"<redacted>@example.com"'),
        )
    ),
]


@pytest.mark.parametrize(("row", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refusals(row: Row, text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        outcome(row, tmp_path)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("url", ["socks5://example.com", "https://example.com", "http://example.com"])
def test_proxies(url: str, tmp_path: Path) -> None:
    assert outcome(Row("", {}, cluster=https(proxy_url=url)), tmp_path).proxy_url == url


@looped(("text", "seconds"), [("3", 3.0), ("3s", 3.0), ("1.5s", 1.5), ("0", 0.0), ("1m", 60.0)])
def test_timeouts(text: str, seconds: float) -> None:
    assert parse_request_timeout(text) == seconds


@pytest.mark.parametrize("text", ["abc", "1x", "-1"])
def test_timeouts_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="Invalid timeout value"):
        parse_request_timeout(text)


OWN = {"server": POD.server, "token_file": POD.token_file, "ca_file": POD.ca_file}
LOCAL = {"server": "http://localhost:8080", "token_file": ""}
FILE = {"server": "https://h:6443", "token_file": ""}
DEFAULT = {"server": "http://localhost:8080"}
IN_CLUSTER = [
    Row("no file, no pod", LOCAL, cluster=None),
    Row("no file, in a pod", {**OWN, "namespace": "icc"}, cluster=None, pod=POD),
    Row("the default server, no pod", LOCAL, cluster=DEFAULT),
    Row("the default server, in a pod", OWN, cluster=DEFAULT, pod=POD),
    Row("no server, in a pod", OWN, cluster={}, pod=POD),
    Row(
        "the server of KUBERNETES_MASTER, in a pod",
        OWN,
        cluster={"server": "https://m"},
        environ={"KUBERNETES_MASTER": "https://m"},
        pod=POD,
    ),
    Row("another server, in a pod", {**FILE, "namespace": "icc"}, pod=POD),
    Row("namespace by flag", {"namespace": "test"}, {"namespace": "test"}, cluster=None, pod=POD),
    Row("namespace of the context", {"namespace": "default"}, context={"namespace": "default"}, pod=POD),
    Row(
        "namespace by --context", {"namespace": "default"}, {"context": "x"}, context={"namespace": "default"}, pod=POD
    ),
    Row("namespace of the pod", {"namespace": "icc", "namespace_from": "/sa/namespace"}, pod=POD),
    Row("server by flag", {**OWN, "server": "https://o"}, {"server": "https://o"}, cluster=None, pod=POD),
    Row("token by flag", {**OWN, "token": "t", "token_file": ""}, {"token": "t"}, cluster=None, pod=POD),
    Row("CA by flag", {**OWN, "ca_file": "/ca"}, {"certificate_authority": "/ca"}, cluster=None, pod=POD),
    Row(
        "all three by flag",
        {"server": "https://o", "token": "t", "token_file": "", "ca_file": "/ca"},
        {"server": "https://o", "token": "t", "certificate_authority": "/ca"},
        cluster=None,
        pod=POD,
    ),
    Row("as another", {**OWN, "impersonate_user": "jane"}, {"as_user": "jane"}, cluster=None, pod=POD),
    Row("with a timeout", {**OWN, "request_timeout": 5.0}, {"request_timeout": 5.0}, cluster=None, pod=POD),
    Row("plain http by flag", {"server": "http://o", "token_file": ""}, {"server": "http://o"}, cluster=None, pod=POD),
]


@pytest.mark.parametrize("row", IN_CLUSTER, ids=[row.id for row in IN_CLUSTER])
def test_the_account_of_the_pod(row: Row, tmp_path: Path) -> None:
    found = outcome(row, tmp_path)
    assert {name: getattr(found, name) for name in row.wanted} == row.wanted


def test_a_broken_file_is_an_error_in_a_pod_too(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("clusters: {}")
    with pytest.raises(ConfigError, match="cannot unmarshal object"):
        load(str(file), environ={})
    with pytest.raises(ConfigError, match="invalid 'proxy-url'"):
        outcome(Row("", {}, cluster={"proxy-url": "ftp://h"}, pod=POD), tmp_path)
