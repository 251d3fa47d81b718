"""Pure: the commands that speak HTTP as it is, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

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
            Flag(
                "header",
                "H",
                "array",
                (),
                "A header, in place of the usual one of its name; repeatable.",
                "'NAME: VALUE'",
            ),
            Flag("data", "d", metavar="DATA", help="Body of the request, as JSON; @FILE reads it, @- from stdin."),
            Flag("include", "i", "bool", False, "Print the head of the answer first, and the body of an error."),
        ),
        (("0", "an answer of 2xx, whole"), ("1", "another answer, or a part of one")),
        run="raw:raw",
    ),
)
