"""Whether the suite was asked for, and whether there is a cluster for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "RAWKUBE_TEST_KUBECONFIG"
UNASKED = f"{VARIABLE} names no kubeconfig, and without one there is no cluster to test on"
# Seconds for the one question before everything.
_PATIENCE = 30.0


def is_asked(mark_expression: str) -> bool:
    """Whether `-m` speaks of the cluster at all. pytest itself reads what it says."""
    return re.search(r"\bcluster\b", mark_expression) is not None


def kubeconfig(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file that the variable names; None where it is not set."""
    named = environ.get(VARIABLE, "")
    return Path(named).expanduser().absolute() if named else None


def environment(config: Path) -> dict[str, str]:
    """The tester's own (a credential plugin may need it), with that kubeconfig and no trace or recording."""
    root = str(Path(__file__).parents[2])
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAWKUBE_")}
    return {**own, "KUBECONFIG": str(config), "PYTHONPATH": root, "PYTHONUNBUFFERED": "1"}


def problem(config: Path) -> str:
    """Why no test can run with that kubeconfig, in one line; empty where they can."""
    if not config.is_file():
        return f"{VARIABLE}={config}: there is no such file"
    question = ["auth", "can-i", "create", "namespaces", "--request-timeout=10s"]
    command = [sys.executable, "-m", "rawkube", *question]
    try:
        said = subprocess.run(
            command,
            env=environment(config),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"{VARIABLE}={config}: no answer within {_PATIENCE:g} s"
    if said.returncode == 0:
        return ""
    if said.stdout == "no\n":
        return f"{VARIABLE}={config}: its user may not create namespaces, and each worker needs one"
    why = (said.stderr.splitlines() or [f"rawkube ended with {said.returncode}"])[-1]
    return f"{VARIABLE}={config}: {why}"
