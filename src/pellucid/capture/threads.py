"""The names of Python threads, noted when a thread starts because they vanish when it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["ThreadNames", "live_names"]


def live_names() -> dict[int, str]:
    """Map the identifier of every thread that Python knows now to its name."""
    return {
        thread.ident: thread.name
        for thread in threading.enumerate()
        if thread.ident is not None and not isinstance(thread, threading._DummyThread)
    }


class ThreadNames:
    """Calls ``note(name)`` in every thread that ``threading`` starts, before its ``run()``.

    ``Thread._set_ident`` is the first thing that a new thread does, and it has returned before
    user code runs: no frame of ours ever stands in a traceback of the thread.
    """

    def __init__(self, note: Callable[[str], object]) -> None:
        self._note = note
        self._active = False
        self._original: Any = None
        self._wrapper: Any = None

    def install(self) -> None:
        """Start noting names."""
        original = self._original = threading.Thread._set_ident  # type: ignore[attr-defined]

        def _set_ident(thread: threading.Thread) -> None:
            original(thread)
            if self._active:
                self._tell(thread)

        self._wrapper = _set_ident
        self._active = True
        threading.Thread._set_ident = _set_ident  # type: ignore[attr-defined]

    def uninstall(self) -> None:
        """Stop noting; where somebody has wrapped our wrapper, it stays in place and is silent."""
        self._active = False
        if threading.Thread.__dict__.get("_set_ident") is self._wrapper:
            threading.Thread._set_ident = self._original  # type: ignore[attr-defined]

    def _tell(self, thread: threading.Thread) -> None:
        # A dummy stands for a thread that C code started: its system name says more.
        if isinstance(thread, threading._DummyThread):
            return
        try:
            self._note(thread.name)
        except Exception:
            # A thread without a name in the profile is better than a thread that failed to start.
            self._active = False
