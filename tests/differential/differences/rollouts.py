"""`rollout status`, and the other verbs of `rollout`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "<code>rollout status</code>": [
        Difference(
            "`-k`, and URLs in `-f`",
            "are read",
            "one line that says how to pipe them in",
            "tests/differential/test_files.py::test_what_rawkube_says_itself[-k folder]",
        ),
        Difference(
            "an object of `-f` without a name",
            "the first of its kind that the server lists",
            "an error",
            "tests/differential/test_known_answers.py::test_rawkube[a-file-without-a-name]",
        ),
        Difference(
            "a document of `-f` that is no object",
            "the message shows all of it",
            "the message shows its first key alone",
            "tests/differential/test_files.py::test_files[a-document-that-is-none]",
        ),
        Difference(
            "a YAML error in a file of several documents",
            "`line N`, counted from some document on",
            "`line N` of the file",
            "tests/differential/test_known_commands.py::test_rawkube[the-line-of-an-error]",
        ),
        Difference(
            "a kind of `-f` that kubectl's binary does not hold",
            "`no kind … is registered`",
            "is looked up on the server",
            "tests/differential/test_known_commands.py::test_rawkube[a-kind-that-kubectl-does-not-hold]",
        ),
        Difference(
            "`rollout status` fails or times out",
            "kubectl's line alone",
            "findings above it (`--explain=never` leaves them out); asks for Pods, ReplicaSets, Events … then",
            "tests/cli/test_rollout_lines.py::test_a_failure_is_explained_above_kubectls_last_line",
        ),
        Difference(
            "`--explain`, `--fail-fast`, `--all`, `-A`, `--parallel`, `--require`, `--timeout-total`, `-o json`, `--detailed-exitcode`, …",
            "unknown flag",
            "see [Rollouts](#rollouts)",
            "tests/cli/test_rollout_lines.py::test_many_at_once",
        ),
        Difference(
            "`--progress`",
            "not there",
            "a live table on a terminal",
            "tests/cli/test_live_table.py::test_on_a_terminal",
        ),
        Difference(
            "other kinds",
            "`no status viewer has been implemented for …`",
            "the same; with `--any-kind` they are followed",
            "tests/cli/test_rollout_lines.py::test_other_kinds_by_their_own_rules",
        ),
    ],
    "<code>rollout history</code>, <code>undo</code>, <code>restart</code>, <code>pause</code>, <code>resume</code>": [
        Difference(
            "`rollout restart\\|pause\\|resume\\|undo -o FORMAT` with a format that it does not know",
            "patches, then says so",
            "says so, and nothing is sent",
            "tests/differential/test_restart_pause.py::test_an_unknown_output_is_refused_before_anything_is_written",
        ),
        Difference(
            "`-o jsonpath`, `go-template`, `kyaml`, `--template` of these commands",
            "are printed",
            "are refused before anything is sent",
            "tests/differential/test_known_answers.py::test_rawkube[an-output-of-kubectl]",
        ),
        Difference(
            "control characters in a revision's text (`rollout history`, `undo --dry-run=client`)",
            "written to the terminal",
            "shown as `\\x1b`",
            "tests/differential/test_known_answers.py::test_rawkube[a-cause-in-red]",
        ),
        Difference(
            "Pod templates with fields left out that the API does not ask for (`expirationSeconds` of a token, `service` of a gRPC probe, `kind` of an Azure disk)",
            "crashes",
            "shows them as empty",
            "tests/rollout/test_pod_template.py::test_what_makes_kubectl_crash_is_described",
        ),
        Difference(
            "a connection that breaks during a patch",
            '`error: failed to patch: Patch "URL": EOF`',
            "`Unable to connect to the server: EOF`; a patch is not repeated by either",
            "tests/differential/test_known_answers.py::test_rawkube[a-patch-that-breaks]",
        ),
        Difference(
            "ControllerRevisions whose patch does not replace the template as a whole",
            "lists are merged by their keys",
            "lists are replaced (`history --revision`, `--dry-run=client` only; what is sent is the patch itself)",
            "tests/differential/test_known_commands.py::test_rawkube[a-revision-that-is-merged]",
        ),
        Difference(
            "`restart`, `pause`, `resume` of a workload of `extensions/v1beta1`",
            "work",
            "`error: … is not supported`",
            "tests/differential/test_known_commands.py::test_rawkube[an-old-api-version]",
        ),
        Difference(
            "`-f`: an object of another namespace than `-n`",
            "is read first",
            "is refused at once",
            "tests/differential/test_known_commands.py::test_rawkube[a-file-of-another-namespace]",
        ),
    ],
}
