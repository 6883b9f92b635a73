"""Beside torch's own profiler and its compiler: each does its work."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity

import pellucid
from with_torch.recordings import calls, record, run, script

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


@pytest.mark.slow
def test_a_compiled_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    body = """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        x = torch.ones(3, 4)
        model(x).sum().backward()
        eager = model[0].weight.grad.clone()
        compiled = torch.compile(model)
        for _ in range(2):
            model.zero_grad()
            compiled(x).sum().backward()
        torch.testing.assert_close(model[0].weight.grad, eager)
        print("the same")
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "the same\n", "")
    assert profile.nodes(kind="graph")
    assert profile.nodes(kind="kernel")
