"""A profile: everything that one recording left, to be read."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce

from pellucid.model.columns import StatColumns
from pellucid.model.forest import Forest
from pellucid.model.frame import Frame, FrameKind
from pellucid.model.records import (
    Artifact,
    CompileEntry,
    Edge,
    Link,
    Loss,
    Metric,
    Run,
    Source,
    Step,
)
from pellucid.model.stat import Stat

__all__ = ["Node", "Profile"]


class Profile:
    """One tree of call paths with its metrics. Not changed after it was made.

    ``parents`` and ``frame_ids`` are columns indexed by node id; a parent has a smaller id than
    its children, roots have parent -1. ``columns`` holds the stats by (metric, run).
    :class:`ProfileBuilder` makes profiles, :func:`load` reads them.
    """

    def __init__(
        self,
        *,
        frames: Sequence[Frame],
        parents: Sequence[int],
        frame_ids: Sequence[int],
        metrics: Mapping[str, Metric],
        columns: Mapping[tuple[str, int], StatColumns],
        runs: Sequence[Run] = (),
        edges: Sequence[Edge] = (),
        steps: Sequence[Step] = (),
        losses: Sequence[Loss] = (),
        sources: Mapping[str, Source] | None = None,
        compiles: Sequence[CompileEntry] = (),
        artifacts: Sequence[Artifact] = (),
        links: Sequence[Link] = (),
        meta: Mapping[str, str] | None = None,
    ) -> None:
        self.frames = frames
        self.parents = parents
        self.frame_ids = frame_ids
        self.metrics = dict(metrics)
        self.runs = list(runs)
        self.edges = list(edges)
        self.steps = list(steps)
        self.losses = list(losses)
        self.sources = dict(sources or {})
        self.compiles = list(compiles)
        self._artifacts = list(artifacts)
        self.links = list(links)
        self.meta = dict(meta or {})
        self.columns = dict(columns)
        self._selfs: dict[str, array[float]] = {}
        self._totals: dict[str, array[float]] = {}

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.parents)

    def node(self, id: int) -> Node:
        """The node with this id; ``IndexError`` if there is none."""
        if not 0 <= id < len(self):
            raise IndexError(f"no node {id}: this profile has {len(self)}")
        return Node(self, id)

    @property
    def roots(self) -> list[Node]:
        """The nodes without a parent: threads, as a rule."""
        return [Node(self, id) for id in self.forest.roots]

    def nodes(
        self,
        kind: FrameKind | str | None = None,
        name: str | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> list[Node]:
        """The nodes whose frame has all that is asked for, in the order of their ids."""
        wanted = bytearray(
            kind in (None, frame.kind)
            and name in (None, frame.name)
            and file in (None, frame.file)
            and line in (None, frame.line)
            for frame in self.frames
        )
        return [Node(self, id) for id, frame in enumerate(self.frame_ids) if wanted[frame]]

    def artifacts(self, kind: str | None = None) -> list[Artifact]:
        """The texts that compilers made, all or those of one kind, in the order of their ids."""
        return [each for each in self._artifacts if kind in (None, each.kind)]

    def total(self, nodes: Iterable[Node | int], metric: str) -> float:
        """The metric's sum over the subtrees of ``nodes``, each node counted once.

        Of nodes within one another (recursion) the topmost counts. ``KeyError`` for a metric that
        the profile does not have.
        """
        totals = self.totals(metric)
        ids = (node if isinstance(node, int) else node.id for node in nodes)
        return sum(totals[id] for id in self.forest.topmost(ids))

    def stat(self, node: int, metric: str) -> Stat | None:
        """The node's stat of one metric over all runs, or None."""
        found = [
            stat
            for (name, _), columns in self.columns.items()
            if name == metric and (stat := columns.get(node)) is not None
        ]
        return reduce(Stat.merge, found) if found else None

    def selfs(self, metric: str) -> array[float]:
        """The metric's sum at each node alone, over all runs; 0 where nothing is known."""
        if metric not in self._selfs:
            self._selfs[metric] = self._sum_columns(metric)
        return self._selfs[metric]

    def counts(self, metric: str) -> array[int]:
        """The metric's count at each node, over all runs."""
        counts = array("q", [0]) * len(self)
        for columns in self._columns_of(metric):
            for node, count in zip(columns.node, columns.count, strict=True):
                counts[node] += count
        return counts

    def totals(self, metric: str) -> array[float]:
        """The metric's sum over each node's subtree."""
        if metric not in self._totals:
            totals = array("d", self.selfs(metric))
            for node in range(len(totals) - 1, -1, -1):
                parent = self.parents[node]
                if parent >= 0:
                    totals[parent] += totals[node]
            self._totals[metric] = totals
        return self._totals[metric]

    @cached_property
    def forest(self) -> Forest:
        """Children and preorder of the nodes."""
        return Forest(self.parents)

    def _columns_of(self, metric: str) -> list[StatColumns]:
        if metric not in self.metrics:
            known = ", ".join(self.metrics) or "none"
            raise KeyError(f"this profile has no metric {metric!r}; it has: {known}")
        return [columns for (name, _), columns in self.columns.items() if name == metric]

    def _sum_columns(self, metric: str) -> array[float]:
        sums = array("d", [0.0]) * len(self)
        for columns in self._columns_of(metric):
            for node, value in zip(columns.node, columns.sum, strict=True):
                if value == value:  # a calls-only row holds NaN
                    sums[node] += value
        return sums


class Node:
    """One node of a profile's tree: a light view, equal to every other view of the same node."""

    __slots__ = ("id", "profile")

    def __init__(self, profile: Profile, id: int) -> None:
        self.profile = profile
        self.id = id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self.profile is other.profile and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.frame.kind} {self.frame.name!r}>"

    @property
    def frame(self) -> Frame:
        """What runs here."""
        return self.profile.frames[self.profile.frame_ids[self.id]]

    @property
    def parent(self) -> Node | None:
        """The node above; None for a root."""
        parent = self.profile.parents[self.id]
        return None if parent < 0 else Node(self.profile, parent)

    @property
    def children(self) -> list[Node]:
        """The nodes right below, in the order in which they were made."""
        return [Node(self.profile, id) for id in self.profile.forest.children(self.id)]

    @property
    def path(self) -> tuple[Frame, ...]:
        """The frames from the root down to this node, itself included."""
        frames = []
        id = self.id
        while id >= 0:
            frames.append(self.profile.frames[self.profile.frame_ids[id]])
            id = self.profile.parents[id]
        return tuple(reversed(frames))

    @property
    def stats(self) -> Mapping[str, Stat]:
        """Metric name → what was measured at this node alone, over all runs."""
        found = ((name, self.profile.stat(self.id, name)) for name in self.profile.metrics)
        return {name: stat for name, stat in found if stat is not None}

    def total(self, metric: str) -> float:
        """The metric's sum over this node and all below; ``KeyError`` for an unknown metric."""
        return self.profile.totals(metric)[self.id]
