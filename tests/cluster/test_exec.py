"""Commands in containers: their ends, their input, their terminals, each subprotocol."""

from __future__ import annotations

import hashlib
import random

import pytest

import rawkube
from tests.cluster import manifests
from tests.cluster.manifests import container
from tests.cluster.rig import PATIENCE, Cluster
from tests.support.exec_process import Terminal

pytestmark = pytest.mark.cluster

FIVE_MB = random.Random(5).randbytes(5_000_000)
OUT_ERR_3 = "echo out; echo err >&2; exit 3"
# Whether a subprotocol carries the exit code.
PROTOCOLS = {
    "v5.channel.k8s.io": True,
    "v4.channel.k8s.io": True,
    "v4.base64.channel.k8s.io": True,
    "channel.k8s.io": False,
    "base64.channel.k8s.io": False,
}


def test_exit_codes(cluster: Cluster, shell: str) -> None:
    for script, code in {"true": 0, OUT_ERR_3: 3, "exit 255": 255, "kill -9 $$": 137, "kill $$": 143}.items():
        ended = cluster.compare("exec", shell, "--", "sh", "-c", script)
        assert ended.code == code, ended.describe()
        assert ended.last == (f"command terminated with exit code {code}" if code else ""), script
    both = cluster.rawkube("exec", shell, "--", "sh", "-c", OUT_ERR_3)
    assert (both.text, both.stderr) == ("out\n", "err\ncommand terminated with exit code 3\n")


def test_what_does_not_run(cluster: Cluster, shell: str) -> None:
    missing = cluster.rawkube("exec", shell, "--", "/no/such/program")
    assert missing.code in {1, 127} and "no such file or directory" in missing.stderr, missing.describe()
    nobody = 'Error from server (NotFound): pods "nobody" not found'
    cluster.compare("exec", "nobody", "--", "true").fails(1, nobody)
    assert cluster.compare("exec", shell, "-c", "nope", "--", "true").code == 1
    name = cluster.create(manifests.pod(cluster.name("done"), container(["true"]), restartPolicy="Never"))
    cluster.wait_for(f"pod/{name}", "jsonpath={.status.phase}=Succeeded")
    completed = "error: cannot exec into a container in a completed pod; current phase is Succeeded"
    cluster.compare("exec", name, "--", "true").fails(1, completed)


def test_the_words_of_a_command_arrive_as_they_are(cluster: Cluster, shell: str) -> None:
    words = ["a b", "c+d%20&e=f", "é\u2028", "", "$HOME", "-n"]
    said = cluster.rawkube("exec", shell, "--", "printf", "[%s]", *words).ok()
    assert said.text == "".join(f"[{word}]" for word in words)


def test_input_and_output_of_5_mb(cluster: Cluster, shell: str) -> None:
    hashed = cluster.rawkube("exec", "-i", shell, "--", "sha256sum", stdin=FIVE_MB).ok()
    assert hashed.text.split()[0] == hashlib.sha256(FIVE_MB).hexdigest()
    assert cluster.rawkube("exec", "-i", shell, "--", "cat", stdin=FIVE_MB).ok().stdout == FIVE_MB


def test_a_command_that_reads_no_further_ends_the_session(cluster: Cluster, shell: str) -> None:
    ended = cluster.rawkube("exec", "-i", shell, "--", "sh", "-c", "head -c 1; exit 7", stdin=FIVE_MB)
    assert (ended.stdout, ended.code) == (FIVE_MB[:1], 7), ended.describe()


def test_the_end_of_input_reaches_the_command_and_its_output_comes_back(cluster: Cluster, shell: str) -> None:
    ended = cluster.rawkube("exec", "-i", shell, "--", "sh", "-c", "wc -c; echo end", stdin=b"hello\n").ok()
    assert ended.text.split() == ["6", "end"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_subprotocol(cluster: Cluster, shell: str, protocol: str) -> None:
    offer = f"--protocol={protocol}"
    good = cluster.rawkube("exec", offer, shell, "--", "sh", "-c", "echo out; echo err >&2").ok()
    assert (good.text, good.stderr) == ("out\n", "err\n")
    bad = cluster.rawkube("exec", offer, shell, "--", "sh", "-c", OUT_ERR_3)
    assert (bad.text, bad.code) == ("out\n", 3 if PROTOCOLS[protocol] else 1), bad.describe()
    size = 200_000
    taking = ["exec", "-i", offer, shell, "--", "sh", "-c", f"head -c {size} | sha256sum"]
    taken = cluster.rawkube(*taking, stdin=FIVE_MB[:size]).ok()
    assert taken.text.split()[0] == hashlib.sha256(FIVE_MB[:size]).hexdigest()


def test_a_terminal_and_its_size(cluster: Cluster, shell: str) -> None:
    script = "stty size; read word; echo got-$word; stty size; exit 5"
    command, _ = cluster.command("exec", "-it", shell, "--", "sh", "-c", script)
    # `Terminal` adds `exec`: what leads to the cluster is told by flags.
    flags = [f"--kubeconfig={cluster.kubeconfig}", *command[3:4]]
    with (
        Terminal(101, 37) as terminal,
        terminal.run(*flags, "-it", shell, "--", "sh", "-c", script, url="", home=cluster.home) as running,
    ):
        terminal.look_for(b"37 101", PATIENCE)
        terminal.resize(55, 22)
        terminal.type(b"word\r")
        terminal.look_for(b"got-word", PATIENCE)
        terminal.look_for(b"22 55", PATIENCE)
        assert running.wait(timeout=PATIENCE).code == 5
        assert not terminal.is_raw(), "the terminal is as it was"


def test_a_pod_that_is_deleted_ends_its_commands(cluster: Cluster) -> None:
    pod = cluster.running_pod()
    with cluster.start("exec", pod, "--", "sh", "-c", "echo begun; sleep 1000; echo never") as running:
        running.look_for("begun")
        cluster.delete("Pod", pod)
        ended = running.wait()
    assert ended.code in {1, 137} and ended.last, ended.describe()
    assert ended.text == "begun\n"


def test_many_pods_and_the_best_of_a_deployment(cluster: Cluster) -> None:
    workload = cluster.rolled_out(manifests.deployment(cluster.name("many")))
    name = workload.partition("/")[2]
    ended = cluster.rawkube("exec", "-l", f"app={name}", "--", "hostname").ok()
    lines = ended.text.splitlines()
    assert len(lines) == len(set(lines)) == 2
    assert [line for line in lines if line.count(line.split()[-1]) < 2] == [], "each line begins with its Pod"
    one = cluster.rawkube("exec", workload, "--", "hostname").ok()
    assert one.text.startswith(f"{name}-")


def test_the_library(cluster: Cluster, shell: str) -> None:
    with rawkube.connect(kubeconfig=str(cluster.kubeconfig), namespace=cluster.namespace) as client:
        done = rawkube.exec(client, shell, ["sh", "-c", "cat; echo err >&2; exit 4"], stdin=b"in", timeout=60)
        assert (done.stdout, done.stderr, done.exit_code, done.close_code) == (b"in", b"err\n", 4, 1000)
        with rawkube.open_exec(client, shell, ["cat"], stdin=True, timeout=60) as talk:
            for word in (b"one\n", b"two\n"):
                talk.write(word)
                assert next(bytes(data) for _, data in talk if data) == word
            talk.close_stdin()
            assert b"".join(data for _, data in talk) == b""
        assert talk.result.exit_code == 0
