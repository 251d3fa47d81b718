"""Errors in kubectl's words: the table of cmdutil.CheckErr, and text made safe for a terminal."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rawkube.cli.text import error_text, escape
from rawkube.errors import (
    ConfigError,
    ConnectionRefused,
    CredentialError,
    DeadlineExceeded,
    ObjectDeleted,
    PreferencesError,
    RawkubeError,
    ResolveError,
    RolloutFailed,
    StatusError,
    UsageError,
    WaitTimeout,
)
from tests.support.rows import looped


def status(reason: str = "", message: str = "", **more: Any) -> StatusError:
    return StatusError({"kind": "Status", "reason": reason, "message": message, **more})


def invalid(kind: str, name: str, *causes: tuple[str, str]) -> StatusError:
    details = {"kind": kind, "name": name, "causes": [{"field": f, "message": m} for f, m in causes]}
    return status("Invalid", "unused", code=422, details=details)


ONE = ("field", 'Invalid value: "single": details')
TWO = ("field2", 'Invalid value: "multi2": details')


@looped(
    ("error", "text"),
    [
        (invalid("Invalid1", "invalidation", ONE), 'The Invalid1 "invalidation" is invalid: field: Invalid value: "single": details\n'),
        (
            invalid("Invalid2", "invalidation", ONE, TWO),
            'The Invalid2 "invalidation" is invalid: \n* field: Invalid value: "single": details\n'
            '* field2: Invalid value: "multi2": details\n',
        ),
        (invalid("Invalid3", "invalidation"), 'The Invalid3 "invalidation" is invalid\n'),
        (invalid("Invalid4", "invalidation", ONE, ONE), 'The Invalid4 "invalidation" is invalid: field: Invalid value: "single": details\n'),
        (status("Invalid"), "The request is invalid\n"),
        (status("Invalid", "Some message"), "The request is invalid: Some message\n"),
        (
            status("", 'admission webhook "my.webhook" denied the request without explanation', code=422),
            'Error from server: admission webhook "my.webhook" denied the request without explanation\n',
        ),
        (status("Invalid", "Some message", details={"causes": None}), "The request is invalid: Some message\n"),
        (status("Invalid", "unused", details={"causes": [{"field": "a"}, "no cause"]}), "The request is invalid: a: \n"),
        (status("Invalid", 'admission webhook "w"', code=422), 'The request is invalid: admission webhook "w"\n'),
        (status("NotFound", 'deployments.apps "x" not found'), 'Error from server (NotFound): deployments.apps "x" not found\n'),
        (status("Unauthorized", "Unauthorized"), "error: You must be logged in to the server (Unauthorized)\n"),
        (
            ConnectionRefused("dial tcp 127.0.0.1:1: connect: connection refused", server="127.0.0.1:1"),
            "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n",
        ),
        (ResolveError("dial tcp: lookup h: no such host"), "Unable to connect to the server: dial tcp: lookup h: no such host\n"),
        (DeadlineExceeded("x", step="tls"), "Unable to connect to the server: x\n"),
        (WaitTimeout(), "error: timed out waiting for the condition\n"),
        (ObjectDeleted(), "error: object has been deleted\n"),
        (RolloutFailed('deployment "x" exceeded its progress deadline'), 'error: deployment "x" exceeded its progress deadline\n'),
        (UsageError("error: already said"), "error: already said\n"),
        (UsageError("unknown flag: --foo\nSee 'x --help' for usage."), "error: unknown flag: --foo\nSee 'x --help' for usage.\n"),
        (ConfigError("no"), "error: no\n"),
        (PreferencesError("kuberc: no"), "kuberc: no\n"),
        (CredentialError("no plugin", help=["install it"]), "Unable to connect to the server: no plugin\ninstall it\n"),
        (ConfigError("no", in_configuration=True), "Error in configuration: no\n"),
        (ConfigError("a; b", problems=["a", "b"]), "Error in configuration: \n* a\n* b\n"),
    ],
)  # fmt: skip
def test_a_single_error(error: RawkubeError, text: str) -> None:
    assert error_text([error]) == text


def test_several_errors_are_a_line_each_and_lose_the_plain_prefix() -> None:
    errors = [
        WaitTimeout(),
        status("NotFound", 'deployments.apps "nope" not found'),
        status("Unauthorized", "Unauthorized"),
    ]
    assert error_text(errors) == (
        "timed out waiting for the condition\n"
        'Error from server (NotFound): deployments.apps "nope" not found\n'
        "You must be logged in to the server (Unauthorized)\n"
    )


@looped(
    ("text", "safe"),
    [
        ("plain ü 漢", "plain ü 漢"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J\r", "\\x1b[2J\\x0d"),
        ("\x00\x7f\x9b31m", "\\x00\\x7f\\x9b31m"),
    ],
)
def test_control_characters_are_shown_not_obeyed(text: str, safe: str) -> None:
    assert escape(text) == safe


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    left = {ord(c) for c in escape(text)} - {9, 10}
    assert not left & {*range(0x20), *range(0x7F, 0xA0)}
