"""Pure: `rollout …` as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag
from rawkube.cli.tables.global_flags import WATCH_TIMEOUT

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
_SELECTOR = Flag("selector", "l", metavar="SELECTOR", help="Take what has these labels: a=b,c!=d,e in (f,g),h,!i.")
_ROLLOUT_STATUS_FLAGS = (
    *FILE_FLAGS,
    Flag(
        "all",
        "",
        "bool",
        False,
        "Take all there are of the types; of no type: all Deployments, DaemonSets, StatefulSets.",
    ),
    Flag("all-namespaces", "A", "bool", False, "Take those of every namespace."),
    Flag(
        "any",
        "",
        "bool",
        False,
        "As --require=1: end as soon as one is complete.",
    ),
    Flag(
        "any-kind",
        "",
        "bool",
        False,
        "Follow any kind: Jobs, Pods, ReplicaSets, custom resources by their conditions, Argo Rollouts, OpenKruise.",
    ),
    Flag(
        "condition",
        "",
        "array",
        (),
        "Done is only what also has this condition (True where no STATUS is said); repeatable.",
        "TYPE[=STATUS]",
    ),
    Flag(
        "detailed-exitcode",
        "",
        "bool",
        False,
        "Tell by the exit code how it ended: 1 or 3 to 7 below, of several workloads the lowest that one of them had.",
    ),
    Flag(
        "explain",
        default="auto",
        metavar="auto|live|never",
        help="Say on stderr why a rollout does not finish: auto, when it has failed or taken too long; live, as "
        "causes appear and go.",
    ),
    Flag(
        "fail-fast",
        "",
        "int",
        None,
        "Give up on what cannot succeed: at once where only a change can help (a bad image name, a missing key); what "
        "can heal is given N restarts of a container, 1m of failing to pull an image, 2m of anything else.",
        "N",
        bare="3",
        shown="not; N is 3",
    ),
    Flag(
        "field",
        "",
        "array",
        (),
        "Done is only what also has this value at a JSONPath, as in `rawkube wait --for=jsonpath=PATH=VALUE`; "
        "repeatable.",
        "PATH=VALUE",
    ),
    Flag(
        "output",
        "o",
        metavar="json",
        help="Print an object (JSON, a line each) for each change instead of kubectl's lines; the last one tells how "
        "all ended. Implies --parallel.",
    ),
    Flag(
        "parallel",
        "",
        "bool",
        False,
        "Follow all at once, by one watch for each type and namespace; a line that has just been is not printed again.",
    ),
    Flag("prefix", "", "bool", False, "Begin each line with whose it is. Implies --parallel."),
    Flag(
        "progress",
        "",
        "bool",
        False,
        "Show a live table on a terminal, a row for each workload; elsewhere, or without the library rich (extra ui), "
        "lines. Implies --parallel and, unless never, --explain=live.",
    ),
    Flag(
        "require",
        metavar="N|P%",
        help="End as soon as so many are complete, or cannot be any more; then how the others end does not matter. "
        "Implies --parallel.",
        shown="100%, and to the end of each",
    ),
    Flag(
        "revision",
        "",
        "int",
        0,
        "Watch this revision of a Deployment only, and fail when another takes its place; 0 is the latest.",
        "N",
    ),
    _SELECTOR,
    Flag(
        "timeout",
        "",
        "duration",
        0.0,
        "Give up on a workload after this time (1s, 2m, 3h); 0 is never.",
        "TIME",
    ),
    Flag("timeout-total", "", "duration", 0.0, "Give up on all after this time; 0 is never.", "TIME"),
    Flag("watch", "w", "bool", True, "Wait until the rollout is done; --watch=false shows where it is now."),
    WATCH_TIMEOUT,
)

_OUTPUT_FLAGS = (
    Flag("output", "o", metavar="json|name|yaml", help="Print the objects themselves, or their names only."),
    Flag("show-managed-fields", "", "bool", False, "Keep metadata.managedFields with -o json and -o yaml."),
)
_PATCH_FLAGS = (
    *FILE_FLAGS,
    _SELECTOR,
    Flag(
        "field-manager",
        default="kubectl-rollout",
        metavar="NAME",
        help="Who the server notes as having set the fields.",
    ),
    *_OUTPUT_FLAGS,
)
_HISTORY_FLAGS = (
    *FILE_FLAGS,
    _SELECTOR,
    Flag("revision", "", "int", 0, "Show this revision with its Pod template; 0 lists all.", "N"),
    *_OUTPUT_FLAGS,
)
_UNDO_FLAGS = (
    *FILE_FLAGS,
    _SELECTOR,
    Flag("to-revision", "", "int", 0, "Go back to this revision; 0 is the one before the present.", "N"),
    Flag(
        "dry-run",
        default="none",
        metavar="none|client|server",
        help="client (or no value): show what would be sent; server: send it, and have it not stored.",
        bare="unchanged",
    ),
    *_OUTPUT_FLAGS,
)
_ARGUMENTS = "(TYPE NAME... | TYPE/NAME... | TYPE [-l SELECTOR] | -f FILE)"
_PATCH_EXITS = (
    ("0", "it was done to everything that was named, or nothing was selected"),
    ("1", "it was not, to one at least"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("rollout",),
        "Follow the rollout of workloads, begin one, take one back",
        "A rollout replaces the pods of a workload by those of its newest template. Workloads are "
        "Deployments, DaemonSets and StatefulSets.",
        examples=(
            ("Wait until a DaemonSet is rolled out", "rollout status daemonset/agent"),
            ("Show where a Deployment's rollout is", "rollout status deployment/web --watch=false"),
            ("Take back what was rolled out last", "rollout undo deployment/web"),
        ),
        group=True,
    ),
    Command(
        ("rollout", "status"),
        "Show the state of a rollout, until it is done",
        "Prints the state of a workload's rollout, and a line for each change, until it is done. When a new "
        "rollout begins meanwhile, the new one is followed, unless --revision names the one that is meant. "
        "Several workloads are followed one after the other, or at once with --parallel. The lines are those of "
        "kubectl.",
        "(TYPE NAME... | TYPE/NAME... | TYPE [-l SELECTOR] | -f FILE)",
        (
            ("Wait until a Deployment is rolled out", "rollout status deployment/web"),
            ("At most five minutes, in another namespace", "rollout status deploy web -n demo --timeout=5m"),
            ("Show where it is, and wait for nothing", "rollout status deployment/web --watch=false"),
            ("A Deployment, then a StatefulSet", "rollout status deployment/web statefulset/db"),
            ("All DaemonSets with a label", "rollout status daemonset -l app=agent"),
            ("What a manifest holds", "rollout status -f app.yaml"),
            ("All at once, five minutes for all together", "rollout status --all --prefix --timeout-total=5m"),
            ("For a program", "rollout status deployment/web -o json --detailed-exitcode"),
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
            ("3", "with --detailed-exitcode: a rollout failed"),
            ("4", "with --detailed-exitcode: an object was deleted"),
            ("5", "with --detailed-exitcode: an object is missing, or nothing was selected"),
            ("6", "with --detailed-exitcode: a rollout took too long"),
            ("7", "with --detailed-exitcode: a rollout is not done yet (--watch=false)"),
            ("128+N", "with --detailed-exitcode: ended by signal N"),
        ),
        run="rollout:rollout_status",
    ),
    Command(
        ("rollout", "history"),
        "List the revisions of workloads",
        "Lists the revisions of each workload, by number, with what was noted as the cause of the change "
        "(annotation kubernetes.io/change-cause); with --revision the Pod template of one. The text is kubectl's.",
        _ARGUMENTS,
        (
            ("The revisions of a Deployment", "rollout history deployment/web"),
            ("The Pod template of the third one", "rollout history deployment/web --revision=3"),
        ),
        _HISTORY_FLAGS,
        (("0", "everything that was named was shown"), ("1", "a revision or an object is missing, or any other error")),
        run="rollout_verbs:rollout_history",
    ),
    Command(
        ("rollout", "undo"),
        "Go back to an earlier revision",
        "Gives each workload the Pod template of an earlier revision, which begins a new rollout. A paused "
        "Deployment has to be resumed before.",
        _ARGUMENTS,
        (
            ("To the revision before", "rollout undo deployment/web"),
            ("To the third one", "rollout undo daemonset/agent --to-revision=3"),
            ("Show the template that it would get", "rollout undo deployment/web --dry-run=client"),
        ),
        _UNDO_FLAGS,
        _PATCH_EXITS,
        run="rollout_verbs:rollout_undo",
    ),
    Command(
        ("rollout", "restart"),
        "Replace the pods of workloads by new ones",
        "Notes the time in the Pod template of each workload (annotation kubectl.kubernetes.io/restartedAt), which "
        "begins a new rollout.",
        _ARGUMENTS,
        (
            ("One Deployment", "rollout restart deployment/web"),
            ("Every Deployment with a label", "rollout restart deployment -l app=web"),
        ),
        _PATCH_FLAGS,
        _PATCH_EXITS,
        run="rollout_verbs:rollout_restart",
    ),
    Command(
        ("rollout", "pause"),
        "Have the changes of a Deployment wait",
        "Sets spec.paused: what is changed in the Pod template from then on waits. Only Deployments can be paused.",
        _ARGUMENTS,
        (("Pause a Deployment", "rollout pause deployment/web"),),
        _PATCH_FLAGS,
        _PATCH_EXITS,
        run="rollout_verbs:rollout_pause",
    ),
    Command(
        ("rollout", "resume"),
        "Have the changes of a paused Deployment happen",
        "Takes spec.paused away: what has waited begins.",
        _ARGUMENTS,
        (("Resume a Deployment", "rollout resume deployment/web"),),
        _PATCH_FLAGS,
        _PATCH_EXITS,
        run="rollout_verbs:rollout_resume",
    ),
)
