"""Which resource a word means; discovery."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "Words, discovery": [
        Difference(
            "discovery for built-in words",
            "always (or its disk cache)",
            "none; the built-in table wins over a custom resource, or category, of that name, and no warning about a shared short name is printed for it",
            "tests/api/test_mapper.py::test_the_table_asks_nobody",
        ),
        Difference(
            "`deploy.v1beta1.apps`",
            "a short name loses its version: apps/v1",
            "keeps it: apps/v1beta1, or the error that there is none",
            "tests/differential/test_known_answers.py::test_rawkube[a-short-name-with-a-version]",
        ),
        Difference(
            "`podlist`, `podlists`",
            "a word (GET …/podlists, 404)",
            "no such resource type",
            "tests/differential/test_known_answers.py::test_rawkube[the-kind-of-a-collection]",
        ),
        Difference(
            "two resources of one group version with the same Kind",
            "the last one is asked for, whatever the word",
            "the one that the word names",
            "tests/differential/test_known_commands.py::test_rawkube[two-resources-of-one-kind]",
        ),
        Difference(
            "discovery cache on disk",
            "`~/.kube/cache`, 6 h",
            "none; ETags within a process",
            "tests/api/test_discovery.py::test_a_second_look_sends_only_what_has_changed",
        ),
        Difference(
            "a failing discovery",
            "asked four or five times, log lines",
            "asked once; what the server's Status says stands above kubectl's line",
            "tests/differential/test_known_commands.py::test_a_failing_discovery_is_asked_once",
        ),
        Difference(
            "a document that the Content-Type calls plain JSON though its kind is APIGroupDiscoveryList",
            "no groups, silently",
            "read as what it is",
            "tests/differential/test_known_answers.py::test_rawkube[aggregated-as-json]",
        ),
        Difference(
            "servers of 1.26 to 1.29 (v2beta1)",
            "legacy documents",
            "the aggregated ones",
            "tests/api/test_discovery.py::test_each_of_the_two_documents_may_have_either_shape",
        ),
        Difference(
            "406 for `/api` or `/apis`",
            "an error",
            "asked again for plain JSON",
            "tests/api/test_discovery.py::test_a_server_that_accepts_no_aggregated_document_is_asked_for_the_legacy_one",
        ),
        Difference(
            "an unknown type, where a group could not be asked",
            "the error alone",
            "the group and why, above the error",
            "tests/api/test_mapper.py::test_a_broken_group_is_named_where_it_is_wanted",
        ),
        Difference(
            "a stale part in `api-resources`",
            "nothing said",
            "named on stderr, exit 0 as kubectl",
            "tests/cli/test_api_resources.py::test_a_stale_part_is_named",
        ),
        Difference(
            '`get TYPE a ""`',
            "a is shown, then the error",
            "the error alone",
            "tests/differential/test_known_commands.py::test_rawkube[an-empty-name]",
        ),
        Difference(
            "`api-resources -o kyaml`, `--show-managed-fields`",
            "are there",
            "are not",
            "tests/differential/test_known_commands.py::test_flags_that_rawkube_has_not",
        ),
    ],
}
