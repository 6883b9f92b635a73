"""The ways out of a process are watched, and left as they were."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pellucid.capture.exits import WaysOut

NAMES = ("_exit", "execv", "execve")


class FakeSignals:
    def __init__(self) -> None:
        self.callback: Callable[[str], object] | None = None

    def watch_sigterm(self, callback: Callable[[str], object], /) -> None:
        self.callback = callback

    def unwatch_sigterm(self) -> None:
        self.callback = None


@pytest.fixture
def originals() -> Iterator[dict[str, object]]:
    before = {name: getattr(os, name) for name in NAMES}
    yield before
    for name, function in before.items():
        setattr(os, name, function)


def in_child(body: Callable[[int], None]) -> tuple[int, bytes]:
    """Run ``body(pipe)`` in a forked child; its wait status and what it wrote to the pipe."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body(write)
        finally:
            os.kill(os.getpid(), 9)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    return os.waitpid(child, 0)[1], text


def test_exit_finishes_first() -> None:
    def body(pipe: int) -> None:
        WaysOut().install(lambda ended: os.write(pipe, ended.encode()))
        os._exit(7)

    status, text = in_child(body)
    assert (os.waitstatus_to_exitcode(status), text) == (7, b"os._exit 7")


def test_exec_finishes_first() -> None:
    def body(pipe: int) -> None:
        WaysOut().install(lambda ended: os.write(pipe, ended.encode()))
        os.execvp("true", ["true"])

    status, text = in_child(body)
    assert (os.waitstatus_to_exitcode(status), text) == (0, b"os.execv")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_exit_goes_on_when_finishing_fails(error: type[BaseException]) -> None:
    def body(pipe: int) -> None:
        def finish(ended: str) -> None:
            os.write(pipe, ended.encode())
            raise error

        WaysOut().install(finish)
        os._exit(7)

    status, text = in_child(body)
    assert (os.waitstatus_to_exitcode(status), text) == (7, b"os._exit 7")


@pytest.mark.usefixtures("originals")
def test_a_forked_child_finishes_nothing() -> None:
    seen: list[str] = []
    ways = WaysOut()

    def body(pipe: int) -> None:
        os.write(pipe, str(len(seen)).encode())
        os._exit(3)

    ways.install(seen.append)
    status, _ = in_child(body)
    ways.uninstall()
    assert os.waitstatus_to_exitcode(status) == 3
    assert seen == []


@pytest.mark.usefixtures("originals")
def test_an_exec_that_cannot_succeed_finishes_nothing(tmp_path: Path) -> None:
    seen: list[str] = []
    ways = WaysOut()
    ways.install(seen.append)
    (tmp_path / "not_executable").touch()
    with pytest.raises(FileNotFoundError):
        os.execvp("pellucid-no-such-program", ["x"])
    with pytest.raises(PermissionError):
        os.execv(tmp_path / "not_executable", ["x"])
    with pytest.raises(PermissionError):
        os.execve(os.fsencode(tmp_path), ["x"], {})
    with pytest.raises(TypeError):
        os.execv(None, ["x"])  # type: ignore[arg-type]
    ways.uninstall()
    assert seen == []


@pytest.mark.usefixtures("originals")
def test_a_failed_exec_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    ways = WaysOut()
    ways.install(seen.append)
    program = tmp_path / "program"
    program.write_text("no format")
    program.chmod(0o755)
    with pytest.raises(OSError, match="Exec format error"):
        os.execv(program, ["x"])
    ways.uninstall()
    assert seen == ["os.execv"]
    assert capfd.readouterr().err.count("os.execv failed") == 1


def test_uninstall_restores(originals: dict[str, object]) -> None:
    ways = WaysOut()
    ways.install(lambda _: None)
    assert all(getattr(os, name) is not originals[name] for name in NAMES)
    assert pickle.loads(pickle.dumps(os._exit)) is os._exit
    ways.uninstall()
    ways.uninstall()
    assert {name: getattr(os, name) for name in NAMES} == originals


@pytest.mark.usefixtures("originals")
def test_uninstall_leaves_a_later_wrapper_in_place() -> None:
    seen: list[str] = []
    ways = WaysOut()
    ways.install(seen.append)
    ours = os.execv

    def theirs(path: str, argv: list[str]) -> None:
        ours(path, argv)

    os.execv = theirs  # type: ignore[assignment]
    ways.uninstall()
    assert os.execv is theirs
    with pytest.raises(ValueError, match="must not be empty"):
        os.execv(sys.executable, [])
    assert seen == []


def test_sigterm_is_watched_by_the_core() -> None:
    seen: list[str] = []
    signals = FakeSignals()
    ways = WaysOut(signals)
    ways.install(seen.append)
    assert signals.callback is not None
    signals.callback("SIGTERM")
    ways.uninstall()
    assert seen == ["signal SIGTERM"]
    assert signals.callback is None
