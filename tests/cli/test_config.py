"""`config view` and `config explain`: what is shown, where it came from, what is unusual; and never a secret."""

from __future__ import annotations

import base64
import datetime
import io
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.kubeconfig.view import without_password, without_secrets
from tests.support.rows import looped
from tests.support.tls import DAY, NOW, Authority

AUTHORITY = Authority()


class Shown(NamedTuple):
    out: str
    err: str
    code: int


class Home:
    """A folder that commands run in, with `config` as KUBECONFIG."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        patch.chdir(folder)
        for name in list(os.environ):
            if name.upper().endswith("_PROXY") or name.startswith("KUBE"):
                patch.delenv(name)
        patch.setenv("HOME", str(folder))
        self.set = patch.setenv
        self.use("config")

    def use(self, *files: str) -> None:
        self.set("KUBECONFIG", ":".join(files))

    def write(self, value: object, name: str = "config") -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o600)

    def run(self, *words: str) -> Shown:
        out, err = io.BytesIO(), io.BytesIO()
        code = main(["config", *words], out=Output(out, err))
        return Shown(out.getvalue().decode(), err.getvalue().decode(), code)

    def explain(self, *words: str) -> dict[str, Any]:
        shown = self.run("explain", "-o", "json", *words)
        assert (shown.code, shown.err) == (0, "")
        found: dict[str, Any] = json.loads(shown.out)
        return found

    def unusual(self, *words: str) -> list[str]:
        found: list[str] = self.explain(*words)["unusual"]
        return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def one(user: Mapping[str, Any] | None = None, server: str = "https://h:6443", /, **cluster: Any) -> dict[str, Any]:
    return {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": dict(user or {})}],
    }


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# explain: the values

FILE = """\
current-context: dev
contexts:
- name: dev
  context:
    cluster: c
    user: u
    namespace: ns
clusters:
- name: c
  cluster:
    server: https://h:6443/prefix/
    tls-server-name: real.name
    certificate-authority: ca.pem
users:
- name: u
  user:
    token: s3cret
    as: jane
    as-groups: [a, b]
