"""Credential plugins as processes: how they are found, run and ended, and when they run again."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rawkube.errors import CredentialError
from rawkube.kubeconfig.access import Access, ExecConfig, Origin
from rawkube.kubeconfig.exec_output import Credential
from rawkube.kubeconfig.exec_plugin import ExecPlugin, PluginOptions, plugin_for
from rawkube.kubeconfig.executables import cleaned
from rawkube.kubeconfig.plugin_policy import Policy
from tests.support.examples import EVERY_WAY
from tests.support.plugins import V1, config, credential, program, runs, says, shell
from tests.support.rows import looped
from tests.support.run import ROOT

ENVIRON = {"PATH": os.environ["PATH"]}


def plugin(command: str, *, environ: Mapping[str, str] = ENVIRON, options: Any = (), **more: Any) -> ExecPlugin:
    return ExecPlugin(config(command, **more), options=PluginOptions(environ, **dict(options)))


def failure(asked: ExecPlugin) -> CredentialError:
    with pytest.raises(CredentialError) as caught:
        asked.credential()
    return caught.value


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class TestWhatItGets:
    def test_arguments_stand_as_they_are(self, tmp_path: Path) -> None:
        body = f'for a; do echo "[$a]"; done > "{tmp_path}/seen"\ncat "{tmp_path}/output"'
        (tmp_path / "output").write_text(credential(token="t"))
        command = shell(tmp_path, body, name="a plugin")
        assert plugin(command, args=("a b", "$HOME", "", "*", "; id")).credential() == Credential("t")
        assert (tmp_path / "seen").read_text() == "[a b]\n[$HOME]\n[]\n[*]\n[; id]\n"

    def test_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / "output").write_text(credential(token="t"))
        body = f'env > "{tmp_path}/seen"\ncat "{tmp_path}/output"'
        env = (("A", "file"), ("A", "last"), ("B", ""), ("KUBERNETES_EXEC_INFO", "mine"), ("C=x", "y"))
        asked = plugin(shell(tmp_path, body), environ={**ENVIRON, "A": "own", "B": "own", "D": "own"}, env=env)
        asked.credential()
        seen = (tmp_path / "seen").read_text().splitlines()
        assert [line for line in seen if line[:2] in ("A=", "B=", "C=", "D=")] == seen_in(
            seen, "A=last", "B=", "C=x=y", "D=own"
        )
        (info,) = [line for line in seen if line.startswith("KUBERNETES_EXEC_INFO=")]
        assert info.endswith(f'"apiVersion":"{V1}","spec":{{"interactive":false}}}}')

    def test_stdin_is_empty_and_the_folder_is_ours(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "output").write_text(credential(token="t"))
        assert plugin(shell(tmp_path, "cat; cat output")).credential().token == "t"

    def test_stderr_passes_and_stdout_does_not(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        plugin(shell(tmp_path, f"echo 'hello you' >&2; cat <<'.'\n{credential(token='s3cret')}\n.")).credential()
        assert capfd.readouterr() == ("", "hello you\n")


def seen_in(lines: list[str], *wanted: str) -> list[str]:
    """`wanted` in the order of `lines`."""
    return sorted(wanted, key=lines.index)


class TestWhereItIs:
    def test_in_path_and_not_beside_the_kubeconfig(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        says(folder, credential(token="path"), name="cred")
        (tmp_path / "first").mkdir()
        (tmp_path / "first" / "cred").mkdir()  # a folder is no program
        says(tmp_path, credential(token="here"), name="cred")
        monkeypatch.chdir(tmp_path)
        assert plugin("cred", environ={"PATH": f"{tmp_path}/first:{folder}:/usr/bin:/bin"}).credential().token == "path"

    @pytest.mark.parametrize("path", ["", ".", "bin", "/nowhere"])
    def test_nothing_below_the_current_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        for folder in (tmp_path, tmp_path / "bin"):
            folder.mkdir(exist_ok=True)
            says(folder, credential(token="t"), name="cred")
        monkeypatch.chdir(tmp_path)
        error = failure(plugin("cred", environ={"PATH": path}))
        assert str(error) == "getting credentials: exec: executable cred not found"
        assert error.help[-1].endswith("#client-go-credential-plugins")

    def test_the_help_is_not_repeated_for_ever(self) -> None:
        asked = plugin("no-such-plugin", install_hint="\x1b[1minstall it")
        shown = [failure(asked).help for _ in range(12)]
        assert [bool(lines) for lines in shown] == [True] * 10 + [False] * 2
        assert shown[0][-1] == "U+001B[1minstall it"

    @looped(
        ("text", "command"),
        [("cred", "cred"), ("/a//b/../c", "/a/c"), ("//a/b/", "/a/b"), ("/a/./b", "/a/b"), ("..", "..")],
    )
    def test_cleaned(self, text: str, command: str) -> None:
        assert cleaned(text) == command


class TestFailures:
    def test_it_cannot_be_started(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("x")
        broken = program(tmp_path / "broken", "#!/no/such/interpreter\n")
        bare = program(tmp_path / "bare", "cat x\n")
        for command, why in (
            ("/no/such", "no such file or directory"),
            (f"{tmp_path}/text", "permission denied"),
            (str(tmp_path), "permission denied"),
            (broken, "no such file or directory"),
            (bare, "exec format error"),
        ):
            error = failure(plugin(command))
            assert str(error) == f"getting credentials: exec: fork/exec {command}: {why}"
            assert error.help == ()

    def test_nul(self, tmp_path: Path) -> None:
        command = says(tmp_path, "")
        error = failure(plugin(command, args=("a\0b",)))
        assert str(error) == f"getting credentials: exec: fork/exec {command}: invalid argument"
        error = failure(plugin(command, env=(("A", "a\0b"),)))
        assert str(error) == "getting credentials: exec: exec: environment variable contains NUL"

    @pytest.mark.parametrize(("body", "code"), [("exit 3", 3), ("kill -9 $$", -1), ("echo s3cret; exit 1", 1)])
    def test_it_fails(self, tmp_path: Path, body: str, code: int) -> None:
        command = shell(tmp_path, body)
        error = failure(plugin(command))
        assert str(error) == f"getting credentials: exec: executable {command} failed with exit code {code}"

    def test_where_it_is_set_is_told(self, tmp_path: Path) -> None:
        origin = Origin("file", "/k", 7, "users[u].user.exec")
        asked = ExecPlugin(config(says(tmp_path, "")), origin=origin)
        assert failure(asked).detail == ("the credential plugin is set by /k:7 (users[u].user.exec)",)

    def test_a_name_cannot_act_on_the_terminal(self) -> None:
        assert "\x1b" not in str(failure(plugin("no\x1b[1mplugin")))

    def test_not_interactive(self, tmp_path: Path) -> None:
        command = says(tmp_path, credential(token="t"))
        text = "getting credentials: exec plugin cannot support interactive mode: standard input is not a terminal"
        assert str(failure(plugin(command, interactive_mode="Always"))) == text
        assert runs(tmp_path) == 0

    def test_forbidden(self, tmp_path: Path) -> None:
        command = says(tmp_path, credential(token="t"))
        error = failure(plugin(command, options={"policy": Policy("DenyAll", None, "/rc")}))
        assert str(error) == f'getting credentials: plugin "{command}" not allowed: policy set to "DenyAll"'
        assert error.detail == ("the policy is set by /rc",)
        allowed = {"policy": Policy("Allowlist", ("plugin",))}
        environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        assert plugin(command, environ=environ, options=allowed).credential().token == "t"
        assert runs(tmp_path) == 1


class TestTime:
    @pytest.mark.parametrize("group", ["own", "of the terminal"])
    def test_a_hanging_one_is_ended_with_what_it_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str
    ) -> None:
        monkeypatch.setattr("rawkube.kubeconfig.subprocesses._has_terminal", lambda: group != "own")
        body = f'trap "" TERM\nsleep 60 & echo $! $$ > "{tmp_path}/pids"\nwait\nsleep 60'
        command = shell(tmp_path, body)
        started = time.monotonic()
        error = failure(plugin(command, options={"timeout": 0.3}))
        assert str(error) == f"getting credentials: exec: executable {command} did not end within 300ms"
        assert time.monotonic() - started < 5
        for pid in (tmp_path / "pids").read_text().split():
            assert ends(int(pid))

    def test_one_that_closes_stdout_and_goes_on(self, tmp_path: Path) -> None:
        command = shell(tmp_path, "exec >&-\nexec sleep 60")
        assert "did not end within 800ms" in str(failure(plugin(command, options={"timeout": 0.8})))

    def test_what_it_leaves_behind_is_not_waited_for(self, tmp_path: Path) -> None:
        (tmp_path / "output").write_text(credential(token="t"))
        command = shell(tmp_path, f'cat "{tmp_path}/output"\nsleep 30 &\necho $! > "{tmp_path}/pid"')
        started = time.monotonic()
        assert plugin(command).credential().token == "t"
        assert time.monotonic() - started < 10
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    def test_too_much_output(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rawkube.kubeconfig.exec_plugin.MAX_OUTPUT", 1 << 20)
        command = shell(tmp_path, "exec yes")
        assert str(failure(plugin(command))).endswith(f"executable {command} printed more than 1 MiB")

    @pytest.mark.parametrize(
        ("number", "action"),
        [
            (signal.SIGINT, "SIG_DFL"),
            (signal.SIGTERM, "default_int_handler"),
            (signal.SIGHUP, "SIG_DFL"),
            *(
                (
                    (signal.SIGINT, "default_int_handler"),
                    (signal.SIGTERM, "SIG_DFL"),
                    (signal.SIGHUP, "default_int_handler"),
                )
                if EVERY_WAY
                else ()
            ),
        ],
    )
    def test_a_signal_ends_it(self, tmp_path: Path, number: signal.Signals, action: str) -> None:
        """Whether the signal would end this process at once, or has a handler that raises."""
        command = shell(tmp_path, f'echo $$ > "{tmp_path}/pid"\nexec sleep 60')
        code = (
            f"import signal\nsignal.signal({number}, signal.{action})\nfrom rawkube.kubeconfig.access import ExecConfig\n"
            "from rawkube.kubeconfig.exec_plugin import ExecPlugin\n"
            f"ExecPlugin(ExecConfig({command!r}, api_version='v', interactive_mode='Never')).credential()"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**ENVIRON, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            pid = int(wait_for((tmp_path / "pid").read_text))
            process.send_signal(number)
            _, stderr = process.communicate(timeout=20)
        assert stderr.endswith(b"KeyboardInterrupt\n") is (action != "SIG_DFL")
        assert process.returncode == -(number if action == "SIG_DFL" else signal.SIGINT)
        assert ends(pid)


def wait_for(read: Callable[[], str]) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if text := read():
                return text
        time.sleep(0.02)
    raise AssertionError("it did not come")


def ends(pid: int) -> bool:
    """Whether a process has ended, or does so soon (one that nobody waits for may stay as a zombie)."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except OSError:
            return True
        time.sleep(0.02)
    return False


