"""Recording a whole program, from before its first line until after its last.

``pellucid run`` execs the interpreter on ``BOOTSTRAP``, which calls :func:`launch` here. All of it
is standard library: it lives in the process of the program.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from pellucid.capture import exits
from pellucid.capture.exits import WaysOut
from pellucid.launch.follow_up import FollowUp
from pellucid.launch.program import Command, load
from pellucid.launch.tracebacks import hide_frames

if TYPE_CHECKING:
    from pellucid.capture.session import Session

__all__ = ["BOOTSTRAP", "Program", "Recording", "Request", "arguments", "launch"]

BOOTSTRAP = __file__.replace("launcher.py", "_importlib_bootstrap.py")


class Request(NamedTuple):
    """What ``pellucid run`` asks of the launcher.

    ``output`` is absolute, since the program may change its working folder; ``shown`` is the same
    file as the user would name it. ``claim`` is a descriptor to keep open. ``report`` is the page
    to make of the file as the user would name it, ``make_report`` the command that does.
    """

    kind: Literal["script", "module", "code"]
    output: str
    shown: str
    claim: int | None = None
    report: str = ""
    make_report: Sequence[str] = ()
    quiet: bool = False
    modules: bool = True


def arguments(request: Request, target: str, program_arguments: list[str]) -> list[str]:
    """What follows the interpreter and its flags on the launcher's command line."""
    return [BOOTSTRAP, json.dumps(request._asdict()), target, *program_arguments]


def launch() -> Program:
    """Start recording and set up the program that ``sys.argv`` describes."""
    flags = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    request = Request(**json.loads(sys.argv[1]))
    command = Command(request.kind, sys.argv[2], sys.argv[3:])
    if request.claim is not None:
        _keep_to_this_process(request.claim)
    try:
        start = load(command)
    except Exception:
        _hand_over([*flags, *command.words])
    recording = _record(request)
    sys.orig_argv[1:] = [*flags, *command.words]
    call, namespace = start.enter()
    own_files = {__file__, exits.__file__, sys._getframe(1).f_code.co_filename}
    return Program(call, namespace, start.file is not None, recording, own_files)


class Program:
    """A program that is set up and waits to be called."""

    def __init__(
        self,
        call: Callable[[], object],
        namespace: dict[str, Any],
        is_script: bool,
        recording: Recording | None,
        own_files: set[str],
    ) -> None:
        self.call = call
        self._namespace = namespace
        self._is_script = is_script
        self._recording = recording
        self._own_files = own_files

    def returned(self) -> None:
        """Tidy up after the program as the interpreter does."""
        if self._is_script:
            self._namespace.pop("__file__", None)
            self._namespace.pop("__cached__", None)

    def failed(self, error: BaseException) -> None:
        """Note how the program ended, and have the error shown without our frames."""
        if self._recording is not None:
            self._recording.ended = _how(error)
        if not isinstance(error, SystemExit):
            hide_frames(self._own_files, then=self.returned)


class Recording:
    """A session that ends with the process and leaves a file."""

    def __init__(self, session: Session, ways_out: WaysOut, request: Request) -> None:
        self.ended = "exit 0"
        self._session = session
        self._ways_out = ways_out
        self._output = request.output
        self._shown = request.shown
        self._report = request.report
        self._make_report = FollowUp(request.make_report)
        self._quiet = request.quiet
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._finished = False

    def at_exit(self) -> None:
        """Finish at the normal end, unless this is a forked child that ends normally."""
        if os.getpid() != self._pid or not self.finish(self.ended) or not self._report:
            return
        if not self._make_report.run():
            _say(f"{self._report} was not written")
        elif not self._quiet:
            _say(f"wrote {self._report}")

    def leave(self, ended: str) -> None:
        """Finish on a way out that leaves no time for more than the file."""
        if self.finish(ended) and self._report:
            _say(f"no report, since the run ended with {ended}: pellucid report makes it")

    def finish(self, ended: str) -> bool:
        """Stop and save, once; who comes second waits until it is done. True: this did it."""
        with self._lock:
            if self._finished:
                return False
            self._finished = True
            try:
                self._stop_and_save(ended)
            except BaseException as error:
                _say(f"{self._shown} could not be written: {str(error) or type(error).__name__}")
                return False
            return True

    def _stop_and_save(self, ended: str) -> None:
        self._ways_out.uninstall()
        profile = self._session.stop(ended)
        self._session.save(self._output)
        if not self._quiet:
            seconds = sum(run.wall_ns for run in profile.runs) / 1e9
            size = f"{seconds:,.1f} s, {len(profile):,} nodes"
            _say(f"wrote {self._shown} ({size}); pellucid top {quote(self._shown)}")


def _record(request: Request) -> Recording | None:
    """Start a session; without one the program runs all the same."""
    try:
        from pellucid import _core
        from pellucid.capture.session import Session

        session = Session(modules=request.modules)
        session.start()
        ways_out = WaysOut(_core)
        recording = Recording(session, ways_out, request)
        # Before anything that the program registers, so it runs after all of that.
        atexit.register(recording.at_exit)
        ways_out.install(recording.leave)
    except Exception as error:
        _say(f"not recording: {error}")
        return None
    return recording


def _how(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        code = error.code
        status = code if isinstance(code, int) else int(code is not None)
        return f"SystemExit {status}"
    if isinstance(error, KeyboardInterrupt):
        return "KeyboardInterrupt"
    return f"exception {type(error).__qualname__}"


def _hand_over(words: list[str]) -> NoReturn:
    """Let the plain interpreter say what is wrong with a program that cannot start."""
    os.execv(sys.executable, [sys.executable, *words])


def _keep_to_this_process(descriptor: int) -> None:
    """Keep a descriptor open here and in no child, for as long as the process lives."""
    os.set_inheritable(descriptor, False)
    identity = os.fstat(descriptor)

    def close() -> None:
        # The program may have closed it and got the number for something of its own.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), identity):
                os.close(descriptor)

    os.register_at_fork(after_in_child=close)


def _say(text: str) -> None:
    with suppress(Exception):
        print(f"pellucid: {text}", file=sys.__stderr__, flush=True)
