"""The pure parts of credential plugins: what they are told, what they may print, what is said when they are missing."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.go_json import encode
from rawkube.kubeconfig.access import Access, AuthProvider, ExecConfig, Origin
from rawkube.kubeconfig.exec_info import NotInteractive, cluster_info, exec_info, is_interactive
from rawkube.kubeconfig.exec_output import Credential, OutputError, decode
from rawkube.kubeconfig.install_hint import RateLimit, escaped, help_lines
from rawkube.kubeconfig.timestamp import TimeError, seconds_of
from tests.support.examples import examples
from tests.support.plugins import V1, V1BETA1, credential
from tests.support.rows import looped

HEAD = f'"apiVersion":"{V1}","kind":"ExecCredential"'


class TestInfo:
    @looped("version", [V1, V1BETA1])
    @looped("interactive", [False, True])
    def test_the_document(self, version: str, interactive: bool) -> None:
        flag = "true" if interactive else "false"
        text = f'{{"kind":"ExecCredential","apiVersion":"{version}","spec":{{"interactive":{flag}}}}}\n'
        assert exec_info(ExecConfig("x", api_version=version), interactive=interactive) == text

    def test_the_cluster(self) -> None:
        extension = {"b": 1.5, "a": "<é&\u2028>", "n": None, "l": [1, 2.0, 1e21, 1e-7]}
        plugin = ExecConfig("x", api_version=V1, provide_cluster_info=True, cluster_config=extension)
        access = Access(
            "https://h:6443/p",
            tls_server_name="n",
            insecure=True,
            disable_compression=True,
            proxy_url="http://u:p@proxy:1",
            exec=plugin,
            origins={"proxy_url": Origin("file", "f")},
        )
        text = exec_info(plugin, interactive=False, cluster=cluster_info(access, b"PEM"))
        assert text == (
            '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{'
            '"server":"https://h:6443/p","tls-server-name":"n","insecure-skip-tls-verify":true,'
            '"certificate-authority-data":"UEVN","proxy-url":"http://u:p@proxy:1","disable-compression":true,'
            '"config":{"a":"\\u003cé\\u0026\\u2028\\u003e","b":1.5,"l":[1,2,1e+21,1e-7],"n":null}},'
            '"interactive":false}}\n'
        )

    def test_what_is_not_set_is_not_told(self) -> None:
        access = Access("https://h", proxy_url="http://p:1", origins={"proxy_url": Origin("env", "HTTPS_PROXY")})
        assert cluster_info(access, None) == {"server": "https://h", "config": None}

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**64)
            | st.floats(allow_nan=False, allow_infinity=False)
            # No lone surrogates: UTF-8 has none.
            | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=10,
        )
    )
    @settings(max_examples=examples(100))
    def test_json_says_the_same(self, value: Any) -> None:
        text = encode(value)
        assert json.loads(text) == value
        assert not set("<>&\u2028\u2029\n") & set(text)


class TestInteractive:
    @looped(
        ("mode", "terminal", "reserved", "result"),
        [
            ("Never", False, False, False),
            ("Never", True, False, False),
            ("IfAvailable", False, False, False),
            ("IfAvailable", True, False, True),
            ("IfAvailable", True, True, False),
            ("Always", True, False, True),
        ],
    )
    def test_it_is(self, mode: str, terminal: bool, reserved: bool, result: bool) -> None:
        assert is_interactive(mode, terminal=terminal, reserved=reserved) is result

    @looped(
        ("mode", "terminal", "reserved", "why", "text"),
        [
            ("Always", False, False, "", "standard input is not a terminal"),
            ("Always", False, True, "some message", "standard input is not a terminal"),
            ("Always", True, True, "", "standard input is unavailable"),
            ("Always", True, True, "some message", "standard input is unavailable: some message"),
            ("", True, False, "", 'unknown interactiveMode: ""'),
            ("Sometimes", True, False, "", 'unknown interactiveMode: "Sometimes"'),
        ],
    )
    def test_it_cannot_be(self, mode: str, terminal: bool, reserved: bool, why: str, text: str) -> None:
        with pytest.raises(NotInteractive) as caught:
            is_interactive(mode, terminal=terminal, reserved=reserved, reserved_for=why)
        assert str(caught.value) == text


class TestOutput:
    @looped(
        "output",
        [
            credential(token="t"),
            credential(token="t") + "\n \n",
            "\ufeff" + credential(token="t"),
            f"apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n",
            f"---\napiVersion: {V1}\nkind: ExecCredential\nstatus: {{token: t}}\n---\nfoo: bar\n",
            f'{{"apiVersion":"{V1}","status":{{"token":"t"}}}}',
            f'{{"APIVERSION":"{V1}","KIND":"ExecCredential","status":{{"token":"t"}}}}',
            f'{{{HEAD},"metadata":3,"unknown":[],"spec":{{}},"status":{{"token":"x","token":"t"}}}}',
            f'{{{HEAD},"status":{{"token":"t","expirationTimestamp":null,"clientKeyData":null}}}}',
        ],
    )
    def test_a_token(self, output: str) -> None:
        assert decode(output.encode(), V1) == Credential("t")

    def test_everything(self) -> None:
        output = credential(
            V1BETA1,
            token="t",
            clientCertificateData="C\n",
            clientKeyData="K\n",
            expirationTimestamp="2006-01-02T15:04:05Z",
        )
        found = decode(output.encode(), V1BETA1)
        assert found == Credential("t", b"C\n", b"K\n", 1136214245.0)
        assert found.pair == (b"C\n", b"K\n")
        assert repr(found) == "Credential(token=<redacted>, cert=<redacted>, key=<redacted>, expires=1136214245.0)"

    @looped(
        ("output", "text"),
        [
            ("", f"exec plugin is configured to use API version {V1}, "
                 "plugin returned version client.authentication.k8s.io/__internal"),
            ('{"kind":"ExecCredential","status":{"token":"s3cret"}}',
             f"exec plugin is configured to use API version {V1}, "
             "plugin returned version client.authentication.k8s.io/__internal"),
            (credential(V1BETA1, token="s3cret"),
             f"exec plugin is configured to use API version {V1}, plugin returned version {V1BETA1}"),
            (f"{{{HEAD}}}", "exec plugin didn't return a status field"),
            (credential(), "exec plugin didn't return a token or cert/key pair"),
            (credential(token=""), "exec plugin didn't return a token or cert/key pair"),
            (credential(clientCertificateData="s3cret"), "exec plugin returned only certificate or key, not both"),
            (credential(token="t", clientKeyData="s3cret"), "exec plugin returned only certificate or key, not both"),
            ("s3cret", "decoding stdout: couldn't get version/kind; json parse error: json: cannot unmarshal string "
             r'into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; '
             r'Kind string "json:\"kind,omitempty\"" }'),
            ('{"s3cret', "decoding stdout: couldn't get version/kind; json parse error: unexpected end of JSON input"),
            (credential(token="s3cret") + " x", "decoding stdout: couldn't get version/kind; json parse error: "
             "invalid character 'x' after top-level value"),
            (f'{{"apiVersion":"{V1}","kind":"Foo"}}', 'decoding stdout: no kind "Foo" is registered for version '
             f'"{V1}" in scheme "pkg/client/auth/exec/exec.go:64"'),
            ('{"kind":"Foo"}', 'decoding stdout: no kind "Foo" is registered for the internal version of group '
             '"client.authentication.k8s.io" in scheme "pkg/client/auth/exec/exec.go:64"'),
            ('{"apiVersion":"a/b/c"}', "decoding stdout: unexpected GroupVersion string: a/b/c"),
            ('{"kind":3}', "decoding stdout: couldn't get version/kind; json parse error: json: cannot unmarshal "
             "number into Go struct field .kind of type string"),
            (f'{{{HEAD},"status":3}}', "decoding stdout: json: cannot unmarshal number into Go struct field "
             "ExecCredential.status of type v1.ExecCredentialStatus"),
            (f'{{{HEAD},"status":{{"token":3}}}}', "decoding stdout: json: cannot unmarshal number into Go struct "
             "field ExecCredentialStatus.status.token of type string"),
            (f'{{{HEAD},"status":{{"token":"s3cret","x":NaN}}}}', "decoding stdout: couldn't get version/kind; json "
             "parse error: invalid character 'N' looking for beginning of value"),
            ("a: 1\nb: s3cret: d\n", "decoding stdout: yaml: line 2: mapping values are not allowed in this context"),
            ("a: 1\nb: [\n", "decoding stdout: yaml: line 2: did not find expected node content"),
            (credential(token="t", expirationTimestamp="2030-01-01"), 'decoding stdout: parsing time "2030-01-01" as '
             '"2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
            (credential(token="t", expirationTimestamp="s3cret"),
             'decoding stdout: parsing time "<redacted>": it is not as RFC 3339 has it'),
        ],
    )  # fmt: skip
    def test_none(self, output: str, text: str) -> None:
        with pytest.raises(OutputError) as caught:
            decode(output.encode(), V1)
        assert str(caught.value) == text

    @given(st.binary() | st.text().map(str.encode) | st.builds(lambda a, b: a + b, st.just(b'{"kind":'), st.binary()))
    @settings(max_examples=examples(100))
    def test_whatever_is_printed_is_understood_or_refused(self, output: bytes) -> None:
        with pytest.raises(OutputError) as caught:
            decode(output, V1)
        assert len(str(caught.value)) < 500

    def test_cut_anywhere_it_is_no_credential(self) -> None:
        output = credential(token="t", expirationTimestamp="2030-01-01T00:00:00Z").encode()
        for end in range(len(output)):
            with pytest.raises(OutputError):
                decode(output[:end], V1)


class TestTimestamp:
    @given(
        st.datetimes(min_value=datetime.datetime(1000, 1, 1), max_value=datetime.datetime(9000, 1, 1)),
        st.integers(-14 * 60, 14 * 60),
    )
    @settings(max_examples=examples(100))
    def test_as_datetime_has_it(self, when: datetime.datetime, minutes: int) -> None:
        zoned = when.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes)))
        assert seconds_of(zoned.isoformat()) == pytest.approx(zoned.timestamp(), abs=1e-3)

    @looped(
        ("text", "seconds"),
        [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2024-02-29T1:00:00Z", 1709168400.0),
            ("1970-01-01T00:00:00,5Z", 0.5),
            ("1970-01-01T02:00:00.25+02:00", 0.25),
        ],
    )
    def test_good(self, text: str, seconds: float) -> None:
        assert seconds_of(text) == seconds

    @looped(
        ("text", "problem"),
        [
            ("2030-13-01T00:00:00Z", ": month out of range"),
            ("2030-00-01T00:00:00Z", ": month out of range"),
            ("2030-02-30T00:00:00Z", ": day out of range"),
            ("2023-02-29T00:00:00Z", ": day out of range"),
            ("2030-01-01T25:00:00Z", ": hour out of range"),
            ("2030-01-01T00:61:00Z", ": minute out of range"),
            ("2030-01-01T00:00:60Z", ": second out of range"),
            ("2030-01-01T00:00:00+99:00", ": time zone offset hour out of range"),
            ("2030-01-01T00:00:00ZZ", ': extra text: "Z"'),
            ("203", ' as "2006-01-02T15:04:05Z07:00": cannot parse "203" as "2006"'),
            ("20300101T000000Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "0101T000000Z" as "-"'),
            ("2030-01-01T00:00:00+0200", ' as "2006-01-02T15:04:05Z07:00": cannot parse "+0200" as "Z07:00"'),
            ("2030-01-01T00:00:00.Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse ".Z" as "Z07:00"'),
        ],
    )
    def test_bad(self, text: str, problem: str) -> None:
        with pytest.raises(TimeError) as caught:
            seconds_of(text)
        assert str(caught.value) == f'parsing time "{text}"{problem}'


class TestHint:
    @pytest.mark.parametrize(
        ("hint", "shown"),
        [
            ("\x1b[1mbold\x1b[0m\nx", "U+001B[1mboldU+001B[0m\nx"),
            ("a\t\n\v\f\r é 1 ! + \u2029\u2003", "a\t\n\v\f\r é 1 ! + \u2029\u2003"),
            ("\x00\x7f\x85\u202e\U000e0001", "U+0000U+007FU+0085U+202EU+E0001"),
        ],
    )
    def test_it_is_harmless(self, hint: str, shown: str) -> None:
        assert escaped(hint) == shown

    def test_lines(self) -> None:
        assert help_lines("")[-1].endswith("#client-go-credential-plugins")
        assert help_lines("do\nthis")[-3:] == ("", "do", "this")

    @pytest.mark.parametrize(
        ("limit", "seconds", "times", "shown"), [(2, 1.0, [0.0] * 10, 2), (2, 5.0, [*map(float, range(10))], 4)]
    )
    def test_how_often(self, limit: int, seconds: float, times: list[float], shown: int) -> None:
        rate = RateLimit(limit, seconds)
        assert sum(rate.allows(now) for now in times) == shown


def test_nothing_shows_a_secret() -> None:
    plugin = ExecConfig("aws", ("--password=s3cret",), (("TOKEN", "s3cret"),), V1)
    provider = AuthProvider("oidc", {"id-token": "s3cret"})
    access = Access("https://h", exec=plugin, auth_provider=provider, proxy_url="http://u:s3cret@p:1")
    assert "s3cret" not in repr(access)
    assert "aws" in repr(access)
    assert "TOKEN" in repr(access)
    assert "http://<redacted>@p:1" in repr(access)