class TestAgain:
    def test_without_an_end_once(self, tmp_path: Path) -> None:
        asked = plugin(says(tmp_path, credential(token="t")))
        assert [asked.credential().token for _ in range(3)] == ["t"] * 3
        assert runs(tmp_path) == 1

    def test_expired_when_it_comes_it_serves_once(self, tmp_path: Path) -> None:
        asked = plugin(says(tmp_path, credential(token="t", expirationTimestamp="2006-01-02T15:04:05Z")))
        assert [asked.credential().token for _ in range(3)] == ["t"] * 3
        assert runs(tmp_path) == 3

    @pytest.mark.parametrize(("life", "good_for"), [(3600, 3590), (20, 18)])
    def test_replaced_before_its_end(self, tmp_path: Path, life: int, good_for: int) -> None:
        clock = Clock()
        clock.now = 1_000_000_000.0  # 2001-09-09T01:46:40Z
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(clock.now + life))
        asked = ExecPlugin(config(says(tmp_path, credential(token="3", expirationTimestamp=end))), clock=clock)
        assert asked.credential().token == "3"
        (tmp_path / "output").write_text(credential(token="4"))
        clock.now += good_for
        assert asked.credential().token == "3"
        clock.now += 1
        assert asked.credential().token == "4"
        clock.now += 1e9
        assert asked.credential().token == "4"
        assert runs(tmp_path) == 2

    def test_refused_ones_are_replaced_once(self, tmp_path: Path) -> None:
        asked = plugin(says(tmp_path, credential(token="1")))
        used = asked.credential()
        (tmp_path / "output").write_text(credential(token="2"))
        assert asked.refresh(used).token == "2"
        assert asked.refresh(used).token == "2"  # another thread that had the old one
        assert runs(tmp_path) == 2

    def test_a_failure_is_not_kept(self, tmp_path: Path) -> None:
        asked = plugin(says(tmp_path, ""))
        failure(asked)
        (tmp_path / "output").write_text(credential(token="t"))
        assert asked.credential().token == "t"

    def test_many_threads_run_it_once(self, tmp_path: Path) -> None:
        (tmp_path / "output").write_text(credential(token="t"))
        command = shell(tmp_path, f'echo run >> "{tmp_path}/runs"; sleep 0.2; cat "{tmp_path}/output"')
        asked, barrier, found = plugin(command), threading.Barrier(8), list[str]()

        def ask() -> None:
            barrier.wait(10)
            found.append(asked.credential().token)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert found == ["t"] * 8
        assert runs(tmp_path) == 1


