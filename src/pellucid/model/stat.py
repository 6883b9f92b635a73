"""Aggregates of a metric at a node."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Stat"]


@dataclass(frozen=True)
class Stat:
    """Count, sum, extremes and spread of a set of values, in the metric's unit.

    ``m2`` is the sum of squared differences from the mean. A calls-only row knows nothing but its
    count: the other four are None. Mixing such a row with a full one leaves a calls-only row,
    since the mean of values that were not all measured would be a lie.
    """

    count: int
    sum: float | None = None
    min: float | None = None
    max: float | None = None
    m2: float | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> "Stat":
        """Aggregate ``values``; of none at all it is a calls-only row of count 0."""
        seen = list(values)
        if not seen:
            return cls(0)
        total = math.fsum(seen)
        mean = total / len(seen)
        m2 = math.fsum((value - mean) ** 2 for value in seen)
        return cls(len(seen), total, min(seen), max(seen), m2)

    @property
    def mean(self) -> float | None:
        """The arithmetic mean, or None where nothing was measured."""
        return None if self.sum is None or not self.count else self.sum / self.count

    @property
    def std(self) -> float | None:
        """The population's standard deviation, or None where nothing was measured."""
        return None if self.m2 is None or not self.count else math.sqrt(self.m2 / self.count)

    @staticmethod
    def merge(a: "Stat", b: "Stat") -> "Stat":
        """The stat of both sets of values together (Chan, Golub and LeVeque's formula)."""
        if not a.count:
            return b
        if not b.count:
            return a
        count = a.count + b.count
        if (a.sum is None or a.min is None or a.max is None or a.m2 is None) or (
            b.sum is None or b.min is None or b.max is None or b.m2 is None
        ):
            return Stat(count)
        delta = b.sum / b.count - a.sum / a.count
        m2 = a.m2 + b.m2 + delta * delta * a.count * b.count / count
        return Stat(count, a.sum + b.sum, min(a.min, b.min), max(a.max, b.max), m2)
