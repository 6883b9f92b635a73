"""Trees as an array of parents: children, preorder, and which nodes are topmost in a set."""

from array import array
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Forest"]


class Forest:
    """Trees given by each node's parent (-1: a root), which must hold no cycle.

    ``order`` is the preorder; a subtree is the slice ``begin[node]:end[node]`` of it, so that
    "is below" is a comparison of numbers. Everything is linear, and no depth is too deep.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self._parents = parents
        self._first = array("q", [-1]) * len(parents)
        self._next = array("q", [-1]) * len(parents)
        self._first_root = -1
        for node in range(len(parents) - 1, -1, -1):
            parent = parents[node]
            if parent < 0:
                self._next[node], self._first_root = self._first_root, node
            else:
                self._next[node], self._first[parent] = self._first[parent], node
        self.order = array("q")
        self.begin = array("q", [0]) * len(parents)
        self.end = array("q", [0]) * len(parents)
        self._walk()

    @property
    def roots(self) -> Iterator[int]:
        """The nodes without a parent, in the order of their ids."""
        return self._siblings(self._first_root)

    def children(self, node: int) -> Iterator[int]:
        """The nodes right below, in the order of their ids."""
        return self._siblings(self._first[node])

    def topmost(self, nodes: Iterable[int]) -> list[int]:
        """Those of ``nodes`` that have none of the others above them, in preorder."""
        found: list[int] = []
        covered = 0
        for node in sorted(set(nodes), key=self.begin.__getitem__):
            if self.begin[node] >= covered:
                found.append(node)
                covered = self.end[node]
        return found

    def _siblings(self, node: int) -> Iterator[int]:
        while node >= 0:
            yield node
            node = self._next[node]

    def _walk(self) -> None:
        order, first, following = self.order, self._first, self._next
        node = self._first_root
        while node >= 0:
            self.begin[node] = len(order)
            order.append(node)
            if first[node] >= 0:
                node = first[node]
                continue
            self.end[node] = len(order)
            while following[node] < 0 and self._parents[node] >= 0:
                node = self._parents[node]
                self.end[node] = len(order)
            node = following[node]
