"""Pure: the command that serves other clients, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

COMMANDS: tuple[Command, ...] = (
    Command(
        ("proxy",),
        "Let other clients use the connection, and look on",
        "Listens on 127.0.0.1 for plain HTTP, and passes each request on to the API server on the connection that the "
        "kubeconfig means, with its credentials, its trust and its proxies; exec, attach and port-forward pass too. "
        "--record and --trace show what other clients say and hear. With a COMMAND (a program, or a command of "
        "rawkube), runs it with a KUBECONFIG that names this proxy; without, prints that KUBECONFIG and serves until "
        "interrupted. Whoever can reach the port on this machine acts as the user of the kubeconfig.",
        "[-- COMMAND [ARGUMENT...]]",
        (
            (
                "See what kubectl exec says and hears",
                "proxy --trace -- kubectl exec deploy/web -- id",
            ),
            ("Record what a program does", "proxy --record=session.jsonl -- kubectl get pods"),
            ("Serve a browser or another program until Ctrl-C", "proxy --port=8001"),
        ),
        (
            Flag("port", "", "int", 0, "Listen on this port; 0 is a free one.", "N"),
            Flag(
                "allow-origin",
                "",
                "array",
                (),
                "Let the pages of this origin ask and read (CORS); those of this machine may ask; repeatable.",
                "SCHEME://HOST[:PORT]",
            ),
        ),
        (
            ("0", "without a COMMAND: served until interrupted"),
            ("1", "the connection cannot be resolved, the port is taken, a file cannot be written"),
            ("N", "the exit code of COMMAND; 126 and 127 where it cannot be run, 128+S where signal S ended it"),
        ),
        run="proxy:proxy",
        connects=False,
    ),
)
