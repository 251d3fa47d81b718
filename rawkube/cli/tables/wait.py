"""Pure: `wait` as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

_FORMS = "create, delete, condition=TYPE[=STATUS], jsonpath=PATH[=VALUE]"
_FLAGS = (
    Flag(
        "for",
        "",
        "array",
        (),
        f"What to wait for: {_FORMS}; repeatable: one after the other, create first.",
        "GOAL",
    ),
    Flag("any", "", "bool", False, "Of several --for, wait for any one."),
    Flag("fail-on", "", "array", (), "End at once with 1 when this is so of one of the objects; as --for.", "GOAL"),
    Flag("all", "", "bool", False, "Wait for all objects of the types that there are now."),
    Flag("all-namespaces", "A", "bool", False, "Wait for objects of every namespace."),
    Flag("selector", "l", metavar="SELECTOR", help="Wait for what has these labels now: a=b,c!=d,e in (f,g),h,!i."),
    Flag("field-selector", metavar="SELECTOR", help="Wait for what has these fields now: status.phase=Running,a!=b."),
    Flag(
        "filename",
        "f",
        "list",
        (),
        "Wait for the objects of this manifest, directory or pattern of file names; - is stdin; repeatable.",
        "FILE",
    ),
    Flag("recursive", "R", "bool", True, "Read the directories below the directories of -f, too."),
    Flag(
        "timeout",
        "",
        "duration",
        30.0,
        "Give up after this time (1s, 2m, 3h), for all objects together; 0 looks once, below 0 is a week.",
        "TIME",
        shown="30s",
    ),
    Flag("output", "o", metavar="json|name|yaml", help="Print the objects themselves, or their names only."),
    Flag("show-managed-fields", "", "bool", False, "Keep metadata.managedFields with -o json and -o yaml."),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("wait",),
        "Wait until something is so of objects",
        "Waits until what --for says is so of every object, and prints a line for each. A condition counts once it is "
        "of the object's present generation. Objects are waited for one after the other, or with --fail-on all at "
        "once. A watch that ends is opened again where it ended: no change is missed.",
        "(TYPE NAME... | TYPE/NAME... | TYPE --all | -f FILE) --for=GOAL",
        (
            ("Until a pod is ready", "wait pod/web-0 --for=condition=Ready"),
            ("Until a field has a value", "wait pod/web-0 --for=jsonpath='{.status.phase}'=Running"),
            ("Until it is gone, at most a minute", "wait pod/web-0 --for=delete --timeout=60s"),
            (
                "Until a Job is complete, or has failed",
                "wait job/load --for=condition=Complete --fail-on=condition=Failed",
            ),
            ("Until one of two things is so", "wait job/load --for=condition=Complete --for=condition=Suspended --any"),
        ),
        _FLAGS,
        (
            ("0", "it is so of everything that was named; or, with --for=delete, nothing was there"),
            ("1", "it is not in time, an object is missing, --fail-on is so, or any other error"),
        ),
        run="wait:wait",
    ),
)
