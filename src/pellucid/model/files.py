"""Replacing a file in one step: whoever looks sees the old one or the new one, both whole."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new file to write in the target's folder, renamed onto the target when all went well.

    If not, it is removed and the target is as it was. Links should be resolved before.
    """
    temporary = _create_beside(target)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create_beside(target: Path) -> Path:
    """An empty file in the target's folder, with the permissions that the target will have."""
    mode = None
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, "it is no regular file")
    temporary = target.with_name(f".pellucid-{os.urandom(8).hex()}.tmp")
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        if mode is not None:
            os.fchmod(handle, stat.S_IMODE(mode))
    finally:
        os.close(handle)
    return temporary


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
