"""The calling context tree in plain Python: the readable twin of the C++ core's.

Nothing is recorded with it; it is the oracle that the core and its merge are tested against.
"""

from collections.abc import Hashable

from pellucid.model.stat import Stat

__all__ = ["Tree"]


class Tree:
    """Nodes are numbers, parents before children; node 0 is the root."""

    def __init__(self) -> None:
        self.parents: list[int] = [-1]
        self.keys: list[Hashable] = [None]
        self.stats: list[Stat] = [Stat(0)]
        self._children: dict[tuple[int, Hashable], int] = {}

    def child(self, parent: int, key: Hashable) -> int:
        """The child of ``parent`` under ``key``, made when it is first asked for."""
        node = self._children.setdefault((parent, key), len(self.parents))
        if node == len(self.parents):
            self.parents.append(parent)
            self.keys.append(key)
            self.stats.append(Stat(0))
        return node

    def record(self, node: int, value: float) -> None:
        """Add one value to a node by Welford's update."""
        old = self.stats[node]
        if old.sum is None or old.min is None or old.max is None or old.m2 is None:
            self.stats[node] = Stat(1, value, value, value, 0.0)
            return
        count, total = old.count + 1, old.sum + value
        m2 = old.m2 + (value - old.sum / old.count) * (value - total / count)
        self.stats[node] = Stat(count, total, min(old.min, value), max(old.max, value), m2)

    def merge(self, other: "Tree") -> None:
        """Add another tree's nodes and values to this one, path by path."""
        here = [0]
        for node in range(1, len(other.parents)):
            here.append(self.child(here[other.parents[node]], other.keys[node]))
        for node, target in enumerate(here):
            self.stats[target] = Stat.merge(self.stats[target], other.stats[node])

    def path(self, node: int) -> tuple[Hashable, ...]:
        """The keys from below the root down to ``node``."""
        keys: list[Hashable] = []
        while node:
            keys.append(self.keys[node])
            node = self.parents[node]
        return tuple(reversed(keys))
