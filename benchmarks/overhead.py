"""What it costs to be observed: time ratios to the unobserved program, and memory.

Blocks with and without an observer alternate in one process, so that the machine's moods hit both;
the ratio is the median over pairs, with its 95 % interval (of the median, by order statistics).
Memory and the end of a session are measured in processes of their own.

    python benchmarks/overhead.py [--pairs 24] [--seconds 0.5] [--only "compiled toy"]
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # read when torch is imported

import torch
from torch.profiler import ProfilerActivity
from workloads import WORKLOADS

import pellucid
from pellucid.capture.bridge.build import find_compiler

Observer = Callable[[], AbstractContextManager[Any]]


def torch_profiler(**options: Any) -> Observer:
    return lambda: torch.profiler.profile(activities=[ProfilerActivity.CPU], **options)


def all_threads() -> Any:
    return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)


def empty_callbacks(folder: str) -> Observer:
    """RecordFunction callbacks that do nothing: no observer of operators can cost less."""
    compiler = find_compiler()
    assert compiler is not None
    torch_folder = Path(torch.__file__).parent
    target = Path(folder) / "empty_observer.so"
    subprocess.run(
        [
            *compiler,
            *("-O2", "-std=c++20", "-shared", "-fPIC", f"-I{torch_folder / 'include'}"),
            *(str(Path(__file__).parent / "empty_observer.cpp"), "-o", str(target)),
            *(f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-lc10"),
        ],
        check=True,
    )
    library = ctypes.CDLL(str(target))

    @contextmanager
    def observe() -> Iterator[None]:
        library.attach()
        try:
            yield
        finally:
            library.detach()

    return observe


def observers(folder: str) -> dict[str, Observer]:
    return {
        "none against itself": nullcontext,
        "empty callbacks (the floor)": empty_callbacks(folder),
        "pellucid": pellucid.profile,
        "torch.profiler": torch_profiler(),
        "torch.profiler(with_stack)": torch_profiler(with_stack=True),
        "torch.profiler(all threads)": torch_profiler(experimental_config=all_threads()),
    }


def timed(step: Callable[[], None], steps: int) -> float:
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - began


def ratio(step: Callable[[], None], steps: int, observer: Observer) -> float:
    before = timed(step, steps)
    with observer():
        observed = timed(step, steps)
    gc.collect()  # the events that torch.profiler has left
    after = timed(step, steps)
    return observed / ((before + after) / 2)


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median: the order statistics that enclose it."""
    values = sorted(values)
    n = len(values)
    tail = 0.0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if tail > 0.025:
            return values[max(k - 1, 0)], values[min(n - k, n - 1)]
    return values[0], values[-1]


def time_table(workload: str, pairs: int, seconds: float, folder: str) -> None:
    step = WORKLOADS[workload]()
    for _ in range(20):
        step()
    steps = max(1, round(seconds / (timed(step, 10) / 10)))
    chosen = observers(folder)
    ratios: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(pairs):
        for name, observer in chosen.items():
            ratios[name].append(ratio(step, steps, observer))
    print(f"\n{workload}: {timed(step, 10) * 100:.2f} ms a step, blocks of {steps} steps")
    print(f"{'observer':30} {'median':>7}  95 % interval ({pairs} pairs)")
    for name, values in ratios.items():
        low, high = interval(values)
        print(f"{name:30} {median(values):7.3f}  [{low:.3f}, {high:.3f}]")


def compile_seconds(name: str, cache: Path) -> float:
    """How long the first step of a compiled workload takes in a process of its own."""
    command = [sys.executable, __file__, "--compile-child", name]
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    output = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    return float(output.splitlines()[-1])


def run_compile_child(name: str) -> None:
    """The first step, from the call on: imports are done, and the bridge is built."""
    import_module("torch._inductor.compile_fx")
    with tempfile.TemporaryDirectory() as folder:
        chosen = observers(folder)[name]
    step = WORKLOADS["compiled transformer"]()
    with chosen():
        began = time.perf_counter()
        step()
        print(time.perf_counter() - began)


