"""Whole programs under `pellucid run`: as they end, and the processes that they start."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import pellucid
from with_torch.recordings import calls, python, run, script

TRAIN = """
    import multiprocessing, os, signal, sys, threading, time
    import torch
    model = torch.nn.Linear(4, 4)
    for _ in range(3):
        model(torch.ones(2, 4)).sum().backward()
"""

ENDS = {
    "exit 0": ("print('end')", 0),
    "SystemExit 3": ("sys.exit(3)", 3),
    "exception RuntimeError": ("torch.ones(2).view(3)", 1),
    "KeyboardInterrupt": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", -signal.SIGINT),
    "signal SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -signal.SIGTERM),
    "os._exit 4": ("os._exit(4)", 4),
    "os.execv": ("os.execv(sys.executable, [sys.executable, '-c', 'print(1); exit(5)'])", 5),
}


@pytest.mark.parametrize("ended", ENDS)
def test_however_it_ends_what_was_recorded_is_there(tmp_path: Path, ended: str) -> None:
    body, status = ENDS[ended]
    script(tmp_path, f"{TRAIN}    {body}\n")
    plain = python(tmp_path, "x.py")

    recorded, profile = run(tmp_path, "x.py")

    assert plain.status == status
    assert recorded == plain
    (this,) = profile.runs
    assert (this.ended, this.complete) == (ended, True)
    assert calls(profile)["AddmmBackward0"] == 3


NEVER_STOPPED = {
    "pass": (0, "never stopped", False),
    "sys.exit(3)": (3, "never stopped", False),
    "raise ValueError": (1, "never stopped", False),
    "os._exit(4)": (4, "os._exit 4", True),
    "os.kill(os.getpid(), 15); time.sleep(9)": (-15, "signal SIGTERM", True),
}


@pytest.mark.parametrize("end", NEVER_STOPPED)
def test_started_and_never_stopped(tmp_path: Path, end: str) -> None:
    status, ended, complete = NEVER_STOPPED[end]
    body = f"""
    import os, sys, time, torch, pellucid
    pellucid.profile(out="out.pellucid").__enter__()
    scope = torch.profiler.record_function("open")
    scope.__enter__()
    model = torch.nn.Linear(4, 4)
    model(torch.ones(2, 4)).sum().backward()
    {end}
    """

    outcome = python(tmp_path, str(script(tmp_path, body)))

    assert outcome.status == status, outcome.stderr
    assert ("ValueError" in outcome.stderr) == ("ValueError" in end)
    profile = pellucid.load(tmp_path / "out.pellucid")
    assert (profile.runs[0].ended, profile.runs[0].complete) == (ended, complete)
    assert calls(profile)["AddmmBackward0"] == 1
    assert {loss.kind: loss.count for loss in profile.losses} == {"scope_left_open": 1}


def test_started_and_never_stopped_without_a_file(tmp_path: Path) -> None:
    body = """
    import torch, pellucid
    pellucid.profile().__enter__()
    torch.nn.Linear(4, 4)(torch.ones(2, 4)).sum().backward()
    """
    assert python(tmp_path, str(script(tmp_path, body))) == (0, "", "")


def test_operators_in_a_thread_that_outlives_the_main_program(tmp_path: Path) -> None:
    body = """
        import threading, torch
        go_on = threading.Event()
        def work():
            go_on.wait()
            for _ in range(100):
                torch.ones(2).add(1)
        threading.Thread(target=work, name="late").start()
        go_on.set()
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "", "")
    late = [n for n in profile.nodes(name="aten::add") if n.path[0].name == "late"]
    assert sum(node.stats["duration"].count for node in late) == 100