"""


def test_each_value_and_where_it_came_from(home: Home) -> None:
    home.write(FILE)
    home.write(AUTHORITY.pem.decode(), "ca.pem")
    user, cluster = "users[u].user", "clusters[c].cluster"
    assert home.explain() == {
        "context": {"value": "dev", "source": "config:1 (current-context)"},
        "cluster": {"value": "c", "source": "config:5 (contexts[dev].context.cluster)"},
        "user": {"value": "u", "source": "config:6 (contexts[dev].context.user)"},
        "server": {"value": "https://h:6443/prefix", "source": f"config:11 ({cluster}.server)"},
        "tls": {
            "ca": {"value": f"{home.folder}/ca.pem", "source": f"config:13 ({cluster}.certificate-authority)"},
            "server_name": {"value": "real.name", "source": f"config:12 ({cluster}.tls-server-name)"},
            "verify": {"value": True, "source": "default"},
        },
        "auth": {
            "method": {"value": "token", "source": f"config:17 ({user}.token)"},
            "token": {"value": "REDACTED", "source": f"config:17 ({user}.token)"},
        },
        "namespace": {"value": "ns", "source": "config:7 (contexts[dev].context.namespace)"},
        "proxy": {"value": None, "source": "default: no proxy is configured"},
        "impersonation": {
            "value": {"user": "jane", "groups": ["a", "b"]},
            "source": f"config:18 ({user}.as), config:19 ({user}.as-groups)",
        },
        "files": {"read": ["config"], "missing": []},
        "shadowed": [],
        "unusual": [],
    }


def test_flags_and_variables(home: Home) -> None:
    home.write(FILE)
    home.set("NO_PROXY", "x,other")
    home.set("HTTPS_PROXY", "http://me:s3cret@proxy:3128")
    flags = ["--server=https://other", "--insecure-skip-tls-verify", "--namespace=mine", "--as=joe", "--as-uid=7"]
    home.write(AUTHORITY.pem.decode(), "ca.pem")
    found = home.explain(*flags, "--username=me", "--password=s3cret", "--request-timeout=5", "--disable-compression")
    assert found["server"] == {"value": "https://other", "source": "--server"}
    assert found["tls"]["verify"] == {"value": False, "source": "--insecure-skip-tls-verify"}
    assert found["tls"]["ca"] == {"value": None, "source": "not looked at: --insecure-skip-tls-verify"}
    assert found["tls"]["server_name"] == {"value": "other", "source": "--server"}
    assert found["auth"]["method"] == {"value": "basic", "source": "--username"}
    assert found["auth"]["password"] == {"value": "REDACTED", "source": "--password"}
    assert found["namespace"] == {"value": "mine", "source": "--namespace"}
    assert found["proxy"] == {"value": None, "source": '$NO_PROXY: NO_PROXY names it: "other"'}
    assert found["impersonation"]["value"] == {"user": "joe", "uid": "7", "groups": ["a", "b"]}
    assert found["impersonation"]["source"] == "--as, --as-uid, config:19 (users[u].user.as-groups)"
    assert found["request_timeout"] == {"value": 5, "source": "--request-timeout"}
    assert found["disable_compression"] == {"value": True, "source": "--disable-compression"}
    found = home.explain("--server=https://third", "--token=t")
    assert found["proxy"]["value"] == "http://me:REDACTED@proxy:3128"
    assert found["proxy"]["source"].startswith("$HTTPS_PROXY: ")
    found = home.explain("--proxy-url=socks5://p:1", "--context=dev", "--cluster=c", "--user=u")
    assert found["proxy"]["value"] == "socks5://p:1"
    assert found["proxy"]["source"].startswith("--proxy-url: ")
    assert [found[key]["source"] for key in ("context", "cluster", "user")] == ["--context", "--cluster", "--user"]


def test_nothing_is_configured(home: Home) -> None:
    home.set("KUBECONFIG", "")
    found = home.explain()
    assert found["server"] == {"value": "http://localhost:8080", "source": "default"}
    assert found["context"] == {"value": None, "source": "default"}
    assert found["tls"]["verify"] == {"value": None, "source": "plain http: default"}
    assert found["auth"] == {"method": {"value": "none", "source": "default"}}
    assert found["unusual"][0].startswith("no kubeconfig: ")
    home.set("KUBERNETES_MASTER", "https://master")
    assert home.explain()["server"] == {"value": "https://master", "source": "$KUBERNETES_MASTER"}


CERTIFICATE = AUTHORITY.issue("client", common_name="jane")
METHODS = [
    ({}, "none", {}),
    ({"tokenFile": "/none/t"}, "token-file", {"token_file": "/none/t"}),
    ({"token": "s", "tokenFile": "/none/t"}, "token-file", {"token_file": "/none/t", "token": "REDACTED"}),
    ({"username": "me", "password": "s"}, "basic", {"username": "me", "password": "REDACTED"}),
    (
        {"client-certificate-data": b64(CERTIFICATE.cert), "client-key-data": b64(CERTIFICATE.key)},
        "client-certificate",
        {"certificate": "DATA+OMITTED", "key": "REDACTED"},
    ),
    (
        {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "plug",
                "args": ["--client-secret", "s3cret", "--token=s3cret", "login"],
                "env": [{"name": "A", "value": "s3cret"}],
                "interactiveMode": "Never",
            }
        },
        "exec",
        {
            "exec": {
                "command": "plug",
                "args": ["--client-secret", "REDACTED", "--token=REDACTED", "login"],
                "env": ["A"],
                "apiVersion": "client.authentication.k8s.io/v1",
                "interactiveMode": "Never",
            }
        },
    ),
    (
        {
            "auth-provider": {
                "name": "oidc",
                "config": {"idp-issuer-url": "https://i", "client-id": "c", "client-secret": "s3cret", "id-token": "x"},
            }
        },
        "auth-provider",
        {
            "auth_provider": {
                "name": "oidc",
                "config": {
                    "idp-issuer-url": "https://i",
                    "client-id": "c",
                    "client-secret": "REDACTED",
                    "id-token": "REDACTED",
                },
            }
        },
    ),
]


@pytest.mark.parametrize(("user", "method", "details"), METHODS, ids=[method for _, method, _ in METHODS])
def test_ways_to_say_who_one_is(home: Home, user: dict[str, Any], method: str, details: dict[str, Any]) -> None:
    home.write(one(user))
    auth = home.explain()["auth"]
    assert auth.pop("method")["value"] == method
    assert {key: value["value"] for key, value in auth.items()} == details


def test_as_a_table(home: Home) -> None:
    home.write(FILE)
    home.write(AUTHORITY.pem.decode(), "ca.pem")
    shown = home.run("explain", "--insecure-skip-tls-verify=false")
    rows = [line.split(maxsplit=2) for line in shown.out.splitlines()]
    assert rows[0] == ["WHAT", "VALUE", "FROM"]
    assert ["tls.verify", "true", "--insecure-skip-tls-verify"] in rows
    assert ["proxy", "-", "default: no proxy is configured"] in rows
    assert "Unusual" not in shown.out
    shown = home.run("explain", "--server=http://remote")
    assert "\nUnusual:\n  no credential is sent over plain http (http://remote)" in shown.out


def test_a_form_that_is_not_there(home: Home) -> None:
    shown = home.run("explain", "-o", "yaml")
    assert (shown.code, shown.err) == (1, 'error: --output must be "text" or "json", not "yaml"\n')


def test_a_connection_that_cannot_be_is_the_error_of_every_command(home: Home) -> None:
    home.write(one({"client-certificate": "/none"}))
    shown = home.run("explain")
    assert (shown.code, shown.out) == (1, "")
    assert "client-key must be specified" in shown.err


# explain: several files


def test_entries_behind_others(home: Home) -> None:
    home.write("clusters: [{name: c, cluster: {server: https://first}}]\n", "1")
    home.write(FILE, "2")
    home.write("users:\n- name: u\n- name: v\ncontexts: [{name: dev}]\n", "3")
    home.write(AUTHORITY.pem.decode(), "ca.pem")
    home.use("1", "none", "2", "3")
    found = home.explain()
    assert found["server"]["value"] == "https://first"
    assert found["files"] == {"read": ["1", "2", "3"], "missing": ["none"]}
    assert found["shadowed"] == [
        {"entry": "clusters[c]", "at": "2:9", "used": "1:1"},
        {"entry": "users[u]", "at": "3:2", "used": "2:15"},
        {"entry": "contexts[dev]", "at": "3:4", "used": "2:3"},
    ]
    assert "none does not exist" in found["unusual"]
    text = home.run("explain").out
    assert "\nNot used, as an earlier file has the name:\n  clusters[c] at 2:9\n" in text


# explain: what is unusual


def jwt(exp: float) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps({'exp': exp}).encode()).decode().rstrip('=')}.c2ln"


PAST = 1_000_000_000
ISSUER = {"idp-issuer-url": "http://i", "client-id": "c"}


def provider(**config: str) -> dict[str, Any]:
    return {
        "auth-provider": {"name": "oidc", "config": {**ISSUER, **{k.replace("_", "-"): v for k, v in config.items()}}}
    }


def plugin(command: str) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": command, "interactiveMode": "Never"}}


UNUSUAL: list[tuple[str, dict[str, Any], str]] = [
    ("token over http", one({"token": "s3cret"}, "http://h"), "no credential is sent over plain http (http://h)"),
    ("http", one({}, "http://h"), "http://h is plain http: what is said can be read and changed"),
    ("skip", one({}, **{"insecure-skip-tls-verify": True}), "the server's certificate is not checked"),
    ("no token file", one({"tokenFile": "none"}), "the token file cannot be read: open {home}/none: no such file"),
    ("empty token file", one({"tokenFile": "empty"}), "the token file {home}/empty is empty"),
    ("token of the past", one({"token": jwt(PAST)}), "the token expired at 2001-09-09T01:46:40Z"),
    ("file of the past", one({"tokenFile": "past"}), "the token of the token file expired at 2001-09-09"),
    ("token and file", one({"token": "t", "tokenFile": "past"}), "token is used only while the token file cannot"),
    ("id-token of the past", one(provider(id_token=jwt(PAST))), "the id-token expired at 2001-09-09T01:46:40Z"),
    ("no id-token", one(provider()), "the auth provider has neither an id-token nor a refresh-token"),
    ("issuer by http", one(provider(refresh_token="r")), "the issuer is asked over plain http"),
    (
        "no plugin",
        one(plugin("no-such-plugin")),
        'the credential plugin cannot be run: exec: "no-such-plugin": executable file not found',
    ),
    (
        "no plugin there",
        one(plugin("./none")),
        'the credential plugin cannot be run: exec: "{home}/none": stat {home}/none: no such file',
    ),
    (
        "a plugin that is none",
        one(plugin("./empty")),
        'the credential plugin cannot be run: exec: "{home}/empty": permission denied',
    ),
    ("an unused plugin", one({**plugin("aws"), "token": "t"}), 'the credential plugin "aws" is not asked: another'),
    (
        "an unused provider",
        one({**provider(), "username": "u"}),
        'the auth provider "oidc" is not asked: another credential is set',
    ),
    ("an empty CA", one({}, **{"certificate-authority": "empty"}), "{home}/empty is empty: no server's certificate"),
    ("a CA that is none", one({}, **{"certificate-authority": "past"}), "unable to load root certificates: unable to"),
    (
        "a certificate that is none",
        one({"client-certificate": "past", "client-key": "past"}),
        "tls: failed to find any PEM data in certificate input",
    ),
]


@pytest.mark.parametrize(("value", "line"), [row[1:] for row in UNUSUAL], ids=[row[0] for row in UNUSUAL])
def test_unusual(home: Home, value: dict[str, Any], line: str) -> None:
    home.write("", "empty")
    home.write(jwt(PAST), "past")
    home.write(value)
    lines = home.unusual()
    assert any(each.startswith(line.format(home=home.folder)) for each in lines), lines
    assert "s3cret" not in str(lines)


def test_a_plugin_that_the_policy_forbids(home: Home) -> None:
    kuberc = {"apiVersion": "kubectl.config.k8s.io/v1beta1", "kind": "Preference", "credentialPluginPolicy": "DenyAll"}
    home.write(kuberc, "rc")
    home.write("#!/bin/sh\n", "plug")
    (home.folder / "plug").chmod(0o700)
    home.write(one(plugin("./plug")))
    assert home.unusual() == []
    plug = f'plugin "{home.folder}/plug" not allowed: policy set to "DenyAll"'
    assert home.unusual("--kuberc=rc") == [f"the credential plugin may not be run: {plug} (rc)"]


def test_no_context_is_chosen(home: Home) -> None:
    home.write({**one(), "current-context": ""})
    assert "no context is chosen: the kubeconfig has no current-context" in home.unusual()


@pytest.mark.parametrize(
    ("begins", "ends", "line"),
    [
        (-2 * DAY, -DAY, "expired at "),
        (DAY, 400 * DAY, "is not valid before "),
        (-DAY, datetime.timedelta(hours=5), "expires in less than a day, at "),
        (-DAY, 1.5 * DAY, "expires in 1 day, at "),
        (-DAY, 10.5 * DAY, "expires in 10 days, at "),
        (-DAY, 40 * DAY, ""),
    ],
    ids=["expired", "not yet", "today", "tomorrow", "soon", "good"],
)
def test_dates_of_certificates(home: Home, begins: datetime.timedelta, ends: datetime.timedelta, line: str) -> None:
    pair = AUTHORITY.issue("client", common_name="jane", not_before=NOW + begins, not_after=NOW + ends)
    home.write(pair.cert.decode(), "c.pem")
    home.write(pair.key.decode(), "k.pem")
    home.write(one({"client-certificate": "c.pem", "client-key": "k.pem"}, **{"certificate-authority": "c.pem"}))
    lines = [each for each in home.unusual() if "certificate" in each]
    kinds = ("the trusted certificate", "the client certificate") if line else ()
    assert [each.partition(' "')[0] for each in lines] == list(kinds)
    assert all(line in each and "jane" in each for each in lines)


def test_a_key_of_another_certificate(home: Home) -> None:
    other = AUTHORITY.issue("other")
    data = {"client-certificate-data": b64(CERTIFICATE.cert), "client-key-data": b64(other.key)}
    home.write(one(data))
    lines = home.unusual()
    assert lines == ["the client certificate cannot be used: tls: private key does not match public key"]


@pytest.mark.skipif(os.name == "nt", reason="no modes there")
def test_files_that_others_may_read(home: Home) -> None:
    home.write(CERTIFICATE.cert.decode(), "c.pem")
    home.write(CERTIFICATE.key.decode(), "k.pem")
    home.write(one({"token": "t", "client-certificate": "c.pem", "client-key": "k.pem"}))
    assert home.unusual() == []
    (home.folder / "config").chmod(0o644)
    (home.folder / "k.pem").chmod(0o640)
    assert [each.partition(" ")[0] for each in home.unusual()] == [f"{home.folder}/k.pem", "config"]


# view: what kubectl shows and rawkube does not

HIDDEN = """\
clusters:
- name: c
  cluster: {server: 'https://u:s3cret@h/x', proxy-url: 'http://me:s3cret@proxy:3128'}
