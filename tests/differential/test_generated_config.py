"""Generated kubeconfigs, flags and variables: the request of kubectl is the request of rawkube, or both end alike.

Contexts, users and clusters are drawn by a seeded generator, with scalars as YAML has them, relative paths and entries
that are missing. What rawkube knowingly does otherwise (a context that names nothing, credentials for plain http, flags
beside a file's credentials) is not drawn. Nor is a `?` in a plain scalar of a flow mapping: go-yaml reads none.
"""

from __future__ import annotations

import base64
import io
import random
import shlex
import ssl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from rawkube.cli.main import main
from rawkube.cli.output import Output
from tests.support.discovery import recorded
from tests.support.examples import EVERY_WAY
from tests.support.run import Result, kubectl_command, run
from tests.support.server import Peer, ScriptedServer, SeenRequest

pytestmark = pytest.mark.kubectl

# The more are tried when RAWKUBE_TEST_EVERY_WAY is set.
SEEDS = 60 if EVERY_WAY else 2
EACH = 10 if EVERY_WAY else 5
PREFIX = "/some/prefix"
PODS = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}}]}'
COMPARED = ("host", "authorization")


class Asked(NamedTuple):
    """A request: path, and the headers that say where to and who."""

    path: str
    headers: tuple[tuple[str, str], ...]


class Server(ScriptedServer):
    """Pods behind TLS, also below a prefix. `asked`: what was asked for them."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(self._connection, tls=tls)
        self.asked: list[Asked] = []

    def _connection(self, peer: Peer) -> None:
        while True:
            request = peer.read_request()
            path = request.path.removeprefix(PREFIX)
            if path in ("/api", "/apis"):
                body, media = recorded(path)
                peer.reply(body, content_type=media)
            else:
                self.asked.append(seen(request))
                peer.reply(PODS)


def seen(request: SeenRequest) -> Asked:
    pairs = [(name.lower(), value) for name, value in request.headers]
    return Asked(request.path, tuple(sorted(p for p in pairs if p[0] in COMPARED or p[0].startswith("impersonate-"))))


class Case(NamedTuple):
    """`files`: name → text. `paths`: KUBECONFIG. `args`: flags in front of the command's own words."""

    files: Mapping[str, str]
    paths: Sequence[str]
    args: Sequence[str]


