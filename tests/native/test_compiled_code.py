"""Kernels are events like operators; what a compiler does is its own branch."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
from native import OPERATOR, REGION, Entry, Events, join, recording

from pellucid import _core


def test_a_kernel_is_recorded_where_it_is_called() -> None:
    kernel = _core.KernelProbe(lambda x, *, y: x + y, b"fused")

    with recording() as recorded:
        assert [kernel(1, y=2) for _ in range(3)] == [3, 3, 3]

    path = recorded.path_of("fused")
    assert path[-1].kind == "kernel"
    assert path[-2].line == sys._getframe(0).f_code.co_firstlineno + 4
    assert recorded.count("fused") == 3


def test_operators_inside_a_kernel_are_its_children(events: Events) -> None:
    def run() -> None:
        events.event(OPERATOR, "mul")

    kernel = _core.KernelProbe(run, b"fused")
    with recording() as recorded:
        _core.set_clock(100)
        kernel()

    assert recorded.path_of("mul")[-2:] == (
        Entry("python", *_place(run)),
        Entry("operator", "mul"),
    )
    assert Entry("kernel", "fused") in recorded.path_of("mul")


def _place(function: object) -> tuple[str, str, int]:
    code = function.__code__  # type: ignore[attr-defined]
    return getattr(code, "co_qualname", code.co_name), code.co_filename, code.co_firstlineno + 1


def test_an_exception_of_a_kernel_passes_through() -> None:
    def fails() -> None:
        raise KeyError("mine")

    kernel = _core.KernelProbe(fails, b"fused")
    with recording() as recorded, pytest.raises(KeyError, match="mine"):
        kernel()

    assert recorded.count("fused") == 1


def test_everything_but_the_call_is_the_kernels_own() -> None:
    kernel = _core.KernelProbe(len, b"fused")

    assert kernel.__name__ == "len"
    assert repr(kernel) == repr(len)
    assert kernel([1, 2]) == 2  # nothing records
    with pytest.raises(AttributeError):
        _ = kernel.missing
    with pytest.raises(TypeError):
        _core.KernelProbe(len)  # type: ignore[call-arg]


def test_a_probe_keeps_nothing_alive() -> None:
    class Kernel:
        def __call__(self) -> None:
            pass

    kernel = Kernel()
    gone = weakref.ref(kernel)
    probe = _core.KernelProbe(kernel, b"fused")
    kernel.probe = probe  # type: ignore[attr-defined]
    del kernel, probe
    gc.collect()

    assert gone() is None


def test_a_compiler_is_a_branch_below_its_thread(events: Events) -> None:
    def compile_and_run() -> None:
        outer = _core.begin_phase(b"compile")
        inner = _core.begin_phase(b"lower")
        events.event(OPERATOR, "traced")
        events.event(REGION, "traced too")
        _core.end_phase(inner)
        _core.end_phase(outer)

    with recording() as recorded:
        events.event(OPERATOR, "first call", compile_and_run)
        events.event(OPERATOR, "after")

    assert [str(entry) for entry in recorded.path_of("lower")[1:]] == [
        "compile compile",
        "compile lower",
    ]
    assert recorded.count("traced") == recorded.count("traced too") == 0
    assert recorded.count("after") == 1


def test_the_compilers_time_is_not_the_operators_around_it(events: Events) -> None:
    def compile_slowly() -> None:
        _core.set_clock(200)
        phase = _core.begin_phase(b"compile")
        _core.set_clock(1200)
        _core.end_phase(phase)
        _core.set_clock(1250)

    _core.set_clock(100)
    with recording() as recorded:
        events.event(OPERATOR, "first call", compile_slowly)

    times = {path[-1].name: stat.sum for path, stat in recorded.stats("time").items()}
    assert times["compile"] == 1000
    assert times["first call"] == 150


def test_other_threads_go_on_while_one_compiles(events: Events) -> None:
    with recording() as recorded:
        phase = _core.begin_phase(b"compile")
        thread = threading.Thread(target=events.event, args=(OPERATOR, "elsewhere"))
        thread.start()
        join(thread)
        _core.end_phase(phase)

    assert recorded.count("elsewhere") == 1


def test_a_phase_that_never_ends_is_lost_with_its_session(events: Events) -> None:
    _core.start("", {}, None)
    _core.begin_phase(b"compile")
    left = _core.stop()

    with recording() as recorded:
        events.event(OPERATOR, "mul")

    assert left["losses"] == {"scope_left_open": 1}
    assert recorded.count("mul") == 1
