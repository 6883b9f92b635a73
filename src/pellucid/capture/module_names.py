"""The qualified names of nn.Modules, found without hooks.

The core sees a module as an address. While the program runs (a model may be gone at the end) this
matches the address, under the GIL, against the modules that are alive; it never follows it.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from pellucid.capture.native import core

__all__ = ["ModuleName", "ModuleNames"]

# Looking at every object of a large program takes tens of ms: rest a hundred times as long.
_REST = 100.0
# A look at the youngest generations of the garbage collector takes less than a ms.
_YOUNG = (0, 1)
_YOUNG_REST = 20.0
_MOST_ALIASES = 16
_WRAPPER = "torch._dynamo.eval_frame.OptimizedModule"
_WRAPPED = "_orig_mod"


class ModuleName(NamedTuple):
    """What a module is called.

    ``paths`` are its qualified names within ``root`` in the order of registration; a module that is
    registered in two places has two. ``("",)`` is the root itself.
    """

    paths: tuple[str, ...]
    root: str
    class_name: str

    @property
    def is_wrapper(self) -> bool:
        """Whether it only stands for the module inside it, as what torch.compile returns does."""
        return self.class_name == _WRAPPER

    def path_below(self, enclosing: str) -> str:
        """The name that fits where the module was called: below ``enclosing``, a path."""
        prefix = f"{enclosing}." if enclosing else ""
        return next((path for path in self.paths if path.startswith(prefix)), self.paths[0])


class _Watch(weakref.ref[Any]):
    """Knows the address of a module, and hears of its death."""

    __slots__ = ("address",)

    address: int


_Token = tuple[int, int, int]  # the core's frame, the module's address, its type's


class _Known(NamedTuple):
    name: ModuleName
    type_address: int
    watch: _Watch


class _Registry:
    """The names of the modules that are alive, as they were when last looked for.

    One for the process: a second recording does not look for the same modules again.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._roots: dict[str, list[weakref.ref[Any]]] = {}
        self._rest_until = 0.0
        self._young_rest_until = 0.0
        self.before_death: Callable[[], object] | None = None
        self._tell_core = core.module_died

    def name(self, address: int, type_address: int) -> ModuleName | None:
        """What the module of that type at that address is called, if it was found."""
        known = self._known.get(address)
        return known.name if known is not None and known.type_address == type_address else None

    def rest(self) -> float:
        """Seconds after which it is cheap enough to look again."""
        return max(0.0, self._rest_until - time.monotonic())

    def young_rest(self) -> float:
        """Seconds after which it is cheap enough to look at what is new."""
        return max(0.0, self._young_rest_until - time.monotonic())

    def look_around(self) -> None:
        """Find and name all modules that are alive now."""
        module_class = _module_class()
        if module_class is None:
            return
        began = time.monotonic()
        self._learn_all(_live_modules(module_class))
        now = time.monotonic()
        self._rest_until = now + _REST * (now - began)

    def look_for(self, wanted: set[tuple[int, int]]) -> None:
        """Find these modules, by address and type's address, if all of them are new.

        Else one of them might be called by a module that is not among the new ones, and would be
        taken for a root.
        """
        module_class = _module_class()
        if module_class is None:
            return
        began = time.monotonic()
        modules = {id(module): module for module in _live_modules(module_class, _YOUNG)}
        if wanted <= {(address, id(type(module))) for address, module in modules.items()}:
            known = [known.watch() for known in list(self._known.values())]
            modules.update((id(module), module) for module in known if module is not None)
            self._learn_all(modules.values())
        now = time.monotonic()
        self._young_rest_until = now + _YOUNG_REST * (now - began)

    def _learn_all(self, modules: Iterable[Any]) -> None:
        for root, named in _name_all(modules):
            root_name = self._root_name(root)
            for module, paths in named:
                self._learn(module, tuple(paths), root_name)

    def _learn(self, module: Any, paths: tuple[str, ...], root: str) -> None:
        cls = type(module)
        name = ModuleName(paths, root, _class_name(module))
        known = self._known.get(id(module))
        if known is not None and known.watch() is module:
            watch = known.watch
        else:
            watch = _Watch(module, self._died)
            watch.address = id(module)
        self._known[id(module)] = _Known(name, id(cls), watch)

    def _died(self, watch: weakref.ref[Any]) -> None:
        # The last modules die when the interpreter has already emptied our own globals.
        address: int = watch.address  # type: ignore[attr-defined]
        if self.before_death is not None:
            self.before_death()
        self._known.pop(address, None)
        self._tell_core(address)

    def _root_name(self, root: Any) -> str:
        """The class of a root; with a number where several of one class are alive."""
        while _class_name(root) == _WRAPPER and _WRAPPED in root._modules:
            root = root._modules[_WRAPPED]
        name = type(root).__name__
        known = self._roots.setdefault(name, [])
        alive = [ref() for ref in known]
        if not any(other is root for other in alive):
            free = alive.index(None) if None in alive else len(known)
            known[free : free + 1] = [weakref.ref(root)]
        number = next(i for i, ref in enumerate(known) if ref() is root)
        return f"{name}#{number + 1}" if number else name


