"""Which row of a table each node belongs to."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

from pellucid.analysis.internal import is_internal
from pellucid.analysis.logical import LogicalTree
from pellucid.model import Frame, FrameKind, Profile

__all__ = ["Groups", "Key", "group", "kernel_graph", "text_attr"]


class Key(NamedTuple):
    """What tells a row from the others."""

    name: str
    file: str | None = None
    line: int | None = None
    root: str | None = None
    cls: str | None = None
    graph: str | None = None


class Groups(NamedTuple):
    """The keys, and for each node the index of its key; -1 for nodes that define no row."""

    keys: list[Key]
    of_node: array[int]

    def nodes(self) -> list[list[int]]:
        """The nodes of each key."""
        members: list[list[int]] = [[] for _ in self.keys]
        for node, key in enumerate(self.of_node):
            if key >= 0:
                members[key].append(node)
        return members


def group(profile: Profile, logical: LogicalTree, by: str, fold: bool) -> Groups:
    """Group the nodes ``by`` operator, module, kernel, function, line or thread."""
    if by == "module":
        return _by_module(profile, logical)
    return _by_frame(profile, lambda frame: _frame_key(frame, by, fold))


def _frame_key(frame: Frame, by: str, fold: bool) -> Key | None:
    kind = frame.kind
    if by in ("line", "function"):
        if kind is not FrameKind.PYTHON or (fold and is_internal(frame)):
            return None
        return Key(frame.name, frame.file, frame.line if by == "line" else frame.first_line)
    if by == "kernel":
        if kind not in (FrameKind.KERNEL, FrameKind.DEVICE):
            return None
        return Key(frame.name, graph=kernel_graph(frame))
    return Key(frame.name) if kind == by else None


def kernel_graph(frame: Frame) -> str | None:
    """The graph that a kernel was generated for: the next graph's may have the same name."""
    parts = [text_attr(frame, name) for name in ("function", "compile_id", "graph")]
    if parts[1] is None:
        return None
    return f"{parts[0] or ''} [{parts[1]}] {parts[2] or ''}".strip()


def _by_frame(profile: Profile, key_of: Callable[[Frame], Key | None]) -> Groups:
    ids: dict[Key, int] = {}
    of_frame = []
    for frame in profile.frames:
        key = key_of(frame)
        of_frame.append(-1 if key is None else ids.setdefault(key, len(ids)))
    return Groups(list(ids), array("q", (of_frame[frame] for frame in profile.frame_ids)))


def _by_module(profile: Profile, logical: LogicalTree) -> Groups:
    """By qualified name within the root module, since two models can use the same names.

    The root is what the frame says it is, else the outermost module around it.
    """
    described = [
        (frame, text_attr(frame, "root"), text_attr(frame, "class"))
        if frame.kind is FrameKind.MODULE
        else None
        for frame in profile.frames
    ]
    ids: dict[Key, int] = {}
    of_node = array("q", [-1]) * len(profile)
    roots: list[str | None] = [None] * len(profile)
    for node in logical.forest.order:
        parent = logical.parents[node]
        roots[node] = roots[parent] if parent >= 0 else None
        module = described[profile.frame_ids[node]]
        if module is not None:
            frame, root, cls = module
            roots[node] = root or roots[node] or frame.name
            key = Key(frame.name, root=roots[node], cls=cls)
            of_node[node] = ids.setdefault(key, len(ids))
    return Groups(list(ids), of_node)


def text_attr(frame: Frame, name: str) -> str | None:
    """An attribute of a frame that is a text; None without one."""
    value = frame.attrs.get(name)
    return value if isinstance(value, str) else None
