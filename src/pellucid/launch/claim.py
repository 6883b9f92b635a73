"""Claiming an output file for the life of a process."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

from pellucid.errors import SessionError

__all__ = ["claim"]


def claim(output: Path) -> int:
    """Take ``output`` for this process; ``SessionError`` if a live process has it.

    The claim is a bound socket in Linux's abstract namespace: it leaves nothing on disk and goes
    with the process, however that ends. Returns the socket's descriptor, which outlives an exec.
    Processes in other containers or on other machines are not seen.
    """
    folder = output.parent.stat()
    identity = f"{folder.st_dev}:{folder.st_ino}/".encode() + os.fsencode(output.name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claimed:
        try:
            claimed.bind(b"\0pellucid/" + hashlib.sha256(identity).hexdigest().encode())
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise SessionError(f"{output} is being written by another process") from None
        claimed.set_inheritable(True)
        return claimed.detach()
