"""`get`, `watch`, and watches as such."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "<code>get</code>, <code>watch</code>": [
        Difference(
            "`get`: which kind a word means",
            "discovery; a warning where a short name is ambiguous",
            "the built-in kinds first: one request, no warning",
            "tests/cli/test_get.py::test_a_built_in_kind_costs_one_request",
        ),
        Difference(
            "`get`: a list that expires (410) between two pages",
            "what had come, then the error, exit code 1",
            "the whole list anew, in one page",
            "tests/differential/test_get.py::test_both_print_the_same[pages-expire]",
        ),
        Difference(
            "`get -w`: a stream that ends, a reset, an outage",
            "ends, exit code 0, without a word",
            "goes on; stderr tells of outages",
            "tests/differential/test_get_watch.py::test_both_print_the_same_changes",
        ),
        Difference(
            "`get -w`: a version that is too old",
            "prints the Status as a row, or fails",
            "lists again, and prints what is different",
            "tests/differential/test_known_answers.py::test_rawkube[a-version-that-is-too-old]",
        ),
        Difference(
            "`get -w` requests",
            "without bookmarks; of one object: GET, then a watch from version 0",
            "LIST in pages, then WATCH from its version, with bookmarks",
            "tests/differential/test_known_answers.py::test_rawkube[one-object-that-is-watched]",
        ),
        Difference(
            "`get -w` of several names",
            "prints them, then the error",
            "the error",
            "tests/differential/test_known_answers.py::test_rawkube[several-names]",
        ),
        Difference(
            "`get --sort-by`, `--show-kind`, `--subresource`, `--server-print`, `--output-watch-events`, `--raw`, `--template`, `-k`",
            "are there",
            "are not",
            "tests/differential/test_known_commands.py::test_flags_that_rawkube_has_not",
        ),
        Difference(
            "`get -o`",
            "many more formats",
            "`json`, `yaml`, `name`, `wide`; another one is refused before the server is asked",
            "tests/cli/test_get.py::test_what_is_refused_before_anybody_is_asked",
        ),
        Difference(
            "`get --chunk-size` below 0",
            "asks for ever",
            "is refused",
            "tests/cli/test_get.py::test_what_is_refused_before_anybody_is_asked",
        ),
        Difference(
            "`get -f` with a selector",
            "filters what the files name",
            "is refused",
            "tests/differential/test_known_commands.py::test_rawkube[files-with-a-selector]",
        ),
        Difference(
            "`get -f` of an object without a name (`generateName`)",
            "prints a row without a name",
            "an error",
            "tests/differential/test_known_commands.py::test_rawkube[a-file-without-a-name]",
        ),
        Difference(
            "control characters and direction marks in a table or a name",
            "only ESC and CR are made visible",
            "all are (`\\x07`); a TAB ends a cell, as in kubectl",
            "tests/cli/test_get.py::test_control_characters_do_not_reach_the_terminal",
        ),
        Difference(
            "`get -o yaml`: U+2028 and U+2029",
            "as they are, a line break to YAML",
            '`"\\L"`, `"\\P"`',
            "tests/differential/test_known_commands.py::test_rawkube[line-separators]",
        ),
        Difference(
            "`get -o yaml`: DEL, and U+0080 to U+009F",
            "fails, or turns U+0085 into a space",
            '`"\\x7F"`, `"\\N"`',
            "tests/differential/test_known_commands.py::test_rawkube[next-line]",
        ),
        Difference(
            "`get -o yaml`: keys such as `b9`, `b10`, `b1a`, which go-yaml's order puts in a circle",
            "as its sort happens to go",
            "as Python's sort does",
            "tests/differential/test_known_commands.py::test_keys_whose_order_goes_round_in_a_circle",
        ),
        Difference(
            "`watch`, which kubectl does as `get --watch`: a stream that ends, a reset, an outage",
            "ends, exit code 0, without a word",
            "goes on; stderr tells of outages and of listing again",
            "tests/faults/test_watch_command.py::test_however_a_watch_ends_each_state_is_told_once",
        ),
        Difference(
            "`watch`: a version that is too old",
            "prints the Status as a row, or fails",
            "lists again, and prints what is different",
            "tests/faults/test_watch_command.py::test_what_was_missed_is_told_after_listing_again",
        ),
        Difference(
            "`watch`: several types",
            "error (`you may only specify a single resource type`)",
            "all of them, as events come",
            "tests/cli/test_watch.py::test_types",
        ),
        Difference(
            "`watch TYPE/NAME` of what does not exist",
            "NotFound",
            "waits for it, and says so on stderr",
            "tests/cli/test_watch.py::test_what_is_not_there_yet_is_waited_for",
        ),
        Difference(
            "`watch -l`: an object that loses the label",
            "DELETED",
            "`LEFT`, with how it is now, by a GET",
            "tests/cli/test_watch.py::test_an_object_that_leaves_the_selection",
        ),
        Difference(
            "a streaming list that never ends (a server that ignores `sendInitialEvents`)",
            "waits for ever",
            "after 10 s of silence, or 60 s in all: LIST",
            "tests/api/test_streaming_list.py::test_events_that_never_end_are_not_waited_for_for_ever",
        ),
        Difference(
            'a streaming list that is answered with 410 or "too large"',
            "asks again without a pause",
            "once more after a back-off, then LIST",
            "tests/api/test_streaming_list.py::test_a_version_that_does_not_do_is_tried_once_more_and_not_at_once",
        ),
        Difference(
            "a streaming list after the first one",
            "asks from the last resourceVersion",
            "asks without one: a consistent read",
            "tests/differential/test_known_commands.py::test_rawkube[a-second-streaming-list]",
        ),
        Difference(
            "watches that end after an event each",
            "are opened again as fast as they end",
            "five at once, then three a second",
            "tests/api/test_streaming_list.py::test_a_few_are_at_once_then_three_a_second",
        ),
    ],
}
