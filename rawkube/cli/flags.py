"""Pure: flags as kubectl reads them (the Go libraries pflag and cobra), with their error texts.

Flags may stand between positionals; `--` ends them; `-` alone is a positional. `-it` is `-i -t`, `-nfoo`,
`-n foo`, `-n=foo` are one. A boolean flag never takes the next word: `-w=false`. Long names are not
abbreviated, and may be written with `_` for `-`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rawkube._typing import Any, NamedTuple
from rawkube.duration import parse_duration
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line


class Flag(NamedTuple):
    """One flag.

    `kind` says how a value is read, and what it becomes:

        bool, string        bool (Go's words for it), str
        int, level          int: int64 (also `0x1f`, `1_000`), int32 (decimal)
        duration            float, seconds of a Go duration
        seconds             int, more than 0, of a whole number or a Go duration (rounded up)
        list, array         tuple of str, repeatable; a list is split at commas as CSV (pflag's stringSlice)

    `default` is the value, of that type, of a flag that is not given; `shown` stands for it in a help text.
    `ignored`: kubectl has it, rawkube takes it and does nothing. `bare`: the value of a flag that stands without one,
    as a word (pflag's NoOptDefVal): such a flag never takes the next word.
    """

    name: str
    short: str = ""
    kind: str = "string"
    default: Any = ""
    help: str = ""
    metavar: str = ""
    shown: str = ""
    ignored: bool = False
    bare: str = ""

    @property
    def alone(self) -> str:
        """The value, as a word, of the flag without a value; empty where it needs one."""
        return "true" if self.kind == "bool" else self.bare


class Parsed(NamedTuple):
    """A command line as read.

    `values`: the value of every flag by its long name; `given`: the names that were on the command line;
    `args`: the positionals; `dash`: how many of these stood before `--`, -1 without `--`.
    """

    values: dict[str, Any]
    given: frozenset[str]
    args: list[str]
    dash: int


HELP = Flag("help", "h", "bool", False, "Show this help.")


def parse(flags: Sequence[Flag], argv: Sequence[str], *, command: str) -> Parsed:
    """Read `argv` (without the command's own words). `-h`/`--help` is always a flag: `values["help"]`.

    `command` (`rawkube rollout status`) is named in errors. UsageError: kubectl's text and, on a second line,
    where to read more.
    """
    reader = _Reader((*flags, HELP))
    try:
        reader.read(list(argv))
    except UsageError as error:
        raise UsageError(f"{error}\nSee '{command} --help' for usage.") from None
    return reader.parsed()


def find_flag(flags: Sequence[Flag], word: str) -> Flag | None:
    """The flag that a word such as `--namespace` or `-n` (without value) names."""
    if word.startswith("--"):
        name = word[2:].replace("_", "-")
        return next((flag for flag in flags if flag.name == name), None)
    return next((flag for flag in flags if flag.short and flag.short == word[1:]), None)


class _Reader:
    """The state of one parse: what is still to be read is handed from method to method."""

    def __init__(self, flags: Sequence[Flag]) -> None:
        self._flags = flags
        self._values: dict[str, Any] = {}
        self._args: list[str] = []
        self._dash = -1

    def parsed(self) -> Parsed:
        values = {flag.name: flag.default for flag in self._flags} | self._values
        return Parsed(values, frozenset(self._values), self._args, self._dash)

    def read(self, words: list[str]) -> None:
        words.reverse()  # so that the next word is words.pop()
        while words:
            word = words.pop()
            if word == "--":
                self._dash = len(self._args)
                self._args += reversed(words)
                return
            if word.startswith("--"):
                self._long(word, words)
            elif word.startswith("-") and word != "-":
                self._bundle(word[1:], words)
            else:
                self._args.append(word)

    def _long(self, word: str, words: list[str]) -> None:
        name, equals, value = word[2:].partition("=")
        if not name or name[0] == "-":
            raise UsageError(f"bad flag syntax: {one_line(word)}")
        flag = find_flag(self._flags, f"--{name}")
        if flag is None:
            raise UsageError(f"unknown flag: --{one_line(name)}")
        if equals:
            self._set(flag, value)
        elif flag.alone:
            self._set(flag, flag.alone)
        elif words:
            self._set(flag, words.pop())
        else:
            raise UsageError(f"flag needs an argument: {one_line(word)}")

    def _bundle(self, letters: str, words: list[str]) -> None:
        """`letters` as in `-it`: each is a flag, the first that needs a value takes what follows."""
        while letters:
            flag = find_flag(self._flags, f"-{letters[0]}")
            if flag is None:
                raise UsageError(f"unknown shorthand flag: {_quote_byte(letters)} in -{one_line(letters)}")
            # A bare `-n=` is the value `=`, and `-w=` a bundle: pflag looks for more than one character.
            if len(letters) > 2 and letters[1] == "=":
                return self._set(flag, letters[2:])
            if flag.alone:
                self._set(flag, flag.alone)
                letters = letters[1:]
            elif len(letters) > 1:
                return self._set(flag, letters[1:])
            elif words:
                return self._set(flag, words.pop())
            else:
                raise UsageError(f"flag needs an argument: {go_quote(letters, mark=chr(39))} in -{letters}")
        return None

    def _set(self, flag: Flag, text: str) -> None:
        try:
            value = _READERS[flag.kind](text)
        except UsageError as error:
            name = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
            raise UsageError(f'invalid argument {go_quote(text)} for "{name}" flag: {error}') from None
        if flag.kind in ("list", "array"):
            value = (*self._values.get(flag.name, ()), *value)
        self._values[flag.name] = value


# What the words mean: strconv.ParseBool, strconv.ParseInt, encoding/csv.

_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


def _bool(text: str) -> bool:
    if text not in _BOOLS:
        raise UsageError(f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    return _BOOLS[text]


_PREFIXES = {"0x": 16, "0o": 8, "0b": 2}


def _int64(text: str) -> int:
    """ParseInt with base 0: the base is in the prefix, and a `_` may stand between digits."""
    word = text[1:] if text[:1] in ("+", "-") else text
    base = _PREFIXES.get(word[:2].lower(), 0) if len(word) > 2 else 0
    if base:
        word = f"0{word[2:]}"
    return _integer(text, word, base or (8 if word[:1] == "0" else 10), 64)


def _int32(text: str) -> int:
    """ParseInt with base 10."""
    word = text[1:] if text[:1] in ("+", "-") else text
    if "_" in word:
        raise _not_integer(text, "invalid syntax")
    return _integer(text, word, 10, 32)


def _integer(text: str, word: str, base: int, bits: int) -> int:
    """`word` is `text` without sign and prefix. What is too long is said at the digit that is too much."""
    value = 0
    for character in word.replace("_", ""):
        digit = "0123456789abcdef".find(character.lower())
        if not 0 <= digit < base:
            raise _not_integer(text, "invalid syntax")
        value = value * base + digit
        if value >> bits:
            raise _not_integer(text, "value out of range")
    if not word or "__" in word or "_" in (word[0], word[-1]):
        raise _not_integer(text, "invalid syntax")
    value = -value if text[0] == "-" else value
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise _not_integer(text, "value out of range")
    return value


def _not_integer(text: str, why: str) -> UsageError:
    return UsageError(f"strconv.ParseInt: parsing {go_quote(text)}: {why}")


def _seconds(text: str) -> int:
    """Whole seconds above 0 of `200` or `3m20s`: what `timeoutSeconds` of a watch can say."""
    seconds = parse_duration(f"{text}s" if text.isascii() and text.isdecimal() else text)
    if seconds <= 0:
        raise UsageError("must be more than 0")
    return int(-(-seconds // 1))  # rounded up


def _array(text: str) -> tuple[str]:
    return (text,)


def _list(text: str) -> tuple[str, ...]:
    return _Record(text).fields() if text else ()


class _Record:
    """The first CSV record of a text, as Go's encoding/csv reads it (RFC 4180); columns count bytes."""

    def __init__(self, text: str) -> None:
        data = text.encode("utf-8", "surrogateescape").removesuffix(b"\r").replace(b"\r\n", b"\n")
        self._lines = _lines(data)
        self._number = next((i for i, line in enumerate(self._lines) if line != b"\n"), -1)
        if self._number < 0:
            raise UsageError("EOF")
        self._first = self._number
        self._line = self._lines[self._number]
        self._column = 1

    def fields(self) -> tuple[str, ...]:
        """The fields; UsageError with the text of Go's csv.ParseError."""
        found: list[bytes] = []
        more = True
        while more:
            field, more = self._quoted() if self._line.startswith(b'"') else self._bare()
            found.append(field)
        return tuple(field.decode("utf-8", "surrogateescape") for field in found)

    def _bare(self) -> tuple[bytes, bool]:
        field, comma, _ = self._line.partition(b",")
        field = field if comma else field.removesuffix(b"\n")
        if b'"' in field:
            raise self._error('bare " in non-quoted-field', self._column + field.index(b'"'))
        self._skip(len(field) + 1)
        return field, bool(comma)

    def _quoted(self) -> tuple[bytes, bool]:
        self._skip(1)
        field = b""
        while True:
            before, mark, after = self._line.partition(b'"')
            field += before
            self._skip(len(before) + len(mark))
            if not mark:
                self._next_line()
            elif after.startswith(b'"'):
                field += b'"'
                self._skip(1)
            elif after.startswith(b","):
                self._skip(1)
                return field, True
            elif after in (b"", b"\n"):
                return field, False
            else:
                raise self._error('extraneous or missing " in quoted-field', self._column - 1)

    def _next_line(self) -> None:
        """A quoted field goes on in the next line; there must be one."""
        if self._number + 1 == len(self._lines):
            raise self._error('extraneous or missing " in quoted-field', self._column)
        self._number += 1
        self._line, self._column = self._lines[self._number], 1

    def _skip(self, count: int) -> None:
        self._line = self._line[count:]
        self._column += count

    def _error(self, text: str, column: int) -> UsageError:
        record = f"record on line {self._first + 1}; " if self._first != self._number else ""
        return UsageError(f"{record}parse error on line {self._number + 1}, column {column}: {text}")


def _lines(data: bytes) -> list[bytes]:
    """Lines split at LF only (bytes.splitlines also splits at CR), with their ends."""
    *ended, last = data.split(b"\n")
    return [line + b"\n" for line in ended] + ([last] if last else [])


_READERS: Mapping[str, Callable[[str], Any]] = {
    "bool": _bool,
    "string": str,
    "int": _int64,
    "level": _int32,
    "duration": parse_duration,
    "seconds": _seconds,
    "list": _list,
    "array": _array,
}


def _quote_byte(text: str) -> str:
    """The first *byte* of a text as `%q` shows a rune, as pflag does: `'Ã'` for every letter beyond ASCII."""
    first = text[0]
    if not first.isascii():
        code = ord(first)
        first = "Â" if 0xDC80 <= code < 0xDCC0 else "Ã"
    return go_quote(first, mark="'")
