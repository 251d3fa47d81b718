"""`cp` of much, in little memory and on little disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.container import Container
from tests.support.run import environment

MEASURED = """
import sys
from rawkube.cli.main import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the peak of memory")
def test_large_files_in_little_memory(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(32 * 1024 * 1024)
        file.seek(17_000_000)
        file.write(b"in the middle")
    with Container() as server:
        for words in (f"web:{sparse}", f"{tmp_path}/down"), (str(sparse), f"web:{tmp_path}/up"):
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, "cp", f"--server={server.url}", *words],
                env=environment(tmp_path / "h", server.url),
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            assert int(done.stderr.split()[-1]) < 45_000  # KiB
    for copy in (tmp_path / "down", tmp_path / "up"):
        assert subprocess.run(["cmp", sparse, copy], check=False).returncode == 0
    assert (tmp_path / "down").stat().st_blocks * 512 < 2_000_000
