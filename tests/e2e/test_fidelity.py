"""A program under the launcher says, byte for byte, what it says under plain Python."""

from __future__ import annotations

import py_compile
import re
import sys
import zipfile
from pathlib import Path

import pytest
from launched import PYTHONS, Outcome, plainly, recorded

from pellucid.launch.launcher import Request

PROGRAMS = {
    "namespace": """
        import sys
        print({k: str(v) for k, v in globals().items() if k != "__loader__"})
        print(__loader__.name, __loader__.path, type(__loader__))
        print(sys.argv, sys.path[0], sys.orig_argv[1:], sys.flags, sys.warnoptions)
        print(sys.modules["__main__"].__dict__ is globals(), __import__("__main__").sys is sys)
    """,
    "namespace at exit": """
        import atexit, sys
        atexit.register(lambda: print(list(sys.modules["__main__"].__dict__)))
    """,
    "namespace at SystemExit": """
        import atexit, sys
        atexit.register(lambda: print(list(sys.modules["__main__"].__dict__)))
        sys.exit()
    """,
    "namespace after an exception": """
        import atexit, sys
        atexit.register(lambda: print(list(sys.modules["__main__"].__dict__)))
        1 / 0
    """,
    "exception": """
        def f(x):
            return 1 / x
        f(0)
    """,
    "exception without a message": "raise KeyError\n",
    "chained": """
        def f():
            try:
                {}["missing"]
            except KeyError as error:
                raise ValueError("chained") from error
        try:
            f()
        except ValueError:
            [][1]
    """,
    "group": """
        import sys
        if sys.version_info >= (3, 11):
            errors = []
            for text in "x", "[]":
                try:
                    int(text)
                except ValueError as error:
                    error.add_note("a note")
                    errors.append(error)
            raise ExceptionGroup("several", [*errors, ExceptionGroup("inner", [OSError(1, "no")])])
    """,
    "exception from exec": "exec(compile('1/0', '<made up>', 'exec'))\n",
    "exception while importing": "import pellucid_no_such_module\n",
    "syntax error in an import": """
        from pathlib import Path
        Path("broken.py").write_text("def (")
        import broken
    """,
    "raised SyntaxError": "eval('1 +')\n",
    "last traceback": """
        import atexit, sys, traceback
        def report():
            traceback.print_tb(sys.last_traceback)
            print(sys.last_type, sys.last_value, sys.last_value.__traceback__ is sys.last_traceback)
            print(getattr(sys, "last_exc", sys.last_value) is sys.last_value)
            print(sys.excepthook is sys.__excepthook__)
        atexit.register(report)
        def f():
            raise ValueError("x")
        f()
    """,
    "excepthook": """
        import sys, traceback
        def hook(kind, error, tb):
            print("hook", kind, error, sys.excepthook is hook, tb is error.__traceback__)
            traceback.print_exception(kind, error, tb)
        sys.excepthook = hook
        raise ValueError("x")
    """,
    "failing excepthook": """
        import sys
        def hook(kind, error, tb):
            raise RuntimeError("hook")
        sys.excepthook = hook
        raise ValueError("x")
    """,
    "excepthook that exits": """
        import sys
        sys.excepthook = lambda *_: sys.exit(7)
        raise ValueError("x")
    """,
    "no excepthook": "import sys; del sys.excepthook; raise ValueError('x')\n",
    "None as excepthook": "import sys; sys.excepthook = None; raise ValueError('x')\n",
    "exit status": "import sys; sys.exit(3)\n",
    "exit message": "import sys; sys.exit('a message')\n",
    "exit None": "raise SystemExit\n",
    "exit with an object": "raise SystemExit({'a': 1})\n",
    "exit with a large number": "raise SystemExit(2**40)\n",
    "KeyboardInterrupt": """
        import atexit
        atexit.register(print, "at exit")
        def f():
            raise KeyboardInterrupt
        f()
    """,
    "SIGINT": """
        import os, signal, time
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    """,
    "killed": "import os, signal; print(1, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n",
    "exception in a thread": """
        import threading
        def work():
            raise ValueError("in a thread")
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        print("main goes on")
    """,
    "thread outlives main": """
        import threading, time
        def work():
            time.sleep(0.2)
            print("thread", "__file__" in globals())
        threading.Thread(target=work).start()
        print("main")
    """,
    "atexit": """
        import atexit
        atexit.register(print, "first")
        atexit.register(print, "second")
        raise ValueError("x")
    """,
    "exception in atexit": """
        import atexit
        @atexit.register
        def fail():
            raise ValueError("at exit")
        print("main")
    """,
    "deletions at shutdown": """
        class Noisy:
            def __init__(self, name): self.name = name
            def __del__(self): print("del", self.name)
        b, _a, c = Noisy("b"), Noisy("_a"), Noisy("c")
        def f(): return c
        cycle = [b]; cycle.append(cycle)
    """,
    "unraisable": """
        class Bad:
            def __del__(self): raise ValueError("in del")
        Bad()
        bad = Bad()
    """,
    "warning for the caller": """
        import warnings
        def old():
            warnings.warn("old", DeprecationWarning, stacklevel=2)
            warnings.warn("older", UserWarning, stacklevel=3)
            warnings.warn("oldest", UserWarning, stacklevel=4)
        old()
    """,
    "warning of the compiler": "x = 1 is 1\nprint('\\d')\n",
    "os._exit": "import os; print(1, flush=True); os._exit(5)\n",
    "os._exit with no number": "import os; os._exit('5')\n",
    "os.execv": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(2)'])\n",
    "os.execvp of nothing": "import os; os.execvp('pellucid-no-such', ['x'])\n",
    "os.execv of nothing, chained": """
        import os
        try:
            os.execve("/pellucid-no-such", ["x"], {})
        except OSError as error:
            raise RuntimeError("no") from error
    """,
    "fork": """
        import os, sys
        child = os.fork()
        if child == 0:
            print("child", flush=True)
            1 / 0
        print("child ended with", os.waitpid(child, 0)[1], flush=True)
    """,
    "spawn": """
        import multiprocessing, sys
        class Thing:
            pass
        def work(thing, queue):
            queue.put((type(thing).__qualname__, sys.argv, __name__))
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.SimpleQueue()
            process = context.Process(target=work, args=(Thing(), queue))
            process.start()
            print(queue.get())
            process.join()
            print(process.exitcode)
    """,
    "fork pool": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(square, range(5)))
    """,
    "pickle": """
        import os, pickle
        class Thing:
            pass
        print(type(pickle.loads(pickle.dumps(Thing()))))
        print(pickle.loads(pickle.dumps(os._exit)) is os._exit)
    """,
    "closed streams": "import sys; sys.stderr.close(); sys.stdout.close(); 1 / 0\n",
    "null byte": "print(1)\n\0",
    "unknown coding": "# coding: no-such\nprint(1)\n",
    "syntax error": "x = '\\d'\ny = (\n",
    "indentation": "if True:\nx = 1\n",
    "empty": "",
}


@pytest.fixture(params=PYTHONS, ids=lambda path: Path(path).parents[1].name)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def compare(python: str, folder: Path, words: list[str], *flags: str) -> Outcome:
    """Assert that both ways give the same, and return it."""
    expected = _comparable(plainly(python, folder, words, [*flags]))
    outcome = _comparable(recorded(python, folder, words, [*flags])[0])
    assert outcome.stderr.decode() == expected.stderr.decode()
    assert outcome.stdout.decode() == expected.stdout.decode()
    assert outcome.status == expected.status
    return expected


def _comparable(outcome: Outcome) -> Outcome:
    stdout, stderr = (
        re.sub(rb"0x[0-9a-f]{6,}|(?<=object refcount : )\d+", b"_", text) for text in outcome[:2]
    )
    # Flags that ignore PYTHONPATH keep the fake session out.
    stderr = re.sub(rb"pellucid: not recording: .*\n", b"", stderr)
    return Outcome(stdout, stderr, outcome.status)


def write(path: Path, text: str) -> Path:
    lines = text.splitlines(keepends=True)
    indented = lines[1:] and lines[0] == "\n"
    path.write_text("".join(line[8:] or line for line in lines[1:]) if indented else text)
    return path


@pytest.mark.parametrize("name", PROGRAMS)
def test_script(python: str, tmp_path: Path, name: str) -> None:
    write(tmp_path / "x.py", PROGRAMS[name])
    compare(python, tmp_path, ["x.py", "--help", "-o", "a b", "--", ""])


NATURES = [
    "namespace",
    "namespace at exit",
    "exception",
    "exit status",
    "SIGINT",
    "warning for the caller",
]


@pytest.mark.parametrize("name", [*NATURES, "spawn", "syntax error", "excepthook"])
def test_module(python: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    write(tmp_path / "package" / "x.py", PROGRAMS[name])
    compare(python, tmp_path, ["-m", "package.x", "-m", "--help"])


@pytest.mark.parametrize("name", NATURES)
def test_folder_and_archive(python: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    main = write(tmp_path / "folder" / "__main__.py", PROGRAMS[name])
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(main, "__main__.py")
    compare(python, tmp_path, ["folder", "a"])
    compare(python, tmp_path, ["x.zip", "a"])


@pytest.mark.parametrize(
    "code",
    [
        "import sys; print(sys.argv, sys.path[0], sorted(globals()), __name__, sys.orig_argv[1:])",
        "def f():\n  1/0\nf()",
        "import sys; sys.exit('x')",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
        "import warnings; warnings.warn('a', stacklevel=2)",
        "x = (",
        "x = 1 is 1",
        "print('\udcff')",
        "",
    ],
)
def test_code(python: str, tmp_path: Path, code: str) -> None:
    compare(python, tmp_path, ["-c", code, "-c", "--help"])


@pytest.mark.parametrize(
    "words",
    [
        ["missing.py"],
        ["./missing/x.py"],
        ["empty_folder"],
        ["-m", "missing"],
        ["-m", "missing.x"],
        ["-m", "empty_folder"],
        ["-m", "x.py"],
        ["-m", ".x"],
        ["-m", ""],
    ],
    ids=" ".join,
)
def test_nothing_to_run(python: str, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "empty_folder").mkdir()
    write(tmp_path / "x.py", "print(1)\n")
    assert compare(python, tmp_path, words).status


@pytest.mark.parametrize(
    "flags",
    [
        ["-W", "error"],
        ["-Wdefault", "-Wignore::DeprecationWarning"],
        ["-X", "utf8", "-X", "no_debug_ranges"],
        ["-X", "dev"],
        ["-O"],
        ["-OO", "-B"],
        ["-I"],
        ["-E", "-s"],
        ["-u"],
        ["-P"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["namespace", "warning for the caller", "exception"])
def test_flags(python: str, tmp_path: Path, name: str, flags: list[str]) -> None:
    write(tmp_path / "x.py", "'doc'\nassert __doc__ is None\n" * (flags[0] == "-OO"))
    path = write(tmp_path / "x.py", PROGRAMS[name])
    path.write_text(f"{path.read_text()}\nassert 1 is 2, 'assertions are on'\n")
    if flags == ["-P"] and plainly(python, tmp_path, ["-c", ""], flags).status:
        pytest.skip("this Python has no -P")
    compare(python, tmp_path, ["x.py"], *flags)


def test_links_and_odd_paths(python: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    write(tmp_path / "real" / "x.py", PROGRAMS["namespace"] + "        1 / 0\n")
    (tmp_path / "links" / "absolute.py").symlink_to(tmp_path / "real" / "x.py")
    (tmp_path / "links" / "relative.py").symlink_to("../real/x.py")
    (tmp_path / "folder").symlink_to("real")
    for word in "links/absolute.py", "links/relative.py", "folder/x.py", "./real//../real/x.py":
        compare(python, tmp_path, [word])
    compare(python, tmp_path, [str(tmp_path / "real" / "x.py")])


def test_compiled_script(tmp_path: Path) -> None:
    source = write(tmp_path / "x.py", PROGRAMS["namespace"])
    py_compile.compile(str(source), str(tmp_path / "y.pyc"))
    py_compile.compile(str(source), str(tmp_path / "no_suffix"))
    compare(sys.executable, tmp_path, ["y.pyc"])
    compare(sys.executable, tmp_path, ["no_suffix"])


def test_a_shadowing_module_reaches_the_program_only(python: str, tmp_path: Path) -> None:
    for name in "json", "atexit", "runpy", "shlex", "threading", "sqlite3", "pellucid":
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadow')\n")
    write(tmp_path / "x.py", "import runpy\n")
    plain = plainly(python, tmp_path, ["-c", "print(1)"], [])
    outcome, saved = recorded(python, tmp_path, ["-c", "print(1)"], [])
    assert outcome == plain
    assert saved["ended"] == "exit 0"


ENDS = {
    "exit 0": "pass",
    "SystemExit 3": "import sys; sys.exit(3)",
    "SystemExit 0": "raise SystemExit",
    "SystemExit 1": "raise SystemExit('x')",
    "exception ValueError": "raise ValueError",
    "exception f.<locals>.Own": "def f():\n  class Own(Exception): ...\n  raise Own\nf()",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "os._exit 4": "import os; os._exit(4)",
    "os.execv": "import os, sys; os.execlp(sys.executable, sys.executable, '-c', '')",
    "os.execve": "import os, sys; os.execve(sys.executable, [sys.executable, '-c', ''], {})",
}


@pytest.mark.parametrize("ended", ENDS)
def test_how_it_ended_is_noted(python: str, tmp_path: Path, ended: str) -> None:
    write(tmp_path / "x.py", ENDS[ended])
    assert recorded(python, tmp_path, ["x.py"], [])[1]["ended"] == ended


def test_a_failed_exec_is_noted_and_leaves_no_frame(python: str, tmp_path: Path) -> None:
    script = tmp_path / "not_a_program"
    script.write_text("just text")
    script.chmod(0o755)
    write(tmp_path / "x.py", "import os\nos.execv('./not_a_program', ['x'])\n")
    plain = plainly(python, tmp_path, ["x.py"], [])
    outcome, saved = recorded(python, tmp_path, ["x.py"], [])
    note, rest = outcome.stderr.split(b"\n", 1)
    assert note == (
        b"pellucid: os.execv failed: what the program does from here on is not recorded"
    )
    assert (rest, outcome.status) == (plain.stderr, plain.status)
    assert saved["ended"] == "os.execv"


def test_it_is_saved_after_threads_and_exit_handlers(python: str, tmp_path: Path) -> None:
    text = """
        import atexit, threading, time
        from pathlib import Path
        def note(event):
            with open("events.txt", "a") as file:
                print(event, file=file)
        atexit.register(note, "handler")
        def work():
            time.sleep(0.2)
            note("thread")
        threading.Thread(target=work).start()
        note("main")
    """
    write(tmp_path / "x.py", text)
    _, saved = recorded(python, tmp_path, ["x.py"], [])
    assert saved == {"ended": "exit 0", "modules": True, "events": ["main", "thread", "handler"]}


def test_forked_children_save_nothing(python: str, tmp_path: Path) -> None:
    text = """
        import os
        for way in (lambda: os._exit(3), lambda: None):
            child = os.fork()
            if child == 0:
                way()
                os.chdir("/")
                break
            os.waitpid(child, 0)
            assert not os.path.exists("out.pellucid")
    """
    write(tmp_path / "x.py", text)
    outcome, saved = recorded(python, tmp_path, ["x.py"], [])
    assert (outcome.stderr, saved["ended"]) == (b"", "exit 0")


def test_it_says_what_it_wrote(python: str, tmp_path: Path) -> None:
    write(tmp_path / "x.py", "import os; print(1); os.chdir('/')\n")
    outcome, _ = recorded(python, tmp_path, ["x.py"], [], quiet=False)
    line = "pellucid: wrote out.pellucid (12.3 s, 1,024 nodes); pellucid top out.pellucid\n"
    assert outcome == (b"1\n", line.encode(), 0)


def test_a_session_that_does_not_start_stops_nothing(python: str, tmp_path: Path) -> None:
    write(tmp_path / "x.py", "import os; print(1, flush=True); os._exit(3)\n")
    outcome, saved = recorded(python, tmp_path, ["x.py", "--refuse-to-start"], [])
    line = b"pellucid: not recording: the fake session was asked not to\n"
    assert outcome == (b"1\n", line, 3)
    assert saved == {}


def test_an_unwritable_file_leaves_the_exit_status(python: str, tmp_path: Path) -> None:
    write(tmp_path / "x.py", "import os; os.mkdir('out.pellucid'); os._exit(3)\n")
    outcome, saved = recorded(python, tmp_path, ["x.py"], [])
    assert outcome.status == 3
    assert outcome.stderr.startswith(b"pellucid: out.pellucid could not be written: ")
    assert outcome.stderr.count(b"\n") == 1
    assert saved == {}


@pytest.mark.parametrize(
    "words", [["x.py", "a"], ["-m", "x", "a"], ["-c", "1 / 0", "a"]], ids=" ".join
)
def test_a_broken_launcher_steps_aside(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    write(tmp_path / "x.py", PROGRAMS["namespace"])
    plain = plainly(python, tmp_path, words, ["-O"])
    monkeypatch.setattr(Request, "_asdict", lambda self: {"kind": self.kind, "unknown": 1})
    outcome, saved = recorded(python, tmp_path, words, ["-O"])
    note, rest = outcome.stderr.split(b"\n", 1)
    assert note.startswith(b"pellucid: not recording: ")
    assert _comparable(outcome._replace(stderr=rest)) == _comparable(plain)
    assert saved == {}
