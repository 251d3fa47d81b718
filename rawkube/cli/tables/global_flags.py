"""Pure: the flags of every command. Those of kubectl keep their names, defaults and meaning (`kubectl options`)."""

from __future__ import annotations

from rawkube.cli.flags import Flag

GLOBAL_FLAGS: tuple[Flag, ...] = (
    Flag("as", metavar="USER", help="Act as this user (impersonation)."),
    Flag("as-group", "", "array", (), "Act as a member of this group; repeatable.", "GROUP"),
    Flag("as-uid", metavar="UID", help="Act as the user with this UID."),
    Flag(
        "as-user-extra",
        "",
        "array",
        (),
        "Act as a user with this extra field; repeatable, also for one key.",
        "KEY=VALUE",
    ),
    Flag(
        "certificate-authority",
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file for the server's certificate.",
    ),
    Flag("client-certificate", metavar="FILE", help="Client certificate, a PEM file."),
    Flag("client-key", metavar="FILE", help="Key of the client certificate, a PEM file."),
    Flag("cluster", metavar="NAME", help="Cluster of the kubeconfig."),
    Flag("context", metavar="NAME", help="Context of the kubeconfig."),
    Flag("disable-compression", "", "bool", False, "Ask the server not to compress its answers."),
    Flag(
        "insecure-skip-tls-verify",
        "",
        "bool",
        False,
        "Do not check the server's certificate: whoever answers is believed.",
    ),
    Flag("kubeconfig", metavar="FILE", help="Read this kubeconfig and no other.", shown="$KUBECONFIG"),
    Flag(
        "kuberc",
        metavar="FILE",
        help="Read which credential plugins may be run from these preferences.",
        shown="$KUBERC or ~/.kube/kuberc",
    ),
    Flag("namespace", "n", metavar="NAME", help="Namespace of what is named.", shown="of the context"),
    Flag("password", metavar="TEXT", help="Password for basic authentication."),
    Flag(
        "plugin-timeout",
        "",
        "duration",
        60.0,
        "Give up a credential plugin after this time; 0 is never.",
        "TIME",
    ),
    Flag(
        "proxy-url",
        metavar="URL",
        help="Proxy to the server: http://, https:// or socks5://[USER:PASSWORD@]HOST[:PORT].",
        shown="of the cluster, or $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY",
    ),
    Flag(
        "request-timeout",
        "",
        "string",
        "0",
        "Give up one request, its answer included, after this time (seconds, or 1s, 2m, 3h); 0 is never.",
        "TIME",
    ),
    Flag(
        "record",
        metavar="FILE",
        help="Write what passes on the wire, without secrets, to this file (format rawkube-wire/1; $RAWKUBE_RECORD).",
    ),
    Flag("record-secrets", "", "bool", False, "Leave the secrets in what --record writes."),
    Flag("server", "s", metavar="URL", help="Address of the API server."),
    Flag("tls-server-name", metavar="NAME", help="Name that the server's certificate must be for."),
    Flag("token", metavar="TOKEN", help="Bearer token."),
    Flag(
        "trace",
        metavar="FILE",
        help="Show what happens on the wire, without secrets, on stderr or in this file ($RAWKUBE_TRACE).",
        bare="-",
    ),
    Flag(
        "trace-level",
        metavar="LEVEL",
        help="How much --trace shows: headers, events, frames or bytes.",
        shown="frames",
    ),
    Flag("user", metavar="NAME", help="User of the kubeconfig."),
    Flag("username", metavar="NAME", help="User name for basic authentication."),
    Flag(
        "warnings-as-errors",
        "",
        "bool",
        False,
        "Exit with 1 when the server has sent a warning.",
    ),
    Flag("v", "v", "level", 0, "6 to 9: trace headers, events, frames, bytes, as --trace with that level.", "LEVEL"),
    # What kubectl takes and what means nothing here.
    Flag("cache-dir", metavar="DIRECTORY", ignored=True),
    Flag("log-flush-frequency", "", "duration", 5.0, metavar="TIME", ignored=True),
    Flag("match-server-version", "", "bool", False, ignored=True),
    Flag("profile", default="none", metavar="NAME", ignored=True),
    Flag("profile-output", default="profile.pprof", metavar="FILE", ignored=True),
    Flag("vmodule", metavar="PATTERN=N,...", ignored=True),
)

WATCH_TIMEOUT = Flag(
    "watch-timeout",
    "",
    "seconds",
    None,
    "Have the server end each watch after this time (seconds, or 1s, 2m, 3h), and begin the next.",
    "TIME",
    shown="180s to 230s, at random",
)
"""Of the commands that watch for long."""
