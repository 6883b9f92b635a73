"""Preorder, children and topmost nodes against walking up from every node."""

from hypothesis import given
from hypothesis import strategies as st

from pellucid.model import Forest

forests = st.lists(st.integers(-1, 30), max_size=30).map(
    lambda draws: [min(draw, node - 1) for node, draw in enumerate(draws)]
)


def ancestors(parents: list[int], node: int) -> list[int]:
    """The node and all above it."""
    found = []
    while node >= 0:
        found.append(node)
        node = parents[node]
    return found


@given(forests)
def test_a_subtree_is_a_slice_of_the_preorder(parents: list[int]) -> None:
    forest = Forest(parents)

    assert sorted(forest.order) == list(range(len(parents)))
    for node in range(len(parents)):
        below = {other for other in range(len(parents)) if node in ancestors(parents, other)}
        assert set(forest.order[forest.begin[node] : forest.end[node]]) == below
        assert list(forest.children(node)) == [n for n, p in enumerate(parents) if p == node]
    assert list(forest.roots) == [node for node, parent in enumerate(parents) if parent < 0]


@given(forests, st.sets(st.integers(0, 29)))
def test_topmost_nodes_have_no_other_above(parents: list[int], chosen: set[int]) -> None:
    chosen = {node for node in chosen if node < len(parents)}

    expected = {node for node in chosen if not chosen & set(ancestors(parents, node)[1:])}

    assert set(Forest(parents).topmost(chosen)) == expected


def test_deep_chains_need_no_recursion() -> None:
    depth = 100_000

    forest = Forest(range(-1, depth - 1))

    assert forest.end[0] == depth


def test_parents_may_have_bigger_ids() -> None:
    forest = Forest([2, 0, -1])

    assert list(forest.order) == [2, 0, 1]
