"""Stats: the merge formula against the definition."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.model import Stat

values = st.lists(st.integers(0, 10**12), max_size=30)


def close(a: Stat, b: Stat) -> bool:
    spread = max(abs(b.max or 0), 1) ** 2
    return (a.count, a.sum, a.min, a.max) == (b.count, b.sum, b.min, b.max) and (
        (a.m2 is None and b.m2 is None)
        or math.isclose(a.m2 or 0, b.m2 or 0, rel_tol=1e-6, abs_tol=1e-9 * spread)
    )


@given(values, values)
def test_merge_is_the_stat_of_all_values(a: list[int], b: list[int]) -> None:
    merged = Stat.merge(Stat.of(a), Stat.of(b))

    assert close(merged, Stat.of([*a, *b]))


def test_known_numbers() -> None:
    stat = Stat.of([2, 4, 4, 4, 5, 5, 7, 9])

    assert (stat.count, stat.sum, stat.min, stat.max, stat.m2) == (8, 40, 2, 9, 32)
    assert (stat.mean, stat.std) == (5, 2)


def test_calls_only_rows_know_nothing_else_and_stay_so() -> None:
    calls = Stat.merge(Stat(3), Stat.of([1, 2]))

    assert calls == Stat(5)
    assert calls.mean is None
    assert calls.std is None


@pytest.mark.parametrize("other", [Stat(0), Stat.of([])])
def test_nothing_merged_changes_nothing(other: Stat) -> None:
    assert Stat.merge(other, Stat.of([3])) == Stat.merge(Stat.of([3]), other) == Stat.of([3])
