"""Which command a command line names; the tables; the help texts."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rawkube.cli.command import Command
from rawkube.cli.commands import (
    ROOT,
    all_commands,
    children,
    find_command,
    find_topic,
    read_command,
)
from rawkube.cli.flags import Flag
from rawkube.cli.help import help_text, options_text
from rawkube.cli.tables.global_flags import GLOBAL_FLAGS
from rawkube.errors import UsageError
from tests.support.rows import looped

ALL = (ROOT, *all_commands())


@looped(
    ("line", "words", "rest"),
    [
        ("", "", ""),
        ("rollout", "rollout", ""),
        ("rollout status deploy/web", "rollout status", "deploy/web"),
        ("-n demo rollout status deploy/web", "rollout status", "-n demo deploy/web"),
        (
            "--namespace=demo rollout -w=false status deploy/web",
            "rollout status",
            "--namespace=demo -w=false deploy/web",
        ),
        ("rollout -n demo status deploy/web", "rollout status", "-n demo deploy/web"),
        ("rollout -l a=b status deploy", "rollout status", "-l a=b deploy"),
        ("rollout --timeout 3s status deploy", "rollout status", "--timeout 3s deploy"),
        ("rollout -w false status", "rollout status", "-w false"),
        ("rollout -w status deploy/web", "rollout", "-w status deploy/web"),
        ("--disable-compression rollout status x", "rollout status", "--disable-compression x"),
        ("--disable_compression rollout status x", "rollout status", "--disable_compression x"),
        ("-n rollout rollout status status", "rollout status", "-n rollout status"),
        ("-n -x rollout", "rollout", "-n -x"),
        ("-h rollout status", "rollout status", "-h"),
        ("rollout --help status", "rollout status", "--help"),
        ("rollout -- status", "rollout", "-- status"),
        ("-- rollout", "", "-- rollout"),
        ("-- x rollout", "", "-- x rollout"),
        ("- rollout", "rollout", "-"),
        ("--context x", "", "--context x"),
        ("replay f.jsonl -- rollout status", "replay", "f.jsonl -- rollout status"),
        ("rollout rollout", "rollout", "rollout"),
        ("--foo rollout", "", "--foo rollout"),
    ],
)
def test_a_command_is_found_among_flags(line: str, words: str, rest: str) -> None:
    command, left = find_command(line.split())
    assert (" ".join(command.words), left) == (words, rest.split())


def test_an_empty_word_is_no_command() -> None:
    assert find_command([""]) == (ROOT, [""])
    assert find_command(["", "rollout", "status"])[0].words == ("rollout", "status")


@looped(
    ("argv", "text"),
    [
        (["foo"], 'unknown command "foo" for "rawkube"'),
        (["foo", "-h"], 'unknown command "foo" for "rawkube"'),
        (["describe", "pods"], 'unknown command "describe" for "rawkube"'),
        (["rollou"], 'unknown command "rollou" for "rawkube"\n\nDid you mean this?\n\trollout\n'),
        (["VERSION"], 'unknown command "VERSION" for "rawkube"\n\nDid you mean this?\n\tversion\n'),
        (["v"], 'unknown command "v" for "rawkube"\n\nDid you mean this?\n\tcp\n\tversion\n\tws\n'),
        (["re"], 'unknown command "re" for "rawkube"\n\nDid you mean this?\n\tcp\n\tget\n\traw\n\treplay\n\tws\n'),
        (["status"], 'unknown command "status" for "rawkube"'),
        (["foo\a\udcff"], 'unknown command "foo\\a\\xff" for "rawkube"'),
        (["--context", "-x", "foo"], 'unknown command "foo" for "rawkube"'),
        (["rollout", "foo"], "unknown command \"foo\"\nSee 'rawkube rollout -h' for help and examples"),
        (
            ["rollout", "foo", "bar"],
            "unknown command \"foo bar\"\nSee 'rawkube rollout -h' for help and examples",
        ),
        (
            ["rollout", "--", "status"],
            "unknown command \"status\"\nSee 'rawkube rollout -h' for help and examples",
        ),
        (["rollout", ""], "unknown command \"\"\nSee 'rawkube rollout -h' for help and examples"),
        (["--foo"], "unknown flag: --foo\nSee 'rawkube --help' for usage."),
        (["--foo", "rollout", "status"], "unknown flag: --foo\nSee 'rawkube --help' for usage."),
        (
            ["-wn", "x", "rollout", "status"],
            "unknown shorthand flag: 'w' in -wn\nSee 'rawkube --help' for usage.",
        ),
        (["rollout", "--foo"], "unknown flag: --foo\nSee 'rawkube rollout --help' for usage."),
        (["-foo", "rollout"], "unknown shorthand flag: 'f' in -foo\nSee 'rawkube rollout --help' for usage."),
        (["rollout", "-n"], "flag needs an argument: 'n' in -n\nSee 'rawkube rollout --help' for usage."),
        (
            ["rollout", "status", "-Z"],
            "unknown shorthand flag: 'Z' in -Z\nSee 'rawkube rollout status --help' for usage.",
        ),
        (["version", "foo", "bar"], "extra arguments: [foo bar]"),
    ],
)
def test_what_names_no_command_is_refused(argv: list[str], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_command(argv)
    assert str(caught.value) == text


def test_a_command_line_is_read_whole() -> None:
    command, parsed = read_command(["-n", "demo", "rollout", "-w=false", "status", "deploy/web", "--watch-timeout=60"])
    assert command.path == "rawkube rollout status"
    assert parsed.args == ["deploy/web"]
    assert parsed.given == {"namespace", "watch", "watch-timeout"}
    assert (parsed.values["namespace"], parsed.values["watch"], parsed.values["watch-timeout"]) == (
        "demo",
        False,
        60,
    )


def test_the_defaults_of_rollout_status() -> None:
    values = read_command(["rollout", "status", "deploy/web"])[1].values
    shown = {flag.name: values[flag.name] for flag in find_topic(["rollout", "status"]).flags}
    files = {"filename": (), "recursive": False, "kustomize": ""}
    rest = {"revision": 0, "selector": "", "timeout": 0.0, "watch": True, "watch-timeout": None}
    own = {"all": False, "all-namespaces": False, "any": False, "parallel": False, "prefix": False, "require": ""}
    own["progress"] = False
    own |= {"explain": "auto", "fail-fast": None, "output": "", "detailed-exitcode": False, "timeout-total": 0.0}
    own |= {"any-kind": False, "condition": (), "field": ()}
    assert shown == files | rest | own
    assert values["request-timeout"] == "0"


@looped("argv", [["-h"], ["--help"], ["rollout", "foo", "-h"], ["version", "x", "--help"]])
def test_help_beats_wrong_words(argv: list[str]) -> None:
    assert read_command(argv)[1].values["help"] is True


@looped(
    ("words", "path"),
    [
        ([], "rawkube"),
        ([""], "rawkube"),
        (["rollout"], "rawkube rollout"),
        (["rollout", "status"], "rawkube rollout status"),
        (["rollout", "status", "more"], "rawkube rollout status"),
        (["rollout", "foo"], "rawkube rollout"),
    ],
)
def test_a_help_topic_is_found(words: list[str], path: str) -> None:
    assert find_topic(words).path == path


def test_an_unknown_help_topic_is_refused() -> None:
    with pytest.raises(UsageError, match='Unknown help topic "foo"'):
        find_topic(["foo"])


@looped("command", ALL, ids=lambda command: command.path)
def test_a_help_text_is_whole(command: Command) -> None:
    text = help_text(command)
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())
    assert text.isascii()
    if command.words != ("options",):
        assert text.startswith(f"Usage:\n  {command.path}")
        assert all(f"  rawkube {line}\n" in text for _, line in command.examples)
        assert all(f"--{flag.name}" in text for flag in command.flags)
        assert all(f"  {each.words[-1]} " in text for each in children(command))
        assert ("Exit codes:" in text) is not bool(children(command))


@looped("command", ALL, ids=lambda command: command.path)
def test_the_examples_are_command_lines(command: Command) -> None:
    assert command.examples
    for _, line in command.examples:
        named, parsed = read_command(shlex.split(line))
        assert named.words[: len(command.words)] == command.words
        assert children(named) == ()
        nested = parsed.args[parsed.dash :] if parsed.dash >= 0 else []
        if nested and named.words == ("replay",):
            nested = nested[1:] if nested[0] == "kubectl" else nested
            assert read_command(nested)[0].words == ("rollout", "status")


def test_the_help_of_rollout_status() -> None:
    text = help_text(find_topic(["rollout", "status"]))
    assert "  -w, --watch                     Wait until" in text
    assert "[default: 0s]" in text
    assert "[default: 180s to 230s, at random]" in text
    assert "\n  1  a rollout failed" in text


def test_a_long_name_stands_on_a_line_of_its_own() -> None:
    lines = options_text().splitlines()
    at = lines.index("      --certificate-authority FILE")
    assert lines[at + 1].lstrip().startswith("Trust")
    assert lines[at + 1].index("Trust") == lines[1].index("Act as this user")


def test_options_tells_flags_with_and_without_effect_apart() -> None:
    effective, _, ignored = options_text().partition("accepted and have no effect")
    assert "--server URL" in effective and "--server URL" not in ignored
    assert "--profile NAME" in ignored and "--profile NAME" not in effective
    assert help_text(find_topic(["options"])) == options_text()


@looped("command", ALL, ids=lambda command: command.path)
def test_no_two_flags_of_a_command_have_one_name(command: Command) -> None:
    flags = (*command.flags, *GLOBAL_FLAGS)
    names = [flag.name for flag in flags] + ["help"]
    letters = [flag.short for flag in flags if flag.short] + ["h"]
    assert len(set(names)) == len(names)
    assert len(set(letters)) == len(letters)
    assert all(flag.help or flag.ignored for flag in flags)


def test_every_command_has_its_parent() -> None:
    known = {command.words for command in ALL}
    assert all(command.words[:-1] in known for command in all_commands())
    assert len(known) == len(ALL)


# The real kubectl


def kubectl(home: Path, *words: str) -> str:
    program = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("no kubectl")
    done = subprocess.run(
        [program, *words],
        env={"KUBECONFIG": "/dev/null", "HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def as_kubectl_lists(flag: Flag) -> str:
    """`-n, --namespace=''`, as in `kubectl options`."""
    value = {"string": f"'{flag.default}'", "array": "[]", "list": "[]", "duration": "5s"}.get(flag.kind)
    short = f"-{flag.short}, " if flag.short else ""
    return f"{short}--{flag.name}={str(flag.default).lower() if value is None else value}"


@pytest.mark.kubectl
def test_every_global_flag_of_kubectl_is_known(tmp_path: Path) -> None:
    lines = [line.strip() for line in kubectl(tmp_path, "options").splitlines()]
    listed = {line.removesuffix(":") for line in lines if line.startswith("-")}
    ours = {as_kubectl_lists(flag) for flag in GLOBAL_FLAGS}
    # A place of the file system, a list that is shown without quotes, and what only rawkube has.
    assert {line for line in listed - ours if not line.startswith("--cache-dir=")} == {"--vmodule="}
    seeing = {"--trace=''", "--trace-level=''", "--record=''", "--record-secrets=false"}
    assert ours - listed == {"--cache-dir=''", "--vmodule=''", "--plugin-timeout=5s", *seeing}


@pytest.mark.kubectl
@pytest.mark.parametrize(
    "line",
    [
        "rollou",
        "VERSION",
        "rollout foo",
        "rollout foo bar",
        "-n demo rollout foo",
        "rollout -w status deploy/web",
        "rollout --watch=false",
        "rollout -- status",
        "- rollout",
        "-foo rollout",
        "--foo",
        "-n",
        "--token rollout rollout foo",
        "version foo bar",
        "help rollout --foo",
    ],
)
def test_the_errors_are_those_of_the_real_kubectl(line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_command(line.split())
    ours = "error: " + str(caught.value).removesuffix("\n").replace("rawkube", "kubectl")
    assert kubectl(tmp_path, *line.split()) == f"{ours}\n"
