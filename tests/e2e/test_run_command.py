"""`pellucid run` from the shell to the file, with a session that records nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launched import FAKE_SESSION


def start(
    folder: Path, *words: str | bytes, flags: tuple[str, ...] = (), **environment: str
) -> subprocess.Popen[bytes]:
    source = Path(__file__).parents[2] / "src"
    command: list[str | bytes] = [sys.executable, *flags, "-m", "pellucid", "run", *words]
    clean = {name: value for name, value in os.environ.items() if name != "RANK"}
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**clean, "PYTHONPATH": f"{FAKE_SESSION}:{source}", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout.decode(), stderr.decode()


def test_a_run_leaves_a_file_and_a_line(tmp_path: Path) -> None:
    (tmp_path / "my train.py").write_text("import sys; print(sys.argv); sys.exit(3)")
    status, stdout, stderr = finish(start(tmp_path, "my train.py", "-o", "x", "--help"))
    assert (status, stdout) == (3, "['my train.py', '-o', 'x', '--help']\n")
    assert stderr == (
        "pellucid: wrote my train.pellucid (12.3 s, 1,024 nodes); "
        "pellucid top 'my train.pellucid'\n"
    )
    assert json.loads((tmp_path / "my train.pellucid").read_text())["ended"] == "SystemExit 3"


def test_options_reach_the_session(tmp_path: Path) -> None:
    words = ["--no-modules", "--quiet", "-o", "y.pellucid", "-c", "pass"]
    assert finish(start(tmp_path, *words, RANK="1")) == (0, "", "")
    assert json.loads((tmp_path / "y.rank1.pellucid").read_text())["modules"] is False


def test_the_interpreters_flags_are_kept(tmp_path: Path) -> None:
    code = "import sys; print(sys.flags, sys._xoptions, sys.warnoptions, __debug__)"
    flags = ("-OB", "-X", "no_debug_ranges", "-W", "error", "-u")
    status, stdout, _ = finish(start(tmp_path, "--quiet", "-c", code, flags=flags))
    plain = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, check=True)
    assert (status, stdout) == (0, plain.stdout.decode())


def test_arguments_that_are_no_text_arrive(tmp_path: Path) -> None:
    code = "import os, sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"
    with start(tmp_path, "--quiet", "-c", code, b"\xff\xfe") as process:
        assert process.communicate(timeout=60) == (b"\xff\xfe", b"")


def test_many_arguments_arrive(tmp_path: Path) -> None:
    words = ["x" * 100] * 3000
    status, stdout, _ = finish(start(tmp_path, "-c", "import sys; print(len(sys.argv))", *words))
    assert (status, stdout) == (0, "3001\n")


def test_standard_input_is_the_programs(tmp_path: Path) -> None:
    process = start(tmp_path, "--quiet", "-c", "print(input())")
    stdout, _ = process.communicate(b"hello\n", timeout=60)
    assert stdout == b"hello\n"


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    first = start(tmp_path, "--quiet", "-o", "a", "-c", "print('up', flush=True); input()")
    assert first.stdout is not None
    assert first.stdout.readline() == b"up\n"
    status, stdout, stderr = finish(start(tmp_path, "-o", "a", "-c", "print(1)"))
    assert (status, stdout) == (2, "")
    assert stderr == "pellucid: a is being written by another process: name another with -o\n"
    assert first.communicate(b"\n", timeout=60) == (b"", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


def test_a_killed_run_blocks_nothing_though_its_children_live(tmp_path: Path) -> None:
    code = """
import os, sys, time
if os.fork() == 0:
    print("child", os.getpid(), flush=True)
    input()
else:
    time.sleep(60)
"""
    first = start(tmp_path, "--quiet", "-o", "a", "-c", code)
    assert first.stdout is not None
    assert first.stdin is not None
    assert first.stdout.readline().startswith(b"child")
    first.kill()
    first.wait()
    assert finish(start(tmp_path, "--quiet", "-o", "a", "-c", "print(1)"))[:2] == (0, "1\n")
    first.stdin.write(b"\n")
    first.communicate(timeout=60)


def test_no_descriptor_or_option_of_ours_reaches_a_child(tmp_path: Path) -> None:
    code = """
import os, subprocess, sys
show = "import os; print(sorted(os.listdir('/proc/self/fd')), sorted(os.environ))"
subprocess.run([sys.executable, "-c", show], close_fds=False)
"""
    _, stdout, _ = finish(start(tmp_path, "--quiet", "-c", code))
    plain = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        stdin=subprocess.PIPE,
        env={**{k: v for k, v in os.environ.items() if k != "RANK"}, "PYTHONPATH": ""},
    )
    assert stdout == plain.stdout.decode()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no -P before Python 3.11")
def test_modules_of_the_current_folder_do_not_shadow_ours(tmp_path: Path) -> None:
    (tmp_path / "typing.py").write_text("raise RuntimeError('a trap')")
    status, stdout, stderr = finish(start(tmp_path, "-c", "print(1)", flags=("-P",)))
    assert (status, stdout) == (0, "1\n"), stderr
