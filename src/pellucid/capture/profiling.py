"""Recording a part of a program: ``with pellucid.profile() as prof``."""

from __future__ import annotations

import os
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

    Raises :class:`SessionError` on entry where this process is being recorded already.

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
        if self._out is not None:
            self._ways_out.install(self._leave)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        ended = "stopped" if kind is None else f"exception {kind.__qualname__}"
        if kind is None:
            self._end(ended)
        else:
            # The program's own error is the one to hear of.
            with suppress(Exception):
                self._end(ended)

    def _end(self, ended: str) -> None:
        self._ways_out.uninstall()
        self._profile = self._session.stop(ended)
        if self._out is not None:
            self._session.save(self._out)

    def _leave(self, ended: str) -> None:
        if self._profile is None:
            self._end(ended)
