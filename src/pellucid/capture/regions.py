"""What a program says of itself: regions and steps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import TypeVar

from pellucid.capture.native import core

__all__ = ["region", "step"]

_F = TypeVar("_F", bound=Callable[..., object])


class region(ContextDecorator):
    """A named part of the program, as a context manager or a decorator.

    What runs inside shows below a node of kind ``region``, which has a ``duration``. Costs next to
    nothing while nothing records. May be nested in itself and used by several threads at once, each
    through an object of its own or as a decorator.
    """

    def __init__(self, name: str) -> None:
        self._name = name.replace("\0", "\\0").encode("utf-8", "surrogatepass")
        self._open: list[int] = []

    def _recreate_cm(self) -> region:
        return type(self)._of(self._name)

    @classmethod
    def _of(cls, name: bytes) -> region:
        fresh = cls.__new__(cls)
        fresh._name = name
        fresh._open = []
        return fresh

    def __enter__(self) -> region:
        self._open.append(core.begin_region(self._name))
        return self

    def __exit__(self, *_: object) -> None:
        if handle := self._open.pop():
            core.end_region(handle)


class step(region):
    """One step of the program, such as a training iteration: a region whose times are kept one by
    one, for medians, outliers and comparisons.

    >>> for batch in loader:
    ...     with pellucid.step():
    ...         train(batch)
    """

    def __init__(self, name: str = "step") -> None:
        super().__init__(name)

    def __exit__(self, *_: object) -> None:
        if handle := self._open.pop():
            core.end_step(handle)
