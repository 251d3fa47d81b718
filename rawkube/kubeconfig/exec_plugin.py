"""Exec credential plugins: a program of the user's that prints a credential (client.authentication.k8s.io).

As client-go 1.37: no shell, the arguments as they stand, this process's environment under the kubeconfig's, and
KUBERNETES_EXEC_INFO; its stderr is this process's, its stdin the terminal only where it may ask there. A credential
is kept in memory until it is about to expire, and nowhere else.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from rawkube._typing import Any, NamedTuple
from rawkube.duration import format_duration
from rawkube.errors import ConfigError, CredentialError, DeadlineExceeded
from rawkube.go_json import encode
from rawkube.gotext import one_line
from rawkube.kubeconfig import exec_info, executables, plugin_policy
from rawkube.kubeconfig.access import Access, ExecConfig, Origin
from rawkube.kubeconfig.exec_output import Credential, OutputError, decode
from rawkube.kubeconfig.install_hint import RateLimit, help_lines
from rawkube.kubeconfig.plugin_policy import Policy
from rawkube.kubeconfig.timestamp import Clock

DEFAULT_TIMEOUT = 60.0
"""Seconds that a plugin may take."""
SKEW = 10.0
"""Seconds before its end that a credential is replaced, at most; at most a tenth of its life (client-go: none)."""
MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes that a plugin may print."""

# What net/http says of a request whose time was over before its answer.
_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_SHORTEST = 0.001  # seconds; 0 would be no limit


class PluginOptions(NamedTuple):
    """How plugins are run, apart from what the kubeconfig says.

    `environ`: the environment that they inherit and are looked up in, None for the process's own.
    `stdin_reserved`: what else reads stdin, in words (`used by …`); empty: nothing does, and a plugin may ask there.
    `timeout`: seconds, 0 for no limit. `policy`: which plugins may run. `check_pair`: raises ConfigError for a
    certificate and key (PEM) that TLS cannot use.
    """

    environ: Mapping[str, str] | None = None
    stdin_reserved: str = ""
    timeout: float = DEFAULT_TIMEOUT
    policy: Policy = Policy()
    check_pair: Callable[[bytes, bytes], None] | None = None

    def __repr__(self) -> str:
        return f"PluginOptions(stdin_reserved={self.stdin_reserved!r}, timeout={self.timeout}, policy={self.policy!r})"


