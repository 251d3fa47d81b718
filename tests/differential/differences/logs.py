"""`logs`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "<code>logs</code>": [
        Difference(
            "`logs -f`: the stream breaks",
            "`error: unexpected EOF`, exit code 1",
            "is taken up again without losing or repeating lines; a line on stderr",
            "tests/differential/test_known_answers.py::test_rawkube[a-log-that-breaks]",
        ),
        Difference(
            "`logs -f`: the stream ends, the container runs",
            "exit code 0",
            "is taken up again",
            "tests/remotecommand/test_logs.py::test_a_clean_end_while_the_container_runs_is_no_end",
        ),
        Difference(
            "`logs -f`: no byte for five minutes",
            "waits",
            "asks anew, silently: the connection may be dead",
            "tests/remotecommand/test_logs.py::test_a_stream_that_is_silent_is_opened_anew_without_a_word",
        ),
        Difference(
            "`logs -f`: the request",
            "as the flags say",
            "with `timestamps=true`, without `limitBytes` (the limit is kept here); at the end a GET of the Pod",
            "tests/differential/test_known_commands.py::test_rawkube[a-log-that-is-followed]",
        ),
        Difference(
            "`logs -f`: the log is refused with 401 or 403",
            "asks every second until `--pod-running-timeout`, then `context deadline exceeded`",
            "ends at once with the server's message",
            "tests/differential/test_known_answers.py::test_rawkube[a-log-that-is-refused]",
        ),
        Difference(
            "`logs -f` of a container that does not run yet",
            "prints the reason every second",
            "prints it once",
            "tests/remotecommand/test_logs.py::test_a_container_that_does_not_run_yet_is_waited_for",
        ),
        Difference(
            "`logs -f` of several containers",
            "a last line without an end is continued by another log's line",
            "is ended first",
            "tests/cli/test_logs.py::test_a_line_without_an_end_is_not_continued_by_another_log",
        ),
        Difference(
            "a line without an end for more than 256 KiB, several logs",
            "kept whole in memory",
            "is broken where another log's line comes in between",
            "tests/remotecommand/test_log_lines.py::test_a_line_that_is_interrupted_ends_and_begins_again",
        ),
        Difference(
            "`logs` of several containers",
            "in random order",
            "init containers, containers, ephemeral containers; pods as the server lists them",
            "tests/differential/test_known_commands.py::test_rawkube[logs-of-several]",
        ),
        Difference(
            "a log that is cut off",
            "`error: unexpected EOF`",
            "the same, and above it which log is not whole",
            "tests/cli/test_logs.py::test_a_cut_log_is_exit_code_1_with_the_reason",
        ),
    ],
}
