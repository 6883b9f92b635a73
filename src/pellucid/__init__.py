"""pellucid: where the time of a deep-learning program goes, in one tree.

>>> with pellucid.profile() as prof:
...     train()
>>> for node in prof.profile.nodes(kind="module", name="blocks.0.up"):
...     print(node.total("time"))
"""

from pellucid.capture.profiling import profile
from pellucid.capture.regions import region, step
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
