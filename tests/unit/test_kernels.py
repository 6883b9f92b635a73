"""Generated modules: their kernels are wrapped once, and put back."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pellucid._core import KernelProbe
from pellucid.capture.kernels import Kernels


class Autotuner:
    """As Triton's kernels are in generated code."""

    launched = 0

    def run(self, *_: Any, stream: int = 0) -> int:
        self.launched += 1
        return stream

    def warm_up(self) -> str:
        return "warm"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """The list in which Inductor keeps the modules that it has loaded."""
    loaded: list[ModuleType] = []
    cache = SimpleNamespace(PyCodeCache=SimpleNamespace(modules=loaded))
    monkeypatch.setitem(sys.modules, "torch._inductor.codecache", cache)
    return loaded


def generated(name: str, **content: Any) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = f"/cache/{name}.py"
    vars(module).update(content)
    return module


def test_kernels_are_wrapped_and_put_back(modules: list[ModuleType]) -> None:
    module = generated("a", call=print, cpp_fused_add_0=len, reinterpret_tensor=len)
    modules.append(module)
    kernels = Kernels()

    assert kernels.wrap_loaded() == ["/cache/a.py"]
    assert type(module.cpp_fused_add_0) is KernelProbe
    assert module.cpp_fused_add_0([1, 2]) == 2
    assert module.reinterpret_tensor is len

    kernels.unwrap()
    assert module.cpp_fused_add_0 is len


def test_nothing_is_wrapped_twice(modules: list[ModuleType]) -> None:
    module = generated("a", call=print, cpp_fused_add_0=len)
    modules.append(module)
    kernels = Kernels()
    kernels.wrap_loaded()
    probe = module.cpp_fused_add_0

    assert kernels.wrap_loaded() == []
    modules[:] = [module, generated("b", call=print)]
    assert kernels.wrap_loaded() == ["/cache/b.py"]
    modules.clear()
    modules.append(module)
    assert kernels.wrap_loaded() == []
    assert module.cpp_fused_add_0 is probe
    assert kernels.files == {"/cache/a.py", "/cache/b.py"}


def test_what_somebody_else_has_replaced_stays(modules: list[ModuleType]) -> None:
    module = generated("a", call=print, cpp_fused_add_0=len)
    modules.append(module)
    kernels = Kernels()
    kernels.wrap_loaded()
    module.cpp_fused_add_0 = abs  # type: ignore[attr-defined]

    kernels.unwrap()
    assert module.cpp_fused_add_0 is abs


def test_launches_of_triton_kernels(modules: list[ModuleType]) -> None:
    kernel = Autotuner()
    module = generated("a", call=print, triton_poi_fused_add_0=kernel)
    modules.append(module)
    kernels = Kernels()
    kernels.wrap_loaded()

    assert module.triton_poi_fused_add_0.run(1, 2, stream=7) == 7
    assert kernel.launched == 1
    assert module.triton_poi_fused_add_0.warm_up() == "warm"
    assert type(module.triton_poi_fused_add_0.run) is KernelProbe

    kernels.unwrap()
    assert module.triton_poi_fused_add_0 is kernel


def test_modules_that_are_no_graph_are_left_alone(modules: list[ModuleType]) -> None:
    modules.append(generated("a", cpp_fused_add_0=len))

    assert Kernels().wrap_loaded() == []
    assert modules[0].cpp_fused_add_0 is len


def test_a_graph_whose_kernels_cpp_calls_is_counted(modules: list[ModuleType]) -> None:
    modules.append(generated("a", call=print, CppWrapperCodeCache=object))
    kernels = Kernels()

    assert kernels.wrap_loaded() == ["/cache/a.py"]
    assert kernels.hidden == 1


def test_wrapping_keeps_no_module_alive(modules: list[ModuleType]) -> None:
    modules.append(generated("a", call=print, cpp_fused_add_0=len))
    kernels = Kernels()
    kernels.wrap_loaded()
    modules.clear()

    kernels.unwrap()  # it is gone
    assert kernels.wrap_loaded() == []


def test_without_inductor_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch._inductor.codecache", raising=False)

    assert Kernels().wrap_loaded() == []
