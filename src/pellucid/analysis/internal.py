"""Which Python frames belong to the machinery rather than to the program."""

import re

from pellucid.model import Frame, FrameKind

__all__ = ["is_internal"]

_INTERNAL_FILE = re.compile(
    r"""
      ^<frozen\ [\w.]+>$                                         # importlib, runpy
    | [\\/]lib(?:64)?[\\/]python3\.\d+t?[\\/](?!(?:site|dist)-packages[\\/])   # standard library
    | [\\/](?:site|dist)-packages[\\/](?:torch|functorch|torchgen)[\\/]
    | [\\/]torch[\\/](?:nn[\\/]modules|autograd|optim)[\\/]      # torch built from a checkout
    | [\\/]pellucid[\\/](?:(?:capture|launch)[\\/]|__(?:init|main)__\.py$)
    """,
    re.VERBOSE,
)


def is_internal(frame: Frame) -> bool:
    """Whether the frame is Python code of torch, of the standard library or of pellucid itself.

    Told from the file's path alone, so that it works for a profile of another machine.
    """
    return (
        frame.kind is FrameKind.PYTHON
        and frame.file is not None
        and _INTERNAL_FILE.search(frame.file) is not None
    )
