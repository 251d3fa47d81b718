"""`wait`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "<code>wait</code>": [
        Difference(
            "requests for one object",
            "GET, then a streaming list for each `--for`",
            "LIST, then WATCH, for all `--for` together",
            "tests/cli/test_wait.py::test_what_is_asked",
        ),
        Difference(
            "objects that are selected (`--all`, `-l`)",
            "a GET and a streaming list for each, on a connection of its own",
            "one LIST and one WATCH for all",
            "tests/cli/test_wait_all.py::test_one_list_and_one_watch_in_the_order_of_the_list",
        ),
        Difference(
            "the time is over before an object's turn, `--for=delete`",
            "`context deadline exceeded`",
            "`timed out waiting for the condition on …`, as for other goals",
            "tests/differential/test_known_commands.py::test_rawkube[no-time-for-the-second]",
        ),
        Difference(
            "LIST or WATCH is forbidden",
            "asks again until the time is over",
            "GET instead of LIST; a forbidden WATCH is the error, at once",
            "tests/differential/test_known_answers.py::test_rawkube[what-may-not-be-watched]",
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
            "tests/differential/test_known_answers.py::test_rawkube[a-creation-that-does-not-come]",
        ),
        Difference(
            "`--for=create -f FILE` of what is not there yet",
            "NotFound, at once",
            "waits for it",
            "tests/differential/test_known_answers.py::test_rawkube[a-file-of-what-is-to-come]",
        ),
        Difference(
            "a filter on what is no list, conditions that are no list",
            "the error shows the value",
            "the error shows its type: a value may be secret",
            "tests/differential/test_known_commands.py::test_rawkube[a-filter-on-text]",
        ),
        Difference(
            "`--local`",
            "crashes",
            "is no flag",
            "tests/differential/test_known_commands.py::test_flags_that_rawkube_has_not",
        ),
        Difference(
            "`-o` with templates, JSONPath, `kyaml`; `--template`",
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
}
