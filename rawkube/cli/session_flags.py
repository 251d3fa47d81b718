"""Pure: the flags of the commands that go into a container (exec, attach, cp), as tables."""

from __future__ import annotations

from rawkube.cli.flags import Flag

CONTAINER_FLAG = Flag(
    "container",
    "c",
    metavar="NAME",
    help="Container of the pod.",
    shown="the pod's kubectl.kubernetes.io/default-container, else its first",
)
DETACH_FLAG = Flag(
    "detach-keys",
    default="ctrl-p,ctrl-q",
    metavar="KEYS",
    help="In a terminal, the keys that leave the process and let it run: characters, ctrl-a to ctrl-_, DEL.",
)
SESSION_FLAGS = (
    Flag("stdin", "i", "bool", False, "Pass this side's stdin to the command."),
    Flag("tty", "t", "bool", False, "Give the command a terminal; takes -i, and a terminal on this side."),
    Flag("quiet", "q", "bool", False, "Do not say which container was chosen, nor that there is no terminal."),
    Flag(
        "pod-running-timeout",
        "",
        "duration",
        60.0,
        "Where no pod is there yet, wait this long for one.",
        "TIME",
    ),
    Flag(
        "protocol",
        "",
        "array",
        (),
        "Offer this subprotocol (v5.channel.k8s.io, v4.channel.k8s.io, channel.k8s.io, "
        "v4.base64.channel.k8s.io, base64.channel.k8s.io) and no other; repeatable. "
        "Those without v4 or v5 lose the exit code.",
        "NAME",
        shown="v5.channel.k8s.io, v4.channel.k8s.io",
    ),
    Flag(
        "stdin-eof",
        "",
        "string",
        "wait",
        "What to do when the input ends and the subprotocol cannot say so (all but v5): wait, close, or error.",
        "ACTION",
    ),
    Flag("ping-interval", "", "duration", 5.0, "Ask the server for a sign of life this often; 0 is never.", "TIME"),
    Flag(
        "ping-timeout",
        "",
        "duration",
        60.0,
        "Give the connection up when the server has sent nothing at all for this time; 0 is never.",
        "TIME",
    ),
)
MANY_FLAGS = (
    Flag(
        "selector",
        "l",
        metavar="SELECTOR",
        help="Run the command in every pod with these labels, each line of its output with the pod before it: "
        "a=b,c!=d,e in (f,g),h,!i.",
    ),
    Flag(
        "parallel",
        "",
        "int",
        4,
        "In how many of the pods to run the command at once; allows several pods to be named before --.",
        "N",
    ),
)
FILENAME_FLAG = Flag(
    "filename",
    "f",
    "list",
    (),
    "Take the pod, or what its pods are found by, from this manifest; - is stdin.",
    "FILE",
)

COPY_FLAGS = (
    CONTAINER_FLAG,
    Flag("no-preserve", "", "bool", False, "Do not keep owners and modes."),
    Flag("touch", "", "bool", False, "Do not keep times: what is copied has the time of the copy, as kubectl's has."),
    Flag("dereference", "L", "bool", False, "Copy what symbolic links lead to, not the links."),
    Flag(
        "retries",
        "",
        "int",
        0,
        "Take up a download whose connection broke so many times; negative is for ever.",
        "N",
    ),
    Flag(
        "verify",
        "",
        "string",
        "auto",
        "Compare the SHA-256 of a single file on both sides, where the container has sha256sum: always, never, "
        "or auto for files up to 64 MiB, and for any that was taken up again.",
        "WHEN",
    ),
    *(flag for flag in SESSION_FLAGS if flag.name in ("quiet", "protocol", "ping-interval", "ping-timeout")),
)
