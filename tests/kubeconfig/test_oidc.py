"""The auth provider `oidc`: when a token is renewed, how the issuer is asked, and every way that can fail."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from rawkube.errors import ConfigError, TransportError
from rawkube.kubeconfig import access_from
from rawkube.kubeconfig.access import Access, AuthProvider, Overrides
from rawkube.kubeconfig.credentials import Credentials
from rawkube.kubeconfig.oidc import OIDC, Fetched, check_provider, expiry
from tests.support.rows import looped

NOW = 1_800_000_000.0
ISSUER = "https://issuer.example/realm"
TOKEN_URL = "https://issuer.example/token?p=1"
JSON = "application/json"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(exp: object = NOW + 3600, *, payload: bytes | None = None) -> str:
    return f"e30.{encoded(json.dumps({'exp': exp}).encode() if payload is None else payload)}.c2ln"


def answer(value: object, *, status: int = 200, reason: str = "OK", media: str = JSON) -> Fetched:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Fetched(status, reason, media, body)


DISCOVERY = answer({"token_endpoint": TOKEN_URL})
FRESH = jwt(NOW + 7200)
GOOD = answer({"id_token": FRESH, "access_token": "a"})

Asked = tuple[str, str, dict[str, str], dict[str, str]]


class Issuer:
    """What `fetch` answers, in order; `asked`: method, URL, headers, form."""

    def __init__(self, *answers: Fetched | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.ca: list[bytes | None] = []

    def __call__(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes, ca_pem: bytes | None
    ) -> Fetched:
        self.asked.append((method, url, dict(headers), dict(parse_qsl(body.decode()))))
        self.ca.append(ca_pem)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


def provider(**config: str) -> AuthProvider:
    named = {key.replace("_", "-"): value for key, value in config.items()}
    return AuthProvider("oidc", {"idp-issuer-url": ISSUER, "client-id": "kube", **named})


def source(issuer: Issuer, /, **config: str) -> OIDC:
    return OIDC(provider(**config), issuer, wall=lambda: NOW)


def failure(issuer: Issuer, **config: str) -> str:
    with pytest.raises(TransportError) as caught:
        source(issuer, **config).token()
    return str(caught.value)


@pytest.mark.parametrize("left", [10.5, 3600.0])
def test_an_id_token_is_used_while_it_is_good_for_more_than_ten_seconds(left: float) -> None:
    issuer = Issuer()
    assert source(issuer, id_token=jwt(NOW + left), refresh_token="r").token() == jwt(NOW + left)
    assert issuer.asked == []


@looped("exp", [NOW + 10, NOW - 1, 0, None])
def test_then_the_issuer_is_asked_for_another(exp: float | None) -> None:
    issuer = Issuer(DISCOVERY, GOOD)
    made = source(issuer, id_token=jwt(exp), refresh_token="r 1", client_secret="s/e")
    assert made.token() == FRESH
    header = base64.b64encode(b"kube:s%2Fe").decode()
    form = "application/x-www-form-urlencoded"
    assert issuer.asked == [
        ("GET", f"{ISSUER}/.well-known/openid-configuration", {}, {}),
        (
            "POST",
            TOKEN_URL,
            {"Content-Type": form, "Authorization": f"Basic {header}"},
            {"grant_type": "refresh_token", "refresh_token": "r 1"},
        ),
    ]
    assert made.token() == FRESH  # and keeps it
    assert len(issuer.asked) == 2


def test_a_token_that_ages_is_renewed_with_the_rotated_refresh_token_and_one_note() -> None:
    now = [NOW]
    notes: list[str] = []
    first = answer({"id_token": jwt(NOW + 100), "access_token": "a", "refresh_token": "r2"})
    second = answer({"id_token": jwt(NOW + 200), "access_token": "a", "refresh_token": "r3"})
    issuer = Issuer(DISCOVERY, first, DISCOVERY, second)
    made = OIDC(provider(refresh_token="r1"), issuer, on_note=notes.append, wall=lambda: now[0])
    assert made.token() == made.token() == jwt(NOW + 100)
    now[0] = NOW + 95
    assert made.token() == jwt(NOW + 200)
    assert [asked[3].get("refresh_token") for asked in issuer.asked if asked[0] == "POST"] == ["r1", "r2"]
    assert len(notes) == 1
    assert notes[0].startswith(f"{ISSUER} has given another refresh token, which is not stored")
    assert "r2" not in notes[0]


def test_the_same_refresh_token_again_is_no_news() -> None:
    notes: list[str] = []
    issuer = Issuer(DISCOVERY, answer({"id_token": FRESH, "access_token": "a", "refresh_token": "r"}))
    assert OIDC(provider(refresh_token="r"), issuer, on_note=notes.append, wall=lambda: NOW).token() == FRESH
    assert notes == []


@pytest.mark.parametrize("secret", ["", "s"])
def test_an_issuer_that_takes_no_header_is_asked_again_and_then_only_so(secret: str) -> None:
    refused = answer({}, status=401, reason="Unauthorized")
    issuer = Issuer(DISCOVERY, refused, answer({"id_token": jwt(NOW + 20), "access_token": "a"}), DISCOVERY, GOOD)
    now = [NOW]
    made = OIDC(provider(refresh_token="r", client_secret=secret), issuer, wall=lambda: now[0])
    made.token()
    now[0] += 15
    assert made.token() == FRESH
    in_form = {"client_id": "kube", **({"client_secret": secret} if secret else {})}
    rest = {"grant_type": "refresh_token", "refresh_token": "r"}
    assert [asked[3] for asked in issuer.asked if asked[0] == "POST"] == [
        rest,
        {**in_form, **rest},
        {**in_form, **rest},
    ]


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "text/plain"])
def test_a_token_may_come_as_a_form(media: str) -> None:
    issuer = Issuer(DISCOVERY, answer(f"access_token=a&id_token={FRESH}".encode(), media=media))
    assert source(issuer, refresh_token="r").token() == FRESH


REFRESH = "failed to refresh token: "
NOT_GIVEN = "token response did not contain an id_token, either the scope"
TOKEN_ANSWERS = [
    (answer({"access_token": "a"}), NOT_GIVEN),
    (answer({"access_token": "a", "id_token": 5}), NOT_GIVEN),
    (answer({}), f"{REFRESH}oauth2: server response missing access_token"),
    (answer({"error": "invalid_grant"}), f'{REFRESH}oauth2: "invalid_grant"'),
    (
        answer({"error": "invalid_grant", "error_description": "exp\nired", "error_uri": "u"}, status=400),
        f'{REFRESH}oauth2: "invalid_grant" "exp\\nired" "u"',
    ),
    (
        answer(b"<b>\nx", status=500, reason="Oops", media="text/html"),
        f"{REFRESH}oauth2: cannot fetch token: 500 Oops: Response: <b>\\nx",
    ),
    (
        answer(b"<b>", media="text/html"),
        f"{REFRESH}oauth2: cannot parse json: invalid character '<' looking for beginning of value",
    ),
    (answer([]), f"{REFRESH}oauth2: cannot parse json: the answer is no JSON object"),
    (answer({}, status=302, reason="Found"), f"{REFRESH}oauth2: cannot fetch token: 302 Found: Response: {{}}"),
]


@looped(("given", "text"), TOKEN_ANSWERS, ids=range(len(TOKEN_ANSWERS)))
def test_token_answers_without_a_token(given: Fetched, text: str) -> None:
    found = failure(Issuer(DISCOVERY, given, given), refresh_token="r")
    assert found == text or (text is NOT_GIVEN and found.startswith(text))


DISCOVERY_ANSWERS = [
    (
        answer(b'"' * 90, status=404, reason="Not Found"),
        'oidc: failed to query metadata endpoint 404 Not Found: "' + r"\"" * 80 + '..."',
    ),
    (
        answer(b"<"),
        "oidc: failed to decode provider discovery object: invalid character '<' looking for beginning of value",
    ),
    (answer({}), "oidc: discovery object doesn't contain a token_endpoint"),
    (answer([]), "oidc: discovery object doesn't contain a token_endpoint"),
    (answer({"token_endpoint": ""}), "oidc: discovery object doesn't contain a token_endpoint"),
    (
        TransportError("dial tcp: lookup issuer.example: no such host"),
        f'Get "{ISSUER}/.well-known/openid-configuration": dial tcp: lookup issuer.example: no such host',
    ),
]


@looped(("given", "text"), DISCOVERY_ANSWERS, ids=range(len(DISCOVERY_ANSWERS)))
def test_discovery_answers_without_an_endpoint(given: Fetched | Exception, text: str) -> None:
    assert failure(Issuer(given), refresh_token="r") == text


def test_the_token_endpoint_cannot_be_reached() -> None:
    text = failure(Issuer(DISCOVERY, TransportError("EOF")), refresh_token="r")
    assert text == 'failed to refresh token: Post "https://issuer.example/token": EOF'


TOKENS = [
    ("abc", "ID Token is not a valid JWT"),
    ("a.b.c.d", "ID Token is not a valid JWT"),
    ("e30.a$b.x", "illegal base64 data at input byte 1"),
    ("e30.e30=.x", "illegal base64 data at input byte 3"),
    ("e30.e.x", "illegal base64 data at input byte 0"),
    ("e30.é.x", "illegal base64 data at input byte 0"),
    (jwt(payload=b"nope"), "parsing claims: invalid character 'o' in literal null (expecting 'u')"),
    (jwt(payload=b"\xff"), "parsing claims: invalid character"),
    (jwt("x"), "parsing claims: exp is no number"),
    (jwt(True), "parsing claims: exp is no number"),
    (jwt(payload=b"[]"), "parsing claims: they are no JSON object"),
    (jwt(NOW), "No valid id-token, and cannot refresh without refresh-token"),
    (jwt(payload=b"null"), "No valid id-token, and cannot refresh without refresh-token"),
    ("", "No valid id-token, and cannot refresh without refresh-token"),
]


@looped(("token", "text"), TOKENS, ids=[text for _, text in TOKENS])
def test_id_tokens_that_are_none(token: str, text: str) -> None:
    assert failure(Issuer(), id_token=token).startswith(text)


def test_expiry() -> None:
    assert expiry(jwt(12.5)) == 12.5
    assert expiry(jwt(payload=b"{}")) == 0


def test_no_error_repeats_a_secret() -> None:
    def echo(*secrets: str) -> Fetched:
        return answer({"error": " ".join(secrets)}, status=400)

    given = echo("REFRESH", "SECRET", jwt(1))
    text = failure(Issuer(DISCOVERY, given, given), refresh_token="REFRESH", client_secret="SECRET", id_token=jwt(1))
    assert text == 'failed to refresh token: oauth2: "REDACTED REDACTED REDACTED"'
    text = failure(Issuer(answer(b"REFRESH", status=500)), refresh_token="REFRESH")
    assert '"REDACTED"' in text
    assert "REFRESH" not in repr(source(Issuer(), refresh_token="REFRESH"))


# After a 401


def test_after_a_401_the_issuer_is_asked_although_the_token_looks_good() -> None:
    issuer = Issuer(DISCOVERY, GOOD)
    made = source(issuer, id_token=jwt(NOW + 50), refresh_token="r")
    assert made.refresh()
    assert made.token() == FRESH


@pytest.mark.parametrize(
    ("answers", "config"),
    [
        ((), {"id_token": jwt()}),
        ((DISCOVERY, answer({"id_token": jwt(), "access_token": "a"})), {"id_token": jwt(), "refresh_token": "r"}),
        ((TransportError("EOF"),), {"id_token": jwt(), "refresh_token": "r"}),
    ],
    ids=["no refresh token", "the same token again", "no answer"],
)
def test_a_replay_makes_no_sense(answers: tuple[Fetched | Exception, ...], config: dict[str, str]) -> None:
    made = source(Issuer(*answers), **config)
    assert not made.refresh()
    assert made.token() == jwt()


# The configuration


@looped("name", ["gcp", "azure", "openstack", "", 'fo"o'])
def test_providers_that_are_not_there(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_provider(AuthProvider(name))
    wanted = {
        "gcp": 'The gcp auth plugin has been removed.\nPlease use the "gke-gcloud-auth-plugin" kubectl/client-go '
        "credential plugin instead.\nSee https://cloud.google.com/blog/products/containers-kubernetes/"
        "kubectl-auth-changes-in-gke for further details",
        "azure": "The azure auth plugin has been removed.\nPlease use the https://github.com/Azure/kubelogin "
        "kubectl/client-go credential plugin instead.\nSee https://kubernetes.io/docs/reference/access-authn-authz/"
        "authentication/#client-go-credential-plugins for further details",
        'fo"o': 'no Auth Provider found for name "fo\\"o"',
    }
    assert str(caught.value) == wanted.get(name, f'no Auth Provider found for name "{name}"')


@pytest.mark.parametrize("key", ["idp-issuer-url", "client-id"])
def test_keys_that_have_to_be_there(key: str) -> None:
    config = {"idp-issuer-url": ISSUER, "client-id": "c", key: ""}
    with pytest.raises(ConfigError, match=f"Must provide {key}"):
        OIDC(AuthProvider("oidc", config), Issuer())


PEM = b"-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"


def test_the_issuers_authority(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(PEM)
    data = base64.b64encode(PEM).decode()
    for config in (
        {"idp_certificate_authority": str(tmp_path / "ca.pem")},
        {"idp_certificate_authority_data": data},
        {"idp_certificate_authority_data": data, "idp_certificate_authority": "/none"},
    ):
        issuer = Issuer(DISCOVERY, GOOD)
        source(issuer, refresh_token="r", **config).token()
        assert issuer.ca == [PEM, PEM]
    issuer = Issuer(DISCOVERY, GOOD)
    source(issuer, refresh_token="r").token()
    assert issuer.ca == [None, None]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"idp_certificate_authority": "/none/ca"}, "open /none/ca: no such file or directory"),
        ({"idp_certificate_authority_data": "$$"}, "illegal base64 data"),
        (
            {"idp_certificate_authority_data": "aGVsbG8="},
            "unable to load root certificates: unable to parse bytes as PEM block",
        ),
    ],
)
def test_an_authority_that_is_none(config: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        source(Issuer(), **config)


# In a kubeconfig


def resolved(tmp_path: Path, user: dict[str, Any], *, server: str = "https://h", **flags: Any) -> Access:
    file = tmp_path / "config"
    file.write_text(
        json.dumps(
            {
                "current-context": "t",
                "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}],
                "clusters": [{"name": "t", "cluster": {"server": server}}],
                "users": [{"name": "t", "user": user}],
            }
        )
    )
    return access_from(str(file), Overrides(**flags), environ={}).access


def oidc_user(**more: Any) -> dict[str, Any]:
    return {"auth-provider": {"name": "oidc", "config": dict(provider(**more).config)}}


def test_a_user_with_an_auth_provider(tmp_path: Path) -> None:
    access = resolved(tmp_path, oidc_user(refresh_token="r-secret"))
    assert access.auth_provider == provider(refresh_token="r-secret")
    assert "r-secret" not in repr(access)
    issuer = Issuer(DISCOVERY, GOOD)
    credentials = Credentials(access, fetch=issuer)
    assert credentials.headers(now=0.0) == [("Authorization", f"Bearer {FRESH}")]
    assert credentials.headers(now=0.0, authorized=True) == []
    issuer.answers = [DISCOVERY, answer({"id_token": jwt(NOW * 2), "access_token": "a"})]
    assert credentials.refresh()
    assert credentials.headers(now=0.0) == [("Authorization", f"Bearer {jwt(NOW * 2)}")]


@pytest.mark.parametrize("name", ["oidc", "gcp"])
@pytest.mark.parametrize(
    ("user", "flags", "header"),
    [
        ({"token": "t"}, {}, "Bearer t"),
        ({}, {"token": "flag"}, "Bearer flag"),
        ({"username": "u", "password": "p"}, {}, "Basic dTpw"),
    ],
)
def test_another_credential_goes_before_it(
    tmp_path: Path, name: str, user: dict[str, Any], flags: dict[str, Any], header: str
) -> None:
    access = resolved(tmp_path, {**user, "auth-provider": {"name": name}}, **flags)
    assert access.auth_provider is None
    assert Credentials(access, fetch=Issuer()).headers(now=0.0) == [("Authorization", header)]


def test_an_unusable_one_says_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Must provide client-id") as caught:
        resolved(tmp_path, {"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": ISSUER, "client-id": None}}})
    assert caught.value.detail == (f"set by {tmp_path}/config:1 (users[t].user.auth-provider)",)
    access = resolved(tmp_path, oidc_user(idp_certificate_authority="/none"))
    with pytest.raises(ConfigError, match="open /none") as caught:
        Credentials(access, fetch=Issuer())
    assert caught.value.detail == (f"set by {tmp_path}/config:1 (users[t].user.auth-provider)",)


def test_over_plain_http_nobody_is_asked(tmp_path: Path) -> None:
    access = resolved(tmp_path, oidc_user(refresh_token="r"), server="http://h")
    assert access.auth_provider is None
    assert "auth-provider" in access.notes[0]


def test_without_a_way_to_the_issuer(tmp_path: Path) -> None:
    access = resolved(tmp_path, oidc_user(refresh_token="r"))
    with pytest.raises(TransportError, match="no way to the issuer"):
        Credentials(access).headers(now=0.0)
