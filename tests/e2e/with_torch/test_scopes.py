"""Scopes and the Python path, where both are not simply nested: each operator under its caller."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
from collections.abc import Generator, Iterator
from itertools import groupby

import pytest
import torch
from torch.autograd.profiler import record_function
from torch.utils._python_dispatch import TorchDispatchMode

from pellucid import _core
from pellucid.model import Node, Profile
from with_torch.recordings import calls, record

ONE = torch.ones(1)


def names(node: Node, since: str) -> list[str]:
    """Functions and regions between the frame named ``since`` and a node, each name once a run."""
    path = [
        frame.name.rpartition(".")[2]
        for frame in node.path[:-1]
        if frame.kind == "region"
        or (frame.kind == "python" and "/torch/" not in (frame.file or ""))
    ]
    return [name for name, _ in groupby(path[path.index(since) :]) if name != since]


def found(profile: Profile, operator: str, since: str = "work") -> list[list[str]]:
    return [names(node, since) for node in profile.nodes(kind="operator", name=f"aten::{operator}")]


@pytest.fixture(autouse=True)
def depth_is_back_to_zero() -> Iterator[None]:
    seen = []
    yield
    record(lambda: seen.append(_core.open_scopes()))
    assert seen == [0]


def test_user_scopes_are_regions_and_nest() -> None:
    def work() -> None:
        with record_function("outer"):
            ONE.neg()
            with record_function("inner"):
                ONE.tan()
            ONE.neg()

    profile = record(work)

    assert found(profile, "neg") == [["outer"]] * 2
    assert found(profile, "tan") == [["outer", "inner"]]
    assert calls(profile, "region") == {"outer": 1, "inner": 1}


def test_fast_scopes_are_seen_where_torch_reports_them() -> None:
    def work() -> None:
        # Torch is silent about these unless its own profiler is on.
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            with torch._C._profiler._RecordFunctionFast("fast"):
                ONE.neg()
            ONE.sin()

    profile = record(work)

    assert calls(profile)["fast"] == 1
    assert found(profile, "neg") == found(profile, "sin") == [[]]


def test_an_exception_ends_a_scope() -> None:
    def work() -> None:
        for _ in range(3):
            with contextlib.suppress(RuntimeError), record_function("tried"):
                ONE.view(5)
        ONE.neg()

    profile = record(work)

    assert calls(profile, "region") == {"tried": 3}
    assert found(profile, "view") == [["tried"]]
    assert found(profile, "neg") == [[]]
    assert calls(profile)["aten::view"] == 3


def test_a_generator_that_holds_a_scope_does_not_lend_it_to_its_caller() -> None:
    def held() -> Generator[None, int, None]:
        with record_function("scope"):
            while True:
                ONE.tan()
                try:
                    yield
                except ValueError:
                    ONE.sin()

    def first(generator: Generator[None, int, None]) -> None:
        next(generator)
        ONE.neg()

    def second(generator: Generator[None, int, None]) -> None:
        generator.send(1)
        generator.throw(ValueError)
        ONE.exp()

    def work() -> None:
        generator = held()
        first(generator)
        second(generator)
        generator.close()
        ONE.cos()

    profile = record(work)

    assert found(profile, "neg") == [["first"]]
    assert found(profile, "exp") == [["second"]]
    assert found(profile, "cos") == [[]]
    assert found(profile, "sin") == [["second", "held"]]
    assert ["first", "held", "scope", "held"] in found(profile, "tan")
    assert {path[0] for path in found(profile, "tan")} == {"first", "second"}
    assert calls(profile, "region") == {"scope": 1}


def test_tasks_that_interleave_keep_their_own_scopes() -> None:
    async def task(name: str) -> None:
        with record_function(name):
            for _ in range(5):
                ONE.neg()
                await asyncio.sleep(0)
        ONE.tan()

    async def main() -> None:
        await asyncio.gather(task("a"), task("b"), task("c"))

    profile = record(lambda: asyncio.run(main()))

    assert calls(profile, "region") == {"a": 1, "b": 1, "c": 1}
    regions = [
        [frame.name for frame in node.path if frame.kind == "region"]
        for node in profile.nodes(kind="operator", name="aten::neg")
    ]
    counts = [node.stats["duration"].count for node in profile.nodes(name="aten::neg")]
    assert sum(counts) == 15
    for name in "abc":
        assert sum(c for r, c in zip(regions, counts, strict=True) if r == [name]) == 5
    for node in profile.nodes(kind="operator", name="aten::tan"):
        assert not [frame for frame in node.path if frame.kind == "region"]


def test_recording_that_starts_and_stops_inside_scopes() -> None:
    import pellucid

    with record_function("before"):
        prof = pellucid.profile()
        prof.__enter__()
        ONE.neg()
    ONE.tan()
    still_open = record_function("after")
    still_open.__enter__()
    ONE.sin()
    prof.__exit__(None, None, None)
    still_open.__exit__(None, None, None)

    assert calls(prof.profile)["aten::neg"] == 1
    assert calls(prof.profile, "region") == {}
    this = "test_recording_that_starts_and_stops_inside_scopes"
    assert found(prof.profile, "sin", this) == [["after"]]
    assert {loss.kind: loss.count for loss in prof.profile.losses} == {"scope_left_open": 1}


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def test_python_called_back_from_c_stands_below_its_caller() -> None:
    libc = ctypes.CDLL(None)

    def by_qsort(a: ctypes._Pointer[ctypes.c_int], b: ctypes._Pointer[ctypes.c_int]) -> int:
        ONE.neg()
        return int(a[0] - b[0])

    def by_reduce(a: int, b: int) -> int:
        ONE.tan()
        return a + b

    def by_sort(a: int) -> int:
        ONE.sin()
        return -a

    def work() -> None:
        libc.qsort((ctypes.c_int * 3)(3, 1, 2), 3, ctypes.sizeof(ctypes.c_int), COMPARE(by_qsort))
        functools.reduce(by_reduce, [1, 2, 3])
        sorted([1, 2, 3], key=by_sort)

    profile = record(work)

    assert found(profile, "neg") == [["by_qsort"]]
    assert found(profile, "tan") == [["by_reduce"]]
    assert found(profile, "sin") == [["by_sort"]]
    assert calls(profile)["aten::tan"] == 2
    assert calls(profile)["aten::sin"] == 3


def test_python_inside_an_operator_stands_below_the_operator() -> None:
    class Logged(TorchDispatchMode):
        def __torch_dispatch__(  # type: ignore[no-untyped-def]
            self, function, types, args=(), kwargs=None
        ):
            ONE.neg()
            return function(*args, **(kwargs or {}))

    def work() -> None:
        with Logged():
            torch.add(ONE, 1)

    profile = record(work)

    outer, inner = sorted(profile.nodes(name="aten::add"), key=lambda node: len(node.path))
    assert outer.frame in inner.path
    assert names(inner, "work") == ["__torch_dispatch__"]
    assert found(profile, "neg") == [["__torch_dispatch__"]]


@pytest.mark.parametrize("name", ['"quoted"\t', "</script>", "\x00\x1b[31m", "ünïcode \U0001f600"])
def test_names_of_scopes_survive(name: str) -> None:
    def work() -> None:
        with record_function(name):
            ONE.neg()

    (region,) = calls(record(work), "region")

    assert region == name.partition("\0")[0]
