"""Building a profile: what live capture and importers fill."""

import hashlib
import json
from array import array
from collections.abc import Mapping
from math import isfinite
from typing import Any

from pellucid.model.columns import StatColumns
from pellucid.model.frame import Frame, FrameKind, canonical_json
from pellucid.model.profile import Profile
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

__all__ = ["ProfileBuilder"]

MAX_ATTRS_DEPTH = 16


class ProfileBuilder:
    """Collects frames, nodes and numbers, then gives the :class:`Profile`.

    Ids are dense: frames and nodes count from 0, runs from 1. ``ValueError`` for what cannot be:
    an unknown parent, a number that is not finite, a metric that was never declared.
    """

    def __init__(self) -> None:
        self.meta: dict[str, str] = {}
        self._frames: dict[Frame, int] = {}
        self._parents = array("q")
        self._frame_ids = array("q")
        self._children: dict[int, int] = {}
        self._metrics: dict[str, Metric] = {}
        self._columns: dict[tuple[str, int], StatColumns] = {}
        self._runs: list[Run] = []
        self._edges: dict[Edge, None] = {}
        self._steps: list[Step] = []
        self._losses: dict[tuple[int, str, str], int] = {}
        self._sources: dict[str, Source] = {}
        self._compiles: list[CompileEntry] = []
        self._artifacts: list[Artifact] = []
        self._links: dict[Link, None] = {}

    def frame(
        self,
        kind: FrameKind | str,
        name: str,
        *,
        file: str | None = None,
        line: int | None = None,
        first_line: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> int:
        """The id of the frame with this content, made when it is first asked for."""
        frame = Frame.of(kind, name, file=file, line=line, first_line=first_line, attrs=attrs)
        return self._frames.setdefault(frame, len(self._frames))

    def node(self, parent: int | None, frame: int) -> int:
        """A new node below ``parent`` (None: a root), even if it has a sibling of that frame."""
        above = self._check_place(parent, frame)
        id = len(self._parents)
        self._parents.append(above)
        self._frame_ids.append(frame)
        self._children.setdefault(_child_key(above, frame), id)
        return id

    def child(self, parent: int | None, frame: int) -> int:
        """The first node of that frame below ``parent``, made when there is none."""
        above = self._check_place(parent, frame)
        found = self._children.get(_child_key(above, frame))
        return self.node(parent, frame) if found is None else found

    def metric(self, name: str, unit: str, help: str) -> None:
        """Declare a metric of one's own; the contract's need no declaration."""
        self._metrics[name] = Metric(name, unit, help)

    def stat(self, node: int, metric: str, stat: Stat, run: int = 1) -> None:
        """Give a node a metric's aggregate; a second one is merged into the first."""
        self._check_node(node)
        _check_stat(stat)
        columns = self._columns.get((metric, run))
        if columns is None:
            columns = self._add_column(metric, run)
        columns.add(node, stat)

    def edge(self, kind: EdgeKind | str, src: int, dst: int) -> None:
        """Link two nodes: ``src`` is ``backward_of`` / ``launched_by`` / … ``dst``."""
        self._check_node(src)
        self._check_node(dst)
        self._edges[Edge(EdgeKind(kind), src, dst)] = None

    def run(
        self,
        *,
        rank: int | None = None,
        world: int | None = None,
        host: str = "",
        pid: int = 0,
        start_ns: int = 0,
        wall_ns: int = 0,
        threads: int = 0,
        complete: bool = True,
        ended: str = "",
    ) -> int:
        """Add a run and give its id, the first being 1."""
        id = len(self._runs) + 1
        self._runs.append(
            Run(id, rank, world, host, pid, start_ns, wall_ns, threads, complete, ended)
        )
        return id

    def step(self, run: int, idx: int, name: str, start_ns: int, duration_ns: int) -> None:
        """Add one step of a run."""
        self._steps.append(Step(run, idx, name, start_ns, duration_ns))

    def loss(self, kind: str, count: int, detail: str, run: int = 1) -> None:
        """Count something that was not seen; the same kind and detail add up."""
        key = (run, kind, detail)
        self._losses[key] = self._losses.get(key, 0) + count

    def source(self, path: str, text: str) -> None:
        """Keep the text of a source file."""
        self._sources[path] = Source(path, source_hash(text), text)

    def compile_entry(
        self,
        kind: CompileKind | str,
        name: str,
        *,
        parent: int | None = None,
        run: int = 1,
        file: str | None = None,
        line: int | None = None,
        status: str = "",
        duration_ns: int | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> int:
        """Add something that a compiler did, and give its id."""
        self._check_compile(parent)
        _check_whole("a line", line)
        _check_whole("a duration", duration_ns, 0)
        id = len(self._compiles)
        text = _detail_text(detail or {})
        known = CompileKind(kind)
        self._compiles.append(
            CompileEntry(id, run, parent, known, name, file, line, status, duration_ns, text)
        )
        return id

    def artifact(
        self,
        kind: str,
        name: str,
        text: str,
        *,
        compile: int | None = None,
        language: str = "",
        origin: str = "",
    ) -> int:
        """Add a text that a compiler made, and give its id."""
        self._check_compile(compile)
        id = len(self._artifacts)
        self._artifacts.append(Artifact(id, compile, kind, name, language, text, origin))
        return id

    def link(
        self,
        *,
        artifact: int | None = None,
        compile: int | None = None,
        line: int | None = None,
        end_line: int | None = None,
        file: str | None = None,
        source_line: int | None = None,
        node: int | None = None,
    ) -> None:
        """Link lines of an artifact, a source line and a node; the same link is kept once."""
        self._check_compile(compile)
        if artifact is not None and not 0 <= artifact < len(self._artifacts):
            raise ValueError(f"no artifact {artifact}: make it with artifact() first")
        if node is not None:
            self._check_node(node)
        _check_whole("an artifact's line", line, 1)
        _check_whole("an artifact's last line", end_line, line or 1)
        _check_whole("a source line", source_line)
        self._links[Link(artifact, compile, line, end_line, file, source_line, node)] = None

    def finish(self) -> Profile:
        """The profile of all that was given; the builder must not be used afterwards."""
        self._check_runs()
        return Profile(
            frames=list(self._frames),
            parents=self._parents,
            frame_ids=self._frame_ids,
            metrics=self._metrics,
            columns=self._columns,
            runs=self._runs,
            edges=list(self._edges),
            steps=self._steps,
            losses=[Loss(run, kind, n, what) for (run, kind, what), n in self._losses.items()],
            sources=self._sources,
            compiles=self._compiles,
            artifacts=self._artifacts,
            links=list(self._links),
            meta=self.meta,
        )

    def _add_column(self, metric: str, run: int) -> StatColumns:
        if metric not in self._metrics:
            if metric not in METRICS:
                raise ValueError(f"metric {metric!r} is not declared: call metric() first")
            self._metrics[metric] = METRICS[metric]
        return self._columns.setdefault((metric, run), StatColumns())

    def _check_place(self, parent: int | None, frame: int) -> int:
        if not 0 <= frame < len(self._frames):
            raise ValueError(f"no frame {frame}: make it with frame() first")
        if parent is None:
            return -1
        self._check_node(parent)
        return parent

    def _check_node(self, node: int) -> None:
        if not 0 <= node < len(self._parents):
            raise ValueError(f"no node {node}: make it with node() or child() first")

    def _check_compile(self, entry: int | None) -> None:
        if entry is not None and not 0 <= entry < len(self._compiles):
            raise ValueError(f"no compile entry {entry}: make it with compile_entry() first")

    def _check_runs(self) -> None:
        used = {run for _, run in self._columns}
        used.update(step.run for step in self._steps)
        used.update(run for run, _, _ in self._losses)
        used.update(entry.run for entry in self._compiles)
        unknown = used - {run.id for run in self._runs}
        if unknown:
            raise ValueError(f"no run {min(unknown)}: add it with run() before finish()")


def source_hash(text: str) -> str:
    """SHA-256 of the text in UTF-8, lone surrogates passed through."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def deeper_than(value: Any, levels: int) -> bool:
    """Whether decoded JSON has containers within containers further down than that."""
    current = [value]
    for _ in range(levels):
        current = [
            child
            for item in current
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not current:
            return False
    return any(isinstance(item, (dict, list)) for item in current)


def _detail_text(detail: Mapping[str, Any]) -> str:
    try:
        text = canonical_json(detail)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold this detail: {error}") from None
    if deeper_than(json.loads(text), MAX_ATTRS_DEPTH):
        raise ValueError(f"a detail has at most {MAX_ATTRS_DEPTH} levels")
    return text


def _check_whole(what: str, value: int | None, low: int = -(2**63)) -> None:
    if value is not None and not (isinstance(value, int) and low <= value < 2**63):
        raise ValueError(f"{what} of {value!r} is no whole number in its range")


def _child_key(parent: int, frame: int) -> int:
    return (parent + 1) << 32 | frame


def _check_stat(stat: Stat) -> None:
    values = (stat.sum, stat.min, stat.max, stat.m2)
    if stat.count < 0 or stat.count >= 2**63:
        raise ValueError(f"a count of {stat.count} is out of range")
    known = [value for value in values if value is not None]
    if len(known) not in (0, len(values)):
        raise ValueError("a stat has all of sum, min, max and m2, or none of them")
    if not all(map(isfinite, known)):
        raise ValueError(f"the numbers of a stat must be finite: {stat}")