- name: d
  cluster: {server: 'https://h', proxy-url: 'http://s3cret@proxy:3128'}
users:
- name: u
  user:
    auth-provider:
      name: oidc
      config: {client-id: c, client-secret: s3cret, id-token: s3cret, refresh-token: s3cret, access-token: s3cret}
- name: e
  user:
    exec:
      command: aws
      args: [--password, s3cret, --idp-client-secret=s3cret, get-token, --cluster-name, c]
      env: [{name: SECRET, value: s3cret}, {name: EMPTY, value: ""}]
- name: t
  user: {token: s3cret, password: s3cret, client-key-data: czNjcmV0}
"""


def test_view_holds_no_secret(home: Home) -> None:
    home.write(HIDDEN)
    for form in ("json", "yaml"):
        shown = home.run("view", "-o", form)
        assert "s3cret" not in shown.out
        assert "czNjcmV0" not in shown.out
        found = yaml.safe_load(shown.out)
        assert found["clusters"][0]["cluster"] == {
            "server": "https://u:REDACTED@h/x",
            "proxy-url": "http://me:REDACTED@proxy:3128",
        }
        assert found["clusters"][1]["cluster"]["proxy-url"] == "http://REDACTED@proxy:3128"
        plug = found["users"][0]["user"]["exec"]
        assert plug["args"] == [
            *("--password", "REDACTED", "--idp-client-secret=REDACTED"),
            *("get-token", "--cluster-name", "c"),
        ]
        assert plug["env"] == [{"name": "SECRET", "value": "REDACTED"}, {"name": "EMPTY", "value": ""}]
        assert found["users"][2]["user"]["auth-provider"]["config"] == {
            "access-token": "REDACTED",
            "client-id": "c",
            "client-secret": "REDACTED",
            "id-token": "REDACTED",
            "refresh-token": "REDACTED",
        }


def test_raw_shows_all_of_it(home: Home) -> None:
    home.write(HIDDEN)
    assert home.run("view", "--raw").out.count("s3cret") == HIDDEN.count("s3cret")
    assert home.run("view", "--flatten").out.count("s3cret") == HIDDEN.count("s3cret")


TWO = {
    **one({"token": "t"}),
    "preferences": {"colors": True, "extensions": [{"name": "p", "extension": {"b": 1, "a": [{"d": 2, "c": 3}]}}]},
    "contexts": [
        {"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "ns"}},
        {"name": "bare", "context": {}},
        {"name": "lost", "context": {"cluster": "gone", "user": "u"}},
        {"name": "nobody", "context": {"cluster": "c", "user": "gone"}},
    ],
}


@pytest.fixture
def two(home: Home) -> Home:
    home.write(TWO)
    return home


def test_view_of_what_a_context_uses(two: Home) -> None:
    shown = two.run("view", "--minify", "-o", "json", "--context=bare")
    assert json.loads(shown.out) == {
        "kind": "Config",
        "apiVersion": "v1",
        "preferences": TWO["preferences"],
        "clusters": None,
        "users": None,
        "contexts": [{"name": "bare", "context": {"cluster": "", "user": ""}}],
        "current-context": "bare",
    }
    assert '"a": [\n' in shown.out and shown.out.index('"c": 3') < shown.out.index('"d": 2') < shown.out.index('"b": 1')


TABLE = """\
CURRENT   NAME     CLUSTER   AUTHINFO   NAMESPACE
          bare
