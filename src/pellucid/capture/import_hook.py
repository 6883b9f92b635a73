"""Calling back right after a module's own import has finished."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["ImportHook", "when_imported"]

Callback = Callable[[ModuleType], object]
OnError = Callable[[Exception], object]


def when_imported(name: str, callback: Callback, on_error: OnError | None = None) -> ImportHook:
    """Call ``callback(module)`` once ``name`` is imported; at once if it already is.

    It runs in the importing thread before ``import`` returns anywhere, so other threads that
    import the module wait for it. An import that fails calls nothing, and the next one counts.
    An exception of the callback goes to ``on_error``, never to the program.
    """
    hook = ImportHook(name, callback, on_error)
    hook.install()
    return hook


class ImportHook:
    """A callback waiting for one module.

    The import system marks a module's spec as initialising while the module's code runs and
    takes the mark off when that is over. The hook gives the spec a class that notices this, so
    loaders stay what they are and no frame of ours stands in the traceback of a failed import.
    """

    def __init__(self, name: str, callback: Callback, on_error: OnError | None = None) -> None:
        self.name = name
        self.done = False
        self._callback = callback
        self._on_error = on_error
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def install(self) -> None:
        """Fire at once if the module is imported, else wait for it."""
        module = sys.modules.get(self.name)
        spec = getattr(module, "__spec__", None)
        if module is None:
            sys.meta_path.insert(0, self)
        elif isinstance(spec, ModuleSpec) and getattr(spec, "_initializing", False):
            sys.meta_path.insert(0, self)
            self._watch(spec)
        else:
            self._fire(module)

    def cancel(self) -> None:
        """Call nothing any more."""
        with self._lock:
            self.done = True
        self._remove()

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find the module as the other finders would and watch its spec."""
        if name != self.name or self.done:
            return None
        try:
            spec = self._found_by_others(name, path, target)
        except Exception:
            # The import system asks the same finder next: the error comes without our frame.
            return None
        if spec is not None:
            self._watch(spec)
        return spec

    def finished(self) -> None:
        """Note that an import of the module is over, however it went."""
        module = sys.modules.get(self.name)
        if module is not None:
            self._remove()
            self._fire(module)

    def _found_by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if isinstance(finder, ImportHook):
                continue
            if hasattr(finder, "find_spec"):
                spec: ModuleSpec | None = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
                continue
            # The protocol of Python 3.11 and before: the import system knows how to go on.
            find_module = getattr(finder, "find_module", None)
            if find_module is not None and find_module(name, path) is not None:
                return None
        return None

    def _watch(self, spec: ModuleSpec) -> None:
        # A spec of a class of somebody else's stays as it is: its import goes unnoticed.
        if type(spec) is ModuleSpec:
            spec.__dict__["_pellucid_hook"] = self
            spec.__class__ = _WatchedSpec

    def _fire(self, module: ModuleType) -> None:
        with self._lock:
            first, self.done = not self.done, True
        # A forked child has its parent's hooks, but not its parent's recording.
        if not first or os.getpid() != self._pid:
            return
        try:
            self._callback(module)
        except Exception as error:
            if self._on_error is not None:
                self._on_error(error)

    def _remove(self) -> None:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)


class _WatchedSpec(ModuleSpec):
    """A spec that tells its hook when ``_initializing`` is taken off, and is plain again then."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        if value:
            self.__dict__["_initializing"] = value
            return
        hook = self.__dict__.pop("_pellucid_hook")
        try:
            # Still marked as initialising: other threads wait until the callback is through.
            hook.finished()
        finally:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            self._initializing = False


# What `repr` and `pickle` show of a spec that nobody has imported yet.
_WatchedSpec.__name__ = _WatchedSpec.__qualname__ = "ModuleSpec"
_WatchedSpec.__module__ = ModuleSpec.__module__
