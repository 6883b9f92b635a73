"""From what the core recorded to a :class:`Profile`."""

from __future__ import annotations

import os
import platform
import socket
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pellucid.capture.module_names import ModuleName, ModuleNames
from pellucid.capture.recompute import recomputed
from pellucid.capture.sources import read_sources
from pellucid.model import EdgeKind, FrameKind, Profile, ProfileBuilder, Stat

if TYPE_CHECKING:
    from pellucid._core import Recording, StatColumns

__all__ = ["to_profile"]

_LOSSES = {
    "scope_left_open": "scopes that were open when their thread or the recording ended",
    "stack_truncated": "calls from more than 2,048 Python frames deep, outermost left out",
    "backward_unlinked": "backward functions whose forward operator was no longer known",
    "tree_full": "events counted on their parent: a thread's tree has 16 million nodes",
    "foreign_interpreter": "events in a sub-interpreter, without Python frames",
    "names_merged": "regions named '(other names)': more than 1,000 names",
    "forked_process": "child processes made by fork(), not recorded",
    "event_failed": "events that could not be recorded",
}


def to_profile(
    recorded: Recording,
    *,
    names: ModuleNames | None,
    folder: str,
    ended: str,
    complete: bool,
    problems: Sequence[tuple[str, str]],
) -> Profile:
    """Build the profile of one run; ``folder`` is where relative file names count from."""
    builder = ProfileBuilder()
    run = builder.run(
        rank=_number("RANK"),
        world=_number("WORLD_SIZE"),
        host=socket.gethostname(),
        pid=os.getpid(),
        start_ns=recorded["start_ns"],
        wall_ns=recorded["wall_ns"],
        threads=recorded["threads"],
        complete=complete,
        ended=ended,
    )
    nodes = _Nodes(builder, recorded, names.by_frame if names is not None else None)
    nodes.add()
    _add_stats(builder, nodes.ids, "duration", recorded["duration"])
    _add_stats(builder, nodes.ids, "time", recorded["time"])
    for kind, count in recorded["losses"].items():
        builder.loss(kind, count, _LOSSES[kind])
    if names is not None and nodes.unnamed:
        detail = "modules that were gone before they could be named: shown by class"
        builder.loss("module_unnamed", nodes.unnamed, detail)
    for kind, detail in problems:
        builder.loss(kind, 1, detail)
    for index, (frame, start, duration) in enumerate(recorded["steps"]):
        builder.step(run, index, recorded["frames"][frame][1], start, duration)
    for path, text in read_sources(nodes.files(), folder):
        builder.source(path, text)
    builder.meta.update(_meta(folder))
    return builder.finish()


class _Nodes:
    """Adds the core's nodes, with modules named by where they stand; without ``names`` no modules.

    Two of the core's nodes become one where only the address told them apart: a module that is
    made anew each step.
    """

    def __init__(
        self, builder: ProfileBuilder, recorded: Recording, names: dict[int, ModuleName] | None
    ) -> None:
        self._builder = builder
        self._frames = recorded["frames"]
        self._parent = _column("I", recorded["parent"])
        self._frame = _column("I", recorded["frame"])
        self._origin = _column("I", recorded["origin"])
        self._names = names
        self._frame_ids: dict[int, int] = {}
        self._known: dict[tuple[int, int, int], int] = {}
        self.ids: list[int] = [-1] * len(self._parent)
        self.unnamed = 0

    def add(self) -> None:
        """Add every node and edge, parents first; node 0, the nameless root, stays out."""
        # The module around each node: its root and path.
        enclosing: list[tuple[str, str]] = [("", "")] * len(self._parent)
        unnamed = set()
        for node in range(1, len(self._parent)):
            parent = self._parent[node]
            frame = self._frame[node]
            enclosing[node] = enclosing[parent]
            if self._frames[frame][0] == FrameKind.MODULE:
                if self._names is None:
                    self.ids[node] = self.ids[parent]
                    continue
                name = self._names.get(frame)
                if name is None:
                    unnamed.add(frame)
                    frame_id = self._plain_frame(frame)
                else:
                    root, around = enclosing[parent]
                    path = name.path_below(around if root == name.root else "")
                    enclosing[node] = name.root, path
                    frame_id = self._module_frame(name, path)
            else:
                frame_id = self._plain_frame(frame)
            origin = self._origin[node]
            self.ids[node] = self._node(self.ids[parent], frame_id, self.ids[origin])
        self.unnamed = len(unnamed)
        for src, dst in recomputed(self._frames, self._parent, self._frame, self._origin):
            self._builder.edge(EdgeKind.RECOMPUTE_OF, self.ids[src], self.ids[dst])

    def files(self) -> list[str]:
        """The source files of the nodes' frames."""
        return sorted({self._frames[frame][2] for frame in self._frame_ids} - {""})

    def _node(self, parent: int, frame: int, origin: int) -> int:
        key = parent, frame, origin
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._builder.node(None if parent < 0 else parent, frame)
            if origin >= 0:
                self._builder.edge(EdgeKind.BACKWARD_OF, known, origin)
        return known

    def _plain_frame(self, frame: int) -> int:
        known = self._frame_ids.get(frame)
        if known is None:
            kind, name, file, line, first_line = self._frames[frame]
            known = self._frame_ids[frame] = self._builder.frame(
                kind, name, file=file or None, line=line or None, first_line=first_line or None
            )
        return known

    def _module_frame(self, name: ModuleName, path: str) -> int:
        attrs: dict[str, object] = {"class": name.class_name, "root": name.root}
        if len(name.paths) > 1:
            attrs["aliases"] = [alias for alias in name.paths if alias != path]
        shown = path or name.class_name.rpartition(".")[2]
        return self._builder.frame(FrameKind.MODULE, shown, attrs=attrs)


def _add_stats(
    builder: ProfileBuilder, ids: Sequence[int], metric: str, columns: StatColumns
) -> None:
    for node, stat in enumerate(_stats(columns)):
        if stat is not None:
            builder.stat(ids[node], metric, stat)


def _stats(columns: StatColumns) -> Iterator[Stat | None]:
    count, total, least, most = (_column("Q", column) for column in columns[:4])
    m2 = _column("d", columns[4])
    for i in range(len(count)):
        yield Stat(count[i], total[i], least[i], most[i], m2[i]) if count[i] else None


def _column(typecode: str, data: bytes) -> array[int]:
    values: array[int] = array(typecode)
    values.frombytes(data)
    return values


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else None


def _meta(folder: str) -> dict[str, str]:
    torch = sys.modules.get("torch")
    meta = {
        "command": " ".join(sys.orig_argv),
        "folder": folder,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
    }
    if torch is not None:
        meta["torch"] = str(getattr(torch, "__version__", "unknown"))
    return meta