def compile_table(pairs: int) -> None:
    print(f"\nfirst step of the compiled transformer, ratio to unobserved ({pairs} pairs in turn)")
    print(f"{'observer':30} {'cold cache':>22} {'warm cache':>22}")
    names = ["none against itself", "pellucid"]
    ratios: dict[tuple[str, str], list[float]] = {}
    for _ in range(pairs):
        for name in names:
            with tempfile.TemporaryDirectory() as theirs, tempfile.TemporaryDirectory() as ours:
                for state in ("cold", "warm"):
                    plain = compile_seconds(names[0], Path(theirs))
                    seconds = compile_seconds(name, Path(ours))
                    ratios.setdefault((name, state), []).append(seconds / plain)
    for name in names:
        cells = []
        for state in ("cold", "warm"):
            values = ratios[name, state]
            low, high = interval(values)
            cells.append(f"{median(values):6.3f}  [{low:.3f}, {high:.3f}]")
        print(f"{name:30} {cells[0]:>22} {cells[1]:>22}")


def memory_of(name: str, steps: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", name, "--steps", str(steps)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output.splitlines()[-1]))


def run_child(name: str, steps: int) -> None:
    """One long session; tells the peak memory and how long stopping and saving took."""
    step = WORKLOADS["op-bound"]()
    for _ in range(20):
        step()
    with tempfile.TemporaryDirectory() as folder:
        chosen = observers(folder)[name]()
        chosen.__enter__()
        for _ in range(steps):
            step()
        began = time.perf_counter()
        chosen.__exit__(None, None, None)
        if isinstance(chosen, pellucid.profile):
            chosen.save(Path(folder) / "profile.pellucid")
        ended = time.perf_counter() - began
    print(json.dumps({"peak": peak_megabytes(), "end": ended}))


def peak_megabytes() -> float:
    # Not getrusage: its peak includes that of the process which forked this one.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory_table() -> None:
    names = ["none against itself", "pellucid", "torch.profiler", "torch.profiler(with_stack)"]
    print("\none session, op-bound: peak memory over the unobserved run, and stop (+ save)")
    print(f"{'observer':30} {'200 steps':>10} {'2,000 steps':>12} {'stop, 200':>10}")
    base = {steps: memory_of(names[0], steps)["peak"] for steps in (200, 2000)}
    print(f"{'(unobserved, absolute)':30} {base[200]:7.0f} MB {base[2000]:9.0f} MB")
    for name in names[1:]:
        short, long = memory_of(name, 200), memory_of(name, 2000)
        print(
            f"{name:30} {short['peak'] - base[200]:+7.1f} MB {long['peak'] - base[2000]:+9.1f} MB"
            f" {short['end']:8.2f} s"
        )


def import_time() -> None:
    code = (
        "import time; t = time.perf_counter(); import pellucid, sys; pellucid.profile;"
        "print(time.perf_counter() - t, 'torch' in sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(7)
    ]
    seconds = median(float(run.stdout.split()[0]) for run in runs)
    with_torch = any(run.stdout.split()[1] == "True" for run in runs)
    print(f"\nimport pellucid: {seconds * 1000:.0f} ms, imports torch: {with_torch}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--compile-pairs", type=int, default=5)
    parser.add_argument("--only", choices=[*WORKLOADS, "compile", "memory"], help="One table.")
    parser.add_argument("--compile-child", help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=200, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.child:
        run_child(arguments.child, arguments.steps)
        return
    if arguments.compile_child:
        run_compile_child(arguments.compile_child)
        return
    wanted = [arguments.only] if arguments.only else [*WORKLOADS, "compile", "memory"]
    with tempfile.TemporaryDirectory() as folder:
        for workload in WORKLOADS:
            if workload in wanted:
                time_table(workload, arguments.pairs, arguments.seconds, folder)
    if "compile" in wanted:
        compile_table(arguments.compile_pairs)
    if "memory" in wanted:
        memory_table()
        import_time()


if __name__ == "__main__":
    main()
