"""Pure: the commands about rawkube itself and about recordings, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

COMMANDS: tuple[Command, ...] = (
    Command(
        ("replay",),
        "Serve a recording as if it were the cluster",
        "Reads a recording of what an API server said (JSON Lines, format rawkube-wire/1), and answers on "
        "127.0.0.1 as that server did, at the recorded pace. With a COMMAND (a program, or a command of "
        "rawkube), runs it with a KUBECONFIG that names this server; without, prints that KUBECONFIG and "
        "serves until interrupted. "
        "A --fault breaks the wire after N pieces; a piece is an event of a watch, a line of a followed log, a message "
        "on a WebSocket, or any other answer as a whole. The connection is closed or reset, says nothing more (stall), "
        "is closed after half a piece (truncate) or after bytes that mean nothing (garbage), or the next answer is an "
        "error (status). Only requests count whose target holds the PART of match. A fault strikes once, or M times, "
        "and begins to count anew each time.",
        "FILE [-- COMMAND [ARGUMENT...]]",
        (
            (
                "Follow a recorded rollout without its pauses",
                "replay rollout.jsonl --speed=max -- rollout status deployment/web",
            ),
            ("Let another client ask", "replay rollout.jsonl -- kubectl rollout status deployment/web"),
            ("Serve a recording until Ctrl-C, again and again", "replay rollout.jsonl --loop"),
            (
                "See what a client does when its watch is reset after the second event",
                "replay rollout.jsonl --fault=after=2:reset,match=watch=true -- rollout status deploy/web",
            ),
            (
                "The server is overloaded three times",
                "replay rollout.jsonl --fault=after=0:status=503,times=3 -- rollout status deploy/web",
            ),
        ),
        (
            Flag(
                "speed",
                "",
                "string",
                "1",
                "How many times faster than recorded: a number more than 0, or max for no pauses.",
                "N|max",
            ),
            Flag(
                "tls",
                "",
                "bool",
                False,
                "Serve https, with a certificate made at the start, which the KUBECONFIG trusts.",
            ),
            Flag("loop", "", "bool", False, "Begin anew with what has been asked for to its end."),
            Flag(
                "strict",
                "",
                "bool",
                False,
                "Answer only what is recorded, each request once and in the order of the recording; for anything else "
                "print a line at the end, and exit with 1.",
            ),
            Flag(
                "fault",
                "",
                "array",
                (),
                "Break the wire after N pieces: close, reset, stall, truncate, garbage or status=CODE. Repeatable.",
                "after=N:KIND[,match=PART][,times=M|all]",
            ),
        ),
        (
            ("0", "without a COMMAND: served until interrupted"),
            ("1", "the recording cannot be read; --strict: something came that is not recorded"),
            (
                "N",
                "the exit code of COMMAND; 126 and 127 where it cannot be run, 128+S where signal S ended it",
            ),
        ),
        run="replay:replay",
        connects=False,
    ),
    Command(
        ("completion",),
        "Print what makes a shell complete rawkube's command lines",
        "Prints a script for the shell. With it, TAB completes commands, flags and their values, kinds, contexts and, "
        "where the server answers within half a second, the names of objects, namespaces and containers.",
        "bash|zsh|fish",
        (
            ("In this bash, and with the same line in ~/.bashrc in every one", "completion bash"),
            ("For fish", "completion fish"),
        ),
        exits=(("0", "printed"), ("1", "a shell that is not known")),
        run="complete:completion",
        connects=False,
    ),
    Command(
        ("__complete",),
        "What may stand for the last word",
        "Called by the scripts of completion.",
        "-- WORD...",
        run="complete:complete",
        connects=False,
    ),
    Command(
        ("version",),
        "Show the version of rawkube",
        "Prints the version of rawkube and of what it runs on. No server is asked.",
        examples=(("The version", "version"), ("For programs", "version -o json")),
        flags=(
            Flag("client", "", "bool", False, "Taken as kubectl's: no server is asked anyway."),
            Flag("output", "o", metavar="json", help="Print a JSON object.", shown="text"),
        ),
        exits=(("0", "shown"), ("1", "a command line that cannot be read")),
        positionals=False,
        run="version:version",
        connects=False,
    ),
    Command(
        ("options",),
        "List the flags of every command",
        "Lists the flags that every command takes.",
        examples=(("The list", "options"),),
    ),
    Command(
        ("help",),
        "Show the help of a command",
        "Shows the help of a command, as COMMAND --help does.",
        "[COMMAND...]",
        (("The help of rollout status", "help rollout status"),),
        run="help:help_topic",
        connects=False,
    ),
)
