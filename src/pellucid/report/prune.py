"""Merging what is too small to matter, so that a page stays light.

The nodes that matter most are kept, each with all above it. What is left out below a kept node
becomes one node of kind ``small`` there, or a few: work that belongs elsewhere in the logical tree
stays apart. So additive metrics keep their sums below every kept node, where things ran as well as
in the logical tree. Distributions do not survive, and ``duration`` neither.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from pellucid.model import Edge, Forest, Profile
from pellucid.report.columns import Nodes, Rows
from pellucid.report.layers import LAYERS

__all__ = ["prune"]


def prune(profile: Profile, nodes: Nodes, most: int) -> Nodes:
    """The nodes, so many of the smallest merged that at most ``most`` are left.

    Only the roots, and one or a few small nodes below each, are always there.
    """
    weights = _weights(profile, nodes)
    order = Forest(nodes.logical).order
    importance = _importance(nodes, weights, order)
    ranked = sorted(range(len(nodes)), key=importance.__getitem__, reverse=True)
    keep = most * 3 // 4
    merge = _merge(nodes, order, ranked[:keep])
    while len(merge) > most and keep:
        keep = min(keep * most // len(merge), keep * 3 // 4)
        merge = _merge(nodes, order, ranked[:keep])
    limit = importance[ranked[keep]]
    return _merged(profile, nodes, merge, weights, limit if math.isfinite(limit) else 0.0)


class _Group(NamedTuple):
    """What tells a small node from others, in new numbers."""

    parent: int
    logical: int
    backward: int


class _Merge(NamedTuple):
    """Where each node goes: ``place`` is its new number, the groups come after the ``kept``."""

    kept: list[int]
    groups: list[_Group]
    place: array[int]

    def __len__(self) -> int:
        return len(self.kept) + len(self.groups)


def _weights(profile: Profile, nodes: Nodes) -> array[float]:
    """The time of each node alone, of whatever kind."""
    weights = array("d", [0.0]) * len(nodes)
    for name, metric in profile.metrics.items():
        if metric.additive and metric.unit == "ns":
            for node, value in enumerate(profile.selfs(name)):
                weights[node] += value
    return weights


def _importance(nodes: Nodes, weights: Sequence[float], order: Sequence[int]) -> array[float]:
    """The time below each node, where it ran or logically, and no less than that of a child."""
    ran, logical = array("d", weights), array("d", weights)
    for node in range(len(nodes) - 1, -1, -1):
        if nodes.parent[node] >= 0:
            ran[nodes.parent[node]] += ran[node]
    for node in reversed(order):
        if nodes.logical[node] >= 0:
            logical[nodes.logical[node]] += logical[node]
    importance = array("d", map(max, ran, logical))
    for node in range(len(nodes) - 1, -1, -1):
        parent = nodes.parent[node]
        if parent >= 0 and importance[node] > importance[parent]:
            importance[parent] = importance[node]
    return importance


def _merge(nodes: Nodes, order: Sequence[int], wanted: Sequence[int]) -> _Merge:
    kept, home = _kept(nodes, wanted)
    place = array("q", [-1]) * len(nodes)
    for number, node in enumerate(kept):
        place[node] = number
    groups: dict[_Group, int] = {}
    for node in order:  # logically from above: the place of what a node belongs to is known
        if place[node] >= 0:
            continue
        parent, above = nodes.parent[node], nodes.logical[node]
        if above == parent != home[node] and nodes.backward[node] == nodes.backward[parent]:
            place[node] = place[parent]
        else:
            group = _Group(place[home[node]], place[above], nodes.backward[node])
            place[node] = groups.setdefault(group, len(kept) + len(groups))
    return _Merge(kept, list(groups), place)


def _kept(nodes: Nodes, wanted: Sequence[int]) -> tuple[list[int], array[int]]:
    """The nodes that stay, with roots and only below others that stay; the nearest such of each."""
    is_wanted = bytearray(len(nodes))
    for node in wanted:
        is_wanted[node] = 1
    kept: list[int] = []
    home = array("q")
    for node, parent in enumerate(nodes.parent):
        if parent < 0 or (is_wanted[node] and home[parent] == parent):
            kept.append(node)
            home.append(node)
        else:
            home.append(home[parent])
    return kept, home


def _merged(
    profile: Profile, nodes: Nodes, merge: _Merge, weights: Sequence[float], limit: float
) -> Nodes:
    kept, groups, place = merge
    sizes = [0] * len(groups)
    for number in place:
        if number >= len(kept):
            sizes[number - len(kept)] += 1
    frames = {size: len(profile.frames) + at for at, size in enumerate(dict.fromkeys(sizes))}
    return Nodes(
        parent=array("i", (_at(place, nodes.parent[node]) for node in kept))
        + array("i", (group.parent for group in groups)),
        frame=array("I", (nodes.frame[node] for node in kept))
        + array("I", (frames[size] for size in sizes)),
        logical=array("i", (_at(place, nodes.logical[node]) for node in kept))
        + array("i", (group.logical for group in groups)),
        layer=bytearray(nodes.layer[node] for node in kept) + _layers(nodes, merge, weights),
        backward=bytearray(nodes.backward[node] for node in kept)
        + bytearray(group.backward for group in groups),
        calls=array("q", (nodes.calls[node] for node in kept)) + array("q", [0]) * len(groups),
        stats={
            name: _rows(rows, merge, additive=profile.metrics[name].additive)
            for name, rows in nodes.stats.items()
        },
        edges=_edges(nodes, place),
        links=list(
            dict.fromkeys(
                link if link.node is None else link._replace(node=place[link.node])
                for link in nodes.links
            )
        ),
        small=tuple(frames),
        pruned=len(nodes) - len(kept),
        pruned_below_ns=limit,
    )


def _at(place: Sequence[int], node: int) -> int:
    return -1 if node < 0 else place[node]


def _layers(nodes: Nodes, merge: _Merge, weights: Sequence[float]) -> bytearray:
    """The layer in which each small node spends most."""
    width = len(LAYERS)
    spent = array("d", [0.0]) * (len(merge.groups) * width)
    first = len(merge.kept)
    for number, layer, weight in zip(merge.place, nodes.layer, weights, strict=True):
        if number >= first:
            spent[(number - first) * width + layer] += weight
    shares = (spent[start : start + width] for start in range(0, len(spent), width))
    return bytearray(max(range(width), key=share.__getitem__) for share in shares)


def _rows(rows: Rows, merge: _Merge, *, additive: bool) -> Rows:
    """Rows of kept nodes as they are; those of others summed up, or dropped."""
    first = len(merge.kept)
    places = [merge.place[node] for node in rows.node]
    own = [row for row, number in enumerate(places) if number < first]
    node = array("q", (places[row] for row in own))
    numbers = tuple(array("d", (column[row] for row in own)) for column in rows.numbers)
    if additive:
        sums = _sums(rows, places, first)
        node.extend(sums)
        for column, values in zip(numbers, zip(*sums.values(), strict=True), strict=False):
            column.extend(values)
        for column in numbers[2:]:
            column.extend(array("d", [math.nan]) * len(sums))
    return Rows(node, numbers)


def _sums(rows: Rows, places: Sequence[int], first: int) -> dict[int, tuple[float, float]]:
    """Count and sum of each small node that has any, in the order of nodes."""
    sums: dict[int, tuple[float, float]] = {}
    for number, count, value in zip(places, *rows.numbers[:2], strict=True):
        if number >= first:
            counted, summed = sums.get(number, (0.0, 0.0))
            known = value if value == value else 0.0  # a row that only counts calls holds NaN
            sums[number] = counted + count, summed + known
    return dict(sorted(sums.items()))


def _edges(nodes: Nodes, place: Sequence[int]) -> list[Edge]:
    moved = (Edge(edge.kind, place[edge.src], place[edge.dst]) for edge in nodes.edges)
    return list(dict.fromkeys(edge for edge in moved if edge.src != edge.dst))
