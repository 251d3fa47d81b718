"""Pure: the commands that read resources, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag
from rawkube.cli.tables.global_flags import WATCH_TIMEOUT

_WATCH_FLAGS = (
    Flag("selector", "l", metavar="SELECTOR", help="Watch what has these labels: a=b,c!=d,e in (f,g),h,!i."),
    Flag("field-selector", metavar="SELECTOR", help="Watch what has these fields: status.phase=Running,a!=b."),
    Flag("all-namespaces", "A", "bool", False, "Watch every namespace."),
    Flag(
        "output",
        "o",
        metavar="json|name|diff",
        help="Print a JSON object for each event, the name only, or each change on a line of its own.",
        shown="a line for each event",
    ),
    Flag("watch-only", "", "bool", False, "Leave out what is there at the start."),
    Flag(
        "initial-events",
        "",
        "bool",
        False,
        "Have the server stream what is there at the start as events (sendInitialEvents), where it can.",
    ),
    Flag("bookmarks", "", "bool", False, "Show the server's bookmarks too."),
    Flag("count", "", "int", 0, "End after this many events; 0 is never.", "N"),
    Flag(
        "timeout",
        "",
        "duration",
        0.0,
        "End after this time (1s, 2m, 3h); 0 is never. With --count it is an error if this comes first.",
        "TIME",
    ),
    WATCH_TIMEOUT,
)

_GET_FLAGS = (
    Flag("selector", "l", metavar="SELECTOR", help="Take what has these labels: a=b,c!=d,e in (f,g),h,!i."),
    Flag("field-selector", metavar="SELECTOR", help="Take what has these fields: status.phase=Running,a!=b."),
    Flag("all-namespaces", "A", "bool", False, "Take it from every namespace."),
    Flag(
        "output",
        "o",
        metavar="json|yaml|name|wide",
        help="Print JSON, YAML, names, or a table with all its columns.",
        shown="a table",
    ),
    Flag("filename", "f", "array", (), "Take what these manifests name; - is standard input; repeatable.", "FILE"),
    Flag("recursive", "R", "bool", False, "Read the directories of -f with those below them."),
    Flag("watch", "w", "bool", False, "Then show each change, as it happens."),
    Flag("watch-only", "", "bool", False, "Show the changes alone, not what there is at the start."),
    Flag("chunk-size", "", "int", 500, "Ask for long lists in pages of so many objects; 0 is all at once.", "N"),
    Flag("ignore-not-found", "", "bool", False, "What is missing is no error."),
    Flag("no-headers", "", "bool", False, "Leave out the line with the names of the columns."),
    Flag("show-labels", "", "bool", False, "Add a column with all labels."),
    Flag("label-columns", "L", "list", (), "Add a column for each of these labels; repeatable.", "LABEL,..."),
    Flag("show-managed-fields", "", "bool", False, "Leave metadata.managedFields in JSON and YAML."),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("get",),
        "Show objects: as a table, as JSON or YAML, or their names",
        "Shows objects as kubectl does. The table is the server's own; JSON and YAML are the objects, several of "
        "them in a List. With --watch, what there is, then a line for each change; a watch that ends is opened again "
        "where it ended.",
        "(TYPE[,TYPE...] [NAME...] | TYPE/NAME... | -f FILE)",
        (
            ("The Deployments of a namespace", "get deployments -n demo"),
            ("Pods of every namespace, with all columns", "get pods -A -o wide"),
            ("One object", "get deployment/web -o yaml"),
            ("The names of what has a label", "get pods -l app=web -o name"),
            ("What a manifest names", "get -f web.yaml"),
            ("Pods, and each change of them", "get pods --watch"),
        ),
        _GET_FLAGS,
        (
            ("0", "everything that was named was found; or nothing was there to list"),
            ("1", "an object is missing, a list could not be had, or any other error; the rest was printed"),
        ),
        run="get:get",
    ),
    Command(
        ("watch",),
        "Show what happens to objects, as it happens",
        "Shows what there is, then a line for each event: when, what, which object, its resourceVersion, and what "
        "changed since the state before. A watch that ends is opened again where it ended; after an outage that "
        "was too long for that, the objects are listed again and the differences shown. Neither misses a state "
        "that lasted. Values of Secrets are not shown, except in the object that -o json prints.",
        "(TYPE[,TYPE...] [NAME...] | TYPE/NAME...)",
        (
            ("Every change of the Deployments of a namespace", "watch deployments -n demo"),
            ("One object, each changed field on a line", "watch deployment/web -o diff"),
            ("Pods and their events in every namespace, for a program", "watch pods,events -A -o json"),
            ("Wait at most a minute for the next change", "watch pods -l app=web --watch-only --count=1 --timeout=1m"),
        ),
        _WATCH_FLAGS,
        (
            ("0", "--timeout or --count was reached"),
            ("1", "not all could be watched; --timeout came before --count or in an outage; other errors"),
            ("130", "ended by Ctrl-C"),
        ),
        run="watch:watch",
    ),
)
