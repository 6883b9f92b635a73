"""A recording of this process: one at a time, from ``start`` to ``stop``."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType

from pellucid.capture.import_hook import ImportHook, when_imported
from pellucid.capture.module_names import ModuleNames
from pellucid.capture.native import core
from pellucid.capture.recording import to_profile
from pellucid.capture.threads import ThreadNames, live_names
from pellucid.capture.torch_bridge import Bridge
from pellucid.capture.torch_compile import CompileWatch
from pellucid.errors import BridgeError, SessionError
from pellucid.model import Profile, save

__all__ = ["Session"]

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_starting = threading.Lock()
_recording: Session | None = None


def _in_fork_child() -> None:
    # Another thread of the parent may have held the lock; its recording stays the parent's.
    global _starting, _recording
    _starting = threading.Lock()
    _recording = None


os.register_at_fork(after_in_child=_in_fork_child)


class Session:
    """One recording. ``modules``: name the nn.Module that each operator ran under.

    What torch does is recorded from the moment that torch is imported, or at once where it is.
    """

    def __init__(self, *, modules: bool = True) -> None:
        self._names = ModuleNames() if modules else None
        self._threads = ThreadNames(core.name_thread)
        self._bridge: Bridge | None = None
        self._compiles = CompileWatch()
        self._hook: ImportHook | None = None
        self._problems: list[tuple[str, str]] = []
        self._folder = ""
        self._pid = 0
        self._where = ""
        self._profile: Profile | None = None

    def start(self) -> None:
        """Begin to record.

        Raises :class:`SessionError` where this process is recording already.
        """
        global _recording
        with _starting:
            other = _recording
            if other is not None:
                raise SessionError(
                    f"this process is already being recorded, since {other._where}; "
                    "stop that recording first, recordings do not nest"
                )
            self._pid = os.getpid()
            self._where = _caller(sys._getframe(1))
            with suppress(OSError):  # removed meanwhile: relative names stay unread
                self._folder = str(Path.cwd())
            if self._names is not None:
                self._names.start()
            try:
                core.start(_PACKAGE, live_names(), self._names.name_new if self._names else None)
            except ValueError as error:
                raise SessionError(f"recording could not start: {error}") from None
            _recording = self
        self._threads.install()
        self._hook = when_imported("torch", self._attach_torch, on_error=self._note_failure)

    def stop(self, ended: str = "stopped", complete: bool = True) -> Profile:
        """End the recording and give what it saw; again and again the same profile.

        ``complete``: whether it was ended on purpose, or by a way out that is known.

        Raises :class:`SessionError` in a forked child, which has nothing of it.
        """
        global _recording
        with _starting:
            if self._profile is not None:
                return self._profile
            if _recording is not self or self._pid != os.getpid():
                raise SessionError("this recording was not started in this process")
            if self._hook is not None:
                self._hook.cancel()
            self._threads.uninstall()
            if self._bridge is not None:
                self._bridge.detach()
            self._compiles.detach()
            recorded = core.stop()
            _recording = None
            if self._names is not None:
                self._names.stop()
            self._profile = to_profile(
                recorded,
                names=self._names,
                compiles=self._compiles,
                folder=self._folder,
                ended=ended,
                complete=complete,
                problems=self._problems,
            )
            return self._profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile of a stopped recording; :class:`FileError` where that fails."""
        save(self.stop(), path)

    def _attach_torch(self, _: ModuleType) -> None:
        began = time.monotonic_ns()
        try:
            self._bridge = Bridge.for_installed_torch()
            self._bridge.attach()
            core.leave_out(time.monotonic_ns() - began)  # a first use compiles for seconds
        except BridgeError as error:
            self._problems.append(("torch_not_recorded", str(error)))
            print(f"pellucid: torch is not recorded: {error}", file=sys.stderr)
        self._compiles.attach()

    def _note_failure(self, error: BaseException) -> None:
        self._problems.append(("torch_not_recorded", f"{type(error).__name__}: {error}"))


def _caller(frame: FrameType | None) -> str:
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "the program's start"