class ExecPlugin:
    """One plugin and the credential that it gave last. For any number of threads: it runs once at a time.

    `cluster`: `spec.cluster` of what it is told, None to tell it nothing. `origin`: where the kubeconfig names it.
    `clock`: seconds since 1970.
    """

    def __init__(
        self,
        config: ExecConfig,
        *,
        cluster: dict[str, Any] | None = None,
        options: PluginOptions | None = None,
        origin: Origin | None = None,
        clock: Clock = time.time,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._options = options or PluginOptions()
        self._origin = origin
        self._clock = clock
        self._lock = threading.Lock()
        self._current: Credential | None = None
        self._stale_at: float | None = None
        self._help = RateLimit()

    def __repr__(self) -> str:
        return f"ExecPlugin({self._config!r})"

    def credential(self, within: float | None = None) -> Credential:
        """The credential: the last one while it is good, else what the plugin says now. Raises CredentialError.

        One that has expired when it comes is given out once. `within`: how many seconds there are, None for as many as
        the plugin has by itself. Raises DeadlineExceeded when they are over.
        """
        return self._given(
            lambda: self._current is None or (self._stale_at is not None and self._clock() > self._stale_at), within
        )

    def refresh(self, used: Credential | None, within: float | None = None) -> Credential:
        """The credential after the server refused `used`: the plugin runs, unless another thread has done so.

        `within`, and what is raised: as for credential().
        """
        return self._given(lambda: self._current is None or self._current is used, within)

    def _given(self, is_due: Callable[[], bool], within: float | None) -> Credential:
        began = time.monotonic()
        if not self._lock.acquire(timeout=-1 if within is None else within):
            raise self._late()
        try:
            if is_due():
                self._renew(None if within is None else within - (time.monotonic() - began))
            return self._current or Credential()
        finally:
            self._lock.release()

    def _renew(self, within: float | None) -> None:
        credential = self._ask(within)
        now = self._clock()
        self._current = credential
        self._stale_at = None
        if credential.expires is not None:
            self._stale_at = credential.expires - min(SKEW, max(credential.expires - now, 0.0) / 10)

    def _ask(self, within: float | None) -> Credential:
        config, options = self._config, self._options
        environ = os.environ if options.environ is None else options.environ
        try:
            interactive = exec_info.is_interactive(
                config.interactive_mode,
                terminal=_stdin_is_terminal(),
                reserved=bool(options.stdin_reserved),
                reserved_for=options.stdin_reserved,
            )
        except exec_info.NotInteractive as error:
            raise self._failed(f"exec plugin cannot support interactive mode: {error}") from None
        env = _environment(config, environ)
        env[exec_info.VARIABLE] = exec_info.exec_info(config, interactive=interactive, cluster=self._cluster)
        output = self._output(self._file(environ), env, interactive, within)
        try:
            credential = decode(output, config.api_version)
        except OutputError as error:
            raise self._failed(str(error)) from None
        return self._checked(credential)

    def _failed(self, text: str, *, hint: bool = False) -> CredentialError:
        shown = help_lines(self._config.install_hint) if hint and self._help.allows(time.monotonic()) else ()
        detail = [f"the credential plugin is set by {self._origin}"] if self._origin else []
        return CredentialError(f"getting credentials: {one_line(text)}", help=shown, detail=detail)

    def _file(self, environ: Mapping[str, str]) -> str:
        """The file to run."""
        command = self._config.command
        try:
            plugin_policy.check(self._options.policy, command, lambda name: executables.look_path(name, environ))
        except plugin_policy.NotAllowed as error:
            failed = self._failed(str(error))
            failed.detail += (f"the policy is set by {one_line(self._options.policy.file)}",)
            raise failed from None
        if executables.has_separator(command):
            return command
        try:
            return executables.look_path(command, environ)
        except executables.NotFound:
            raise self._failed(f"exec: executable {command} not found", hint=True) from None

    def _late(self) -> DeadlineExceeded:
        text = f"exec: executable {one_line(self._config.command)} has not ended"
        detail = [text, *([f"the credential plugin is set by {self._origin}"] if self._origin else [])]
        return DeadlineExceeded(_LATE, step="request", detail=detail)

    def _output(self, file: str, env: dict[str, str], interactive: bool, within: float | None) -> bytes:
        from rawkube.kubeconfig import subprocesses

        command, timeout = self._config.command, self._options.timeout
        is_short = within is not None and (not timeout or within < timeout)
        timeout = max(within or 0.0, _SHORTEST) if is_short else timeout
        try:
            code, output = subprocesses.run(
                [command, *self._config.args], file, env, stdin=interactive, timeout=timeout, limit=MAX_OUTPUT
            )
        except subprocesses.TooLong:
            if is_short:
                raise self._late() from None
            text = f"exec: executable {command} did not end within {format_duration(timeout)}"
            raise self._failed(text) from None
        except subprocesses.TooMuch:
            text = f"exec: executable {command} printed more than {MAX_OUTPUT >> 20} MiB"
            raise self._failed(text) from None
        except subprocesses.NotStarted as error:
            raise self._failed(f"exec: {error}") from None
        if code:
            raise self._failed(f"exec: executable {command} failed with exit code {max(code, -1)}")
        return output

    def _checked(self, credential: Credential) -> Credential:
        if credential.pair is not None and self._options.check_pair is not None:
            try:
                self._options.check_pair(*credential.pair)
            except ConfigError as error:
                raise self._failed(f"failed parsing client key/certificate: {error}") from None
        return credential


def _stdin_is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _environment(config: ExecConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """This process's environment under the kubeconfig's. The last of a name counts."""
    env = dict(environ)
    for name, value in config.env:
        # As Go does it: a list of `name=value`, of which the first `=` ends the name.
        before, _, after = f"{name}={value}".partition("=")
        if before:
            env[before] = after
    return env


_shared: WeakValueDictionary[str, ExecPlugin] = WeakValueDictionary()
_shared_lock = threading.Lock()


def plugin_for(access: Access, ca_pem: Callable[[], bytes | None], options: PluginOptions) -> ExecPlugin:
    """The plugin of an Access, which names one. As in client-go, equal ones are one and the same: connections of one
    process that would run it in the same way share what it gave, while any of them lives.

    `ca_pem`: what the cluster's CA is, for a plugin that is told; what it raises is passed on.
    """
    config = access.exec
    if config is None:
        raise ValueError("no credential plugin is configured")
    cluster = exec_info.cluster_info(access, ca_pem()) if config.provide_cluster_info else None
    environ = None if options.environ is None or options.environ is os.environ else sorted(options.environ.items())
    how = (environ, options.stdin_reserved, options.timeout, tuple(options.policy))
    key = encode([list(config), cluster, list(how)])
    with _shared_lock:
        plugin = _shared.get(key)
        if plugin is None:
            origin = access.origins.get("exec")
            plugin = _shared[key] = ExecPlugin(config, cluster=cluster, options=options, origin=origin)
    return plugin
