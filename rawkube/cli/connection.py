"""The global flags → the connection of a command."""

from __future__ import annotations

from collections.abc import Callable

from rawkube._typing import TYPE_CHECKING
from rawkube.api.client import ApiClient
from rawkube.api.connect import connect
from rawkube.cli.flags import Parsed
from rawkube.cli.observing import tap_for, tell_access
from rawkube.cli.output import Output
from rawkube.duration import parse_request_timeout
from rawkube.kubeconfig.access import Overrides

if TYPE_CHECKING:
    from rawkube.wire.tap import Tap


def connector(parsed: Parsed, out: Output) -> Callable[[], ApiClient]:
    """A function that makes the client; what the kubeconfig has to say to the user goes to stderr then."""

    return lambda: client_for(parsed, out, tap_for(parsed, out))


def client_for(parsed: Parsed, out: Output, tap: Tap | None, *, stdin: str = "") -> ApiClient:
    """The client that the global flags mean, and that tells this tap.

    `stdin`: who else has it, in words (`used by …`); a credential plugin does not get it then. Empty: the flags tell.
    """
    client = connect(
        tap=tap,
        kubeconfig=parsed.values["kubeconfig"],
        overrides=overrides(parsed),
        on_warning=out.warning,
        on_note=out.note,
        kuberc=parsed.values["kuberc"],
        stdin_reserved=stdin or use_of_stdin(parsed),
        plugin_timeout=parsed.values["plugin-timeout"],
    )
    for note in client.access.notes:
        out.note(note)
    if tap is not None:
        tell_access(tap, client.access)
    return client


def use_of_stdin(parsed: Parsed) -> str:
    """What a command's flags have it read from stdin, in words; empty: nothing."""
    if parsed.values.get("stdin"):
        return "used by --stdin"
    if "-" in (parsed.values.get("filename") or ()):
        return "used by stdin resource manifest reader"
    return ""


def overrides(parsed: Parsed) -> Overrides:
    """The global flags of a command line, as the kubeconfig floor takes them. Raises UsageError."""
    values, given = parsed.values, parsed.given
    return Overrides(
        context=values["context"],
        cluster=values["cluster"],
        user=values["user"],
        namespace=values["namespace"],
        server=values["server"],
        tls_server_name=values["tls-server-name"],
        certificate_authority=values["certificate-authority"],
        insecure_skip_tls_verify=values["insecure-skip-tls-verify"] if "insecure-skip-tls-verify" in given else None,
        client_certificate=values["client-certificate"],
        client_key=values["client-key"],
        token=values["token"],
        username=values["username"],
        password=values["password"],
        as_user=values["as"],
        as_uid=values["as-uid"],
        as_groups=tuple(values["as-group"]) if "as-group" in given else None,
        as_user_extra=tuple(values["as-user-extra"]),
        proxy_url=values["proxy-url"],
        disable_compression=values["disable-compression"] if "disable-compression" in given else None,
        request_timeout=parse_request_timeout(values["request-timeout"]) if "request-timeout" in given else None,
    )
