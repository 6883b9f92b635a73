"""What `pellucid run` makes of its command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.cli import app, run
from pellucid.errors import SessionError
from pellucid.launch.claim import claim
from pellucid.launch.launcher import BOOTSTRAP, Request


class Executed(Exception):
    """Stands for the exec that does not return."""


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    words: list[str] = []

    def execv(_: str, arguments: list[str]) -> None:
        words.extend(arguments)
        raise Executed

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(run, "_check_core", lambda: None)
    return words


def invoke(*words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pellucid", "run", *words])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "pellucid", "run", *words])
    app.main()


def request_of(executed: list[str]) -> Request:
    import json

    request = Request(**json.loads(executed[executed.index(BOOTSTRAP) + 1]))
    assert request.claim is not None
    os.close(request.claim)
    return request


@pytest.mark.parametrize(
    ("words", "kind", "output", "program"),
    [
        (["x.py"], "script", "x.pellucid", ["x.py"]),
        (["x.py", "-o", "y"], "script", "x.pellucid", ["x.py", "-o", "y"]),
        (["x.py", "--help", "--", "-m"], "script", "x.pellucid", ["x.py", "--help", "--", "-m"]),
        (["a/b.c.py"], "script", "b.c.pellucid", ["a/b.c.py"]),
        (["folder/"], "script", "folder.pellucid", ["folder/"]),
        (["--", "x.py", "--"], "script", "x.pellucid", ["x.py", "--"]),
        (["-o", "y", "x.py"], "script", "y", ["x.py"]),
        (["-oy", "-m", "mod", "--quiet"], "module", "y", ["mod", "--quiet"]),
        (["-m", "pkg.mod"], "module", "pkg.mod.pellucid", ["pkg.mod"]),
        (["-mpkg.mod", "-m", "x"], "module", "pkg.mod.pellucid", ["pkg.mod", "-m", "x"]),
        (["-m", "mod", "--", "x"], "module", "mod.pellucid", ["mod", "--", "x"]),
        (["--output", "-m", "x.py"], "script", "-m", ["x.py"]),
        (["--output=y", "-c", "print()", "-"], "code", "y", ["print()", "-"]),
        (["-c", "", "-c", "1"], "code", "command.pellucid", ["", "-c", "1"]),
    ],
)
def test_command_lines(
    executed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    kind: str,
    output: str,
    program: list[str],
) -> None:
    with pytest.raises(Executed):
        invoke(*words, monkeypatch=monkeypatch)
    request = request_of(executed)
    assert (request.kind, request.shown) == (kind, output)
    assert request.output == str(tmp_path / output)
    assert executed[executed.index(BOOTSTRAP) + 2 :] == program


def test_options(executed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Executed):
        invoke("--quiet", "--no-modules", "x.py", monkeypatch=monkeypatch)
    request = request_of(executed)
    assert (request.quiet, request.modules) == (True, False)


@pytest.mark.parametrize(
    ("words", "shown"),
    [(["x.py"], "x.rank3.pellucid"), (["-o", "a.b/y.z", "x.py"], "a.b/y.rank3.z")],
)
def test_rank(
    executed: list[str], monkeypatch: pytest.MonkeyPatch, words: list[str], shown: str
) -> None:
    monkeypatch.setenv("RANK", "3")
    Path("a.b").mkdir()
    with pytest.raises(Executed):
        invoke(*words, monkeypatch=monkeypatch)
    assert request_of(executed).shown == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to run"),
        (["--quiet"], "nothing to run"),
        (["-"], "standard input"),
        (["-o", "missing/x", "x.py"], "there is no folder missing"),
        (["-o", "precious.py", "x.py"], "no pellucid profile and is not overwritten"),
        (["-o", ".", "x.py"], "no pellucid profile and is not overwritten"),
        (["-o", "/dev/null", "x.py"], "no pellucid profile and is not overwritten"),
    ],
)
def test_wrong_use(
    executed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    Path("precious.py").write_text("print(1)")
    with pytest.raises(SystemExit) as exit:
        invoke(*words, monkeypatch=monkeypatch)
    error = capsys.readouterr().err
    assert exit.value.code == 2
    assert message in error
    assert error.startswith("pellucid: ") and error.count("\n") == 1
    assert executed == []


def test_a_profile_or_an_empty_file_is_overwritten(
    executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("empty").touch()
    Path("profile").write_bytes(b"SQLite format 3\0".ljust(68, b"\0") + b"plcd".ljust(32, b"\0"))
    for name in "empty", "profile":
        with pytest.raises(Executed):
            invoke("-o", name, "x.py", monkeypatch=monkeypatch)
        request_of(executed)
        executed.clear()


def test_a_claimed_output_is_refused(
    executed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = claim(Path("x.pellucid"))
    with pytest.raises(SystemExit):
        invoke("x.py", monkeypatch=monkeypatch)
    os.close(taken)
    assert "x.pellucid is being written by another process" in capsys.readouterr().err
    with pytest.raises(Executed):
        invoke("x.py", monkeypatch=monkeypatch)
    request_of(executed)


def test_a_claim_is_one_of_the_file_not_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    taken = claim(tmp_path / "a" / "x")
    with pytest.raises(SessionError):
        claim(tmp_path / "link" / "x")
    os.close(claim(tmp_path / "a" / "y"))
    os.close(claim(tmp_path / "x"))
    os.close(taken)
    os.close(claim(tmp_path / "link" / "x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "link"]


def test_a_claim_ends_with_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from pellucid.launch.claim import claim\n"
        "claim(Path(sys.argv[1])); print('claimed', flush=True); time.sleep(60)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "x")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        with pytest.raises(SessionError):
            claim(tmp_path / "x")
        process.kill()
    os.close(claim(tmp_path / "x"))


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["/env/bin/pellucid", "run"], []),
        (["-m", "pellucid", "run", "-O"], []),
        (["-O", "-m", "pellucid"], ["-O"]),
        (["-OOIm", "pellucid"], ["-OOI"]),
        (["-X", "utf8", "-Xdev", "-W", "error", "-m", "x"], ["-X", "utf8", "-Xdev", "-W", "error"]),
        (["-bWerror", "-uX", "dev", "x.py", "-B"], ["-bWerror", "-uX", "dev"]),
        (
            ["--check-hash-based-pycs", "always", "-u", "x"],
            ["--check-hash-based-pycs", "always", "-u"],
        ),
        (["-cprint()"], []),
        (["-u", "--", "x.py"], ["-u"]),
        (["-", "-u"], []),
    ],
)
def test_interpreter_flags(words: list[str], flags: list[str]) -> None:
    assert run.interpreter_flags(["python", *words]) == flags


def test_help_shows_where_options_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        invoke("--help", monkeypatch=monkeypatch)
    text = capsys.readouterr().out
    assert "run [OPTIONS] (SCRIPT | -m MODULE | -c CODE) [ARGS]..." in text
