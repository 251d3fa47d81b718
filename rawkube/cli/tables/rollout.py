"""Pure: `rollout …` as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

FILE_FLAGS = (
    Flag(
        "filename",
        "f",
        "list",
        (),
        "Take the objects of this manifest, directory or pattern of file names; - is stdin; repeatable.",
        "FILE",
    ),
    Flag("recursive", "R", "bool", False, "Read the directories below the directories of -f, too."),
    Flag("kustomize", "k", metavar="DIRECTORY", help="Refused: pipe what kustomize builds into -f -."),
)
_ROLLOUT_STATUS_FLAGS = (
    *FILE_FLAGS,
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
        group=True,
    ),
    Command(
        ("rollout", "status"),
        "Show the state of a rollout, until it is done",
        "Prints the state of a workload's rollout, and a line for each change, until it is done. When a new "
        "rollout begins meanwhile, the new one is followed, unless --revision names the one that is meant. "
        "Several workloads are followed one after the other. The lines are those of kubectl.",
        "(TYPE NAME... | TYPE/NAME... | TYPE [-l SELECTOR] | -f FILE)",
        (
            ("Wait until a Deployment is rolled out", "rollout status deployment/web"),
            ("At most five minutes, in another namespace", "rollout status deploy web -n demo --timeout=5m"),
            ("Show where it is, and wait for nothing", "rollout status deployment/web --watch=false"),
            ("A Deployment, then a StatefulSet", "rollout status deployment/web statefulset/db"),
            ("All DaemonSets with a label", "rollout status daemonset -l app=agent"),
            ("What a manifest holds", "rollout status -f app.yaml"),
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
        run="rollout:rollout_status",
    ),
)
