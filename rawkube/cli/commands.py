"""Pure: the commands, their flags and their texts, as tables; which command a command line names.

Flags that kubectl has keep kubectl's names, defaults and meaning (kubectl 1.37, `kubectl options`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rawkube.cli.flags import HELP, Flag, Parsed, find_flag, parse
from rawkube.cli.session_flags import CONTAINER_FLAG, COPY_FLAGS, DETACH_FLAG, FILENAME_FLAG, MANY_FLAGS, SESSION_FLAGS
from rawkube.errors import UsageError
from rawkube.gotext import go_quote, one_line

PROGRAM = "rawkube"


class Command(NamedTuple):
    """One command.

    `words` as typed after the program (`("rollout", "status")`); `summary`: one line; `text`: one paragraph;
    `arguments` as in a usage line; `examples`: (what it does, command line without the program); `exits`:
    (code, meaning); `positionals`: whether it takes words that are no flags.
    """

    words: tuple[str, ...]
    summary: str
    text: str
    arguments: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    flags: tuple[Flag, ...] = ()
    exits: tuple[tuple[str, str], ...] = ()
    positionals: bool = True

    @property
    def path(self) -> str:
        """As it is typed: `rawkube rollout status`."""
        return " ".join((PROGRAM, *self.words))


GLOBAL_FLAGS: tuple[Flag, ...] = (
    Flag("as", metavar="USER", help="Act as this user (impersonation)."),
    Flag("as-group", "", "array", (), "Act as a member of this group; repeatable.", "GROUP"),
    Flag("as-uid", metavar="UID", help="Act as the user with this UID."),
    Flag(
        "as-user-extra",
        "",
        "array",
        (),
        "Act as a user with this extra field; repeatable, also for one key.",
        "KEY=VALUE",
    ),
    Flag(
        "certificate-authority",
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file for the server's certificate.",
    ),
    Flag("client-certificate", metavar="FILE", help="Client certificate, a PEM file."),
    Flag("client-key", metavar="FILE", help="Key of the client certificate, a PEM file."),
    Flag("cluster", metavar="NAME", help="Cluster of the kubeconfig."),
    Flag("context", metavar="NAME", help="Context of the kubeconfig."),
    Flag("disable-compression", "", "bool", False, "Ask the server not to compress its answers."),
    Flag(
        "insecure-skip-tls-verify",
        "",
        "bool",
        False,
        "Do not check the server's certificate: whoever answers is believed.",
    ),
    Flag("kubeconfig", metavar="FILE", help="Read this kubeconfig and no other.", shown="$KUBECONFIG"),
    Flag("namespace", "n", metavar="NAME", help="Namespace of what is named.", shown="of the context"),
    Flag("password", metavar="TEXT", help="Password for basic authentication."),
    Flag("proxy-url", metavar="URL", help="Proxy to the server: refused, this version speaks through none."),
    Flag(
        "request-timeout",
        "",
        "string",
        "0",
        "Give up one request, its answer included, after this time (seconds, or 1s, 2m, 3h); 0 is never.",
        "TIME",
    ),
    Flag("server", "s", metavar="URL", help="Address of the API server."),
    Flag("tls-server-name", metavar="NAME", help="Name that the server's certificate must be for."),
    Flag("token", metavar="TOKEN", help="Bearer token."),
    Flag("user", metavar="NAME", help="User of the kubeconfig."),
    Flag("username", metavar="NAME", help="User name for basic authentication."),
    Flag(
        "warnings-as-errors",
        "",
        "bool",
        False,
        "Exit with 1 when the server has sent a warning.",
    ),
    # What kubectl takes and what means nothing here.
    Flag("cache-dir", metavar="DIRECTORY", ignored=True),
    Flag("kuberc", metavar="FILE", ignored=True),
    Flag("log-flush-frequency", "", "duration", 5.0, metavar="TIME", ignored=True),
    Flag("match-server-version", "", "bool", False, ignored=True),
    Flag("profile", default="none", metavar="NAME", ignored=True),
    Flag("profile-output", default="profile.pprof", metavar="FILE", ignored=True),
    Flag("v", "v", "level", 0, metavar="LEVEL", ignored=True),
    Flag("vmodule", metavar="PATTERN=N,...", ignored=True),
)

_ROLLOUT_STATUS_FLAGS = (
    Flag(
        "revision",
        "",
        "int",
        0,
        "Watch this revision of a Deployment only, and fail when another takes its place; 0 is the latest.",
        "N",
    ),
    Flag("selector", "l", metavar="SELECTOR", help="Take what has these labels: a=b,c!=d,e in (f,g),h,!i."),
    Flag(
        "timeout",
        "",
        "duration",
        0.0,
        "Give up on a workload after this time (1s, 2m, 3h); 0 is never.",
        "TIME",
    ),
    Flag("watch", "w", "bool", True, "Wait until the rollout is done; --watch=false shows where it is now."),
    Flag(
        "watch-timeout",
        "",
        "seconds",
        None,
        "Have the server end each watch after this time (seconds, or 1s, 2m, 3h), and begin the next.",
        "TIME",
        shown="180s to 230s, at random",
    ),
)

ROOT = Command(
    (),
    "Speak to a Kubernetes API server without kubectl",
    "rawkube does what some commands of kubectl do, with nothing but Python. It finds the API server as "
    "kubectl does: by flags, by $KUBECONFIG or ~/.kube/config, or by the account of the pod that it runs in.",
    examples=(
        (
            "Wait until a Deployment is rolled out, at most five minutes",
            "rollout status deployment/web --timeout=5m",
        ),
        ("All that can be said about a command", "rollout status --help"),
    ),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("rollout",),
        "Follow the rollout of workloads",
        "A rollout replaces the pods of a workload by those of its newest template. Workloads are "
        "Deployments, DaemonSets and StatefulSets.",
        examples=(
            ("Wait until a DaemonSet is rolled out", "rollout status daemonset/agent"),
            ("Show where a Deployment's rollout is", "rollout status deployment/web --watch=false"),
        ),
    ),
    Command(
        ("rollout", "status"),
        "Show the state of a rollout, until it is done",
        "Prints the state of a workload's rollout, and a line for each change, until it is done. When a new "
        "rollout begins meanwhile, the new one is followed, unless --revision names the one that is meant. "
        "Several workloads are followed one after the other. The lines are those of kubectl.",
        "(TYPE NAME... | TYPE/NAME... | TYPE [-l SELECTOR])",
        (
            ("Wait until a Deployment is rolled out", "rollout status deployment/web"),
            ("At most five minutes, in another namespace", "rollout status deploy web -n demo --timeout=5m"),
            ("Show where it is, and wait for nothing", "rollout status deployment/web --watch=false"),
            ("A Deployment, then a StatefulSet", "rollout status deployment/web statefulset/db"),
            ("All DaemonSets with a label", "rollout status daemonset -l app=agent"),
        ),
        _ROLLOUT_STATUS_FLAGS,
        (
            (
                "0",
                "every rollout is done; with --watch=false: every state was shown; or nothing was selected",
            ),
            (
                "1",
                "a rollout failed or took too long, an object is missing or was deleted, or any other error",
            ),
        ),
    ),
    Command(
        ("exec",),
        "Run a command in a container",
        "Runs a command in a container of a running pod, and ends with its exit code. The command's output comes "
        "out on the same streams of this side. TYPE may be what pods stand behind: a Deployment, ReplicaSet, "
        "StatefulSet, DaemonSet, Job, ReplicationController or Service. With -l or --parallel it runs in many pods: "
        "without input, each line of output with its pod before it, and the highest exit code is given.",
        "(POD | TYPE/NAME | -l SELECTOR | --parallel N POD...) -- COMMAND [ARG...]",
        (
            ("Run a command, and have its exit code", "exec web-0 -- nginx -t"),
            ("A shell, in a terminal", "exec -it deploy/web -- sh"),
            ("Pass a file to a command", "exec -i web-0 -c app -- wc -c < README.md"),
            ("In a pod of a manifest", "exec -f pod.yaml -- date"),
            ("In every pod with a label, eight at once", "exec -l app=web --parallel 8 -- nginx -t"),
            ("In three pods", "exec --parallel 3 web-0 web-1 db-0 -- df -h /data"),
        ),
        (CONTAINER_FLAG, *SESSION_FLAGS, *MANY_FLAGS, FILENAME_FLAG),
        (
            ("n", "the exit code of COMMAND"),
            ("1", "it could not be run, or the connection was lost before its end was known"),
            ("130", "ended by Ctrl-C, without a terminal of its own"),
        ),
    ),
    Command(
        ("attach",),
        "Attach to what runs in a container",
        "Shows what the main process of a container prints from now on and, with -i, passes input to it. When it "
        "ends, its exit code is asked of the pod, and given.",
        "(POD | TYPE/NAME) [-c CONTAINER]",
        (
            ("See what a pod prints", "attach web-0"),
            ("Speak with its process; leave it with Ctrl-P Ctrl-Q", "attach -it debug"),
            ("The best pod of a Deployment", "attach deploy/web -c app"),
        ),
        (CONTAINER_FLAG, DETACH_FLAG, *SESSION_FLAGS),
        (
            ("0", "left, or ended with 0, or how it ended is not known"),
            ("n", "the exit code of the container"),
            ("1", "not attached, or the connection was lost"),
            ("130", "ended by Ctrl-C, without a terminal of its own"),
        ),
    ),
    Command(
        ("cp",),
        "Copy files to and from a container",
        "Copies a file or a directory between here and a container that has tar. A directory becomes DESTINATION "
        "itself; going up, what is copied lands in DESTINATION where that is a directory there. Links are kept where "
        "they stay inside what is copied. Nothing is written outside DESTINATION, whatever the container sends.",
        "[[NAMESPACE/]POD:]SOURCE [[NAMESPACE/]POD:]DESTINATION",
        (
            ("Copy a file into a pod", "cp ./app.conf web-0:/etc/app/app.conf"),
            ("Copy a directory out of a pod of another namespace", "cp staging/web-0:/var/log ./log"),
            ("A large file over a bad line", "cp --retries=10 db-0:/backup/dump.gz ./dump.gz -c postgres"),
        ),
        COPY_FLAGS,
        (
            ("0", "everything is there: the archive was whole, and the container's tar says so"),
            ("1", "something was refused, missing or short, or the connection was lost"),
            ("n", "the container's tar ended with this code"),
            ("130", "ended by Ctrl-C"),
        ),
    ),
    Command(
        ("replay",),
        "Serve a recording as if it were the cluster",
        "Reads a recording of what an API server said (JSON Lines, format rawkube-wire/1), and answers on "
        "127.0.0.1 as that server did, at the recorded pace. With a COMMAND (a program, or a command of "
        "rawkube), runs it with a KUBECONFIG that names this server; without, prints that KUBECONFIG and "
        "serves until interrupted.",
        "FILE [-- COMMAND [ARGUMENT...]]",
        (
            (
                "Follow a recorded rollout without its pauses",
                "replay rollout.jsonl --speed=max -- rollout status deployment/web",
            ),
            ("Let another client ask", "replay rollout.jsonl -- kubectl rollout status deployment/web"),
            ("Serve a recording until Ctrl-C", "replay rollout.jsonl"),
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
        ),
        (
            ("0", "without a COMMAND: served until interrupted"),
            ("1", "the recording cannot be read"),
            (
                "N",
                "the exit code of COMMAND; 126 and 127 where it cannot be run, 128+S where signal S ended it",
            ),
        ),
    ),
    Command(
        ("version",),
        "Show the version of rawkube",
        "Prints the version of rawkube and of what it runs on. No server is asked.",
        examples=(("The version", "version"), ("For programs", "version -o json")),
        flags=(Flag("output", "o", metavar="json", help="Print a JSON object.", shown="text"),),
        exits=(("0", "shown"), ("1", "a command line that cannot be read")),
        positionals=False,
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
    ),
)


def children(command: Command) -> tuple[Command, ...]:
    """The commands directly below one."""
    depth = len(command.words)
    return tuple(each for each in COMMANDS if len(each.words) == depth + 1 and each.words[:depth] == command.words)


def read_command(argv: Sequence[str]) -> tuple[Command, Parsed]:
    """The command that a command line (without the program) names, and its flags and positionals, read.

    Where `values["help"]` is true, or the command has commands below it, its help is what was asked for.
    UsageError with kubectl's text for what cannot be read.
    """
    command, rest = find_command(argv)
    parsed = parse((*command.flags, *GLOBAL_FLAGS), rest, command=command.path)
    if parsed.args and not parsed.values["help"]:
        _check_positionals(command, parsed.args)
    return command, parsed


def _check_positionals(command: Command, args: Sequence[str]) -> None:
    if command.words and children(command):
        raise UsageError(f"unknown command {go_quote(' '.join(args))}\nSee '{command.path} -h' for help and examples")
    if not command.positionals:
        raise UsageError(f"extra arguments: [{one_line(' '.join(args))}]")


def find_command(argv: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that `argv` (without the program) names, and the words that are left for it.

    Flags may stand before and between the words of a command. A flag's value is told from a command as cobra
    does: a flag that is not boolean, or not known here, takes the next word. UsageError: no such command.
    """
    command, rest = ROOT, list(argv)
    while (at := _first_word(command, rest)) < len(rest):
        child = next((each for each in children(command) if each.words[-1] == rest[at]), None)
        if child is None:
            break
        command = child
        del rest[at]
    if command is ROOT and at < len(rest):
        # A flag that is not known may have taken the command for its value.
        parse(GLOBAL_FLAGS, rest[:at], command=PROGRAM)
        raise _unknown_command(rest[at])
    return command, rest


