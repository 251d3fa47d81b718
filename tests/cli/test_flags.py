"""Flags as kubectl reads them: the grammar, the values, the errors; and the real kubectl beside them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rawkube.cli.flags import Flag, Parsed, find_flag, parse
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line
from tests.support.examples import EVERY_WAY, examples
from tests.support.rows import looped

FLAGS = (
    Flag("filename", "f", "list", ()),
    Flag("kustomize", "k"),
    Flag("recursive", "R", "bool", False),
    Flag("revision", "", "int", 0),
    Flag("selector", "l"),
    Flag("timeout", "", "duration", 0.0),
    Flag("watch", "w", "bool", True),
    Flag("as-group", "", "array", ()),
    Flag("disable-compression", "", "bool", False),
    Flag("namespace", "n"),
    Flag("request-timeout", "", "string", "0"),
    Flag("v", "v", "level", 0),
    Flag("watch-timeout", "", "seconds", None),
)
COMMAND = "kubectl rollout status"
SEE = f"See '{COMMAND} --help' for usage."


def read(*words: str) -> Parsed:
    return parse(FLAGS, words, command=COMMAND)


def error_of(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(*words)
    text, see = str(caught.value).split("\n")
    assert see == SEE
    return text


@looped(
    ("words", "changed"),
    [
        (["-n", "foo"], {"namespace": "foo"}),
        (["-nfoo"], {"namespace": "foo"}),
        (["-n=foo"], {"namespace": "foo"}),
        (["--namespace", "foo"], {"namespace": "foo"}),
        (["--namespace=foo"], {"namespace": "foo"}),
        (["--namespace="], {"namespace": ""}),
        (["--namespace", ""], {"namespace": ""}),
        (["-n", ""], {"namespace": ""}),
        (["--namespace=a=b"], {"namespace": "a=b"}),
        (["-n==b"], {"namespace": "=b"}),
        (["-n="], {"namespace": "="}),
        (["-n", "--"], {"namespace": "--"}),
        (["-n", "-w"], {"namespace": "-w"}),
        (["-n", "a", "-nb"], {"namespace": "b"}),
        (["-w"], {"watch": True}),
        (["-w=false"], {"watch": False}),
        (["--watch=0"], {"watch": False}),
        (["--watch=false", "--watch"], {"watch": True}),
        (["-wR"], {"watch": True, "recursive": True}),
        (["-wRnfoo"], {"watch": True, "recursive": True, "namespace": "foo"}),
        (["-wn", "foo"], {"watch": True, "namespace": "foo"}),
        (["-Rw=false"], {"recursive": True, "watch": False}),
        (["--revision=-1"], {"revision": -1}),
        (["--revision", "-1"], {"revision": -1}),
        (["-v-1"], {"v": -1}),
        (["-v=010"], {"v": 10}),
        (["--timeout=1m30s"], {"timeout": 90.0}),
        (["--timeout=-5s"], {"timeout": -5.0}),
        (["--request_timeout=5s"], {"request-timeout": "5s"}),
        (["--disable_compression"], {"disable-compression": True}),
        (["--as-group=a,b", "--as-group", "c"], {"as-group": ("a,b", "c")}),
        (["--as-group="], {"as-group": ("",)}),
        (["-fa,b", "--filename", "c"], {"filename": ("a", "b", "c")}),
        (["--filename="], {"filename": ()}),
        (["--watch-timeout=200"], {"watch-timeout": 200}),
        (["--watch-timeout=3m20s"], {"watch-timeout": 200}),
        (["--watch-timeout=1.5s"], {"watch-timeout": 2}),
        (["-h"], {"help": True}),
        (["--help"], {"help": True}),
        (["--help=false"], {"help": False}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_flag_is_read(words: list[str], changed: dict[str, Any]) -> None:
    parsed = read(*words)
    defaults = {flag.name: flag.default for flag in FLAGS} | {"help": False}
    assert parsed.values == defaults | changed
    assert parsed.given == changed.keys()
    assert (parsed.args, parsed.dash) == ([], -1)


@looped(
    ("words", "args", "dash"),
    [
        ([], [], -1),
        (["deploy", "web"], ["deploy", "web"], -1),
        (["deploy", "-n", "x", "web", "-w=false"], ["deploy", "web"], -1),
        (["-w", "false"], ["false"], -1),
        (["--watch", "false", "deploy/web"], ["false", "deploy/web"], -1),
        (["-"], ["-"], -1),
        ([""], [""], -1),
        (["--"], [], 0),
        (["pod", "--", "ls", "-l", "--", "-h"], ["pod", "ls", "-l", "--", "-h"], 1),
        (["--", "--unknown"], ["--unknown"], 0),
        (["-n", "x", "a", "b", "--"], ["a", "b"], 2),
    ],
)
def test_positionals_and_the_double_dash(words: list[str], args: list[str], dash: int) -> None:
    parsed = read(*words)
    assert (parsed.args, parsed.dash) == (args, dash)
    assert parsed.values["help"] is False


@looped(
    ("words", "text"),
    [
        (["--foo"], "unknown flag: --foo"),
        (["--foo=1"], "unknown flag: --foo"),
        (["--wat"], "unknown flag: --wat"),
        (["--no-watch"], "unknown flag: --no-watch"),
        (["--foo_bar"], "unknown flag: --foo_bar"),
        (["-A"], "unknown shorthand flag: 'A' in -A"),
        (["-wA"], "unknown shorthand flag: 'A' in -A"),
        (["-Aw"], "unknown shorthand flag: 'A' in -Aw"),
        (["-w="], "unknown shorthand flag: '=' in -="),
        (["-w-"], "unknown shorthand flag: '-' in --"),
        (["-=x"], "unknown shorthand flag: '=' in -=x"),
        (["-'"], "unknown shorthand flag: '\\'' in -'"),
        (['-"'], "unknown shorthand flag: '\"' in -\""),
        (["-\\"], "unknown shorthand flag: '\\\\' in -\\"),
        (["-é"], "unknown shorthand flag: 'Ã' in -é"),
        (["-\a"], "unknown shorthand flag: '\\a' in -\\a"),
        (["-\udc85"], "unknown shorthand flag: 'Â' in -\\x85"),
        (["-\udcff"], "unknown shorthand flag: 'Ã' in -\\xff"),
        (["--=x"], "bad flag syntax: --=x"),
        (["---x"], "bad flag syntax: ---x"),
        (["--timeout"], "flag needs an argument: --timeout"),
        (["--request_timeout"], "flag needs an argument: --request_timeout"),
        (["-n"], "flag needs an argument: 'n' in -n"),
        (["-wn"], "flag needs an argument: 'n' in -n"),
        (
            ["--watch=maybe"],
            'invalid argument "maybe" for "-w, --watch" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["--watch="],
            'invalid argument "" for "-w, --watch" flag: strconv.ParseBool: parsing "": invalid syntax',
        ),
        (
            ["-h=x"],
            'invalid argument "x" for "-h, --help" flag: strconv.ParseBool: parsing "x": invalid syntax',
        ),
        (["--timeout=5"], 'invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"'),
        (
            ['--revision=\udcff\aé"\\'],
            'invalid argument "\\xff\\aé\\"\\\\" for "--revision" flag: '
            'strconv.ParseInt: parsing "\\xff\\aé\\"\\\\": invalid syntax',
        ),
        (
            ["-v=2147483648"],
            'invalid argument "2147483648" for "-v, --v" flag: '
            'strconv.ParseInt: parsing "2147483648": value out of range',
        ),
        (
            ["-v=1_0"],
            'invalid argument "1_0" for "-v, --v" flag: strconv.ParseInt: parsing "1_0": invalid syntax',
        ),
        (["--watch-timeout=0"], 'invalid argument "0" for "--watch-timeout" flag: must be more than 0'),
        (["--foo", "-h"], "unknown flag: --foo"),
        (["-h", "--foo"], "unknown flag: --foo"),
        (["--foo\n\x1b[31m"], "unknown flag: --foo\\n\\x1b[31m"),
    ],
    ids=lambda value: ascii(" ".join(value)) if isinstance(value, list) else "",
)
def test_what_cannot_be_read_is_refused_in_the_words_of_kubectl(words: list[str], text: str) -> None:
    assert error_of(*words) == text


@looped(
    ("text", "value"),
    [
        ("0", 0),
        ("+5", 5),
        ("-5", -5),
        ("0x10", 16),
        ("0X1f", 31),
        ("0b11", 3),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("0x_1", 1),
        ("0_7", 7),
        ("9223372036854775807", (1 << 63) - 1),
        ("-9223372036854775808", -(1 << 63)),
    ],
)
def test_an_integer_is_read_as_go_reads_it(text: str, value: int) -> None:
    assert read(f"--revision={text}").values["revision"] == value


@looped(
    ("text", "why"),
    [
        *((text, "invalid syntax") for text in ("", "+", "+-1", "x", "0x", "0b2", "08", "1.5", " 1", "1 ", "٣")),
        *((text, "invalid syntax") for text in ("_7", "7_", "1__0", "0_x1", "_", "0x_")),
        *((text, "invalid syntax") for text in ("18446744073709551615x", "9223372036854775808x")),
        *((text, "value out of range") for text in ("9223372036854775808", "-9223372036854775809")),
        *((text, "value out of range") for text in ("99999999999999999999x", "9" * 100)),
    ],
)
def test_a_bad_integer_is_refused_in_the_words_of_go(text: str, why: str) -> None:
    assert error_of(f"--revision={text}") == (
        f'invalid argument "{text}" for "--revision" flag: strconv.ParseInt: parsing "{text}": {why}'
    )


@looped("word", ["1", "t", "T", "TRUE", "true", "True"])
def test_the_words_for_true(word: str) -> None:
    assert read(f"--recursive={word}").values["recursive"] is True


@looped("word", ["0", "f", "F", "FALSE", "false", "False"])
def test_the_words_for_false(word: str) -> None:
    assert read(f"-w={word}").values["watch"] is False


@looped(
    ("text", "fields"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("a,", ("a", "")),
        (",", ("", "")),
        ('"a,b",c', ("a,b", "c")),
        ('"a""b"', ('a"b',)),
        ('"a",', ("a", "")),
        ('"a\nb"', ("a\nb",)),
        ('"a\r\nb"', ("a\nb",)),
        ("a\nb", ("a",)),
        ("a\r\nb", ("a",)),
        ("a\rb", ("a\rb",)),
        ("a\r", ("a",)),
        ("\n\na", ("a",)),
        ("\udcff,é", ("\udcff", "é")),
    ],
)
def test_a_list_is_split_as_csv(text: str, fields: tuple[str, ...]) -> None:
    assert read(f"--filename={text}").values["filename"] == fields


@looped(
    ("text", "why"),
    [
        ("\n", "EOF"),
        ('a"b', 'parse error on line 1, column 2: bare " in non-quoted-field'),
        (' "a"', 'parse error on line 1, column 2: bare " in non-quoted-field'),
        ('é"', 'parse error on line 1, column 3: bare " in non-quoted-field'),
        ('\n\nx"', 'parse error on line 3, column 2: bare " in non-quoted-field'),
        ('"a"b', 'parse error on line 1, column 3: extraneous or missing " in quoted-field'),
        ('"a', 'parse error on line 1, column 3: extraneous or missing " in quoted-field'),
        ('"é', 'parse error on line 1, column 4: extraneous or missing " in quoted-field'),
        ('é,"x"y', 'parse error on line 1, column 6: extraneous or missing " in quoted-field'),
        (
            '"a\n"b',
            'record on line 1; parse error on line 2, column 1: extraneous or missing " in quoted-field',
        ),
    ],
)
def test_a_bad_list_is_refused_in_the_words_of_go(text: str, why: str) -> None:
    assert error_of(f"--filename={text}") == f'invalid argument {go_quote(text)} for "-f, --filename" flag: {why}'


@looped(
    ("text", "quoted"),
    [
        ("", '""'),
        ("a b", '"a b"'),
        ("é\u4e16\U0001f600", '"é\u4e16\U0001f600"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("\u0085\u200b\u2028\ufeff", '"\\u0085\\u200b\\u2028\\ufeff"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ufffd\udcff\ud800", '"\ufffd\\xff\\ufffd"'),
        ("'\"\\", '"\'\\"\\\\"'),
    ],
)
def test_text_is_quoted_as_go_does(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def test_a_flag_is_found_by_its_word() -> None:
    assert find_flag(FLAGS, "--watch_timeout") == FLAGS[-1]
    assert find_flag(FLAGS, "-w") == FLAGS[6]
    assert find_flag(FLAGS, "--w") is None
    assert find_flag(FLAGS, "--") is None
    assert find_flag(FLAGS, "-") is None


GROUPS = st.sampled_from(
    [
        ["-w=false"],
        ["-w"],
        ["--watch"],
        ["-Rw"],
        ["-n", "x"],
        ["-nx"],
        ["-wn", "--"],
        ["--namespace", "-h"],
        ["--revision", "-1"],
        ["--as-group", "a,b"],
        ["--filename=a,b"],
        ["--timeout=5s"],
    ]
)
POSITIONALS = st.text(alphabet="ab-/=é ", max_size=4).filter(lambda word: word[:1] != "-") | st.just("-")


@given(st.lists(GROUPS, max_size=5), st.lists(POSITIONALS, max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=examples(150), deadline=None)
def test_flags_may_stand_anywhere_between_positionals(
    groups: list[list[str]], positionals: list[str], order: random.Random
) -> None:
    first = read(*(word for group in groups for word in group), *positionals)
    pieces = [*groups]
    for index, at in enumerate(sorted(order.randint(0, len(groups)) for _ in positionals)):
        pieces.insert(at + index, [positionals[index]])
    assert read(*(word for piece in pieces for word in piece)) == first
    assert first.args == positionals


@given(st.lists(st.text(alphabet="-=wnfv_1x,\"'\\\n\x1b é\udcff\u200b", max_size=6), max_size=4))
@settings(max_examples=examples(200), deadline=None)
def test_any_words_are_read_or_refused_in_two_printable_lines(words: list[str]) -> None:
    try:
        read(*words)
    except UsageError as error:
        text, see = str(error).split("\n")
        assert text.isprintable()
        assert see == SEE


@given(st.lists(st.integers(0, 0x10FFFF).map(chr)).map("".join))
@settings(max_examples=examples(100), deadline=None)
def test_escaped_text_is_printable(text: str) -> None:
    assert one_line(text).isprintable()


# The real kubectl

VALUES = ["", "1", "true", "False", "x", "0x1_0", "5s", "-1", "1.5h", "_", "é", '"', "a,b", "=", "-", "--"]
VALUES += [
    "5 s",
    "1h2",
    "0b2",
    "\\",
    "'",
    "9" * 20,
    "9" * 20 + "x",
    "\u200b",
    "1µs",
    "9999999h",
    '"a"b',
    "\a",
    "\udcff",
    "5\x7f",
]
NAMES = [
    "revision",
    "timeout",
    "watch",
    "recursive",
    "filename",
    "v",
    "foo",
    "request_timeout",
    "wat",
    "",
    "-",
]
LETTERS = "wRnlkfvxé=-'"


def odd_word(rng: random.Random) -> str:
    name, letters = rng.choice(NAMES), "".join(rng.choices(LETTERS, k=rng.randint(1, 3)))
    value = rng.choice(VALUES)
    return rng.choice(
        [
            f"--{name}",
            f"--{name}={value}",
            f"-{letters}",
            f"-{letters[0]}={value}",
            f"-{letters}{value}",
            f"--{rng.choice(NAMES[:5])}={value}",
            value,
        ]
    )


def odd_lines(seed: int, count: int) -> list[list[str]]:
    rng = random.Random(seed)
    return [[odd_word(rng) for _ in range(rng.randint(1, 5))] for _ in range(count)]


def kubectl_says(words: list[str], home: Path) -> str:
    program = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("no kubectl")
    done = subprocess.run(
        [program, "rollout", "status", "--server=http://127.0.0.1:1", *words, "--revision=the-end"],
        env={"KUBECONFIG": "/dev/null", "HOME": str(home), "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    # Where kubectl repeats a word as it is, it sends the bytes themselves to the terminal.
    return "\n".join(map(one_line, done.stderr.decode("utf-8", "surrogateescape").split("\n")))


@pytest.mark.kubectl
def test_the_errors_are_those_of_the_real_kubectl(tmp_path: Path) -> None:
    flags = [flag for flag in FLAGS if flag.name != "watch-timeout"]
    lines = odd_lines(seed=20, count=50 if EVERY_WAY else 8)
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda line: kubectl_says(line, tmp_path), lines))
    differences = []
    for line, theirs in zip(lines, texts, strict=True):
        try:
            parse(flags, [*line, "--revision=the-end"], command=COMMAND)
        except UsageError as error:
            same = theirs == f"error: {error}\n"
        else:
            same = SEE not in theirs  # all of it could be read, so what follows is of other things
        if not same:
            differences.append((line, theirs))
    assert not differences
    assert sum(SEE in text for text in texts) > 0.7 * len(lines)


# A flag whose value may be left out (pflag's NoOptDefVal), as kubectl's --dry-run.

DRY_RUN = (Flag("dry-run", "d", default="none", bare="unchanged"), Flag("watch", "w", "bool", False))


@looped(
    ("words", "value", "args"),
    [
        ([], "none", []),
        (["--dry-run"], "unchanged", []),
        (["--dry-run", "server"], "unchanged", ["server"]),
        (["--dry-run=server"], "server", []),
        (["--dry-run="], "", []),
        (["-d"], "unchanged", []),
        (["-d", "x"], "unchanged", ["x"]),
        (["-d=client"], "client", []),
        (["-dw"], "unchanged", []),
        (["-wd"], "unchanged", []),
    ],
)
def test_a_value_may_be_left_out(words: list[str], value: str, args: list[str]) -> None:
    parsed = parse(DRY_RUN, words, command=COMMAND)
    assert (parsed.values["dry-run"], parsed.args) == (value, args)


def test_an_optional_value_is_never_the_next_letters() -> None:
    assert parse(DRY_RUN, ["-dw"], command=COMMAND).values["watch"]
    with pytest.raises(UsageError, match="unknown shorthand flag: 's' in -server"):
        parse(DRY_RUN, ["-dserver"], command=COMMAND)
