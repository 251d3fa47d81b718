"""Pure: `rawkube inspect`, as a table."""

from __future__ import annotations

from rawkube.cli.command import Command
from rawkube.cli.flags import Flag

_JSON = (
    "json: one JSON object a line. Each has kind (as in --type), conn (connection, from 1), t (seconds), from "
    "(client or server), request (its number, from 1), and what the kind tells: request: method, target, headers; "
    "response: status, reason, headers, seconds; chunk: size; watch: type, of, name, resourceVersion, changes, "
    "object; upgrade: protocol, websocket; message: channel, name, size, text, data; status: exit_code, line; ping,"
    " pong: data, seconds; close: code, reason; frame: opcode, final, size; request-end, response-end: size, "
    "seconds, and with --level=bytes body; raw: size, what, with --level=bytes data; undecodable: text; end: error,"
    " inside. Bytes are text, or base64 in dataBase64 or bodyBase64; at most their first 64 KiB. The first line is "
    "of the kind recording, the last one summary. With --diff: lines of the kind difference (differs, what, a, b, "
    "target, exchanges, conns, t, also), the last one comparison."
)

COMMANDS: tuple[Command, ...] = (
    Command(
        ("inspect",),
        "Show what passed in a recording",
        "Reads a recording (format rawkube-wire/1) or a HAR file and prints the conversation: requests and answers "
        "with their times, watch events with what they changed, the messages of exec sessions by channel, and a "
        "summary. A recording may be cut, or several joined in one file; FILE may be - for the standard input. With "
        "--diff, compares it with a second recording of the same command: the first difference in one sentence, then "
        "all.",
        "FILE",
        (
            ("What happened, and a summary", "inspect rollout.jsonl"),
            ("The summary alone", "inspect rollout.jsonl --summary"),
            ("Every message of an exec session", "inspect exec.jsonl --level=frames"),
            ("Only what a command printed", "inspect exec.jsonl --channel=stdout,stderr"),
            ("Only the events of the watch of Deployments", "inspect rollout.jsonl --type=watch --path=/deployments"),
            ("While it is written", "inspect session.jsonl --follow"),
            ("A page for the browser: timeline, channels, replicas", "inspect rollout.jsonl --html rollout.html"),
            ("For the developer tools of a browser", "inspect session.jsonl --har session.har"),
            ("Why it works here and fails there", "inspect here.jsonl --diff there.jsonl"),
        ),
        (
            Flag(
                "channel",
                "",
                "list",
                (),
                "Only messages of these channels, by name or number (and what --type names).",
                "NAME,...",
            ),
            Flag("conn", "", "list", (), "Only this connection; repeatable.", "N"),
            Flag("diff", "", "string", "", "Compare with this recording or HAR file.", "FILE"),
            Flag(
                "har",
                "",
                "string",
                "",
                "Write a HAR 1.2 file, with the messages of sessions as Chromium writes them (- for stdout).",
                "OUT",
            ),
            Flag(
                "html",
                "",
                "string",
                "",
                "Write one self-contained page with a timeline, which needs no network (- for stdout).",
                "OUT",
            ),
            Flag("follow", "f", "bool", False, "Wait for more at the end of the file, until Ctrl-C."),
            Flag(
                "level",
                "",
                "string",
                "events",
                "How much is shown: headers, events (and watch events, sizes of bodies), frames (and chunks, messages, "
                "pings), bytes (and what was in them). What --type or --channel names is shown at every level.",
                "LEVEL",
            ),
            Flag("output", "o", "string", "", _JSON, "text|json", "text"),
            Flag("path", "", "string", "", "Only requests with this in their path or query.", "PART"),
            Flag("summary", "", "bool", False, "Only the summary."),
            Flag(
                "type",
                "",
                "list",
                (),
                "Only these kinds: recording, request, request-end, response, response-end, body (both ends), chunk, "
                "watch, undecodable, upgrade, frame, message, status, ping, pong, close, raw, end.",
                "KIND,...",
            ),
        ),
        (
            ("0", "shown; with --diff: alike"),
            ("1", "cannot be read, or is damaged; with --diff: they differ"),
            ("130", "--follow was ended by Ctrl-C"),
        ),
        run="inspect:inspect",
        connects=False,
    ),
)
