"""Pure: the commands that go into a container (exec, attach, cp), as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
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

COMMANDS: tuple[Command, ...] = (
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
        run="exec:exec_any",
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
        run="attach:attach",
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
        run="cp:cp",
    ),
)
