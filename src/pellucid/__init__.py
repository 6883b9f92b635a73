"""pellucid: where the time of a deep-learning program goes, in one tree.

>>> with pellucid.profile() as prof:
...     train()
>>> for node in prof.profile.nodes(kind="module", name="blocks.0.up"):
...     print(node.total("time"))
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pellucid.errors import (
    BridgeError,
    CompilerMissing,
    FileError,
    NotAProfile,
    PellucidError,
    SessionError,
    UnknownVersion,
    UnsupportedPython,
    UsageError,
)
from pellucid.model import Frame, FrameKind, Node, Profile, Stat, load

if TYPE_CHECKING:
    from pellucid.capture.profiling import profile
    from pellucid.capture.regions import region, step

__all__ = [
    "BridgeError",
    "CompilerMissing",
    "FileError",
    "Frame",
    "FrameKind",
    "Node",
    "NotAProfile",
    "PellucidError",
    "Profile",
    "SessionError",
    "Stat",
    "UnknownVersion",
    "UnsupportedPython",
    "UsageError",
    "load",
    "profile",
    "region",
    "step",
]

__version__ = "0.1.0"

_CAPTURE = {
    "profile": "pellucid.capture.profiling",
    "region": "pellucid.capture.regions",
    "step": "pellucid.capture.regions",
}


def __getattr__(name: str) -> object:
    # Reading profiles, and `pellucid doctor`, must work where the native core does not.
    if name not in _CAPTURE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_CAPTURE[name]), name)
    globals()[name] = value
    return value
