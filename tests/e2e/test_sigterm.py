"""A process that SIGTERM ends finishes first, and then ends as without us."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WATCH = """
    import ctypes, os, signal, sys, threading, time
    from pathlib import Path
    from pellucid import _core
    from pellucid.capture.exits import WaysOut

    def finish(ended):
        Path("finished").write_text(ended)

    _core.start(os.path.dirname(_core.__file__), {}, None)
    ways = WaysOut(_core)
    ways.install(finish)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""


def terminated(folder: Path, body: str) -> tuple[int, str]:
    """Exit status and what was finished, of a program that would go on for a minute."""
    code = textwrap.dedent(WATCH) + textwrap.dedent(body)
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=20)
    finished = folder / "finished"
    return status, finished.read_text() if finished.exists() else ""


@pytest.mark.parametrize(
    "body",
    [
        # A C call that lets go of the GIL and retries when a signal interrupts it.
        "print('ready', flush=True); time.sleep(60)",
        "print('ready', flush=True); ctypes.CDLL(None).sleep(60); time.sleep(60)",
        "print('ready', flush=True)\nwhile True: pass",
        "threading.Thread(target=time.sleep, args=(60,)).start(); print('ready', flush=True)",
    ],
    ids=["sleep", "C sleep", "busy", "thread"],
)
def test_it_finishes_and_dies_promptly_by_the_signal(tmp_path: Path, body: str) -> None:
    assert terminated(tmp_path, body) == (-signal.SIGTERM, "signal SIGTERM")


def test_a_handler_of_the_program_stays_its_own(tmp_path: Path) -> None:
    body = """
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        print("ready", flush=True)
        time.sleep(60)
    """
    status, finished = terminated(tmp_path, body)
    assert (status, finished) == (3, "")


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    body = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready", flush=True)
        time.sleep(0.5)
    """
    assert terminated(tmp_path, body) == (0, "")


def test_after_uninstall_nothing_is_finished(tmp_path: Path) -> None:
    body = "ways.uninstall()\nprint('ready', flush=True)\ntime.sleep(60)"
    assert terminated(tmp_path, body) == (-signal.SIGTERM, "")


def test_a_forked_child_just_dies(tmp_path: Path) -> None:
    body = """
        child = os.fork()
        if child == 0:
            time.sleep(60)
        time.sleep(0.1)
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert not os.path.exists("finished")
        print("ready", flush=True)
        time.sleep(60)
    """
    assert terminated(tmp_path, body) == (-signal.SIGTERM, "signal SIGTERM")