_registry = _Registry()


class ModuleNames:
    """One recording's names by the core's frame number, filled while the program runs.

    Modules die at any moment, on any thread, and what the core has seen of one is named while the
    name is still its: so ``_name_known`` may run inside any other method, and a token waits in
    ``_waiting`` until it is named or given up.
    """

    def __init__(self) -> None:
        self.by_frame: dict[int, ModuleName] = {}
        self._waiting: dict[_Token, None] = {}
        self._not_new: set[_Token] = set()  # looked for among the new ones already

    def start(self) -> None:
        """Take part in what the process knows of its modules."""
        _registry.before_death = self._name_known

    def stop(self) -> None:
        """Name what is left, whatever it costs."""
        self._name_known()
        if self._waiting:
            _registry.look_around()
            self._name_known()
        _registry.before_death = None

    def name_new(self) -> float:
        """Name what the core has newly seen; gives the seconds after which to ask again, or 0."""
        self._name_known()
        if not self._waiting:
            return 0.0
        waiting = list(self._waiting)
        if not _registry.rest():
            _registry.look_around()
            self._name_known()
            for token in waiting:  # those that were not found are already gone
                self._waiting.pop(token, None)
            self._not_new.clear()
            return 0.0
        fresh = [token for token in waiting if token not in self._not_new]
        if not fresh:
            return _registry.rest()
        if not _registry.young_rest():
            _registry.look_for({(address, cls) for _, address, cls in fresh})
            self._name_known()
            self._not_new.update(fresh)
            return _registry.rest() if self._waiting else 0.0
        return min(_registry.rest(), _registry.young_rest())

    def _name_known(self) -> None:
        self._waiting.update(dict.fromkeys(core.take_new_modules()))
        for token in list(self._waiting):
            frame, address, type_address = token
            name = _registry.name(address, type_address)
            if name is not None:
                self.by_frame[frame] = name
                self._waiting.pop(token, None)


def _module_class() -> Any:
    return getattr(sys.modules.get("torch.nn.modules.module"), "Module", None)


def _live_modules(module_class: type, generations: Iterable[int | None] = (None,)) -> list[Any]:
    types = set(_subclasses(module_class))
    return [m for generation in generations for m in core.live_instances(types, generation)]


def _subclasses(cls: type) -> Iterator[type]:
    seen = {cls}
    stack = [cls]
    while stack:
        current = stack.pop()
        yield current
        children: list[type] = type.__subclasses__(current)
        for child in children:
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
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        path, module = stack.pop()
        _, paths = named.setdefault(id(module), (module, []))
        if len(paths) >= _MOST_ALIASES:
            continue
        paths.append(path)
        inner = reversed(_children(module))
        stack.extend((_join(path, module, name), child) for name, child in inner)
    return list(named.values())


def _join(path: str, module: Any, name: str) -> str:
    """The path of a module's child; a wrapper is no step of it."""
    if name == _WRAPPED and _class_name(module) == _WRAPPER:
        return path
    return f"{path}.{name}" if path else name


def _class_name(module: Any) -> str:
    cls = type(module)
    return f"{cls.__module__}.{cls.__qualname__}"
