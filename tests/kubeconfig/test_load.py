"""Finding, reading and merging kubeconfig files."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path

import pytest
import yaml

from rawkube.errors import ConfigError
from rawkube.kubeconfig import files
from rawkube.kubeconfig.load import Config, home_directory, load, read_file, search
from tests.support.examples import EVERY_WAY


def write(path: Path, text: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def load_text(tmp_path: Path, text: str | bytes) -> Config:
    return load(write(tmp_path / "config", text), environ={})


def refused(tmp_path: Path, text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, text)
    message = str(caught.value)
    prefix = f'error loading config file "{tmp_path / "config"}": '
    assert message.startswith(prefix)
    assert message.isprintable()
    assert "s3cret" not in message + "".join(caught.value.detail)
    return caught.value


class TestSearch:
    def test_an_explicit_file_is_the_only_one(self) -> None:
        assert search("a:b", {"KUBECONFIG": "c", "HOME": "/h"}) == ["a:b"]

    def test_a_list_without_repeats_and_empty_names(self) -> None:
        assert search("", {"KUBECONFIG": os.pathsep.join(["a", "b", "a", "", "c", "b", ""])}) == [
            "a",
            "b",
            "c",
        ]

    @pytest.mark.parametrize("environ", [{"HOME": "/h"}, {"HOME": "/h", "KUBECONFIG": ""}])
    def test_the_home_folder(self, environ: dict[str, str]) -> None:
        assert search("", environ) == ["/h/.kube/config"]

    def test_without_a_home_it_is_relative(self) -> None:
        assert search("", {}) == [".kube/config"]

    def test_tilde_and_variables_are_not_expanded(self) -> None:
        assert search("", {"KUBECONFIG": "~/x", "HOME": "/h"}) == ["~/x"]

    def test_home_on_windows(self, tmp_path: Path) -> None:
        write(tmp_path / "b" / ".kube" / "config", "")
        (tmp_path / "a").mkdir()
        a, b = str(tmp_path / "a"), str(tmp_path / "b")
        assert home_directory({"HOME": a, "USERPROFILE": b}, windows=True) == b
        assert home_directory({"HOME": a, "USERPROFILE": "/none"}, windows=True) == a
        assert home_directory({"USERPROFILE": "/none"}, windows=True) == "/none"
        assert home_directory({}, windows=True) == ""


class TestMerge:
    def test_the_first_file_has_the_whole_entry(self, tmp_path: Path) -> None:
        one = write(tmp_path / "1" / "c", "clusters: [{name: c, cluster: {server: https://one}}]\ncurrent-context: ''")
        two = write(
            tmp_path / "2" / "c",
            "clusters: [{name: c, cluster: {server: https://two, tls-server-name: t}}, {name: d}]\ncurrent-context: x",
        )
        config = load(environ={"KUBECONFIG": f"{one}{os.pathsep}{two}"})
        assert config.clusters["c"].value == {"server": "https://one"}
        assert config.clusters["c"].file == one
        assert config.clusters["d"].file == two
        assert config.clusters["d"].value == {}
        assert config.current_context == "x"
        assert config.current_context_at == (two, 2)
        assert config.files == (one, two)

    def test_missing_files_are_passed_over_and_named(self, tmp_path: Path) -> None:
        good = write(tmp_path / "good", "current-context: x")
        config = load(environ={"KUBECONFIG": os.pathsep.join(["/none", "", good, "/none2"])})
        assert (config.current_context, config.files, config.missing) == ("x", (good,), ("/none", "/none2"))

    def test_all_missing_is_an_empty_configuration(self) -> None:
        config = load(environ={"KUBECONFIG": "/bogus1:/bogus2:/bogus3"})
        assert config.empty
        assert config.missing == ("/bogus1", "/bogus2", "/bogus3")

    def test_an_explicit_file_that_is_missing(self) -> None:
        with pytest.raises(ConfigError) as caught:
            load("/none/x", environ={})
        assert str(caught.value) == "stat /none/x: no such file or directory"

    def test_one_broken_file_fails_the_list(self, tmp_path: Path) -> None:
        good, bad = write(tmp_path / "good", "kind: Config"), write(tmp_path / "bad", "a: [")
        with pytest.raises(ConfigError, match="error loading config file"):
            load(environ={"KUBECONFIG": f"{good}:{bad}"})

    def test_every_broken_file_is_named(self, tmp_path: Path) -> None:
        write(tmp_path / "bad", "a: [")
        with pytest.raises(ConfigError) as caught:
            load(environ={"KUBECONFIG": f"{tmp_path}:{tmp_path / 'bad'}"})
        assert len(caught.value.problems) == 2
        assert caught.value.problems[0] == (f'error loading config file "{tmp_path}": read {tmp_path}: is a directory')

    def test_default_file(self, tmp_path: Path) -> None:
        write(tmp_path / ".kube" / "config", "current-context: x")
        assert load(environ={"HOME": str(tmp_path)}).current_context == "x"
        assert load(environ={}, home=str(tmp_path)).current_context == "x"


class TestTolerance:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \n",
            "# x\n",
            "---\n",
            "null",
            "{}",
            "clusters: null\nusers: null\ncontexts: null",
            "clusters: []",
            b"\xef\xbb\xbf",
        ],
    )
    def test_nothing_in_it(self, tmp_path: Path, text: str | bytes) -> None:
        assert load_text(tmp_path, text).empty

    def test_unknown_and_misspelt_fields_are_ignored(self, tmp_path: Path) -> None:
        config = load_text(tmp_path, "Clusters: 1\nclusters: [{name: c, cluster: {Server: 1, x: {y: z}}}]")
        assert list(config.clusters) == ["c"]

    def test_null_elements_and_bodies(self, tmp_path: Path) -> None:
        config = load_text(tmp_path, "clusters: [null, {name: b, cluster: null}]\nusers: [{name: u}]")
        assert {n: e.value for n, e in config.clusters.items()} == {"": {}, "b": {}}
        assert config.users["u"].value == {}

    def test_an_entry_with_an_empty_name_harms_nobody(self, tmp_path: Path) -> None:
        config = load_text(tmp_path, "users: [{name: '', user: {token: t}}, {name: u, user: {token: v}}]")
        assert config.users["u"].value == {"token": "v"}

    def test_later_documents_are_ignored(self, tmp_path: Path) -> None:
        assert load_text(tmp_path, "current-context: a\n---\ncurrent-context: [").current_context == "a"

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_byte_order_marks(self, tmp_path: Path, encoding: str) -> None:
        for text in ("current-context: é\n", '{"current-context": "é"}'):
            assert load_text(tmp_path, text.encode(encoding)).current_context == "é"

    @pytest.mark.parametrize(
        "data", ["|\n      YWJj\n      ZGVm\n", ">\n      YWJj\n      ZGVm\n", '"YWJj ZGVm"', "YWJjZGVm"]
    )
    def test_white_space_in_base64(self, tmp_path: Path, data: str) -> None:
        text = f"clusters:\n- name: c\n  cluster:\n    certificate-authority-data: {data}"
        assert load_text(tmp_path, text).clusters["c"].value["certificate-authority-data"]


class TestPaths:
    def test_relative_to_the_file_of_the_entry(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        text = "clusters: [{name: %s, cluster: {certificate-authority: certs/../ca.pem}}]"
        write(tmp_path / "1" / "c", text % "one")
        write(tmp_path / "2" / "c", text % "two")
        monkeypatch.chdir(tmp_path)
        config = load(environ={"KUBECONFIG": "1/c:2/c"})
        assert config.clusters["one"].path("certificate-authority") == str(tmp_path / "1" / "ca.pem")
        assert config.clusters["two"].path("certificate-authority") == str(tmp_path / "2" / "ca.pem")

    def test_absolute_tilde_and_empty(self, tmp_path: Path) -> None:
        config = load_text(
            tmp_path, "users: [{name: u, user: {client-key: /k, client-certificate: ~/c, tokenFile: ''}}]"
        )
        user = config.users["u"]
        assert user.path("client-key") == "/k"
        assert user.path("client-certificate") == str(tmp_path / "~" / "c")
        assert user.path("tokenFile") == ""

    def test_a_symbolic_link_counts_where_it_stands(self, tmp_path: Path) -> None:
        real = write(tmp_path / "real" / "c", "users: [{name: u, user: {tokenFile: t}}]")
        (tmp_path / "link").symlink_to(real)
        assert load(str(tmp_path / "link"), environ={}).users["u"].path("tokenFile") == str(tmp_path / "t")


class TestLines:
    TEXT = "users:\n- name: u\n  user:\n    token: t\n- user: {username: x}\n  name: v\n"

    def test_of_yaml(self, tmp_path: Path) -> None:
        config = load_text(tmp_path, self.TEXT)
        assert config.users["u"].line("token") == 4
        assert config.users["u"].place() == f"{tmp_path / 'config'}:2"
        assert config.users["v"].line("username") == 5
        assert config.users["v"].shown("username") == "users[v].user.username"

    def test_of_json(self, tmp_path: Path) -> None:
        text = json.dumps(yaml.safe_load(self.TEXT), indent=1)
        line = 1 + next(i for i, row in enumerate(text.splitlines()) if '"token"' in row)
        assert load_text(tmp_path, text).users["u"].line("token") == line


GO_TYPES = [
    (
        "current-context: 12",
        "number into Go struct field Config.current-context of type string",
        1,
        "current-context",
    ),
    ("clusters: {}", "object into Go struct field Config.clusters of type []v1.NamedCluster", 1, "clusters"),
    (
        "clusters: [foo]",
        "string into Go struct field Config.clusters of type v1.NamedCluster",
        1,
        "clusters[0]",
    ),
    (
        "clusters:\n- name: y",
        "bool into Go struct field NamedCluster.clusters.name of type string",
        2,
        "name",
    ),
    (
        "clusters:\n- name: a\n  cluster: [1]",
        "array into Go struct field NamedCluster.clusters.cluster of type v1.Cluster",
        3,
        "clusters[a].cluster",
    ),
    (
        "clusters:\n- name: a\n  cluster:\n    insecure-skip-tls-verify: 'x'",
        "string into Go struct field Cluster.clusters.cluster.insecure-skip-tls-verify of type bool",
        4,
        "clusters[a].cluster.insecure-skip-tls-verify",
    ),
    (
        "clusters: [{name: a, cluster: {certificate-authority-data: 123}}]",
        "number into Go struct field Cluster.clusters.cluster.certificate-authority-data of type []uint8",
        1,
        "clusters[a].cluster.certificate-authority-data",
    ),
    (
        "users: [{name: a, user: {token: 123456}}]",
        "number into Go struct field AuthInfo.users.user.token of type string",
        1,
        "users[a].user.token: must be a string, not a number: put it in quotes",
    ),
    (
        "users: [{name: a, user: {password: 0123}}]",
        "number into Go struct field AuthInfo.users.user.password of type string",
        1,
        "users[a].user.password",
    ),
    (
        "users: [{name: a, user: {as-groups: [a, 1]}}]",
        "number into Go struct field AuthInfo.users.user.as-groups of type string",
        1,
        "users[a].user.as-groups[1]",
    ),
    (
        "users: [{name: a, user: {as-groups: a}}]",
        "string into Go struct field AuthInfo.users.user.as-groups of type []string",
        1,
        "users[a].user.as-groups",
    ),
    (
        "users: [{name: a, user: {as-user-extra: {a: [1]}}}]",
        "number into Go struct field AuthInfo.users.user.as-user-extra of type string",
        1,
        "users[a].user.as-user-extra.a[0]",
    ),
    (
        "users: [{name: a, user: {as-user-extra: [1]}}]",
        "array into Go struct field AuthInfo.users.user.as-user-extra of type map[string][]string",
        1,
        "users[a].user.as-user-extra",
    ),
    (
        "users: [{name: a, user: {exec: {env: [{name: a, value: 691473423738}]}}}]",
        "number into Go struct field ExecEnvVar.users.user.exec.env.value of type string",
        1,
        "users[a].user.exec.env[a].value",
    ),
    (
        "users: [{name: a, user: {auth-provider: {name: a, config: {a: 1}}}}]",
        "number into Go struct field AuthProviderConfig.users.user.auth-provider.config of type string",
        1,
        "users[a].user.auth-provider.config.a",
    ),
    (
        "preferences: 1",
        "number into Go struct field Config.preferences of type v1.Preferences",
        1,
        "preferences",
    ),
    (
        "extensions: 1",
        "number into Go struct field Config.extensions of type []v1.NamedExtension",
        1,
        "extensions",
    ),
]


class TestRefused:
    @pytest.mark.parametrize(("text", "go", "line", "field"), GO_TYPES, ids=[row[3][:40] for row in GO_TYPES])
    def test_wrong_types(self, tmp_path: Path, text: str, go: str, line: int, field: str) -> None:
        error = refused(tmp_path, text)
        assert str(error).endswith(f": json: cannot unmarshal {go}")
        (advice,) = error.detail
        assert advice.startswith(f"{tmp_path / 'config'}:{line}: ")
        assert field in advice

    def test_wrong_types_in_json(self, tmp_path: Path) -> None:
        text = json.dumps({"users": [{"name": "a", "user": {"password": "s3cret", "token": 7}}]}, indent=1)
        (advice,) = refused(tmp_path, text).detail
        assert advice.startswith(f"{tmp_path / 'config'}:7: users[a].user.token: must be a string")

    @pytest.mark.parametrize(
        ("text", "cause"),
        [
            ("[1]", "couldn't get version/kind; json parse error: json: cannot unmarshal array into"),
            (
                "bogus value",
                "couldn't get version/kind; json parse error: json: cannot unmarshal string into",
            ),
            ("12", "couldn't get version/kind; json parse error: json: cannot unmarshal number into"),
            ("apiVersion: 1", "cannot unmarshal number into Go struct field .apiVersion of type string"),
            ("apiVersion: v1\nkind: Pod", 'no kind "Pod" is registered for version "v1"'),
            ("kind: Pod", 'no kind "Pod" is registered for version "v1"'),
            ("apiVersion: v2", 'no kind "Config" is registered for version "v2"'),
        ],
    )
    def test_other_documents(self, tmp_path: Path, text: str, cause: str) -> None:
        assert cause in str(refused(tmp_path, text))

    @pytest.mark.parametrize(
        ("section", "go"),
        [
            ("clusters", "*[]NamedCluster into *map[string]*api.Cluster"),
            ("users", "*[]NamedAuthInfo into *map[string]*api.AuthInfo"),
            ("contexts", "*[]NamedContext into *map[string]*api.Context"),
            ("extensions", "*[]NamedExtension into *map[string]runtime.Object"),
        ],
    )
    def test_duplicate_names(self, tmp_path: Path, section: str, go: str) -> None:
        error = refused(tmp_path, f"{section}:\n- {{name: c, extension: {{}}}}\n- name: d\n- name: c\n")
        assert str(error).endswith(f'error converting {go}: duplicate name "c" in list')
        (advice,) = error.detail
        assert f"config:4: {section}[c]" in advice
        assert "config:2" in advice

    def test_an_extension_without_a_value_is_no_duplicate(self, tmp_path: Path) -> None:
        assert load_text(tmp_path, "extensions: [null, null, {name: a}, {name: a, extension: {}}]").empty

    def test_duplicates_show_no_secrets(self, tmp_path: Path) -> None:
        refused(tmp_path, "users: [{name: a, user: {token: s3cret}}, {name: a, user: {token: s3cret}}]")

    @pytest.mark.parametrize(
        ("data", "byte"), [("<base64>", 0), ("YWJj*YWJj", 4), ("YWJjY", 5), ("YW=j", 2), ("AAAA=", 4), ("AAA==", 3)]
    )
    def test_bad_base64(self, tmp_path: Path, data: str, byte: int) -> None:
        text = f"users:\n- name: u\n  user:\n    token: s3cret\n    client-key-data: '{data}'\n"
        error = refused(tmp_path, text)
        assert f"illegal base64 data at input byte {byte}" in str(error)
        (advice,) = error.detail
        assert "config:5: users[u].user.client-key-data" in advice

    @pytest.mark.parametrize(
        ("text", "line", "column"),
        [
            ("users:\n\t- token: s3cret\n", 2, 1),
            ("token: s3cret\n  other: s3cret\n", 2, 8),
            ("certificate-authority-data: s3cret\ns3crets3cret\nx: y\n", 3, 1),
            ("token: *s3cret", 1, 8),
            ("token: !s3cret!x y", 1, 8),
            ("token: !!int s3cret", 1, 8),
            ("token: 's3cret\n", 2, 1),
        ],
        ids=["tab", "indentation", "unindented-base64", "alias", "tag-handle", "wrong-tag", "open-quote"],
    )
    def test_syntax_errors_name_the_place(self, tmp_path: Path, text: str, line: int, column: int) -> None:
        assert f": yaml: {tmp_path / 'config'}:{line}:{column}: " in str(refused(tmp_path, text))

    @pytest.mark.parametrize(
        "data",
        [
            b"\x7fELF\x02\x01\x01\x00\x00",
            b'current-context: "a\x00b"',
            b'{"current-context": "a\x00b"}',
            b"token: s3cret\nx: a\xffb\n",
            b"\xff\xfea",
            b"\x00" * 1000,
            b"[" * 100_000,
        ],
        ids=["elf", "nul", "nul-in-json", "not-utf-8", "half-utf-16", "only-nul", "deep"],
    )
    def test_binary_and_hostile_files(self, tmp_path: Path, data: bytes) -> None:
        refused(tmp_path, data)

    def test_not_utf8_names_the_line(self, tmp_path: Path) -> None:
        assert str(refused(tmp_path, b"a: b\nx: a\xffb\n")).endswith("config:2: not UTF-8 text")

    def test_a_huge_file(self, tmp_path: Path) -> None:
        with (tmp_path / "config").open("wb") as stream:
            stream.truncate(50 << 20)
        with pytest.raises(ConfigError, match="larger than 16 MiB"):
            load(str(tmp_path / "config"), environ={})

    def test_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=f"read {tmp_path}: is a directory"):
            load(str(tmp_path), environ={})

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_a_pipe_that_nobody_writes_to(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        os.mkfifo(tmp_path / "pipe")
        monkeypatch.setattr("rawkube.kubeconfig.load.read", partial(files.read, wait=0.05))
        with pytest.raises(ConfigError, match="i/o timeout"):
            load(str(tmp_path / "pipe"), environ={})

    def test_control_characters_in_a_file_name_stay_on_the_line(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            load(write(tmp_path / "a\nb", "a: ["), environ={})
        assert str(caught.value).isprintable()


def big(entries: int) -> str:
    data = "QUJD" * 230
    lines = ["current-context: ctx-7", "clusters:"]
    for i in range(entries):
        lines += [
            "- cluster:",
            f"    certificate-authority-data: {data}",
            f"    server: https://h{i}",
            f"  name: c{i}",
        ]
    lines.append("contexts:")
    for i in range(entries):
        lines += [
            "- context:",
            f"    cluster: c{i}",
            f"    user: u{i}",
            f"    namespace: n{i}",
            f"  name: ctx-{i}",
        ]
    lines.append("users:")
    for i in range(entries):
        lines += [f"- name: u{i}", "  user:", f"    token: {data[:400]}"]
    return "\n".join(lines)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="measured against libyaml")
def test_a_large_file_loads_about_as_fast_as_yaml_reads_it(tmp_path: Path) -> None:
    name = write(tmp_path / "config", big(2000 if EVERY_WAY else 250))
    data = (tmp_path / "config").read_bytes()
    assert len(data) > (2_900_000 if EVERY_WAY else 360_000)

    def seconds(repeat: int, ours: bool) -> float:
        best = float("inf")
        for _ in range(repeat):
            start = time.process_time()
            if ours:
                read_file(name)
            else:
                yaml.load(data, Loader=yaml.CSafeLoader)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(2, ours=True) < 1.5 * seconds(2, ours=False)
