"""What the report holds of each node, in columns."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice
from operator import lt

from pellucid.analysis import LogicalTree, node_calls
from pellucid.model import Edge, Link, Profile
from pellucid.model.columns import StatColumns
from pellucid.report.layers import layers

__all__ = ["Nodes", "Rows", "nodes_of"]


@dataclass(frozen=True)
class Rows:
    """The stats of one metric over all runs, in the order of nodes.

    ``numbers`` are count, sum, min, max and m2 in columns; NaN where not known.
    """

    node: array[int]
    numbers: tuple[array[float], ...]


@dataclass(frozen=True)
class Nodes:
    """The tree with all that belongs to its nodes.

    ``small`` tells of each frame beyond the profile's own how many nodes were merged into it.
    """

    parent: array[int]
    frame: array[int]
    logical: array[int]
    layer: bytearray
    backward: bytearray
    calls: array[int]
    stats: dict[str, Rows]
    edges: list[Edge]
    links: list[Link]
    small: tuple[int, ...] = ()
    pruned: int = 0
    pruned_below_ns: float = 0.0

    def __len__(self) -> int:
        return len(self.parent)


def nodes_of(profile: Profile) -> Nodes:
    """All nodes of a profile."""
    logical = LogicalTree(profile)
    return Nodes(
        parent=array("i", profile.parents),
        frame=array("I", profile.frame_ids),
        logical=array("i", logical.parents),
        layer=layers(profile),
        backward=logical.in_backward,
        calls=node_calls(profile),
        stats={metric: _rows(profile, metric) for metric in profile.metrics},
        edges=profile.edges,
        links=profile.links,
    )


def _rows(profile: Profile, metric: str) -> Rows:
    runs = [columns for (name, _), columns in profile.columns.items() if name == metric]
    columns = runs[0] if len(runs) == 1 and _ascending(runs[0].node) else StatColumns()
    if columns not in runs:
        for node in sorted({node for run in runs for node in run.node}):
            for stat in filter(None, (run.get(node) for run in runs)):
                columns.add(node, stat)
    count = array("d", columns.count)
    return Rows(columns.node, (count, columns.sum, columns.min, columns.max, columns.m2))


def _ascending(values: array[int]) -> bool:
    return all(map(lt, values, islice(values, 1, None)))