*         dev      c         u          ns
          lost     gone      u
          nobody   c         gone
"""


@looped(
    ("words", "out"),
    [
        ("current-context", "dev\n"),
        ("get-contexts", TABLE),
        ("get-contexts dev --no-headers", "*     dev   c     u     ns\n"),
        ("get-contexts -o name", "bare\ndev\nlost\nnobody\n"),
        ("get-contexts -o name lost bare", "bare\nlost\n"),
    ],
)
def test_contexts(words: str, out: str, two: Home) -> None:
    shown = two.run(*words.split())
    assert ([line.rstrip() for line in shown.out.splitlines()], shown.err, shown.code) == (out.splitlines(), "", 0)


@looped(
    ("words", "err"),
    [
        ("view a b", "error: unexpected arguments: [a b]\nSee 'rawkube config view -h' for help and examples\n"),
        ("view --merge=false", "error: if merge==false a precise file must be specified\n"),
        (
            "view -o wide",
            'error: unable to match a printer suitable for the output format "wide", allowed formats are: json,yaml\n',
        ),
        ("view --minify --context=nope", "error: cannot locate context nope\n"),
        ("view --minify --context=lost", "error: cannot locate cluster gone\n"),
        ("view --minify --context=nobody", "error: cannot locate user gone\n"),
        (
            "get-contexts -o wide",
            "error: --output wide is not available in rawkube config get-contexts; "
            "resetting to default output format\n",
        ),
        ("get-contexts -o name nope", "error: context nope not found\n"),
    ],
)
def test_what_cannot_be_shown(words: str, err: str, two: Home) -> None:
    assert two.run(*words.split()) == ("", err, 1)


def test_a_context_that_is_missing_beside_one_that_is_there(two: Home) -> None:
    assert two.run("get-contexts", "-o", "name", "nope", "dev") == ("dev\n", "error: context nope not found\n", 1)


def test_no_context_is_current(home: Home) -> None:
    home.write({**TWO, "current-context": ""})
    assert home.run("current-context") == ("", "error: current-context is not set\n", 1)
    assert home.run("view", "--minify") == ("", "error: current-context must exist in order to minify\n", 1)


def test_flatten_needs_the_files(home: Home) -> None:
    home.write(one(**{"certificate-authority": "ca.pem"}))
    shown = home.run("view", "--flatten")
    assert (shown.out, shown.code) == ("", 1)
    assert shown.err == f"error: open {home.folder}/ca.pem: no such file or directory\n"
    home.write("the authority", "ca.pem")
    flat = json.loads(home.run("view", "--flatten", "-o", "json").out)["clusters"][0]["cluster"]
    assert base64.b64decode(flat["certificate-authority-data"]) == b"the authority"
    assert "certificate-authority" not in flat


@looped(
    ("url", "shown"),
    [
        ("http://h:1/x", "http://h:1/x"),
        ("http://me:pw@h", "http://me:REDACTED@h"),
        ("http://me:p@w:x@h", "http://me:REDACTED@h"),
        ("http://pw@h", "http://REDACTED@h"),
        ("me:pw@h:1", "me:REDACTED@h:1"),
        ("", ""),
    ],
)
def test_urls_without_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_arguments_without_secrets() -> None:
    given = ["login", "--token", "--token", "x", "-password=x", "--tokens", "x", "token", "--x=token=y"]
    wanted = ["login", "--token", "REDACTED", "x", "-password=REDACTED", "--tokens", "REDACTED", "token", "--x=token=y"]
    assert without_secrets(given) == wanted


README = (Path(__file__).parents[2] / "README.md").read_text()
EXAMPLES = re.search(r"<!-- config -->\n```sh\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("line", EXAMPLES[1].splitlines() if EXAMPLES else [])
def test_the_examples_of_the_readme(home: Home, line: str) -> None:
    home.write(FILE)
    home.write(AUTHORITY.pem.decode(), "ca.pem")
    words = line.split()
    assert words[:2] == ["rawkube", "config"]
    shown = home.run(*words[2:])
    assert (shown.code, shown.err) == (0, "")
    assert "dev" in shown.out
    assert "s3cret" not in shown.out
