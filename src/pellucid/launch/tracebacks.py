"""Showing an uncaught exception as if the launcher were not there."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from types import TracebackType
from typing import Any

__all__ = ["hide_frames"]

_MISSING: Any = object()
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())


def hide_frames(files: Collection[str], then: Callable[[], object]) -> None:
    """Have the exception that is about to end the program shown without frames of ``files``.

    The interpreter calls ``sys.excepthook`` next. The hook set here puts the program's own back,
    hands it the exception, and calls ``then``.
    """
    theirs = vars(sys).get("excepthook", _MISSING)

    def excepthook(
        kind: type[BaseException], error: BaseException, _: TracebackType | None
    ) -> None:
        if theirs is _MISSING:
            del sys.excepthook
        else:
            sys.excepthook = theirs
        _strip(error, files)
        sys.last_traceback = error.__traceback__
        _show(theirs, kind, error, {*files, __file__})
        then()

    sys.excepthook = excepthook


def _show(hook: Any, kind: type[BaseException], error: BaseException, own: Collection[str]) -> None:
    """Call the program's hook, with the interpreter's own words where that goes wrong."""
    if hook is _MISSING:
        _write("sys.excepthook is missing\n")
        _display(error)
        return
    try:
        hook(kind, error, error.__traceback__)
        return
    except SystemExit:
        raise
    except BaseException as second:
        failure = second
    _strip(failure, own)
    with suppress(Exception):
        sys.stdout.flush()
    _write("Error in sys.excepthook:\n")
    _display(failure)
    _write("\nOriginal exception was:\n")
    _display(error)


def _display(error: BaseException) -> None:
    sys.__excepthook__(type(error), error, error.__traceback__)


def _write(text: str) -> None:
    with suppress(Exception):
        sys.stderr.write(text)


def _strip(error: BaseException, files: Collection[str]) -> None:
    """Take the frames of ``files`` out of an exception and all that it is chained to."""
    pending: list[BaseException | None] = [error]
    seen = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        link.__traceback__ = _without(link.__traceback__, files)
        pending += [link.__cause__, link.__context__]
        if isinstance(link, _GROUP):
            pending += link.exceptions


def _without(traceback: TracebackType | None, files: Collection[str]) -> TracebackType | None:
    first = entry = _next_of_theirs(traceback, files)
    while entry is not None:
        entry.tb_next = _next_of_theirs(entry.tb_next, files)
        entry = entry.tb_next
    return first


def _next_of_theirs(entry: TracebackType | None, files: Collection[str]) -> TracebackType | None:
    while entry is not None and entry.tb_frame.f_code.co_filename in files:
        entry = entry.tb_next
    return entry
