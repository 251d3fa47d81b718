"""Pure: the command `logs`, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

COMMANDS: tuple[Command, ...] = (
    Command(
        ("logs",),
        "Print the log of a container",
        "Prints what a container has written to stdout and stderr. A log that is followed (-f) is taken up again where "
        "its connection breaks, from the last line on, without losing or repeating lines, and ends when the container "
        "has ended.",
        "(POD | TYPE/NAME | -l SELECTOR) [-c CONTAINER]",
        (
            ("The log of a pod's container", "logs web-0 -c app"),
            ("Follow the last 20 lines and what comes", "logs -f --tail=20 deployment/web"),
            ("What the run before the last restart said", "logs -p web-0"),
            ("The last lines of all containers of some pods", "logs -l app=web --all-containers --prefix"),
        ),
        (
            Flag("follow", "f", "bool", False, "Go on with what is written from now on."),
            Flag("container", "c", metavar="CONTAINER", help="The container; else the pod's default, or its first."),
            Flag("previous", "p", "bool", False, "The log of the container's run before the present one."),
            Flag("selector", "l", metavar="SELECTOR", help="The logs of the pods with these labels."),
            Flag("tail", "", "int", -1, "How many of the last lines; -1 for all.", "N", "all; 10 with a selector"),
            Flag("since", "", "duration", 0.0, "Only what is newer than that (5s, 2m, 3h).", "DURATION", "all"),
            Flag("since-time", metavar="TIME", help="Only what is newer than that time (RFC 3339)."),
            Flag("timestamps", "", "bool", False, "The time of each line before it."),
            Flag("limit-bytes", "", "int", 0, "At most so many bytes of each log; 0 for no limit.", "N", "no limit"),
            Flag("prefix", "", "bool", False, "The names of pod and container before each line."),
            Flag("all-containers", "", "bool", False, "The logs of all containers of the pod, or pods."),
            Flag("all-pods", "", "bool", False, "The logs of all pods that the object stands for, with --prefix."),
            Flag("max-log-requests", "", "int", 5, "How many logs are followed at once at most.", "N"),
            Flag("ignore-errors", "", "bool", False, "Print an error of one log and go on with the others."),
            Flag(
                "pod-running-timeout",
                "",
                "duration",
                20.0,
                "How long to wait for a pod where TYPE/NAME has none yet.",
                "DURATION",
                "20s",
            ),
            Flag(
                "insecure-skip-tls-verify-backend",
                "",
                "bool",
                False,
                "Let the API server ask a kubelet whose certificate it cannot verify.",
            ),
        ),
        (
            ("0", "each log was printed to its end"),
            ("1", "it was not: an error, a log that broke off, a signal"),
        ),
        run="logs:logs",
    ),
)
