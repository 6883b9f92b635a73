"""Frames, stats, the tree, the profile and its file. Standard library only."""

from pellucid.model.builder import ProfileBuilder
from pellucid.model.forest import Forest
from pellucid.model.frame import Frame, FrameKind
from pellucid.model.profile import Node, Profile
from pellucid.model.records import (
    METRICS,
    Artifact,
    CompileEntry,
    CompileKind,
    Edge,
    EdgeKind,
    Link,
    Loss,
    Metric,
    Run,
    Source,
    Step,
)
from pellucid.model.stat import Stat
from pellucid.model.store import load, save
from pellucid.model.tree import Tree

__all__ = [
    "METRICS",
    "Artifact",
    "CompileEntry",
    "CompileKind",
    "Edge",
    "EdgeKind",
    "Forest",
    "Frame",
    "FrameKind",
    "Link",
    "Loss",
    "Metric",
    "Node",
    "Profile",
    "ProfileBuilder",
    "Run",
    "Source",
    "Stat",
    "Step",
    "Tree",
    "load",
    "save",
]
