"""Pure: the commands that show the configuration and who one is, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

_OUTPUT = Flag("output", "o", metavar="json|yaml", help="Print an object.")
_NO_HEADERS = Flag("no-headers", "", "bool", False, "Print no line of headers.")

COMMANDS: tuple[Command, ...] = (
    Command(
        ("config",),
        "Show the configuration, and what it comes to",
        "Shows the merged kubeconfig, and the connection that it, the flags and the environment come to. Nothing is "
        "written, and no server is asked.",
        examples=(
            ("What a connection is made of, and where each part came from", "config explain"),
            ("The files as one", "config view"),
        ),
        group=True,
    ),
    Command(
        ("config", "view"),
        "Show the merged kubeconfig",
        "Prints the kubeconfig files as one file. Secrets are left out (REDACTED, DATA+OMITTED), those in URLs, in "
        "the environment of plugins and of auth providers too, unless --raw or --flatten is given.",
        examples=(
            ("The merged files", "config view"),
            (
                "What the current context uses, secrets included, as one file to take away",
                "config view --minify --flatten",
            ),
        ),
        flags=(
            Flag("output", "o", "string", "yaml", "Print as json or as yaml.", "json|yaml"),
            Flag("minify", "", "bool", False, "Show only what the context (--context, else the current one) uses."),
            Flag("raw", "", "bool", False, "Show certificates, keys and secrets as they are."),
            Flag("flatten", "", "bool", False, "Put the content of certificate and key files in; implies --raw."),
            Flag("merge", "", "bool", True, "Merge the files of KUBECONFIG; false needs --kubeconfig."),
        ),
        exits=(("0", "shown"), ("1", "a file that cannot be read, or a context that is not there")),
        run="config:view",
        connects=False,
    ),
    Command(
        ("config", "explain"),
        "Say what the connection is made of, and where each part came from",
        "Resolves the connection as every command does, opens nothing, and shows each value with its source: a "
        "flag, a variable, a file and its line, or the default. Then what is unusual, and which entries of later "
        "files stand behind others of their name. Secrets are never shown.",
        examples=(
            ("The connection of the current context", "config explain"),
            ("Another one, for programs", "config explain --context=prod -o json"),
        ),
        flags=(Flag("output", "o", metavar="json", help="Print a JSON object."),),
        exits=(("0", "shown, whatever is unusual"), ("1", "there is no such connection")),
        positionals=False,
        run="config_explain:explain",
        connects=False,
    ),
    Command(
        ("config", "current-context"),
        "Show the name of the current context",
        "Prints the current context of the kubeconfig.",
        examples=(("Its name", "config current-context"),),
        exits=(("0", "shown"), ("1", "none is set")),
        run="config:current_context",
        connects=False,
    ),
    Command(
        ("config", "get-contexts"),
        "List the contexts",
        "Lists the contexts of the kubeconfig, or those that are named; the current one is marked.",
        "[NAME...]",
        (("All", "config get-contexts"), ("Their names alone", "config get-contexts -o name")),
        (Flag("output", "o", metavar="name", help="Print the names alone."), _NO_HEADERS),
        (("0", "shown"), ("1", "one that was named is not there")),
        run="config:get_contexts",
        connects=False,
    ),
    Command(
        ("auth",),
        "Ask the server who one is, and what one may do",
        "Asks the API server about the identity that it sees, and about what that may do.",
        examples=(("Who am I", "auth whoami"), ("May I list pods", "auth can-i list pods")),
        group=True,
    ),
    Command(
        ("auth", "whoami"),
        "Ask the server who one is",
        "Sends a SelfSubjectReview: the server answers with the user, the groups and the extra attributes that it "
        "has found the request to come from.",
        examples=(
            ("User and groups", "auth whoami"),
            ("Whether impersonation works, for programs", "auth whoami --as=jane -o json"),
        ),
        flags=(_OUTPUT,),
        exits=(("0", "shown"), ("1", "the server does not say, or knows nobody")),
        run="auth:whoami",
    ),
    Command(
        ("auth", "can-i"),
        "Ask the server whether something is allowed",
        "Sends a SelfSubjectAccessReview and prints yes or no; with --list, a SelfSubjectRulesReview, and all that is "
        "allowed. VERB is a verb of the API (get, list, watch, create, ...); a path such as /healthz is one that is no "
        "resource. A resource or verb that is not known is asked about all the same, with a warning.",
        "VERB [TYPE | TYPE/NAME | /PATH]",
        (
            ("May I run commands in pods", "auth can-i create pods --subresource=exec"),
            ("May jane, in namespace prod, as far as I may be her", "auth can-i list pods --as=jane -n prod"),
            ("All that I may do in a namespace", "auth can-i --list -n demo"),
        ),
        (
            Flag("all-namespaces", "A", "bool", False, "Ask about all namespaces."),
            Flag("list", "", "bool", False, "List all that is allowed in the namespace."),
            _NO_HEADERS,
            Flag("quiet", "q", "bool", False, "Print nothing; the exit code is the answer."),
            Flag("subresource", metavar="NAME", help="Ask about a subresource, such as exec, log or scale."),
        ),
        (("0", "yes"), ("1", "no, or the server did not answer")),
        run="auth:can_i",
    ),
)
