"""The native core, or a clear word on why it is not there."""

from __future__ import annotations

import sys
from importlib import import_module

from pellucid.errors import UnsupportedPython

__all__ = ["core"]


def _in_sub_interpreter() -> bool:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = import_module(name)
    except ImportError:
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


# Up to 3.11 the import system would let it in, later it would say something else.
if _in_sub_interpreter():
    raise UnsupportedPython("a sub-interpreter cannot be recorded: run the program in the main one")

try:
    from pellucid import _core as core
except ImportError as error:
    version = ".".join(map(str, sys.version_info[:3]))
    raise UnsupportedPython(
        f"pellucid's core cannot be loaded by {sys.executable} ({sys.implementation.name} "
        f"{version}): {error}. It needs CPython 3.10 to 3.13 and an installation made for that "
        "very version; see `pellucid doctor`"
    ) from error
