"""The native core, or a clear word on why it is not there."""

from __future__ import annotations

import sys

from pellucid.errors import UnsupportedPython

try:
    from pellucid import _core as core
except ImportError as error:
    version = ".".join(map(str, sys.version_info[:3]))
    raise UnsupportedPython(
        f"pellucid's core cannot be loaded by {sys.executable} ({sys.implementation.name} "
        f"{version}): {error}. It needs CPython 3.10 to 3.13 and an installation made for that "
        "very version; see `pellucid doctor`"
    ) from error

__all__ = ["core"]