class Generator:
    """Draws cases that lead to this server (or nowhere)."""

    def __init__(self, pick: random.Random, url: str, ca: bytes) -> None:
        self.pick = pick
        self.url = url
        self.ca = base64.b64encode(ca).decode()
        self.bare = False

    def one(self, *choices: str) -> str:
        return self.pick.choice(choices)

    def mapping(self, share: float, **fields: str) -> str:
        """A flow mapping; a field is there in that share of cases, or always when its name ends in `_`."""
        items = list(fields.items())
        self.pick.shuffle(items)
        kept = [(name, text) for name, text in items if text and (name.endswith("_") or self.pick.random() < share)]
        return "{" + ", ".join(f"{name.rstrip('_').replace('_', '-')}: {text}" for name, text in kept) + "}"

    def scalar(self) -> str:
        """Mostly a string; now and then what only looks like one."""
        odd = self.one(
            "12", "0x10", "1.5", "yes", "~", "null", "true", "1e3", "0o17", "'12'", "''", '"a\\tb"', "2020-01-01"
        )
        return (
            odd
            if self.pick.random() < 0.01
            else self.one("abc", "'a b'", "x-1", "'12'", "~", "!!str 7", '"q\\u00e9"', "n_o")
        )

    def cluster(self) -> str:
        trust = self.one(f"certificate-authority-data_: {self.ca}", "certificate-authority_: ca.pem",
                         "insecure-skip-tls-verify_: true", f"certificate-authority-data_: {self.ca}",
                         "certificate-authority_: ./ca.pem", "")  # fmt: skip
        name, _, value = trust.partition(": ")
        server = self.one(self.url, self.url, self.url + "/", self.url + PREFIX, self.url.replace("https", "HTTPS"),
                          self.url + PREFIX + "//", f"'{self.url}{PREFIX}?a=b'", "''")  # fmt: skip
        more = {name.replace("-", "_"): value} if name else {}
        return self.mapping(0.2, server_=server, tls_server_name=self.one("localhost", "127.0.0.1"),
                            disable_compression="true", unknown=self.scalar(), **more)  # fmt: skip

    def user(self) -> str:
        kind = 4 if self.bare else self.pick.randrange(6)
        fields = [
            {"token_": self.scalar()},
            {"tokenFile_": self.one("token", "./sub/../token", "token")},
            {"username_": self.scalar(), "password_": self.scalar()},
            {"token_": self.scalar(), "username_": "abc", "password_": "abc"},
            {},
            {"token_": self.scalar()},
        ][kind]
        groups = f"[{', '.join(self.scalar() for _ in range(self.pick.randrange(3)))}]"
        extra = f"{{{self.one('k', 'Some/Key', 'a%b')}: [{self.scalar()}]}}"
        who = {"as_": self.one("jane", "'12'", "!!str 7")} if self.pick.random() < 0.4 else {}
        more = {"as_uid": "u-1", "as_groups": groups, "as_user_extra": extra}
        return self.mapping(0.4, **fields, **who, **(more if who or self.pick.random() < 0.02 else {}))

    def context(self) -> str:
        cluster, user = self.one("c1", "c2", "c1", "c2"), self.one("u1", "u2", "u3")
        return self.mapping(0.4, cluster_=cluster, user_=user, namespace=self.scalar())

    def file(self, *, current: str) -> str:
        lists = {
            "clusters": [f"{{name: {name}, cluster: {self.cluster()}}}" for name in ("c1", "c2")],
            "users": [f"{{name: {name}, user: {self.user()}}}" for name in ("u1", "u2", "u3")],
            "contexts": [f"{{name: {name}, context: {self.context()}}}" for name in ("x1", "x2", "'12'")],
        }
        text = "".join(f"{name}:\n" + "".join(f"- {item}\n" for item in items) for name, items in lists.items())
        return (
            self.one("", "apiVersion: v1\nkind: Config\n") + (f"current-context: {current}\n" if current else "") + text
        )

    def flags(self) -> list[str]:
        every = ["--context=x2", "--context=x1", "--context=nosuch", "--user=u1", "--cluster=c2", "--user=nosuch",
                 "-n=flagged", "--namespace=", "--token=given", "--as=joe", "--as-group=g --as-group=h", "--as-uid=7",
                 "--as-user-extra=k=v", "--tls-server-name=localhost", "--insecure-skip-tls-verify", "--request-timeout=9s",
                 f"--server={self.url}{PREFIX}", "--certificate-authority=ca.pem", "--username=bob --password=pass"]  # fmt: skip
        chosen = self.pick.sample(every, self.pick.choice([0, 0, 0, 1, 1, 2]))
        return shlex.split(" ".join(chosen))

    def case(self) -> Case:
        current = self.one("x1", "x1", "x2", "'12'", "x1", "", "'x2'")
        args = self.flags()
        # Credentials of flags win over those of the file, which for kubectl are one too many.
        self.bare = any(arg.startswith(("--token", "--username")) for arg in args)
        files = {"one": self.file(current=current), "sub/two": self.file(current=self.one("x2", ""))}
        paths = self.pick.choice(
            [["one"], ["one"], ["one", "sub/two"], ["sub/two", "one"], ["none", "one"], ["sub/two"]]
        )
        return Case(files, paths, args)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    with Server(context) as made:
        yield made


def ours(case: Case, words: Sequence[str], home: Path, patch: pytest.MonkeyPatch) -> Result:
    patch.setenv("KUBECONFIG", ":".join(case.paths))
    patch.setenv("HOME", str(home))
    patch.chdir(home)
    out, err = io.BytesIO(), io.BytesIO()
    code = main(list(words), out=Output(out, err))
    return Result(out.getvalue().decode(), err.getvalue().decode(), code)


def told(result: Result, server: Server) -> tuple[object, ...]:
    """What was asked, how it ended, the exit code; nothing is remembered for the next run.

    How the errors of a configuration are worded is each program's own, and which of several comes first.
    """
    asked, server.asked = server.asked, []
    connects = not result.last or result.last.startswith(("Unable to connect", "The connection to the server"))
    return asked, result.last if connects else "configuration", result.code


def asks_for_a_name(result: Result) -> bool:
    """kubectl has no credentials, and has read the end of stdin instead of a user name: rawkube never asks."""
    return result.last == "error: EOF"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_request(
    seed: int, server: Server, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = authority.cert_pem.bytes()
    generator = Generator(random.Random(seed), server.url, pem)
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "ca.pem").write_bytes(pem)
        (folder / "token").write_text(f"from-{folder.name[:3]}\n")
    for _ in range(EACH):
        case = generator.case()
        for name, text in case.files.items():
            (tmp_path / name).write_text(text)
        words = ["get", "pods", "-o", "name", *case.args]
        theirs = run(kubectl_command(), *words, url=server.url, home=tmp_path, KUBECONFIG=":".join(case.paths))
        expected = told(theirs, server)
        found = told(ours(case, words, tmp_path, monkeypatch), server)
        shown = "\n".join(f"--- {name}\n{text}" for name, text in case.files.items()).replace(generator.ca, "CA")
        assert found == expected or asks_for_a_name(theirs), f"{words} of {case.paths}\n{shown}"
