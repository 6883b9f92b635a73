"""The pure-Python twin of the core's tree against plain lists of values by path."""

from collections import defaultdict
from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st
from test_stat import close

from pellucid.model import Stat, Tree

paths = st.lists(st.sampled_from("abc"), max_size=4).map(tuple)
events = st.lists(st.tuples(paths, st.integers(0, 10**9)), max_size=40)


def record(tree: Tree, path: tuple[str, ...], value: int) -> None:
    node = 0
    for key in path:
        node = tree.child(node, key)
    tree.record(node, value)


def assert_holds(tree: Tree, recorded: list[tuple[tuple[str, ...], int]]) -> None:
    expected: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for path, value in recorded:
        expected[path].append(value)
    found = {tree.path(node): stat for node, stat in enumerate(tree.stats)}
    assert len(found) == len(tree.stats), "two nodes have the same path"
    for found_path, stat in found.items():
        assert close(stat, Stat.of(expected.get(found_path, [])))
    assert all(path in found for path in expected)


@given(events)
def test_every_value_is_at_its_path(recorded: list[tuple[tuple[str, ...], int]]) -> None:
    tree = Tree()
    for path, value in recorded:
        record(tree, path, value)

    assert_holds(tree, recorded)


@given(events, events)
def test_merged_trees_hold_the_values_of_both(
    here: list[tuple[tuple[str, ...], int]], there: list[tuple[tuple[str, ...], int]]
) -> None:
    tree, other = Tree(), Tree()
    for path, value in here:
        record(tree, path, value)
    for path, value in there:
        record(other, path, value)

    tree.merge(other)

    assert_holds(tree, [*here, *there])


def test_parents_come_before_children() -> None:
    tree = Tree()
    for path in (("a", "b"), ("c",), ("a", "c", "b")):
        record(tree, path, 1)

    assert all(parent < node for node, parent in enumerate(tree.parents))