class TestShared:
    ACCESS = Access("https://h", exec=ExecConfig("c", ("a",), (("E", "v"),), V1, "", False, "Never"))

    def plugin(self, access: Access = ACCESS, ca: bytes | None = None, **options: Any) -> ExecPlugin:
        return plugin_for(access, lambda: ca, PluginOptions(**options))

    def test_equal_ones_are_one(self) -> None:
        first = self.plugin()
        assert self.plugin(self.ACCESS._replace(server="https://other")) is first
        assert self.plugin(environ=os.environ) is first

    @looped(
        ("config", "options"),
        [
            ({"command": "other"}, {}),
            ({"args": ("b",)}, {}),
            ({"env": (("E", "w"),)}, {}),
            ({"provide_cluster_info": True}, {}),
            ({}, {"environ": {"A": "b"}}),
            ({}, {"stdin_reserved": "used"}),
            ({}, {"policy": Policy("DenyAll")}),
        ],
    )
    def test_others_are_others(self, config: dict[str, Any], options: dict[str, Any]) -> None:
        first = self.plugin()
        assert self.ACCESS.exec is not None
        assert self.plugin(self.ACCESS._replace(exec=self.ACCESS.exec._replace(**config)), **options) is not first

    def test_the_cluster_counts_where_it_is_told(self) -> None:
        assert self.ACCESS.exec is not None
        told = self.ACCESS._replace(exec=self.ACCESS.exec._replace(provide_cluster_info=True))
        first = self.plugin(told, b"CA")
        assert self.plugin(told, b"CA") is first
        assert self.plugin(told, b"other CA") is not first
        assert self.plugin(told._replace(server="https://other"), b"CA") is not first

    def test_it_is_forgotten_with_its_last_user(self) -> None:
        watched = weakref.ref(self.plugin())
        gc.collect()
        assert watched() is None
