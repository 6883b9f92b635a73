"""Recordings around a program that was compiled before, in between, and again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from with_torch.recordings import python, script

pytestmark = pytest.mark.slow

HELPERS = """
    import logging, torch, pellucid
    from collections import Counter
    from torch._inductor.codecache import PyCodeCache

    logger = logging.getLogger("torch.__trace")

    def wrapped():
        return [
            value
            for module in PyCodeCache.modules
            for name, value in vars(module).items()
            if name.startswith("cpp_") and type(value).__name__ == "KernelProbe"
        ]

    def kernels(profile):
        counted = Counter()
        for node in profile.nodes(kind="kernel"):
            counted[node.frame.name] += node.stats["duration"].count
        return dict(counted)

    @torch.compile
    def function(x):
        return x.sin() + 1
"""


@pytest.fixture(autouse=True, scope="module")
def inductor_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One for all: the first kernel of a cold one costs seconds of precompiled headers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


def result(folder: Path, body: str) -> str:
    program = script(folder, HELPERS).read_text() + script(folder, body).read_text()
    (folder / "x.py").write_text(program)
    ended = python(folder, "x.py")
    assert (ended.status, ended.stderr) == (0, "")
    return ended.stdout


def test_600_sessions_leave_nothing_wrapped_and_nobody_listening(tmp_path: Path) -> None:
    body = """
        x = torch.ones(3)
        function(x)  # torch takes its own handler off
        handlers = list(logger.handlers)
        counts = set()
        for i in range(600):
            with pellucid.profile(modules=False) as prof:
                function(x)
                assert len(wrapped()) == len({id(probe) for probe in wrapped()}) == 1
                assert all(type(probe.__self__).__name__ != "KernelProbe" for probe in wrapped())
                assert len(logger.handlers) == len(handlers) + 1
            counts.add(tuple(kernels(prof.profile).items()))
            assert wrapped() == []
            assert logger.handlers == handlers
        print(counts)
    """
    assert result(tmp_path, body) == "{(('cpp_fused_add_sin_0', 1),)}\n"


def test_what_was_compiled_before_is_timed_and_said(tmp_path: Path) -> None:
    body = """
        function(torch.ones(3))
        with pellucid.profile() as prof:
            function(torch.ones(3))
        profile = prof.profile
        print(kernels(profile), {loss.kind: loss.count for loss in profile.losses})
        print([artifact.kind for artifact in profile.artifacts() if "sin" in artifact.text])
    """
    assert result(tmp_path, body).splitlines() == [
        "{'cpp_fused_add_sin_0': 1} {'compiled_before': 1}",
        "['inductor_output_code']",
    ]


def test_numbers_that_are_given_anew_after_a_reset(tmp_path: Path) -> None:
    body = """
        @torch.compile
        def other(x):
            return x.exp() * 2

        torch._dynamo.reset()
        with pellucid.profile() as prof:
            function(torch.ones(3))
            torch._dynamo.reset()
            other(torch.ones(3))
            torch._dynamo.reset()
            function(torch.ones(3))
        profile = prof.profile
        print(kernels(profile))
        names = [e.name for e in profile.compiles if e.kind == "function"]
        attempts = [e.name for e in profile.compiles if e.kind == "attempt"]
        print(names, attempts, {e.status for e in profile.compiles if e.kind == "attempt"})
    """
    lines = result(tmp_path, body).splitlines()
    assert lines == [
        "{'cpp_fused_add_sin_0': 2, 'cpp_fused_exp_mul_0': 1}",
        "['function', 'other', 'function'] ['0/0', '0/0', '0/0'] {'ok'}",
    ]


def test_threads_that_compile_at_once(tmp_path: Path) -> None:
    body = """
        import threading

        def work(number):
            compiled = torch.compile(lambda x: (x * number).cos())
            for _ in range(3):
                compiled(torch.ones(5))

        threads = [threading.Thread(target=work, args=(i,), name=f"w{i}") for i in range(4)]
        with pellucid.profile() as prof:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        profile = prof.profile
        calls = sum(n.stats["duration"].count for n in profile.nodes(kind="kernel"))
        compiling = {n.path[0].name for n in profile.nodes(kind="compile", name="torch.compile")}
        print(calls, compiling >= {"w0", "w1", "w2", "w3"}, [loss.kind for loss in profile.losses])
    """
    assert result(tmp_path, body) == "12 True []\n"


def test_a_region_inside_compiled_code_changes_nothing(tmp_path: Path) -> None:
    body = """
        from pellucid import region, step

        @region("decorated")
        def inner(x):
            return x * 2

        @torch.compile(fullgraph=True)
        def scoped(x):
            with pellucid.region("first"), step("second"):
                return inner(x).sin()

        plain = scoped(torch.ones(3))
        torch._dynamo.reset()
        with pellucid.profile() as prof:
            with region("around"):
                assert torch.equal(scoped(torch.ones(3)), plain)
        (attempt,) = [e for e in prof.profile.compiles if e.kind == "attempt"]
        print([scope["name"] for scope in attempt.details["dropped_scopes"]])
        print([n.frame.name for n in prof.profile.nodes(kind="region")], prof.profile.steps)
    """
    assert result(tmp_path, body).splitlines() == ["['first', 'second']", "['around'] []"]


def test_graphs_within_graphs_have_lines_and_modules(tmp_path: Path) -> None:
    body = """
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        class Layer(nn.Module):
            def forward(self, x):
                return (x @ x).cos()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = Layer()

            def forward(self, x):
                x = checkpoint(self.layer, x, use_reentrant=False)
                return torch.cond(x.sum() > 0, lambda x: x.sin() @ x, lambda x: x.tan() @ x, (x,))

        net = torch.compile(Net())
        with pellucid.profile() as prof:
            net(torch.ones(3, 3))
        lines = open("x.py").read().splitlines()
        for node in prof.profile.nodes(kind="kernel"):
            found = {link.source_line for link in prof.profile.links if link.node == node.id}
            code = sorted({lines[line - 1].split()[1] for line in found - {None}})
            print(node.frame.name, code, [f.name for f in node.path if f.kind == "module"])
        print(prof.profile.losses)
    """
    assert result(tmp_path, body).splitlines() == [
        "extern_kernels.mm ['(x'] ['Net', 'layer']",
        "cpp_fused_cos_gt_sum_0 ['(x', 'torch.cond(x.sum()'] ['Net']",
        "cpp_fused_cos_gt_tan_2 ['torch.cond(x.sum()'] ['Net']",
        "extern_kernels.mm ['torch.cond(x.sum()'] ['Net']",
        "[]",
    ]


def test_kernels_called_from_cpp_are_a_loss(tmp_path: Path) -> None:
    body = """
        import torch._inductor.config

        torch._inductor.config.cpp_wrapper = True
        with pellucid.profile() as prof:
            torch.compile(lambda x: x.exp() + 5)(torch.ones(3))
        print({loss.kind for loss in prof.profile.losses})
    """
    assert result(tmp_path, body) == "{'cpp_wrapper'}\n"
