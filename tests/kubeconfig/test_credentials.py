"""Headers and certificates, fresh when they are asked for."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from rawkube.errors import ConfigError
from rawkube.kubeconfig import credentials as module
from rawkube.kubeconfig.access import Access, Origin
from rawkube.kubeconfig.credentials import TOKEN_FILE_SECONDS, Credentials, header_key
from tests.support.rows import looped


def headers(now: float = 0.0, **fields: Any) -> list[tuple[str, str]]:
    return Credentials(Access("https://h", **fields)).headers(now=now)


def refused(call: Callable[[], object]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        call()
    shown = str(caught.value) + "".join(caught.value.detail)
    assert "s3cret" not in shown
    assert shown.isprintable()
    return caught.value


class TestAuthorization:
    def test_anonymous(self) -> None:
        assert headers() == []

    def test_static_token(self) -> None:
        assert headers(token="abc") == [("Authorization", "Bearer abc")]

    def test_basic(self) -> None:
        assert headers(username="Aladdin", password="open sesame") == [
            ("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        ]
        assert headers(username="é") == [("Authorization", "Basic w6k6")]
        (pair,) = headers(username="a" * 100, password="b" * 100)
        assert "\n" not in pair[1]

    @looped("token", ["s3cret\n", "a\r\nX: s3cret", "s3cret\x00", "s3cret\x7f", "s3cret\ud800"])
    def test_a_token_that_no_header_holds(self, token: str) -> None:
        error = refused(lambda: headers(token=token))
        assert str(error) == 'net/http: invalid header field value for "Authorization"'

    def test_repr_shows_no_secret(self) -> None:
        assert "s3cret" not in repr(Credentials(Access("https://h", token="s3cret", password="s3cret")))


class TestTokenFile:
    @pytest.mark.parametrize("content", ["abc", "abc\n", "\n abc \r\n"])
    def test_white_space_around_it(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "t").write_text(content)
        assert headers(token_file=str(tmp_path / "t")) == [("Authorization", "Bearer abc")]

    def test_it_beats_the_static_token(self, tmp_path: Path) -> None:
        (tmp_path / "t").write_text("file")
        assert headers(token="static", token_file=str(tmp_path / "t")) == [("Authorization", "Bearer file")]

    @pytest.mark.parametrize("content", [None, "", " \n"])
    def test_the_static_token_is_the_fallback(self, tmp_path: Path, content: str | None) -> None:
        if content is not None:
            (tmp_path / "t").write_text(content)
        assert headers(token="static", token_file=str(tmp_path / "t")) == [("Authorization", "Bearer static")]

    def test_missing(self, tmp_path: Path) -> None:
        error = refused(lambda: headers(token_file=f"{tmp_path}/t", origins={"token_file": Origin("file", "/c", 3)}))
        assert str(error) == f"open {tmp_path}/t: no such file or directory"
        assert error.detail == ("set by /c:3",)

    def test_empty(self, tmp_path: Path) -> None:
        (tmp_path / "t").touch()
        error = refused(lambda: headers(token_file=f"{tmp_path}/t"))
        assert str(error) == f'read empty token from file "{tmp_path}/t"'

    def test_control_characters_inside(self, tmp_path: Path) -> None:
        (tmp_path / "t").write_text("a\nX: s3cret")
        refused(lambda: headers(token_file=f"{tmp_path}/t"))

    def test_it_is_read_again_after_a_while(self, tmp_path: Path) -> None:
        file = tmp_path / "t"
        file.write_text("one")
        found = Credentials(Access("https://h", token_file=str(file)))
        assert found.headers(now=1000.0)[0][1] == "Bearer one"
        file.write_text("two")
        assert found.headers(now=1000.0 + TOKEN_FILE_SECONDS - 0.1)[0][1] == "Bearer one"
        assert found.headers(now=1000.0 + TOKEN_FILE_SECONDS)[0][1] == "Bearer two"
        file.unlink()
        assert found.headers(now=2000.0)[0][1] == "Bearer two"
        file.write_text("")
        assert found.headers(now=3000.0)[0][1] == "Bearer two"

    def test_an_atomic_change_through_a_symbolic_link(self, tmp_path: Path) -> None:
        for name in ("1", "2"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "token").write_text(f"token-{name}")
        (tmp_path / "..data").symlink_to("1")
        (tmp_path / "token").symlink_to("..data/token")
        found = Credentials(Access("https://h", token_file=str(tmp_path / "token")))
        assert found.headers(now=0.0)[0][1] == "Bearer token-1"
        (tmp_path / "..new").symlink_to("2")
        (tmp_path / "..new").rename(tmp_path / "..data")
        assert found.refresh()
        assert found.headers(now=0.0)[0][1] == "Bearer token-2"

    def test_refresh(self, tmp_path: Path) -> None:
        file = tmp_path / "t"
        file.write_text("one")
        found = Credentials(Access("https://h", token_file=str(file)))
        found.headers(now=0.0)
        assert not found.refresh()
        file.write_text("two")
        assert found.refresh()
        assert not found.refresh()
        assert found.headers(now=1.0)[0][1] == "Bearer two"
        file.unlink()
        assert not found.refresh()
        assert found.headers(now=2.0)[0][1] == "Bearer two"

    def test_nothing_to_refresh(self) -> None:
        assert not Credentials(Access("https://h", token="t")).refresh()

    def test_several_threads(self, tmp_path: Path) -> None:
        (tmp_path / "t").write_text("one")
        found = Credentials(Access("https://h", token_file=str(tmp_path / "t")))
        seen: list[list[tuple[str, str]]] = []
        threads = [threading.Thread(target=lambda: seen.append(found.headers(now=0.0))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [[("Authorization", "Bearer one")]] * 8


class TestImpersonation:
    def test_all(self) -> None:
        assert headers(
            token="t",
            impersonate_user="jane",
            impersonate_uid="7",
            impersonate_groups=("a", ""),
            impersonate_extra=(("acme.com/x%y z", ("1", "2")), ("plain", ())),
        ) == [
            ("Authorization", "Bearer t"),
            ("Impersonate-User", "jane"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", ""),
            ("Impersonate-Extra-acme.com%2Fx%25y%20z", "1"),
            ("Impersonate-Extra-acme.com%2Fx%25y%20z", "2"),
        ]

    def test_a_value_that_would_start_another_header(self) -> None:
        error = refused(lambda: headers(impersonate_user="a\r\nX: s3cret"))
        assert "Impersonate-User" in str(error)

    @looped(
        "key",
        [
            "alphabetical",
            "percent%20encoded",
            "almost%zzpercent",
            "example.com/ᛒᚱᚩᚹᚾ/ロビン",
            "abc123!#$+.-_*\\^`~|'",
            "@=:",
        ],
    )
    def test_keys_come_back(self, key: str) -> None:
        assert unquote(header_key(key)) == key

    @given(st.text(st.characters(codec="utf-8")))
    def test_any_key_comes_back(self, key: str) -> None:
        escaped = header_key(key)
        assert unquote(escaped) == key
        assert all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in escaped)
        assert escaped.isascii()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def pem(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


class TestAuthority:
    def test_none_is_the_systems(self) -> None:
        assert Credentials(Access("https://h")).ca_pem() is None

    def test_data_and_file(self, authority: trustme.CA, tmp_path: Path) -> None:
        file = tmp_path / "ca"
        file.write_bytes(pem(authority))
        for fields in ({"ca_data": pem(authority)}, {"ca_file": str(file)}):
            found = Credentials(Access("https://h", **fields)).ca_pem()
            assert found == pem(authority)
            ssl.create_default_context(cadata=found.decode())

    def test_an_empty_file_trusts_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "ca").touch()
        assert Credentials(Access("https://h", ca_file=str(tmp_path / "ca"))).ca_pem() == b""

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            (b"s3cret", "unable to parse bytes as PEM block"),
            (
                b"-----BEGIN PUBLIC KEY-----\ns3cret\n-----END PUBLIC KEY-----\n",
                "no valid certificate authority data seen",
            ),
        ],
    )
    def test_what_is_no_certificate(self, tmp_path: Path, data: bytes, problem: str) -> None:
        (tmp_path / "ca").write_bytes(data)
        for fields in ({"ca_data": data}, {"ca_file": f"{tmp_path}/ca"}):
            error = refused(Credentials(Access("https://h", **fields)).ca_pem)
            assert str(error) == f"unable to load root certificates: {problem}"

    def test_missing(self) -> None:
        error = refused(Credentials(Access("https://h", ca_file="/none/ca")).ca_pem)
        assert str(error) == "unable to load root certificates: open /none/ca: no such file or directory"

    @pytest.mark.parametrize(
        "bad",
        [
            b"half-writ",
            b"",
            b"-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
            b"-----BEGIN PRIVATE KEY-----\nMAAA\n-----END PRIVATE KEY-----\n",
        ],
        ids=["half", "empty", "no certificate inside", "a key"],
    )
    def test_bad_content_keeps_the_old(
        self, bad: bytes, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "CA_SECONDS", 0.0)
        file = tmp_path / "ca"
        file.write_bytes(pem(authority))
        found = Credentials(Access("https://h", ca_file=str(file)))
        assert found.ca_pem() == pem(authority)
        file.write_bytes(bad)
        assert found.ca_pem() == pem(authority)
        other = trustme.CA().cert_pem.bytes()
        file.write_bytes(bad + other)  # one good one makes it good
        assert found.ca_pem() == bad + other
        file.unlink()
        assert found.ca_pem() == bad + other

    def test_the_file_is_compared_every_five_minutes(
        self, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 1000.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
        file = tmp_path / "ca"
        file.write_bytes(pem(authority))
        found = Credentials(Access("https://h", ca_file=str(file)))
        assert found.ca_pem() == pem(authority)
        other = trustme.CA().cert_pem.bytes()
        file.write_bytes(other)
        now += 299
        assert found.ca_pem() == pem(authority)
        now += 2
        assert found.ca_pem() == other


class TestClientCertificate:
    @pytest.fixture
    def pair(self, authority: trustme.CA, tmp_path: Path) -> Access:
        leaf = authority.issue_cert("client@example")
        leaf.cert_chain_pems[0].write_to_path(tmp_path / "c")
        leaf.private_key_pem.write_to_path(tmp_path / "k")
        return Access("https://h", cert_file=str(tmp_path / "c"), key_file=str(tmp_path / "k"))

    def test_none(self) -> None:
        assert Credentials(Access("https://h")).client_cert() is None

    def test_files_data_and_both(self, pair: Access) -> None:
        cert, key = Path(pair.cert_file).read_bytes(), Path(pair.key_file).read_bytes()
        for access in (
            pair,
            Access("https://h", cert_data=cert, key_data=key),
            Access("https://h", cert_file=pair.cert_file, key_data=key),
            Access("https://h", cert_data=cert, key_file=pair.key_file),
        ):
            assert Credentials(access).client_cert() == (cert, key)

    def test_files_are_read_again(self, pair: Access, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = [100.0]
        monkeypatch.setattr("rawkube.kubeconfig.credentials.time.monotonic", lambda: clock[0])
        found = Credentials(pair)
        before = found.client_cert()
        leaf = trustme.CA().issue_cert("other@example")
        Path(pair.cert_file).write_bytes(leaf.cert_chain_pems[0].bytes())
        Path(pair.key_file).write_bytes(leaf.private_key_pem.bytes())
        assert found.client_cert() == before
        clock[0] += 1.0
        after = found.client_cert()
        assert after == (leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())
        Path(pair.key_file).write_bytes(b"")
        clock[0] += 1.0
        assert found.client_cert() == after
        Path(pair.key_file).unlink()
        clock[0] += 1.0
        assert found.client_cert() == after

    def test_data_needs_no_file(self, pair: Access, monkeypatch: pytest.MonkeyPatch) -> None:
        access = Access("https://h", cert_data=Path(pair.cert_file).read_bytes(), key_data=b"no key")
        error = refused(Credentials(access).client_cert)
        assert str(error) == "tls: failed to find any PEM data in key input"

    def test_no_certificate(self) -> None:
        error = refused(Credentials(Access("https://h", cert_data=b"s3cret", key_data=b"s3cret")).client_cert)
        assert str(error) == "tls: failed to find any PEM data in certificate input"

    def test_missing(self, pair: Access) -> None:
        Path(pair.key_file).unlink()
        error = refused(Credentials(pair).client_cert)
        assert str(error) == f"open {pair.key_file}: no such file or directory"
