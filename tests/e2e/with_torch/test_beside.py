"""Beside torch's own profiler and its compiler: each does its work."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.profiler import ProfilerActivity

import pellucid
from with_torch.recordings import calls, python, record, run, script

ONE = torch.ones(1)
CPU = [ProfilerActivity.CPU]


def work() -> None:
    for _ in range(10):
        ONE.mul(2)


def theirs(profiler: torch.profiler.profile) -> int:
    return sum(event.count for event in profiler.key_averages() if event.key == "aten::mul")


def test_torchs_profiler_inside_ours() -> None:
    made = []

    def both() -> None:
        work()
        with torch.profiler.profile(activities=CPU, with_stack=True) as profiler:
            work()
        made.append(profiler)
        work()

    profile = record(both)

    assert calls(profile)["aten::mul"] == 30
    assert theirs(made[0]) == 10


def test_torchs_profiler_around_ours_and_interleaved() -> None:
    with torch.profiler.profile(activities=CPU) as around:
        work()
        profile = record(work)
        work()
    assert theirs(around) == 30
    assert calls(profile)["aten::mul"] == 10

    profiler, ours = torch.profiler.profile(activities=CPU), pellucid.profile()
    profiler.__enter__()
    ours.__enter__()
    work()
    profiler.__exit__(None, None, None)
    work()
    ours.__exit__(None, None, None)
    assert theirs(profiler) == 10
    assert calls(ours.profile)["aten::mul"] == 20


def test_a_compiled_program_runs_as_it_does(tmp_path: Path) -> None:
    body = """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        compiled = torch.compile(model, backend="aot_eager")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = compiled(torch.ones(3, 4)).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item().hex())
    """
    script(tmp_path, body)
    plain = python(tmp_path, "x.py")

    recorded, profile = run(tmp_path, "x.py")

    assert plain.status == 0, plain.stderr
    assert recorded == plain
    assert calls(profile)["aten::addmm"] >= 6
    names = {node.frame.name for node in profile.nodes(kind="operator")}
    assert any(name.startswith("Torch-Compiled Region") for name in names)