def find_topic(words: Sequence[str]) -> Command:
    """The command whose help `help WORDS` asks for, as far as the words name one."""
    command = ROOT
    for word in words:
        child = next((each for each in children(command) if each.words[-1] == word), None)
        if child is None:
            break
        command = child
    if command is ROOT and any(words):
        raise UsageError(f"Unknown help topic {go_quote(' '.join(words))}\nSee '{PROGRAM} --help' for the commands.")
    return command


def _first_word(command: Command, words: Sequence[str]) -> int:
    """Where the first word that is no flag and no flag's value stands; the length where there is none."""
    flags = (*command.flags, *GLOBAL_FLAGS, HELP)
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            break
        if word and word[0] != "-":
            return at
        at += 2 if _takes_next(flags, word) else 1
    return len(words)


def _takes_next(flags: Sequence[Flag], word: str) -> bool:
    if "=" in word or not (word.startswith("--") or len(word) == 2):
        return False
    flag = find_flag(flags, word)
    return flag is None or flag.kind != "bool"


def _unknown_command(word: str) -> UsageError:
    """What cobra says, with the commands that the word may have meant."""
    text = f'unknown command {go_quote(word)} for "{PROGRAM}"'
    names = sorted(each.words[0] for each in children(ROOT))
    near = [name for name in names if _is_near(word.lower(), name)]
    if near:
        text += "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in near)
    return UsageError(text)


def _is_near(word: str, name: str) -> bool:
    """At most two changes away (Levenshtein), or the start of the name (cobra: SuggestionsFor)."""
    return name.startswith(word) or _distance(word, name) <= 2


def _distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]
