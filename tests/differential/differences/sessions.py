"""`exec`, `attach`, `cp`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "<code>exec</code>, <code>attach</code>, <code>cp</code>": [
        Difference(
            "`exec` without SPDY",
            "falls back to it where WebSockets are refused",
            "says `unable to upgrade connection: …`, and why",
            "tests/cli/test_exec.py::test_a_refusal_says_why_and_its_own_words_last",
        ),
        Difference(
            "`exec`, a server that compresses",
            "`error: websocket: invalid compression negotiation`",
            "`error: unable to upgrade connection: websocket: …`",
            "tests/differential/test_exec.py::test_both_end_so_and_send_the_same[compression]",
        ),
        Difference(
            "`exec`, `attach`: close 1000 without the command's status",
            "exit code 0",
            "exit code 1: its output may be incomplete",
            "tests/differential/test_exec.py::test_both_end_so_and_send_the_same[no-status]",
        ),
        Difference(
            "`exec`, an abnormal end after the status",
            "loses the status",
            "exit code 1, and the line names the status that had come",
            "tests/differential/test_exec.py::test_both_end_so_and_send_the_same[fin]",
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
            "tests/remotecommand/test_session.py::test_whatever_comes_is_a_sign_of_life",
        ),
        Difference(
            "`exec` with a server whose WebSockets only speak v4",
            "tries SPDY instead",
            "works; with `-i`, the end of the input cannot be sent (`--stdin-eof`)",
            "tests/differential/test_attach.py::test_the_end[v4-alone]",
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
            "`attach`, the exit code where the stream says Success",
            "0",
            "the container's own, where the Pod tells it",
            "tests/differential/test_attach.py::test_the_end[the-pod-alone-tells-it]",
        ),
        Difference(
            "`attach -it`, Ctrl-P Ctrl-Q",
            "are typed",
            "leave the process, which runs on (`--detach-keys`)",
            "tests/cli/test_attach.py::test_the_keys_leave_it_running",
        ),
        Difference(
            "`cp`, symbolic links in a download",
            "are skipped",
            "are kept if they stay inside the target",
            "tests/differential/test_copy.py::test_what_rawkube_leaves_of_a_folder",
        ),
        Difference(
            "`cp`, something that is refused or skipped (a link that leads out, a pipe)",
            "exit code 0; a pipe becomes an empty file",
            "exit code 1",
            "tests/differential/test_copy.py::test_what_rawkube_leaves_of_a_folder",
        ),
        Difference(
            "`cp`, what the container's tar says",
            "stdout",
            "stderr",
            "tests/differential/test_copy.py::test_what_rawkube_leaves_of_a_folder",
        ),
        Difference(
            "`cp`, modes in a download",
            "0644",
            "kept, without setuid and setgid (`--no-preserve`: not)",
            "tests/differential/test_copy.py::test_what_rawkube_leaves_of_a_folder",
        ),
        Difference(
            "`cp`, times in a download",
            "are those of the copy",
            "kept (`--touch`: not)",
            "tests/differential/test_copy.py::test_what_rawkube_leaves_of_a_folder",
        ),
        Difference(
            "`cp` of a single file",
            "what has come counts",
            "is compared by its SHA-256, with one more `exec` (`--verify`)",
            "tests/cli/test_cp_faults.py::test_a_copy_that_differs",
        ),
        Difference(
            "`cp`, a source that is missing",
            "exit code 0",
            "tar's exit code",
            "tests/differential/test_copy.py::test_a_source_that_is_not_there",
        ),
    ],
}
