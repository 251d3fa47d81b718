"""A client whose credential comes from a plugin, and a TLS server that keeps what it was shown."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rawkube.api.client import ApiClient
from rawkube.api.connect import connect
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.errors import ConfigError, CredentialError, PreferencesError
from rawkube.kubeconfig.exec_plugin import PluginOptions
from rawkube.wire.http import Request
from rawkube.wire.tap import Tap
from tests.support.plugins import TokenServer, config, credential, runs, says, shell, user
from tests.support.run import kubeconfig
from tests.support.server import Peer, ScriptedServer
from tests.support.tls import Authority

SECRET = "s3cret-marker-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer(accepts={"1"}) as running:
        yield running


def ask(client: ApiClient, method: str = "GET", **more: Any) -> int:
    with client.send(method, "/x", **more) as response:
        response.read()
        return response.status


def expiring(seconds: float, **status: str) -> str:
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return credential(expirationTimestamp=end, **status)


class TestTokens:
    def test_once_for_all_requests(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, credential(token="1"))
        with ApiClient(server.access(config(command))) as client:
            assert runs(tmp_path) == 0
            assert [ask(client) for _ in range(3)] == [200] * 3
        assert server.tokens == ["Bearer 1"] * 3
        assert runs(tmp_path) == 1

    def test_expired_ones_are_used_once_and_no_handshake_runs_it(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, expiring(-10, token="1"))
        with ApiClient(server.access(config(command))) as client:
            assert [ask(client) for _ in range(3)] == [200] * 3
        assert runs(tmp_path) == 3

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_a_401_is_answered_with_a_new_one(self, tmp_path: Path, server: TokenServer, method: str) -> None:
        command = says(tmp_path, credential(token="1"))
        with ApiClient(server.access(config(command))) as client:
            assert ask(client) == 200
            (tmp_path / "output").write_text(credential(token="2"))
            server.accepts = {"2"}
            assert ask(client, method, body=b"{}" if method == "POST" else b"") == 200
        assert server.tokens == ["Bearer 1", "Bearer 1", "Bearer 2"]
        assert runs(tmp_path) == 2

    def test_a_second_401_is_final(self, tmp_path: Path, server: TokenServer) -> None:
        server.accepts = ()
        counting = f'echo run >> "{tmp_path}/runs"; n=$(wc -l < "{tmp_path}/runs" | tr -d " ")'
        command = shell(tmp_path, f"{counting}; printf '{credential(token='%s')}' \"$n\"")
        with ApiClient(server.access(config(command))) as client:
            assert ask(client) == 401
        assert server.tokens == ["Bearer 1", "Bearer 2"]

    def test_the_same_token_again_is_not_sent_again(self, tmp_path: Path, server: TokenServer) -> None:
        server.accepts = ()
        with ApiClient(server.access(config(says(tmp_path, credential(token="1"))))) as client:
            assert ask(client) == 401
        assert server.tokens == ["Bearer 1"]
        assert runs(tmp_path) == 2

    def test_a_refresh_that_fails_is_told_and_the_401_stands(self, tmp_path: Path, server: TokenServer) -> None:
        server.accepts = ()
        command = shell(
            tmp_path, f'[ -e "{tmp_path}/x" ] && exit 4; touch "{tmp_path}/x"; echo \'{credential(token="1")}\''
        )
        notes: list[str] = []
        with ApiClient(server.access(config(command)), on_note=notes.append) as client:
            assert ask(client) == 401
        assert notes == [f"refreshing credentials: exec: executable {command} failed with exit code 4"]

    def test_threads_at_once(self, tmp_path: Path, server: TokenServer) -> None:
        """All hold the token that is refused; one run gives them the new one."""
        command = says(tmp_path, credential(token="1"))
        with ApiClient(server.access(config(command))) as client:
            ask(client)
            (tmp_path / "output").write_text(credential(token="2"))
            server.accepts = {"2"}
            barrier, found = threading.Barrier(6), list[int]()

            def work() -> None:
                barrier.wait(10)
                found.append(ask(client))

            threads = [threading.Thread(target=work) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
        assert found == [200] * 6
        assert runs(tmp_path) == 2

    def test_a_request_with_its_own_authorization_asks_nobody(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, credential(token="1"))
        with ApiClient(server.access(config(command), impersonate_user="u")) as client:
            with client.exchange(Request("GET", "/x", [("Authorization", "Bearer own")])) as response:
                assert response.status == 401
            assert runs(tmp_path) == 0
        assert server.tokens == ["Bearer own"]

    @pytest.mark.parametrize("token", ["a\nb", "a\r\nX-Y: z", "a\x7f"])
    def test_a_token_that_no_header_can_hold(self, tmp_path: Path, server: TokenServer, token: str) -> None:
        command = says(tmp_path, credential(token=token))
        with ApiClient(server.access(config(command))) as client, pytest.raises(CredentialError) as caught:
            ask(client)
        assert str(caught.value) == 'net/http: invalid header field value for "Authorization"'
        assert server.tokens == []


def pair(authority: Authority, name: str) -> dict[str, str]:
    issued = authority.issue("client.example", common_name=name)
    return {"clientCertificateData": issued.cert.decode(), "clientKeyData": issued.key.decode()}


class TestCertificates:
    def test_a_pair(self, tmp_path: Path) -> None:
        users = Authority("users")
        with TokenServer(clients=users) as server:
            command = says(tmp_path, credential(**pair(users, "ann")))
            with ApiClient(server.access(config(command))) as client:
                assert ask(client) == 200
        assert [(seen.authorization, seen.certificate) for seen in server.shown] == [(None, "ann")]
        assert runs(tmp_path) == 1

    def test_a_pair_and_a_token(self, tmp_path: Path) -> None:
        users = Authority("users")
        with TokenServer(clients=users) as server:
            command = says(tmp_path, credential(token="1", **pair(users, "ann")))
            with ApiClient(server.access(config(command))) as client:
                assert ask(client) == 200
        assert [(seen.authorization, seen.certificate) for seen in server.shown] == [("Bearer 1", "ann")]

    def test_another_pair_is_for_new_connections_and_the_old_ones_are_closed(self, tmp_path: Path) -> None:
        users = Authority("users")
        with TokenServer(clients=users) as server:
            command = says(tmp_path, expiring(-1, **pair(users, "ann")))
            with ApiClient(server.access(config(command))) as client:
                assert ask(client) == 200
                assert ask(client) == 200
                (tmp_path / "output").write_text(credential(**pair(users, "bob")))
                assert ask(client) == 200
                assert ask(client) == 200
        assert [(seen.connection, seen.certificate) for seen in server.shown] == [
            (1, "ann"),
            (1, "ann"),
            (2, "bob"),
            (2, "bob"),
        ]

    def test_a_connection_in_use_is_not_used_again(self, tmp_path: Path) -> None:
        users = Authority("users")
        with TokenServer(clients=users) as server:
            command = says(tmp_path, expiring(-1, **pair(users, "ann")))
            with ApiClient(server.access(config(command))) as client:
                with client.send("GET", "/x") as unread:
                    (tmp_path / "output").write_text(credential(**pair(users, "bob")))
                    assert ask(client) == 200
                    unread.read()
                assert ask(client) == 200
                assert ask(client) == 200
        assert [(seen.connection, seen.certificate) for seen in server.shown] == [
            (1, "ann"),
            (2, "bob"),
            (2, "bob"),
            (2, "bob"),
        ]

    def test_another_token_closes_nothing(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, expiring(-1, token="1"))
        with ApiClient(server.access(config(command))) as client:
            assert ask(client) == 200
            (tmp_path / "output").write_text(credential(token="2"))
            server.accepts = {"2"}
            assert ask(client) == 200
        assert server.connections == 1

    @pytest.mark.parametrize(
        ("cert", "key", "why"),
        [
            ("x", "y", "tls: failed to find any PEM data in certificate input"),
            (None, "y", "tls: failed to find any PEM data in key input"),
            (None, "other", "tls: private key does not match public key"),
        ],
    )
    def test_one_that_cannot_be_used(
        self, tmp_path: Path, server: TokenServer, cert: str | None, key: str, why: str
    ) -> None:
        users = Authority("users")
        certificate = cert or pair(users, "ann")["clientCertificateData"]
        key = pair(users, "bob")["clientKeyData"] if key == "other" else key
        command = says(tmp_path, credential(clientCertificateData=certificate, clientKeyData=key))
        with ApiClient(server.access(config(command))) as client, pytest.raises(CredentialError) as caught:
            ask(client)
        assert str(caught.value) == f"getting credentials: failed parsing client key/certificate: {why}"


def home(folder: Path, url: str, cluster: Any = (), **more: Any) -> dict[str, str]:
    """A home with a kubeconfig; the environment that leads there."""
    folder.mkdir(exist_ok=True)
    (folder / "config").write_text(kubeconfig(url, cluster=dict(cluster), user=more))
    return {"HOME": str(folder), "KUBECONFIG": str(folder / "config"), "PATH": os.environ["PATH"]}


class TestConnect:
    def test_a_relative_command_is_beside_its_kubeconfig(self, tmp_path: Path, server: TokenServer) -> None:
        folder = tmp_path / "home"
        environ = home(folder, server.url, server.cluster(), **user("../bin//plugin", args=None, env=None))
        (tmp_path / "bin").mkdir()
        says(tmp_path / "bin", credential(token="1"))
        with connect(environ=environ) as client:
            assert client.access.exec is not None
            assert client.access.exec.command == f"{tmp_path}/bin/plugin"
            assert ask(client) == 200

    def test_the_cluster_is_told(self, tmp_path: Path, server: TokenServer) -> None:
        (tmp_path / "output").write_text(credential(token="1"))
        command = shell(tmp_path, f'printf %s "$KUBERNETES_EXEC_INFO" > "{tmp_path}/info"; cat "{tmp_path}/output"')
        extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"other": "bar", "audience": "foo"}}]
        (tmp_path / "ca.pem").write_bytes(server.authority.pem)
        cluster = {"certificate-authority": "../ca.pem", "extensions": extensions}
        environ = home(tmp_path / "home", server.url, cluster, **user(command, provideClusterInfo=True))
        with connect(environ=environ) as client:
            assert ask(client) == 200
        info = json.loads((tmp_path / "info").read_text())
        data = server.cluster()["certificate-authority-data"]
        told = {"server": server.url, "certificate-authority-data": data}
        told["config"] = {"audience": "foo", "other": "bar"}  # type: ignore[assignment]
        assert info["spec"] == {"cluster": told, "interactive": False}

    def test_nothing_runs_for_plain_http(self, tmp_path: Path) -> None:
        def handler(peer: Peer) -> None:
            assert peer.read_request().header("authorization") is None
            peer.reply("{}")

        command = says(tmp_path, credential(token="1"))
        with (
            ScriptedServer(handler) as server,
            connect(environ=home(tmp_path / "home", server.url, **user(command))) as client,
        ):
            assert ask(client) == 200
            assert client.access.exec is None
            assert any("exec, set by" in note for note in client.access.notes)
        assert runs(tmp_path) == 0

    def test_the_users_preferences_count(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, credential(token="1"))
        environ = home(tmp_path / "home", server.url, server.cluster(), **user(command))
        rc = tmp_path / "rc"
        rc.write_text(
            '{"apiVersion":"kubectl.config.k8s.io/v1beta1","kind":"Preference","credentialPluginPolicy":"DenyAll"}'
        )
        with connect(environ=environ, kuberc=str(rc)) as client, pytest.raises(CredentialError) as caught:
            ask(client)
        assert str(caught.value) == f'getting credentials: plugin "{command}" not allowed: policy set to "DenyAll"'
        assert runs(tmp_path) == 0
        with pytest.raises(PreferencesError):
            connect(environ=environ, kuberc="/no/such")
        rc.write_text("hello")
        with connect(environ={**environ, "KUBERC": str(rc)}) as client:
            assert "its rules for credential plugins do not apply" in client.access.notes[-1]

    def test_the_time_is_bounded(self, tmp_path: Path, server: TokenServer) -> None:
        environ = home(tmp_path / "home", server.url, server.cluster(), **user(shell(tmp_path, "exec sleep 60")))
        with connect(environ=environ, plugin_timeout=0.2) as client, pytest.raises(CredentialError) as caught:
            ask(client)
        assert str(caught.value).endswith("did not end within 200ms")

    def test_a_missing_ca_is_told_before_anything_runs(self, tmp_path: Path, server: TokenServer) -> None:
        command = says(tmp_path, credential(token="1"))
        environ = home(tmp_path / "home", server.url, {"certificate-authority": "/no/ca"}, **user(command))
        with pytest.raises(ConfigError, match="unable to read certificate-authority /no/ca"):
            connect(environ=environ)

    def test_the_options_do_not_show_the_environment(self) -> None:
        assert SECRET not in repr(PluginOptions({"TOKEN": SECRET}))


@pytest.mark.parametrize("how", ["good", "broken", "cut", "fails", "bad pair", "refused"])
def test_no_secret_is_shown_or_kept(
    tmp_path: Path, server: TokenServer, how: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in what is printed, not in a trace, an error or a file, not in the arguments of a process."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    whole = credential(token=SECRET)
    output = {"broken": f"{SECRET}: {SECRET}: {SECRET}", "cut": whole[:-4]}.get(how, whole)
    if how == "bad pair":
        output = credential(clientCertificateData=SECRET, clientKeyData=SECRET)
    if how == "good":
        server.accepts = {SECRET}
    (tmp_path / "home").mkdir()
    listing = f'ps -eww -o args > "{tmp_path}/ps" 2>/dev/null'
    command = shell(tmp_path / "home", f'{listing}\ncat "$(dirname "$0")/output"\n{"exit 1" if how == "fails" else ""}')
    (tmp_path / "home" / "output").write_text(output)
    environ = home(tmp_path / "home", server.url, server.cluster(), **user(command))
    for name, value in {**environ, "TMPDIR": str(temporary)}.items():
        monkeypatch.setenv(name, value)
    events: list[str] = []
    with connect(tap=Tap(lambda event: events.append(repr(event)))) as client:
        try:
            ask(client)
        except CredentialError as error:
            events += [repr(error), str(error.detail), str(error.help)]
        events.append(repr(client.credentials))
    main(["rollout", "status", "deploy/web"], out=Output())
    printed = capfd.readouterr()
    assert SECRET not in "".join([*events, printed.out, printed.err])
    assert SECRET not in (tmp_path / "ps").read_text()
    assert list(temporary.iterdir()) == []
    assert events
    if how == "good":
        assert f"Bearer {SECRET}" in server.tokens


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="a system without pseudo-terminals")
@contextlib.contextmanager
def terminal_as_stdin(typed: bytes) -> Iterator[None]:
    """This process's stdin is a terminal meanwhile, where somebody has typed this."""
    main_end, other = os.openpty()
    before = os.dup(0)
    os.dup2(other, 0)
    os.close(other)
    try:
        os.write(main_end, typed)
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(main_end)


