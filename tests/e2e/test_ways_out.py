"""However a recorded program ends: its status is its own, and the file is there to read."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid

ENDS = {
    "exit 0": ("pass", 0),
    "SystemExit 3": ("sys.exit(3)", 3),
    "SystemExit 1": ("sys.exit('message')", 1),
    "exception ValueError": ("raise ValueError('x')", 1),
    "KeyboardInterrupt": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(5)", -signal.SIGINT),
    "signal SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)", -signal.SIGTERM),
    "os._exit 4": ("os._exit(4)", 4),
    "os.execv": ("os.execv(sys.executable, [sys.executable, '-c', 'raise SystemExit(5)'])", 5),
}


@pytest.mark.parametrize("ended", ENDS)
def test_ways_out(tmp_path: Path, ended: str) -> None:
    body, status = ENDS[ended]
    (tmp_path / "x.py").write_text(f"import os, signal, sys, time\n{body}\n")
    command = [sys.executable, "-m", "pellucid", "run", "--quiet", "x.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == status
    assert b"pellucid" not in done.stderr
    (run,) = pellucid.load(tmp_path / "x.pellucid").runs
    assert (run.ended, run.complete) == (ended, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pellucid", "x.py"]


def test_threads_carry_their_names(tmp_path: Path) -> None:
    code = """
import threading, pellucid
def work():
    with pellucid.region("inside"):
        pass
thread = threading.Thread(target=work, name="worker <1>")
thread.start()
thread.join()
"""
    command = [sys.executable, "-m", "pellucid", "run", "-o", "x", "-c", code]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    (node,) = pellucid.load(tmp_path / "x").nodes(kind="region", name="inside")
    assert node.path[0].name == "worker <1>"


def test_no_frame_of_the_launcher_is_in_the_tree(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import pellucid\nwith pellucid.region('here'):\n    pass\n")
    command = [sys.executable, "-m", "pellucid", "run", "x.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    (node,) = pellucid.load(tmp_path / "x.pellucid").nodes(kind="region", name="here")
    assert [str(frame.kind) for frame in node.path] == ["thread", "python", "region"]
    assert node.path[1].file == str(tmp_path / "x.py")
