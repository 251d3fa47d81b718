"""Where rawkube knowingly differs from kubectl: the rows of the README's table, and the test that asserts each.

So far for some groups of that table; the others are named, so that a new group is noticed.
"""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """`test`: FILE::FUNCTION of what asserts rawkube's side. Empty: none is known to."""

    topic: str
    kubectl: str
    rawkube: str
    test: str


DIFFERENCES = {
    "<code>wait</code>": [
        Difference(
            "requests for one object",
            "GET, then a streaming list for each `--for`",
            "LIST, then WATCH, for all `--for` together",
            "tests/cli/test_wait.py::test_what_is_asked",
        ),
        Difference(
            "the time is over before an object's turn, `--for=delete`",
            "`context deadline exceeded`",
            "`timed out waiting for the condition on …`, as for other goals",
            "",
        ),
        Difference(
            "LIST or WATCH is forbidden",
            "asks again until the time is over",
            "GET instead of LIST; a forbidden WATCH is the error, at once",
            "tests/cli/test_wait.py::test_what_may_not_be_listed",
        ),
        Difference(
            "an outage, a watch that ends",
            "silent",
            "goes on too; stderr tells of outages",
            "tests/cli/test_wait.py::test_a_server_that_goes_away_and_comes_back",
        ),
        Difference(
            "`--for=create`",
            "asks every 500 ms",
            "watches (asks, where it may not list); above `timed out waiting for the condition` stands what is missing",
            "tests/differential/test_wait.py::test_rawkube",
        ),
        Difference(
            "`--for=create -f FILE` of what is not there yet",
            "NotFound, at once",
            "waits for it",
            "tests/cli/test_wait.py::test_a_file_of_what_is_to_be_created",
        ),
        Difference(
            "a filter on what is no list, conditions that are no list",
            "the error shows the value",
            "the error shows its type: a value may be secret",
            "",
        ),
        Difference(
            "`--local`",
            "crashes",
            "is no flag",
            "",
        ),
        Difference(
            "`-o` with templates, JSONPath, `kyaml`",
            "are there",
            "are refused before anything is asked",
            "tests/cli/test_wait.py::test_an_output_that_only_kubectl_has",
        ),
        Difference(
            "`--any`, `--fail-on`",
            "are not there",
            "see [Wait](#wait)",
            "tests/cli/test_wait.py::test_of_several_objects_whichever_fails_ends_it",
        ),
    ],
    "<code>exec</code>, <code>attach</code>, <code>cp</code>": [
        Difference(
            "`exec` without SPDY",
            "falls back to it where WebSockets are refused",
            "says `unable to upgrade connection: …`, and why",
            "tests/cli/test_exec.py::test_a_refusal_says_why_and_its_own_words_last",
        ),
        Difference(
            "`exec`, `attach`: close 1000 without the command's status",
            "exit code 0",
            "exit code 1: its output may be incomplete",
            "tests/differential/test_exec.py::test_both_end_so_and_send_the_same",
        ),
        Difference(
            "`exec`, an abnormal end after the status",
            "loses the status",
            "exit code 1, and the line names the status that had come",
            "tests/differential/test_exec.py::test_both_end_so_and_send_the_same",
        ),
        Difference(
            "`exec`, a server that stays open after the status",
            "hangs",
            "is closed after 10 s; the status counts",
            "tests/remotecommand/test_session.py::test_a_server_that_stays_open_after_the_status_is_closed",
        ),
        Difference(
            "`exec`, signs of life",
            "pongs alone",
            "any received frame (`--ping-interval`, `--ping-timeout`)",
            "tests/cli/test_exec.py::test_silence_ends_it",
        ),
        Difference(
            "`exec -i` with a server that only speaks v4",
            "cannot",
            "works; the end of the input cannot be sent (`--stdin-eof`)",
            "tests/differential/test_exec.py::test_v4_alone_is_taken_where_kubectl_gives_up",
        ),
        Difference(
            "`exec`, Ctrl-C without a terminal of its own",
            "killed by the signal",
            "exit code 130, after a clean close",
            "tests/cli/test_exec.py::test_ctrl_c_with_i_alone_interrupts_and_closes",
        ),
        Difference(
            "`exec -t` with stdout not a terminal",
            "silent",
            "one warning on stderr",
            "tests/cli/test_exec.py::test_output_into_a_file",
        ),
        Difference(
            "`attach`, the exit code",
            "0",
            "the container's own, where the Pod tells it",
            "tests/cli/test_attach.py::test_the_exit_code",
        ),
        Difference(
            "`cp`, symbolic links in a download",
            "are skipped",
            "are kept if they stay inside the target",
            "tests/remotecommand/test_copy.py::test_where_a_link_may_lead",
        ),
        Difference(
            "`cp`, something that is refused or skipped (a link that leads out, a pipe)",
            "exit code 0",
            "exit code 1",
            "tests/cli/test_cp_faults.py::test_a_hostile_container_writes_nothing_outside",
        ),
        Difference(
            "`cp`, what the container's tar says",
            "stdout",
            "stderr",
            "tests/cli/test_cp.py::test_what_the_container_says_is_shown",
        ),
        Difference(
            "`cp`, modes in a download",
            "0644",
            "kept, without setuid and setgid (`--no-preserve`: not)",
            "tests/cli/test_cp.py::test_without_modes_and_times",
        ),
        Difference(
            "`cp`, a source that is missing",
            "exit code 0",
            "tar's exit code",
            "tests/cli/test_cp_faults.py::test_nothing_there_to_come_down",
        ),
    ],
}

# Groups of the table whose rows name no tests yet.
NOT_LISTED = [
    "Requests, watches, configuration",
    "<code>rollout status</code>",
    "<code>rollout history</code>, <code>undo</code>, <code>restart</code>, <code>pause</code>, <code>resume</code>",
    "<code>logs</code>",
    "<code>get</code>, <code>watch</code>",
    "Words, discovery",
    "Credentials, <code>config</code>, <code>auth</code>",
    "Proxies, TLS",
    "<code>proxy</code>",
]
