"""The qualified names of nn.Modules, found without hooks.

The core sees a module as an address. While the program runs (a model may be gone at the end) this
matches the address, under the GIL, against the modules that are alive; it never follows it.
"""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pellucid import _core

__all__ = ["ModuleName", "ModuleNames"]

# Looking at every object of a large program takes tens of ms: rest a hundred times as long.
_REST = 100.0
_MOST_ALIASES = 16


class ModuleName(NamedTuple):
    """What a module is called.

    ``paths`` are its qualified names within ``root`` in the order of registration; a module that is
    registered in two places has two. ``("",)`` is the root itself.
    """

    paths: tuple[str, ...]
    root: str
    class_name: str

    def path_below(self, enclosing: str) -> str:
        """The name that fits where the module was called: below ``enclosing``, a path."""
        prefix = f"{enclosing}." if enclosing else ""
        return next((path for path in self.paths if path.startswith(prefix)), self.paths[0])


class _Watch(weakref.ref[Any]):
    """Knows the address of a module, and hears of its death."""

    __slots__ = ("address",)

    address: int


class _Known(NamedTuple):
    name: ModuleName
    type_address: int
    watch: _Watch


class ModuleNames:
    """Names by the core's frame number, filled while the program runs."""

    def __init__(self) -> None:
        self.by_frame: dict[int, ModuleName] = {}
        self._known: dict[int, _Known] = {}
        self._roots: dict[str, list[weakref.ref[Any]]] = {}
        self._unknown: list[tuple[int, int, int]] = []
        self._rest_until = 0.0

    def name_new(self) -> float:
        """Name what the core has newly seen; gives the seconds after which to ask again, or 0."""
        self._name_known()
        rest = self._rest_until - time.monotonic()
        if self._unknown and rest <= 0:
            self.look_around()
            return 0.0
        return max(rest, 0.0) if self._unknown else 0.0

    def look_around(self) -> None:
        """Find all modules that are alive now and name what waits for it."""
        torch_nn = sys.modules.get("torch.nn.modules.module")
        self._name_known()
        if torch_nn is None or not self._unknown:
            return
        began = time.monotonic()
        modules = _live_modules(torch_nn.Module)
        for root, named in _name_all(modules):
            root_name = self._root_name(root)
            for module, paths in named:
                if id(module) not in self._known:
                    self._learn(module, tuple(paths), root_name)
        self._name_known()
        self._unknown.clear()
        now = time.monotonic()
        self._rest_until = now + _REST * (now - began)

    def forget(self) -> None:
        """Let go of all that is watched."""
        self._known.clear()
        self._roots.clear()

    def _name_known(self) -> None:
        unknown = self._unknown + _core.take_new_modules()
        self._unknown = []
        for token in unknown:
            frame, address, type_address = token
            known = self._known.get(address)
            if known is not None and known.type_address == type_address:
                self.by_frame[frame] = known.name
            else:
                self._unknown.append(token)

    def _learn(self, module: Any, paths: tuple[str, ...], root: str) -> None:
        cls = type(module)
        name = ModuleName(paths, root, f"{cls.__module__}.{cls.__qualname__}")
        watch = _Watch(module, self._died)
        watch.address = id(module)
        self._known[watch.address] = _Known(name, id(cls), watch)

    def _died(self, watch: weakref.ref[Any]) -> None:
        assert isinstance(watch, _Watch)
        self._name_known()  # what the core has seen of it, while the name is still its
        self._known.pop(watch.address, None)
        _core.module_died(watch.address)

    def _root_name(self, root: Any) -> str:
        """The class of a root; with a number where several of one class were seen."""
        name = type(root).__qualname__
        known = self._roots.setdefault(name, [])
        for number, ref in enumerate(known):
            if ref() is root:
                break
        else:
            number = len(known)
            known.append(weakref.ref(root))
        return f"{name}#{number + 1}" if number else name


def _live_modules(module_class: type) -> list[Any]:
    types = set(_subclasses(module_class))
    return [thing for thing in gc.get_objects() if type(thing) in types]


def _subclasses(cls: type) -> Iterator[type]:
    seen = {cls}
    stack = [cls]
    while stack:
        current = stack.pop()
        yield current
        for child in type.__subclasses__(current):
            if child not in seen:
                seen.add(child)
                stack.append(child)


def _children(module: Any) -> list[tuple[str, Any]]:
    children = vars(module).get("_modules")
    if not isinstance(children, dict):
        return []
    return [(str(name), child) for name, child in list(children.items()) if child is not None]


def _name_all(modules: Iterable[Any]) -> Iterator[tuple[Any, list[tuple[Any, list[str]]]]]:
    """Each root with all modules below it and their qualified names."""
    modules = list(modules)
    inner = {id(child) for module in modules for _, child in _children(module)}
    for module in modules:
        if id(module) not in inner:
            yield module, _name_below(module)


def _name_below(root: Any) -> list[tuple[Any, list[str]]]:
    """In the order of registration, as ``named_modules`` has it, but with every name."""
    named: dict[int, tuple[Any, list[str]]] = {}
    stack = [("", root)]
    while stack:
        path, module = stack.pop()
        _, paths = named.setdefault(id(module), (module, []))
        if len(paths) >= _MOST_ALIASES:
            continue
        paths.append(path)
        prefix = f"{path}." if path else ""
        stack.extend((prefix + name, child) for name, child in reversed(_children(module)))
    return list(named.values())
