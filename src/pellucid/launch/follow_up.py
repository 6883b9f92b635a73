"""A command for another process, to be run when this one's recording is on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = ["FollowUp"]


class FollowUp:
    """A command that starts as if this process had just started it, whatever happened since.

    It is run while the interpreter exits, so it is spawned by the system alone: no import, no fork
    handlers, no helper thread. What it says on stdout is dropped, its errors are seen.
    """

    def __init__(self, command: Iterable[str]) -> None:
        self._command = list(command)
        self._environment = dict(os.environ)

    def run(self) -> bool:
        """Run the command to its end and tell whether it did what it should."""
        try:
            child = os.posix_spawn(
                self._command[0],
                self._command,
                self._environment,
                file_actions=(
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                ),
                setsigmask=(),
            )
            return os.waitpid(child, 0)[1] == 0
        except ChildProcessError:  # a program that ignores SIGCHLD has no status kept: it ended
            return True
        except (OSError, KeyboardInterrupt):
            return False
