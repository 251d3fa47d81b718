"""A namespace of a cluster, and what a test does there: everything by rawkube itself.

with Cluster.new(kubeconfig, home) as cluster:
    name = cluster.create(manifests.deployment(cluster.name("web")))
    cluster.rawkube("rollout", "status", f"deployment/{name}").ok()
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from rawkube.api.builtin import lookup
from tests.cluster import manifests
from tests.cluster.gate import environment
from tests.cluster.manifests import Object
from tests.support.run import find_kubectl, without_klog

# Seconds that anything may take on a busy node before the test gives it up.
PATIENCE = 90.0
_MERGE_PATCH = "Content-Type: application/merge-patch+json"


class Ended(NamedTuple):
    """What a command left. `args`: what was run, for messages."""

    stdout: bytes
    stderr: str
    code: int
    args: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def last(self) -> str:
        """The last line of stderr, empty when nothing was said."""
        lines = self.stderr.splitlines()
        return lines[-1] if lines else ""

    def ok(self) -> Self:
        """Itself; AssertionError with everything that was said unless it ended with 0."""
        assert self.code == 0, self.describe()
        return self

    def fails(self, code: int, last: str) -> Self:
        """Itself; AssertionError unless it ended with this code and this last line on stderr."""
        assert (self.code, self.last) == (code, last), self.describe()
        return self

    def describe(self) -> str:
        return f"{self.args} ended with {self.code}\nstdout: {self.stdout[-2000:]!r}\nstderr: {self.stderr[-2000:]}"


class Started:
    """A running command, whose output is read as it comes. Killed at the end of its block, if it still runs."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.args = tuple(command)
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._stderr: list[bytes] = []
        self.process = subprocess.Popen(
            command, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._readers = [
            threading.Thread(target=self._read_lines, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_lines(self, stream: IO[bytes]) -> None:
        for line in stream:
            with self._news:
                self._lines.append(line.decode(errors="replace"))
                self._news.notify_all()

    def _read_errors(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._stderr.append(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self._join()

    def _join(self) -> None:
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def look_for(self, text: str, timeout: float = PATIENCE) -> str:
        """The first line of stdout with that text; AssertionError when it does not come."""
        end = time.monotonic() + timeout
        with self._news:
            while True:
                found = next((line for line in self._lines if text in line), None)
                if found is not None:
                    return found
                left = end - time.monotonic()
                running = any(reader.is_alive() for reader in self._readers)
                assert left > 0 and running, f"{text!r} did not come from {self.args}: {self._said()}"
                self._news.wait(min(left, 0.2))

    def wait(self, timeout: float = PATIENCE) -> Ended:
        """The end of it; AssertionError with what was said so far when it does not come."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.args} still runs after {timeout} s: {self._said()}") from None
        self._join()
        said = without_klog(b"".join(self._stderr).decode(errors="replace"))
        return Ended("".join(self._lines).encode(), said, self.process.returncode, self.args)

    def _said(self) -> str:
        return f"{''.join(self._lines)[-1500:]!r} {b''.join(self._stderr)[-1500:]!r}"


class Cluster:
    """A namespace. `home`: a directory of the tests' own, in which commands run."""

    def __init__(self, kubeconfig: Path, namespace: str, home: Path) -> None:
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self.home = home
        self._numbers = itertools.count(1)

    @classmethod
    @contextlib.contextmanager
    def new(cls, kubeconfig: Path, home: Path) -> Iterator[Cluster]:
        """One with a new namespace, which is deleted whatever happens."""
        cluster = cls(kubeconfig, f"rawkube-test-{secrets.token_hex(4)}", home)
        try:
            cluster.post("/api/v1/namespaces", manifests.namespace(cluster.namespace))
            yield cluster
        finally:
            cluster.remove()

    def remove(self) -> None:
        """Deletes the namespace. The API server may be on its way back from a restart."""
        path = f"/api/v1/namespaces/{self.namespace}"

        def gone() -> bool:
            answer = self.rawkube("raw", "-X", "DELETE", path)
            # Conflict: it is being deleted already.
            return answer.code == 0 or "NotFound" in answer.stderr or "Conflict" in answer.stderr

        until(gone, f"namespace {self.namespace} could not be deleted")

    def name(self, what: str) -> str:
        """A name that no other test of this namespace has."""
        return f"{what}-{next(self._numbers)}"

    # Running commands

    def command(
        self, *args: str, program: str = "", kubeconfig: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """The command line and environment of rawkube, or of another program, in this namespace."""
        start = [program] if program else [sys.executable, "-m", "rawkube"]
        return [*start, f"--namespace={self.namespace}", *args], environment(kubeconfig or self.kubeconfig)

    def rawkube(
        self, *args: str, stdin: bytes | None = None, timeout: float = PATIENCE, kubeconfig: Path | None = None
    ) -> Ended:
        """Run rawkube to its end; without `stdin` it has none."""
        return self._run(*self.command(*args, kubeconfig=kubeconfig), stdin=stdin, timeout=timeout)

    def kubectl(self, *args: str, stdin: bytes | None = None, timeout: float = PATIENCE) -> Ended | None:
        """Run kubectl to its end; None where there is none of the version to compare with."""
        program = find_kubectl()
        if not program:
            return None
        return self._run(*self.command(*args, program=program), stdin=stdin, timeout=timeout)

    def _run(self, command: list[str], env: dict[str, str], *, stdin: bytes | None, timeout: float) -> Ended:
        try:
            # No input is an empty one: a command without -i reads none.
            done = subprocess.run(
                command, env=env, cwd=self.home, capture_output=True, timeout=timeout, input=stdin or b""
            )
        except subprocess.TimeoutExpired as late:
            said = f"{(late.stdout or b'')[-1500:]!r} {(late.stderr or b'')[-1500:]!r}"
            raise AssertionError(f"{command} still runs after {timeout} s: {said}") from None
        return Ended(done.stdout, without_klog(done.stderr.decode(errors="replace")), done.returncode, tuple(command))

    def start(self, *args: str) -> Started:
        command, env = self.command(*args)
        return Started(command, env, self.home)

    def compare(self, *args: str, stdin: bytes | None = None) -> Ended:
        """Run rawkube, and kubectl where there is one: stdout, the last line of stderr and the code must be equal."""
        ours = self.rawkube(*args, stdin=stdin)
        theirs = self.kubectl(*args, stdin=stdin)
        if theirs is not None:
            same = (ours.stdout, ours.last, ours.code) == (theirs.stdout, theirs.last, theirs.code)
            assert same, f"{ours.describe()}\n{theirs.describe()}"
        return ours

    # Objects

    def path(self, kind: str, name: str = "") -> str:
        """Where objects of that kind (a Kind, `deploy`, `roles`) are in this namespace."""
        group, version, plural = _ROLES.get(kind) or _place(kind)
        head = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{head}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def send(self, method: str, path: str, body: Object | None = None, *flags: str) -> Object:
        """The answer to a request, which must be a success."""
        data = None if body is None else json.dumps(body).encode()
        given = () if body is None else ("-d", "@-")
        answer = self.rawkube("raw", "-X", method, *flags, *given, path, stdin=data).ok()
        found: Object = json.loads(answer.stdout)
        return found

    def post(self, path: str, body: Object) -> Object:
        return self.send("POST", path, body)

    def create(self, thing: Object) -> str:
        """Create it in this namespace; its name."""
        made = self.post(self.path(thing["kind"]), thing)
        name: str = made["metadata"]["name"]
        return name

    def get(self, kind: str, name: str) -> Object:
        return self.send("GET", self.path(kind, name))

    def patch(self, kind: str, name: str, patch: Object) -> Object:
        return self.send("PATCH", self.path(kind, name), patch, "-H", _MERGE_PATCH)

    def delete(self, kind: str, name: str) -> None:
        self.send("DELETE", self.path(kind, name) + "?gracePeriodSeconds=0")

    # Being there

    def running_pod(self, *containers: Object, **more: Any) -> str:
        """A new Pod that is ready; its name."""
        name = self.create(manifests.pod(self.name("pod"), *containers, **more))
        self.wait_for(f"pod/{name}", "condition=Ready")
        return name

    def wait_for(self, what: str, goal: str) -> None:
        self.rawkube("wait", what, f"--for={goal}", f"--timeout={PATIENCE - 10:g}s").ok()

    def rolled_out(self, thing: Object) -> str:
        """Create a workload and wait until it is rolled out; `KIND/NAME`."""
        name = f"{thing['kind'].lower()}/{self.create(thing)}"
        self.rawkube("rollout", "status", name, f"--timeout={PATIENCE - 10:g}s").ok()
        return name


_RBAC = ("rbac.authorization.k8s.io", "v1")
_ROLES = {"Role": (*_RBAC, "roles"), "RoleBinding": (*_RBAC, "rolebindings")}


def _place(kind: str) -> tuple[str, str, str]:
    resource = lookup(kind)
    assert resource, f"{kind} is not built in"
    return resource.group, resource.version, resource.plural


def until(happens: Callable[[], bool], otherwise: str, timeout: float = PATIENCE) -> None:
    """Ask until it is so, twice a second; AssertionError when it is not in time."""
    end = time.monotonic() + timeout
    while not happens():
        assert time.monotonic() < end, f"{otherwise} within {timeout} s"
        time.sleep(0.5)


@contextlib.contextmanager
def held(file: Path, *, alone: bool) -> Iterator[None]:
    """Among all processes: either many hold the file, or one alone."""
    with file.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
