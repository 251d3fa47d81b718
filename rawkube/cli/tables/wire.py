"""Pure: the commands that speak HTTP as it is, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

_HEADER = Flag(
    "header", "H", "array", (), "A header, in place of the usual one of its name; repeatable.", "'NAME: VALUE'"
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("raw",),
        "Send one request, and print the answer as it comes",
        "Sends a request for PATH on the connection that the kubeconfig means, with its credentials, its trust and its "
        "proxies, and prints the body of the answer as it comes, byte for byte; a watch is a stream of lines.",
        "PATH",
        (
            ("What kubectl get --raw prints", "raw /readyz?verbose"),
            ("With the head of the answer", "raw -i /version"),
            ("A watch, line by line", "raw '/api/v1/namespaces/demo/pods?watch=true'"),
            (
                "A question to the server",
                "raw /apis/authorization.k8s.io/v1/selfsubjectaccessreviews -d @review.json",
            ),
        ),
        (
            Flag("request", "X", metavar="METHOD", help="Method of the request.", shown="GET, with -d POST"),
            _HEADER,
            Flag("data", "d", metavar="DATA", help="Body of the request, as JSON; @FILE reads it, @- from stdin."),
            Flag("include", "i", "bool", False, "Print the head of the answer first, and the body of an error."),
        ),
        (("0", "an answer of 2xx, whole"), ("1", "another answer, or a part of one")),
        run="raw:raw",
    ),
    Command(
        ("ws",),
        "Open a WebSocket, and print its messages as they come",
        "Opens PATH as a WebSocket on the connection that the kubeconfig means: exec, attach, portforward, log, a "
        "watch, or any other that a server has. Prints a line for each message and control frame of either side, and "
        "sends the lines of stdin where the path takes input (stdin=true in its query), or --channel is given. Offered "
        "are v5 and v4 of the channel protocol; to a watch nothing is.",
        "PATH",
        (
            (
                "A command in a pod, as the wire has it",
                "ws '/api/v1/namespaces/demo/pods/web-0/exec?command=date&stdout=1'",
            ),
            (
                "Type to a shell",
                "ws '/api/v1/namespaces/demo/pods/web-0/exec?command=sh&stdin=true&stdout=true&stderr=true'",
            ),
            ("A watch as a WebSocket", "ws '/api/v1/namespaces/demo/pods?watch=true' -o json"),
        ),
        (
            Flag("channel", "", "int", 0, "Send the lines of stdin on this channel.", "N"),
            Flag(
                "protocol",
                "",
                "array",
                (),
                "Offer this subprotocol and no other; repeatable; none: offer nothing.",
                "NAME",
            ),
            _HEADER,
            Flag("include", "i", "bool", False, "Print the head of the answer first."),
            Flag("output", "o", "string", "", "json: an object a line, as inspect prints it.", "FORMAT"),
        ),
        (
            ("0", "closed with 1000, and a command that ran ended with 0"),
            ("N", "the exit code of the command: its status came, then a close"),
            ("1", "refused, closed in another way, or lost without a close, even behind a status"),
            ("130", "Ctrl-C; an open WebSocket is closed with 1000"),
        ),
        run="ws:ws",
    ),
    Command(
        ("doctor",),
        "Find out why exec or watch breaks here",
        "Checks the connection that the kubeconfig means, step by step: configuration, proxy, credentials, name, TCP, "
        "TLS, the server and its clock, whom it takes one for, discovery, the rights that rollout status and exec "
        "need, whether an upgrade to a WebSocket survives the way, whether watch events come at once. A line each: "
        "pass, warn, fail or unknown, what was seen, and what to do. Changes nothing, and runs no command in a pod "
        "without --pod.",
        examples=(
            ("All but what takes long", "doctor"),
            ("In another namespace, and with a command in a pod", "doctor -n demo --pod web-0"),
            ("After how many seconds of silence the way is cut", "doctor --idle 120"),
        ),
        flags=(
            Flag(
                "idle",
                "",
                "seconds",
                0,
                "Leave a watch and a WebSocket silent for so long.",
                "SECONDS",
                shown="not tried",
            ),
            Flag("pod", "", "string", "", "Run `true` in this pod.", "NAME"),
            Flag("output", "o", "string", "", "json: an array of {check, result, seen, advice, seconds}.", "FORMAT"),
        ),
        exits=(("0", "nothing failed"), ("1", "something did"), ("130", "Ctrl-C; what was known by then is printed")),
        positionals=False,
        run="doctor:doctor",
    ),
)
