"""Inductor's kernels, recorded call by call.

On the CPU they are plain functions, and no profiler event tells of them. They are globals of the
modules that Inductor generates, so each is replaced there by a probe, and put back at the end.
"""

from __future__ import annotations

import sys
import weakref
from types import BuiltinFunctionType, ModuleType
from typing import Any

from pellucid.capture.native import core

__all__ = ["Kernels"]

_CACHE = "torch._inductor.codecache"
_CPP_WRAPPER = "CppWrapperCodeCache"


class Kernels:
    """The kernels of all generated modules that are loaded, wrapped until :meth:`unwrap`."""

    def __init__(self) -> None:
        self._wrapped: list[tuple[weakref.ref[ModuleType], str, Any, Any]] = []
        self._seen: weakref.WeakSet[ModuleType] = weakref.WeakSet()
        self._looked_at = 0
        self.files: set[str] = set()
        self.hidden = 0  # modules whose kernels are called from C++

    def wrap_loaded(self) -> list[str]:
        """Wrap what was loaded since the last time; gives the files of modules with kernels."""
        modules = getattr(getattr(sys.modules.get(_CACHE), "PyCodeCache", None), "modules", [])
        if len(modules) < self._looked_at:  # it was cleared
            self._looked_at = 0
        fresh = [m for m in modules[self._looked_at :] if m not in self._seen]
        self._looked_at = len(modules)
        files = []
        for module in fresh:
            self._seen.add(module)
            if self._wrap(module):
                files.append(str(module.__file__))
        self.files.update(files)
        return files

    def unwrap(self) -> None:
        """Put every kernel back, unless somebody else has replaced it since."""
        for reference, name, probe, kernel in self._wrapped:
            module = reference()
            if module is not None and vars(module).get(name) is probe:
                setattr(module, name, kernel)
        self._wrapped.clear()

    def _wrap(self, module: ModuleType) -> bool:
        """Whether it is the code of a graph."""
        found = vars(module)
        if "call" not in found and _CPP_WRAPPER not in found:
            return False
        if _CPP_WRAPPER in found:
            self.hidden += 1
        for name, kernel in list(found.items()):
            probe = _probe(name, kernel)
            if probe is not None:
                self._wrapped.append((weakref.ref(module), name, probe, kernel))
                setattr(module, name, probe)
        return True


class _TritonKernel:
    """A Triton kernel whose launches are recorded; everything else is the kernel's own."""

    def __init__(self, kernel: Any, name: bytes) -> None:
        self._kernel = kernel
        self.run = core.KernelProbe(kernel.run, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _probe(name: str, kernel: Any) -> Any:
    if isinstance(kernel, BuiltinFunctionType) and name.startswith("cpp_"):
        return core.KernelProbe(kernel, name.encode())
    if name.startswith("triton_") and callable(getattr(kernel, "run", None)):
        return _TritonKernel(kernel, name.encode())
    return None
