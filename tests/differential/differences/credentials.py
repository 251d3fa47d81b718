"""Credentials, `config`, `auth`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "Credentials, <code>config</code>, <code>auth</code>": [
        Difference(
            "a 401, with a plugin",
            "the plugin runs; the next request has the new credential",
            "it runs, and the request is repeated once if the credential is another one",
            "tests/kubeconfig/test_exec_plugin_server.py::test_a_401_is_answered_with_a_new_one",
        ),
        Difference(
            "a plugin's credential that is about to expire",
            "is used until it has expired",
            "is replaced up to 10 s (a tenth of its life) before",
            "tests/kubeconfig/test_exec_plugin.py::test_replaced_before_its_end",
        ),
        Difference(
            "a plugin that fails",
            "runs again for each request (five times for one command)",
            "ends the command at the first",
            "tests/differential/test_known_connections.py::test_rawkube[plugin-that-fails]",
        ),
        Difference(
            "a plugin and a server that asks for certificates",
            "may run once more for the handshake",
            "the handshake uses what the request's headers had",
            "tests/kubeconfig/test_exec_plugin_server.py::test_expired_ones_are_used_once_and_no_handshake_runs_it",
        ),
        Difference(
            "a plugin that does not end",
            "is waited for without end",
            "is ended, with its children, after `--plugin-timeout` (60 s)",
            "tests/kubeconfig/test_exec_plugin.py::test_a_hanging_one_is_ended_with_what_it_started",
        ),
        Difference(
            "a plugin that leaves a process behind with its stdout open",
            "is waited for",
            "half a second, then what it printed counts",
            "tests/kubeconfig/test_exec_plugin.py::test_what_it_leaves_behind_is_not_waited_for",
        ),
        Difference(
            "`exec -i`, `attach -i` and a plugin with `interactiveMode`",
            "the plugin reads stdin, too",
            "stdin is not the plugin's",
            "tests/kubeconfig/test_exec_plugin_server.py::test_stdin_that_is_used_is_left_alone",
        ),
        Difference(
            "a plugin's `expirationTimestamp` that is no time, an unknown YAML anchor",
            "is in the message",
            "is left out: nothing of a plugin's output is shown",
            "tests/kubeconfig/test_exec_plugin_texts.py::test_none",
        ),
        Difference(
            "a kuberc whose rules cannot be read",
            "one line that names `--v=5`",
            "the line says that the rules do not apply",
            "tests/kubeconfig/test_kuberc.py::test_what_is_none_has_no_say_and_that_is_said",
        ),
        Difference(
            "commands without a connection (`version --client`) and a bad kuberc",
            "fail",
            "kuberc is read where a connection is made",
            "tests/differential/test_known_connections.py::test_rawkube[preferences-without-a-connection]",
        ),
        Difference(
            "aliases and default flags of a kuberc",
            "count",
            "are not read: it only says which plugins may run",
            "tests/differential/test_known_connections.py::test_rawkube[preferences-for-flags]",
        ),
        Difference(
            "connections in use when a plugin's certificate changes",
            "are closed",
            "are closed when their answer has been read",
            "tests/kubeconfig/test_exec_plugin_server.py::test_a_connection_in_use_is_not_used_again",
        ),
        Difference(
            "`auth-provider: oidc`, new tokens",
            "are written into the kubeconfig",
            "stay in memory; stderr says once that a rotated refresh token was not stored",
            "tests/kubeconfig/test_oidc.py::test_a_token_that_ages_is_renewed_with_the_rotated_refresh_token_and_one_note",
        ),
        Difference(
            "`auth-provider: oidc`, a 401",
            "is an error",
            "another ID token from the issuer, and one more try",
            "tests/kubeconfig/test_oidc.py::test_after_a_401_the_issuer_is_asked_although_the_token_looks_good",
        ),
        Difference(
            "`auth-provider: oidc`, the issuer cannot be reached",
            '"The connection to the server API-SERVER was refused"',
            "names the issuer's URL; redirects of the issuer are not followed",
            "tests/kubeconfig/test_oidc.py::test_the_token_endpoint_cannot_be_reached",
        ),
        Difference(
            "`auth-provider: oidc`, an answer that is no token",
            "the last line shows it",
            "the last line names the status, too",
            "tests/differential/test_oidc.py::test_rawkube[broken]",
        ),
        Difference(
            "a removed `auth-provider` (gcp, azure) beside a token or password",
            "is an error",
            "the token or password is used",
            "tests/differential/test_known_connections.py::test_rawkube[removed-provider-beside-a-token]",
        ),
        Difference(
            "a Pod whose token file is missing",
            "`localhost:8080` refused",
            "the same, and a line that says which file is missing",
            "tests/api/test_in_a_pod.py::test_a_pod_without_a_token_is_told_so",
        ),
        Difference(
            "`config view`, passwords in URLs, a plugin's environment and secret flags, an auth provider's tokens",
            "are shown",
            "REDACTED, but for `--raw` and `--flatten`",
            "tests/cli/test_config.py::test_view_holds_no_secret",
        ),
        Difference(
            "`config view`, `auth whoami`: `-o`",
            "json, yaml, name, kyaml, jsonpath, templates",
            "json, yaml",
            "tests/differential/test_known_connections.py::test_rawkube[whoami-name]",
        ),
        Difference(
            "`config view`, `auth whoami`: `--template`, `--show-managed-fields`",
            "are there",
            "are not",
            "tests/differential/test_known_commands.py::test_flags_that_rawkube_has_not",
        ),
        Difference(
            "`auth whoami`, `auth can-i`",
            "ask in protobuf, after a whole discovery",
            "ask in JSON; built-in kinds need no discovery",
            "tests/differential/test_known_connections.py::test_rawkube[whoami]",
        ),
    ],
}
