"""The native core driven by hand: raw events, and what it recorded of them by path."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol, cast

import pellucid
from pellucid import _core
from pellucid.model import Stat

__all__ = [
    "BACKWARD",
    "OPERATOR",
    "REGION",
    "Entry",
    "Events",
    "Recorded",
    "Witness",
    "build",
    "frames_of",
    "join",
    "load_built",
    "recording",
]

OPERATOR, BACKWARD, REGION = range(3)

PACKAGE = str(Path(pellucid.__file__).parent) + os.sep


class Events(Protocol):
    """``_events.c``. Every event begins and ends with the GIL released."""

    def attach(self, api: int, /) -> None: ...

    # Inside the event, `callback` runs under the GIL.
    def event(
        self,
        kind: int,
        name: str | bytes,
        callback: Callable[[], Any] | None = ...,
        sequence: int = ...,
        thread: int = ...,
        forward_thread: int = ...,
        /,
    ) -> Any: ...
    def begin(
        self,
        kind: int,
        name: str | bytes,
        callback: None = ...,
        sequence: int = ...,
        thread: int = ...,
        forward_thread: int = ...,
        /,
    ) -> int: ...
    def end(self, handle: int, /) -> None: ...
    def end_elsewhere(self, handle: int, /) -> None: ...
    def foreign_threads(
        self, count: int, events: int, callback: Callable[[], Any] = ..., /
    ) -> None: ...
    def start_storm(self, threads: int, /) -> None: ...
    def stop_storm(self) -> int: ...
    def storm_count(self) -> int: ...
    def forwards(self, first: int, last: int, thread: int, /) -> None: ...


def build(folder: Path) -> Path:
    """Compile ``_events.c`` for this interpreter into ``folder``."""
    here = Path(__file__).parent
    built = folder / f"_events{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [
        *shlex.split(os.environ.get("CC", "gcc")),
        *("-shared", "-fPIC", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"),
        f"-I{sysconfig.get_path('include')}",
        f"-I{here.parents[1] / 'src/pellucid/capture/bridge'}",
        *(str(here / "_events.c"), "-o", str(built)),
    ]
    subprocess.run(command, check=True)
    return built


def load_built(built: Path) -> Events:
    """The compiled extension, told where the core is."""
    spec = importlib.util.spec_from_file_location("_events", built)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    events = cast(Events, module)
    events.attach(_core.api())
    return events


class Entry(NamedTuple):
    """What a node stands for."""

    kind: str
    name: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if self.kind == "python":  # 3.10 knows the last part only
            return self.name.rpartition(".")[2]
        return f"{self.kind} {self.name}"


Path_ = tuple[Entry, ...]


class Recorded:
    """A recording by path; empty until it has ended."""

    def __init__(self) -> None:
        self.raw: Any = None

    @property
    def losses(self) -> dict[str, int]:
        losses: dict[str, int] = self.raw["losses"]
        return losses

    @cached_property
    def paths(self) -> list[Path_]:
        """By node: its path from the thread down; node 0 has none."""
        entries = [
            Entry(kind, name, file, line) for kind, name, file, line, _ in self.raw["frames"]
        ]
        paths: list[Path_] = [()]
        parents, frames = _column("I", self.raw["parent"]), _column("I", self.raw["frame"])
        for node in range(1, len(parents)):
            paths.append((*paths[parents[node]], entries[frames[node]]))
        return paths

    def stats(self, metric: str) -> dict[Path_, Stat]:
        """The nodes that have the metric; fails where two nodes share a path."""
        found: dict[Path_, Stat] = {}
        for path, stat in zip(self.paths, _stats(self.raw[metric]), strict=True):
            if stat.count:
                assert path not in found, f"two nodes at {path}"
                found[path] = stat
        return found

    def path_of(self, name: str) -> Path_:
        """The path of the only node of that name."""
        (path,) = {path for path in self.paths if path and path[-1].name == name}
        return path

    def shown(self, name: str) -> list[str]:
        """The path of the only node of that name, from below the function that asks."""
        words = [str(entry) for entry in self.path_of(name)]
        return words[words.index(sys._getframe(1).f_code.co_name) + 1 :]

    def around(self, name: str) -> list[str]:
        """The regions and operators around the only node of that name, itself included."""
        return [str(e) for e in self.path_of(name) if e.kind in ("region", "operator")]

    def count(self, name: str) -> int:
        """How many events of that name have ended, wherever."""
        stats = zip(self.paths, _stats(self.raw["duration"]), strict=True)
        return sum(stat.count for path, stat in stats if path and path[-1].name == name)

    def origin(self, node: int) -> int:
        """The forward node of a backward node; 0: none."""
        return _column("I", self.raw["origin"])[node]

    def node_of(self, name: str) -> int:
        (node,) = (i for i, path in enumerate(self.paths) if path and path[-1].name == name)
        return node


@contextmanager
def recording(threads: dict[int, str] | None = None) -> Iterator[Recorded]:
    """Record with the core alone; the calling thread has no open scope left afterwards."""
    recorded = Recorded()
    _core.start(PACKAGE, threads or {}, None)
    try:
        yield recorded
        assert _core.open_scopes() == 0
    finally:
        recorded.raw = _core.stop()
        _core.set_clock(None)


class Witness:
    """Runs events, and notes what the interpreter itself says of the place of each."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.seen: dict[str, list[Entry]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """One event; gives the first argument back, so that it fits wherever a function does."""
        name = f"event {len(self.seen)}"
        self._events.event(OPERATOR, name, lambda: self._note(name))
        return arguments[0] if arguments else None

    def _note(self, name: str) -> None:
        # Above are this function and the lambda, which run inside the event.
        self.seen[name] = frames_of(sys._getframe(2))

    def check(self, recorded: Recorded) -> None:
        """Every event was recorded at the place that was noted."""
        assert self.seen
        for name, expected in self.seen.items():
            path = recorded.path_of(name)
            assert [e for e in path if e.kind == "python"] == expected


def frames_of(frame: FrameType | None) -> list[Entry]:
    """What the interpreter says of a frame and all its callers, outermost first."""
    entries = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)  # 3.11 on
        entries.append(Entry("python", name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return entries[::-1]


def join(thread: threading.Thread) -> None:
    """Wait until the system's thread is gone, which outlives Python's by what ends it."""
    thread.join()
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        time.sleep(0)


def _column(typecode: str, data: bytes) -> array[int]:
    values: array[int] = array(typecode)
    values.frombytes(data)
    return values


def _stats(columns: tuple[bytes, ...]) -> list[Stat]:
    values = [_column("Q", data) for data in columns[:4]] + [_column("d", columns[4])]
    return [Stat(*row) if row[0] else Stat(0) for row in zip(*values, strict=True)]
