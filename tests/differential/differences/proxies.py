"""Proxies and TLS on the way; `proxy`."""

from __future__ import annotations

from tests.differential.differences.row import Difference

GROUPS = {
    "Proxies, TLS": [
        Difference(
            "certificate of an `https://` proxy",
            "checked with the cluster's CA (alone), `tls-server-name` and `insecure-skip-tls-verify`; shown the client certificate",
            "always checked, for the proxy's own name, with the system's roots and the cluster's CA; never shown the client certificate",
            "tests/wire/test_proxy_connect.py::test_the_client_certificate_is_for_the_server_alone",
        ),
        Difference(
            "a proxy of the environment that is no address (`HTTPS_PROXY=http://p:x`)",
            "is taken for the name of one (`lookup http: no such host`), or connects directly",
            "an error",
            "tests/kubeconfig/test_validate.py::test_no_address",
        ),
        Difference(
            "`socks5h://` in `proxy-url`",
            "refused",
            "is `socks5://`",
            "tests/kubeconfig/test_validate.py::test_good_proxy_urls",
        ),
        Difference(
            "answer to CONNECT",
            "only 200",
            "any 2xx (RFC 9110)",
            "tests/differential/test_proxies.py::test_answers_to_connect_that_mean_something_else[202]",
        ),
        Difference(
            "a refusal without a reason phrase",
            "an empty message, or `unknown status code`",
            "`HTTP status 502`",
            "tests/differential/test_proxies.py::test_answers_to_connect_that_mean_something_else[no reason]",
        ),
        Difference(
            "`HTTP_PROXY` in a CGI program",
            "`Unable to connect to the server: refusing …`",
            "`error: refusing …`",
            "tests/differential/test_proxies.py::test_in_a_cgi_program",
        ),
        Difference(
            "`User-Agent` of CONNECT",
            "`Go-http-client/1.1`",
            "rawkube's",
            "tests/wire/test_proxy.py::test_the_request",
        ),
        Difference(
            "`SSLKEYLOGFILE`",
            "not read",
            "honoured",
            "tests/wire/test_tls.py::test_key_log",
        ),
        Difference(
            "a certificate for `*.LABEL` (one label behind the star)",
            "is for every name with two labels that ends so",
            "is for none (OpenSSL's rule)",
            "tests/differential/test_known_connections.py::test_rawkube[one-label-behind-the-star]",
        ),
        Difference(
            "a PEM file with a byte order mark, or indented",
            "is refused",
            "is read",
            "tests/differential/test_known_connections.py::test_rawkube[byte-order-mark]",
        ),
        Difference(
            "a client certificate or key in a file that cannot be used",
            "is told when a server asks for one, and else not (`Unable to connect to the server: tls: …`)",
            "is an error at once (`error: tls: …`)",
            "tests/differential/test_known_connections.py::test_rawkube[key-of-another]",
        ),
        Difference(
            "`https://LOCALHOST` with a proxy in the environment",
            "by the proxy",
            "directly, as `localhost`",
            "tests/kubeconfig/test_proxies.py::test_which_variable",
        ),
    ],
    "<code>proxy</code>": [
        Difference(
            "`exec`, `attach`",
            "are refused by default",
            "pass",
            "tests/proxy/test_clients.py::test_a_mebibyte_in_and_out_of_exec",
        ),
        Difference(
            "filters of paths and methods, files (`--www`), `--address`, `--unix-socket`, `--api-prefix`",
            "are there",
            "are not",
            "tests/differential/test_known_commands.py::test_flags_that_rawkube_has_not",
        ),
        Difference(
            "port",
            "8001",
            "a free one; `--port=8001`",
            "tests/differential/test_known_commands.py::test_a_proxy_listens_where_nobody_does",
        ),
        Difference(
            "`Origin`",
            "any",
            "of this machine, and `--allow-origin`",
            "tests/proxy/test_passing.py::test_pages_on_the_web_are_refused",
        ),
        Difference(
            "`Access-Control-…` headers, preflights (`OPTIONS`)",
            "are the server's",
            "are the proxy's, for `--allow-origin` alone",
            "tests/proxy/test_origins.py::test_a_preflight_is_answered_here",
        ),
        Difference(
            "`Cookie`, `Set-Cookie`",
            "pass",
            "do not",
            "tests/proxy/test_origins.py::test_cookies_pass_in_neither_direction",
        ),
    ],
}
