"""The ways out of a process on which Python calls nobody."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, Protocol

__all__ = ["SignalWatch", "WaysOut"]


class SignalWatch(Protocol):
    """What the native core does about SIGTERM while its disposition is the default one.

    It calls ``callback("SIGTERM")`` on a thread of its own, then lets the signal kill the process.
    """

    def watch_sigterm(self, callback: Callable[[str], object], /) -> object: ...
    def unwatch_sigterm(self) -> object: ...


class WaysOut:
    """Calls ``finish(ended)`` before ``os._exit``, ``os.exec*`` and a deadly SIGTERM.

    Only in the process that installed it: forked children leave through these functions as well,
    and they have nothing to finish. ``finish`` has to be idempotent; what it raises is dropped.
    """

    def __init__(self, signals: SignalWatch | None = None) -> None:
        self._signals = signals
        self._finish: Callable[[str], object] | None = None
        self._pid = 0
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    def install(self, finish: Callable[[str], object]) -> None:
        """Watch the ways out until :meth:`uninstall`."""
        self._finish = finish
        self._pid = os.getpid()
        self._wrap("_exit", self._around_exit)
        self._wrap("execv", self._around_exec)
        self._wrap("execve", self._around_exec)
        if self._signals is not None:
            self._signals.watch_sigterm(lambda name: self._leave(f"signal {name}"))

    def uninstall(self) -> None:
        """Put back what is still ours; a wrapper that somebody has wrapped stays and is silent."""
        self._finish = None
        for name, (original, wrapper) in self._wrapped.items():
            if getattr(os, name) is wrapper:
                setattr(os, name, original)
        self._wrapped.clear()
        if self._signals is not None and os.getpid() == self._pid:
            self._signals.unwatch_sigterm()

    def _wrap(self, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(os, name)
        wrapper = wraps(original)(around(original))
        wrapper.__module__ = "os"  # Pickled by name, and this is where the name leads to it.
        self._wrapped[name] = original, wrapper
        setattr(os, name, wrapper)

    def _leave(self, ended: str) -> bool:
        """Finish, and tell whether there was anything to finish here."""
        finish = self._finish
        if finish is None or os.getpid() != self._pid:
            return False
        with suppress(Exception):
            finish(ended)
        return True

    def _around_exit(self, original: Callable[..., None]) -> Callable[..., None]:
        def _exit(status: int) -> None:
            try:
                # Anything but an integer is an error of the program's, and no way out.
                if isinstance(status, int):
                    self._leave(f"os._exit {int(status)}")
            finally:
                original(status)

        return _exit

    def _around_exec(self, original: Callable[..., None]) -> Callable[..., None]:
        name = original.__name__

        def exec_(path: Any, *arguments: Any) -> None:
            left = _looks_executable(path) and self._leave(f"os.{name}")
            try:
                original(path, *arguments)
            except BaseException:
                if left:
                    _say(f"os.{name} failed: what the program does from here on is not recorded")
                raise

        return exec_


def _looks_executable(path: Any) -> bool:
    # `os.execvp` tries one folder of PATH after the other: most of its attempts cannot succeed.
    try:
        # Not pathlib: the path may be bytes.
        return isinstance(path, int) or (os.path.isfile(path) and os.access(path, os.X_OK))  # noqa: PTH113
    except (TypeError, ValueError):
        return False


def _say(text: str) -> None:
    with suppress(Exception):
        print(f"pellucid: {text}", file=sys.__stderr__, flush=True)
