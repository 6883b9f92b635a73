"""Operators on plain Python threads, on short ones and on those that die before the end."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import pellucid
from pellucid.errors import SessionError
from with_torch.recordings import calls, python, record, script

ONE = torch.ones(1)


def test_operators_of_every_thread_are_under_its_name() -> None:
    def multiply() -> None:
        for _ in range(50):
            ONE.mul(1)

    def work() -> None:
        threads = [threading.Thread(target=multiply, name=f"worker {i}") for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    profile = record(work)

    counted: Counter[str] = Counter()
    for node in profile.nodes(kind="operator", name="aten::mul"):
        counted[node.path[0].name] += node.stats["duration"].count
    assert counted == {"worker 0": 50, "worker 1": 50, "worker 2": 50}


def test_a_thousand_short_threads() -> None:
    def work() -> None:
        for i in range(1000):
            thread = threading.Thread(target=ONE.mul, args=(1,), name=f"short {i % 4}")
            thread.start()
            thread.join()

    profile = record(work)

    assert calls(profile)["aten::mul"] == 1000
    assert {root.frame.name for root in profile.roots} >= {f"short {i}" for i in range(4)}
    assert profile.runs[0].threads == 1001


def test_threads_that_run_before_and_after_a_recording() -> None:
    with ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
        list(pool.map(ONE.mul, range(20)))
        profile = record(lambda: list(pool.map(ONE.mul, range(20))))
        list(pool.map(ONE.mul, range(20)))

    assert calls(profile)["aten::mul"] == 20
    nodes = profile.nodes(kind="operator", name="aten::mul")
    assert {node.path[0].name for node in nodes} <= {"pool_0", "pool_1"}


def test_a_second_recording_is_refused_wherever_it_starts() -> None:
    said = []

    def try_it() -> None:
        with (
            pytest.raises(SessionError, match="already being recorded") as caught,
            pellucid.profile(),
        ):
            pass
        said.append(str(caught.value))

    def work() -> None:
        ONE.mul(1)
        try_it()
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        ONE.mul(1)

    assert calls(record(work))["aten::mul"] == 2
    assert len(said) == 2


def test_600_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    body = """
        import os, torch, pellucid
        from pathlib import Path

        def state():
            status = Path("/proc/self/status").read_text()
            rss = int(status.partition("VmRSS:")[2].split()[0])
            return rss, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        layer = torch.nn.Linear(4, 4)
        def session():
            with pellucid.profile() as prof:
                layer(torch.ones(1, 4)).sum().backward()
            return len(prof.profile)

        sizes = {session() for _ in range(100)}
        before = state()
        sizes |= {session() for _ in range(500)}
        after = state()
        print(len(sizes), *(a - b for a, b in zip(after, before)))
    """
    ended = python(tmp_path, str(script(tmp_path, body)))

    assert (ended.status, ended.stderr) == (0, "")
    sizes, kilobytes, threads, descriptors = map(int, ended.stdout.split())
    assert sizes <= 2
    assert kilobytes < 8 * 1024
    assert (threads, descriptors) == (0, 0)
