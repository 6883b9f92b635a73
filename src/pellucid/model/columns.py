"""Numbers in columns: what makes a million nodes affordable."""

import math
from array import array

from pellucid.model.stat import Stat

__all__ = ["StatColumns"]

_UNKNOWN = math.nan


class StatColumns:
    """The stats of one metric in one run: a row a node, found by node.

    Values are held as doubles: integers are exact up to 2**53, which is 104 days in ns.
    """

    def __init__(self) -> None:
        self.node = array("q")
        self.count = array("q")
        self.sum = array("d")
        self.min = array("d")
        self.max = array("d")
        self.m2 = array("d")
        self._row_of = array("q")

    def __len__(self) -> int:
        return len(self.node)

    def get(self, node: int) -> Stat | None:
        """The node's stat, or None."""
        row = self._row_of[node] if node < len(self._row_of) else -1
        return None if row < 0 else self._stat(row)

    def add(self, node: int, stat: Stat) -> None:
        """Give the node a stat; a second one is merged into the first."""
        before = self.get(node)
        if before is None:
            self.append(node, stat.count, stat.sum, stat.min, stat.max, stat.m2)
        else:
            self._set(self._row_of[node], Stat.merge(before, stat))

    def append(
        self,
        node: int,
        count: int,
        sum: float | None,
        min: float | None,
        max: float | None,
        m2: float | None,
    ) -> None:
        """Add the row of a node that has none yet."""
        missing = node + 1 - len(self._row_of)
        if missing > 0:
            self._row_of.extend(array("q", [-1]) * (missing + len(self._row_of) // 4))
        self._row_of[node] = len(self.node)
        self.node.append(node)
        self.count.append(count)
        self.sum.append(_UNKNOWN if sum is None else sum)
        self.min.append(_UNKNOWN if min is None else min)
        self.max.append(_UNKNOWN if max is None else max)
        self.m2.append(_UNKNOWN if m2 is None else m2)

    def _stat(self, row: int) -> Stat:
        if math.isnan(self.sum[row]):  # a calls-only row
            return Stat(self.count[row])
        return Stat(self.count[row], self.sum[row], self.min[row], self.max[row], self.m2[row])

    def _set(self, row: int, stat: Stat) -> None:
        self.count[row] = stat.count
        for column, value in (
            (self.sum, stat.sum),
            (self.min, stat.min),
            (self.max, stat.max),
            (self.m2, stat.m2),
        ):
            column[row] = _UNKNOWN if value is None else value
