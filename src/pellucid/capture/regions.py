"""What a program says of itself: regions and steps."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import ContextDecorator
from typing import Any, TypeVar

from pellucid.capture.import_hook import when_imported
from pellucid.capture.native import core
from pellucid.errors import UsageError

__all__ = ["region", "step"]

_F = TypeVar("_F", bound=Callable[..., Any])


def _never() -> bool:
    return False


_is_compiling: Callable[[], bool] = _never


@functools.lru_cache(maxsize=1000)
def _encoded(name: str) -> bytes:
    return name.replace("\0", "\\0").encode("utf-8", "surrogatepass")


def _ask_torch(torch: Any) -> None:
    """Let torch.compile see that there is nothing to trace in a region, so that no graph breaks."""
    global _is_compiling
    _is_compiling = torch.compiler.is_compiling


when_imported("torch", _ask_torch, on_error=lambda _: None)


class region(ContextDecorator):
    """A named part of the program, as a context manager or a decorator.

    What runs inside shows below a node of kind ``region``, which has a ``duration``. Costs next to
    nothing while nothing records. May be nested in itself and used by several threads at once, each
    through an object of its own or as a decorator.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[int] = []

    def __call__(self, function: _F) -> _F:
        """Decorate a function: every call of it is inside the region; of generators and coroutines
        all that they run, until they are done.
        """
        wrapper: Callable[..., Any]
        if inspect.iscoroutinefunction(function):

            async def wrapper(*args: Any, **kwargs: Any) -> Any:
                with self._recreate_cm():
                    return await function(*args, **kwargs)

        elif inspect.isgeneratorfunction(function):

            def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                with self._recreate_cm():
                    return (yield from function(*args, **kwargs))

        elif inspect.isasyncgenfunction(function):
            raise UsageError(
                f"{function.__qualname__} is an async generator, which a region cannot decorate: "
                "use `with region(...)` inside it"
            )
        else:
            return super().__call__(function)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]

    def _recreate_cm(self) -> region:
        return type(self)(self._name)

    def __enter__(self) -> region:
        if not _is_compiling():
            self._open.append(core.begin_region(_encoded(self._name)))
        return self

    def __exit__(self, *_: object) -> None:
        # Empty where a compiler has traced the entry, and left the region out.
        if not _is_compiling() and self._open and (handle := self._open.pop()):
            self._end(handle)

    def _end(self, handle: int) -> None:
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

    def _end(self, handle: int) -> None:
        core.end_step(handle)
