"""Every operator is counted, nothing is changed, and memory does not follow the number of calls."""

from __future__ import annotations

import shutil
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity

from with_torch.recordings import calls, python, record, run, script

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES)
    return import_module("train_transformer")


def test_counts_are_those_of_torchs_own_profiler(example: ModuleType) -> None:
    def train() -> None:
        torch.manual_seed(0)
        example.train(steps=2, batch=2, context=8)

    everywhere = _ExperimentalConfig(profile_all_threads=True)
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU], experimental_config=everywhere
    ) as theirs:
        train()
    expected = Counter({event.key: event.count for event in theirs.key_averages()})

    ours = record(train)

    assert calls(ours) + calls(ours, "region") == expected
    assert calls(ours)["AddmmBackward0"] > 0
    # The model may be gone before it was named: other tests have just looked for theirs.
    assert {loss.kind for loss in ours.losses} <= {"module_unnamed"}


TRAIN = """
    import hashlib, random, sys
    import numpy as np
    import torch
    import train_transformer

    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    made = []
    make = torch.optim.AdamW
    def remember(parameters, **options):
        made.append(make(parameters, **options))
        return made[-1]
    torch.optim.AdamW = remember

    train_transformer.train(steps=20, batch=4, context=16)

    state = hashlib.sha256()
    for group in made[0].param_groups:
        for parameter in group["params"]:
            state.update(parameter.detach().numpy().tobytes())
            state.update(parameter.grad.numpy().tobytes())
    state.update(torch.get_rng_state().numpy().tobytes())
    state.update(repr((random.getstate(), np.random.get_state())).encode())
    print(state.hexdigest())
    sys.exit(7)
"""


def test_results_and_random_states_are_the_same_to_the_last_bit(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "train_transformer.py", tmp_path)
    script(tmp_path, TRAIN)

    plain = python(tmp_path, "x.py")
    recorded, profile = run(tmp_path, "x.py")

    assert plain.status == 7, plain.stderr
    assert recorded == plain
    assert calls(profile)["aten::addmm"] > 0


def test_memory_does_not_follow_the_number_of_operators(tmp_path: Path) -> None:
    body = """
        from pathlib import Path
        import torch, pellucid

        def peak():
            return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

        x = torch.ones(4)
        def work(n):
            for _ in range(n):
                x.mul_(1.0)

        with pellucid.profile() as prof:
            work(1000)
            before = peak()
            work(300_000)
            after = peak()
        print((after - before) / 1024)
        print(sum(n.stats["duration"].count for n in prof.profile.nodes(name="aten::mul_")))
    """
    ended = python(tmp_path, str(script(tmp_path, body)))

    assert ended.status == 0, ended.stderr
    megabytes, count = map(float, ended.stdout.split())
    assert count == 301_000
    assert megabytes < 8


def test_names_of_generated_code_stay_right() -> None:
    def work() -> None:
        for i in range(200):
            space = {"torch": torch}
            source = f"def f{i}():\n    return torch.ones(1).mul({i})\nf{i}()\n"
            exec(compile(source, f"<generated {i}>", "exec"), space)

    profile = record(work)

    found = {
        (node.path[-2].name, node.path[-2].file, node.path[-2].line)
        for node in profile.nodes(kind="operator", name="aten::mul")
    }
    assert found == {(f"f{i}", f"<generated {i}>", 2) for i in range(200)}


def test_the_time_of_a_thread_is_its_wall_time() -> None:
    profile = record(lambda: [torch.ones(64, 64).mm(torch.ones(64, 64)) for _ in range(500)])

    (thread,) = profile.roots
    (this,) = profile.runs
    assert thread.total("time") == pytest.approx(this.wall_ns, rel=0.01)
    assert thread.frame.name == "MainThread"
