"""Recording a part of a program: ``with pellucid.profile() as prof``."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from pellucid.capture.exits import WaysOut
from pellucid.capture.native import core
from pellucid.capture.session import Session
from pellucid.errors import SessionError
from pellucid.model import Profile

__all__ = ["profile"]

_Self = TypeVar("_Self", bound="profile")


class profile:
    """Record what runs inside, on all threads.

    ``out``: where to leave a ``.pellucid`` file, also when the program leaves by ``os._exit``,
    ``os.exec*`` or SIGTERM; None writes no file. ``modules``: name the nn.Module that each operator
    ran under. Once left, ``prof.profile`` is the :class:`Profile`; ``prof.save(path)`` writes it.

    Raises :class:`SessionError` on entry where this process is being recorded already. Where
    ``out`` cannot be written, a line on stderr says so and the program goes on.

    >>> with pellucid.profile() as prof:
    ...     train()
    >>> prof.save("train.pellucid")
    """

    def __init__(self, out: str | os.PathLike[str] | None = None, *, modules: bool = True) -> None:
        # Absolute: the program may change its working folder.
        self._out = None if out is None else Path(out).absolute()
        self._session = Session(modules=modules)
        self._ways_out = WaysOut(core)
        self._profile: Profile | None = None
        self._pid = 0

    @property
    def profile(self) -> Profile:
        """What was recorded; :class:`SessionError` before the end."""
        if self._profile is None:
            raise SessionError("the recording has not ended: leave the `with` block first")
        return self._profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was recorded; :class:`FileError` where that fails."""
        if self._profile is None:
            raise SessionError("the recording has not ended: leave the `with` block first")
        self._session.save(path)

    def __enter__(self: _Self) -> _Self:
        self._session.start()
        self._pid = os.getpid()
        if self._out is not None:
            self._ways_out.install(self._end)
        atexit.register(self._end_with_the_process)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._pid != os.getpid():
            return  # a forked child: the recording is its parent's
        self._end("stopped" if kind is None else f"exception {kind.__qualname__}")

    def _end_with_the_process(self) -> None:
        # Nobody has left the block; our helper thread must be gone before the interpreter is.
        if self._pid == os.getpid():
            self._end("never stopped", complete=False)

    def _end(self, ended: str, complete: bool = True) -> None:
        """Stop and save, once. The program goes on even if that fails: it is not its fault."""
        self._ways_out.uninstall()
        atexit.unregister(self._end_with_the_process)
        try:
            self._profile = self._session.stop(ended, complete)
            if self._out is not None:
                self._session.save(self._out)
        except Exception as error:
            with suppress(Exception):
                print(f"pellucid: the recording could not be kept: {error}", file=sys.stderr)