class TestTerminal:
    """`interactiveMode`, with a terminal as stdin."""

    def run(self, tmp_path: Path, server: TokenServer, mode: str, *, reserved: str = "") -> tuple[str, str]:
        """(what the plugin read, the error) of a request."""
        (tmp_path / "output").write_text(credential(token="1"))
        body = f'[ -t 0 ] && read line; echo "$line" > "{tmp_path}/read"; cat "{tmp_path}/output"'
        environ = home(
            tmp_path / "home", server.url, server.cluster(), **user(shell(tmp_path, body), interactiveMode=mode)
        )
        said = ""
        with terminal_as_stdin(b"typed\n"), connect(environ=environ, stdin_reserved=reserved) as client:
            try:
                client.send("GET", "/x").close()
            except CredentialError as error:
                said = str(error)
        read = tmp_path / "read"
        return read.read_text().strip() if read.exists() else "", said

    @pytest.mark.parametrize(("mode", "read"), [("Never", ""), ("IfAvailable", "typed"), ("Always", "typed")])
    def test_who_may_ask(self, tmp_path: Path, server: TokenServer, mode: str, read: str) -> None:
        assert self.run(tmp_path, server, mode) == (read, "")

    def test_stdin_that_is_used_is_left_alone(self, tmp_path: Path, server: TokenServer) -> None:
        assert self.run(tmp_path, server, "IfAvailable", reserved="used by me") == ("", "")
        assert self.run(tmp_path, server, "Always", reserved="used by me")[1] == (
            "getting credentials: exec plugin cannot support interactive mode: "
            "standard input is unavailable: used by me"
        )