LOADER = """
    import sys
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Squares(Dataset):
        def __len__(self):
            return 12
        def __getitem__(self, index):
            return torch.tensor(float(index)).square()

    if __name__ == "__main__":
        loader = DataLoader(
            Squares(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1],
            persistent_workers=True,
        )
        for _ in range(2):
            print([batch.tolist() for batch in loader])
        sys.exit(3)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_loader(tmp_path: Path, method: str) -> None:
    script(tmp_path, LOADER)
    plain = python(tmp_path, "x.py", method)

    recorded, profile = run(tmp_path, "x.py", method)

    assert plain.status == 3, plain.stderr
    assert recorded == plain
    losses = {loss.kind: loss.count for loss in profile.losses}
    assert losses.get("forked_process") == (2 if method == "fork" else None)
    assert calls(profile)["aten::square"] == 0, "the workers' own"


def test_forks_while_others_run_operators(tmp_path: Path) -> None:
    # Torch sets up an operator at its first call: a child that is forked meanwhile waits for that
    # forever, with us or without. So every thread has made its first calls before.
    body = """
        import os, threading, torch
        stop, ready = threading.Event(), threading.Barrier(3)
        def work():
            torch.ones(2).add(1)
            ready.wait()
            while not stop.is_set():
                torch.ones(2).add(1)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        for i in range(20):
            child = os.fork()
            if child == 0:
                torch.ones(2).mul(2)
                os._exit(torch.ones(2).sum().int().item())
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        stop.set()
        for thread in threads:
            thread.join()
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "", "")
    assert {loss.kind: loss.count for loss in profile.losses} == {"forked_process": 20}
    assert calls(profile)["aten::mul"] == 0
    assert calls(profile)["aten::add"] > 0


def test_a_forked_child_may_record_itself(tmp_path: Path) -> None:
    body = """
        import os, torch, pellucid
        torch.ones(2).add(1)
        child = os.fork()
        if child == 0:
            with pellucid.profile() as prof:
                torch.ones(2).mul(2)
            os._exit(len(prof.profile.nodes(name="aten::mul")))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "1\n", "")
    assert calls(profile)["aten::add"] == 1


def test_torch_imported_late_in_a_thread(tmp_path: Path) -> None:
    body = """
        import threading
        done = threading.Event()
        def work():
            import torch
            torch.ones(2).add(1)
            done.set()
        threading.Thread(target=work, name="importer").start()
        done.wait()
        import torch
        torch.ones(2).mul(1)
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "", "")
    assert calls(profile)["aten::mul"] == calls(profile)["aten::add"] == 1
    (node,) = profile.nodes(name="aten::add")
    assert node.path[0].name == "importer"


def test_an_import_of_torch_that_fails_fails_as_it_does(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no such thing')\n")
    script(tmp_path, "import torch\n")
    plain = python(tmp_path, "x.py")

    recorded, profile = run(tmp_path, "x.py")

    assert recorded == plain
    assert plain.status == 1
    assert profile.runs[0].ended == "exception ImportError"
    assert profile.losses == []


def test_an_endless_loop_that_is_interrupted(tmp_path: Path) -> None:
    body = """
        import os, signal, threading, torch
        def interrupt():
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            while True:
                torch.ones(2).mul(1)
        except KeyboardInterrupt:
            print("interrupted")
            raise
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert (ended.status, ended.stdout) == (-signal.SIGINT, "interrupted\n")
    assert profile.runs[0].ended == "KeyboardInterrupt"
    assert calls(profile)["aten::mul"] > 100


def test_names_that_are_hard_to_write_survive_file_and_output(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff\xfe </script> \"'\t\n\\")
    folder.mkdir(parents=True)
    body = """
        import torch
        with torch.profiler.record_function('"\\t</script>\\\\\x1b[31m'):
            torch.ones(2).mul(1)
    """
    script(folder, body)

    ended, profile = run(folder, "x.py")

    assert ended == (0, "", "")
    (node,) = profile.nodes(kind="operator", name="aten::mul")
    assert str(folder / "x.py") in {frame.file for frame in node.path}
    assert calls(profile, "region") == {'"\t</script>\\\x1b[31m': 1}
    for words in ["top", "--by", "line"], ["tree"], ["info"], ["top", "--json", "--by", "line"]:
        shown = python(folder, "-m", "pellucid", words[0], "out.pellucid", *words[1:])
        assert (shown.status, shown.stderr) == (0, ""), words
        assert "\x1b" not in shown.stdout
        if "--json" in words:
            json.loads(shown.stdout)
