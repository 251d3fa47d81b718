"""`rawkube doctor`: lines for a person, an array for a program, the exit code, Ctrl-C."""

from __future__ import annotations

import base64
import io
import json
import signal
from pathlib import Path

import pytest

from rawkube.cli import doctor as command
from rawkube.cli.main import main
from rawkube.cli.output import Output
from rawkube.observe.doctor import CHECKS, Doctor
from tests.doctor.cluster import LIMITS, LONG_ENOUGH, TOKEN, Cluster
from tests.support.run import kubeconfig
from tests.support.script import Answer, failure
from tests.support.tls import Authority

AUTHORITY = Authority()
TLS = AUTHORITY.server("127.0.0.1")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(command, "Doctor", lambda client, **options: Doctor(client, **options, limits=LIMITS))


class Screen(io.BytesIO):
    def isatty(self) -> bool:
        return True


def doctor(folder: Path, url: str, *words: str, out: io.BytesIO | None = None) -> tuple[int, str, str]:
    config = folder / "config"
    trust = {"certificate-authority-data": base64.b64encode(AUTHORITY.pem).decode()} if url[4] == "s" else {}
    config.write_text(kubeconfig(url, cluster=trust, user={"token": TOKEN}))
    out, err = out or io.BytesIO(), io.BytesIO()
    code = main(["--kubeconfig", str(config), "doctor", *words], out=Output(out, err))
    assert TOKEN not in out.getvalue().decode() + err.getvalue().decode()
    return code, out.getvalue().decode(), err.getvalue().decode()


def test_lines_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster(tls=TLS, lasts=LONG_ENOUGH) as server:
        code, out, err = doctor(tmp_path, server.url)
    assert (code, err) == (0, ""), out
    words = [line.split()[0] for line in out.splitlines()]
    assert set(words) <= {"pass", "warn"} and len(words) >= 16, out
    assert "\x1b" not in out
    told = "\x1b[2Jbad\nnews"
    with Cluster({"version": Answer("500 No", told, "text/plain")}, tls=TLS) as server:
        code, out, _ = doctor(tmp_path, server.url)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        _, coloured, _ = doctor(tmp_path, server.url, out=Screen())
    assert code == 1
    assert "\x1b" not in out and "[2Jbad" in out
    assert "  → " in next(line for line in out.splitlines() if line.startswith("fail"))
    assert "\x1b[31;1mfail" in coloured and "\x1b[2J" not in coloured


def test_an_array_for_a_program(tmp_path: Path) -> None:
    with Cluster({"exec": failure(403, "not you")}, tls=TLS) as server:
        code, out, _ = doctor(tmp_path, server.url, "-o", "json", "--pod=web-0")
    found = json.loads(out)
    assert code == 1
    assert {tuple(each) for each in found} == {("check", "result", "seen", "advice", "seconds")}
    assert {each["check"] for each in found} <= set(CHECKS)
    assert {each["check"] for each in found if each["result"] == "fail"} == {"exec way", "exec"}


def test_a_kubeconfig_that_gives_no_connection(tmp_path: Path) -> None:
    with Cluster() as server:
        code, out, _ = doctor(tmp_path, server.url, "-o", "json", "--context=none")
    (only,) = json.loads(out)
    assert (code, only["check"], only["result"]) == (1, "configuration", "fail")
    assert "none" in only["seen"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_ctrl_c_leaves_what_was_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("rawkube.observe.doctor.probe.Probe.discovery", interrupted)
    with Cluster(tls=TLS) as server:
        code, out, _ = doctor(tmp_path, server.url, "-o", form)
    assert code == 130
    last = json.loads(out)[-1]["check"] if form == "json" else out.splitlines()[-1].split()[1]
    assert last == "identity"


def test_what_it_does_not_take_is_refused(tmp_path: Path) -> None:
    for words, said in (
        (["-o", "yaml"], '--output must be "text" or "json", not "yaml"'),
        (["--idle=-5s"], "must be more than 0"),
        (["web-0"], "web-0"),
    ):
        code, out, err = doctor(tmp_path, "http://127.0.0.1:1", *words)
        assert (code, out, said in err) == (1, "", True), err
