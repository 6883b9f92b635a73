"""Backward work below its forward, against walking up from every node."""

from hypothesis import given
from hypothesis import strategies as st

from pellucid.analysis import LogicalTree
from pellucid.model import Profile, ProfileBuilder

Shape = tuple[list[int], list[tuple[int, int]]]

SIZE = 25
parent_lists = st.lists(st.integers(-1, SIZE), min_size=1, max_size=SIZE).map(
    lambda draws: [min(draw, node - 1) for node, draw in enumerate(draws)]
)
pairs = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
edge_lists = st.lists(
    st.tuples(st.sampled_from(["backward_of", "recompute_of"]), pairs), max_size=8
)


def make(parents: list[int], edges: list[tuple[str, tuple[int, int]]]) -> Profile:
    builder = ProfileBuilder()
    builder.run()
    frame = builder.frame("operator", "x")
    for parent in parents:
        builder.node(parent if parent >= 0 else None, frame)
    for kind, (src, dst) in edges:
        if src < len(parents) and dst < len(parents):
            builder.edge(kind, src, dst)
    return builder.finish()


@given(parent_lists, edge_lists)
def test_edges_to_earlier_nodes_are_all_followed(
    parents: list[int], edges: list[tuple[str, tuple[int, int]]]
) -> None:
    forward = [(kind, (max(pair), min(pair))) for kind, pair in edges if pair[0] != pair[1]]
    profile = make(parents, forward)
    moved: dict[int, int] = {}
    for edge in profile.edges:
        moved.setdefault(edge.src, edge.dst)

    logical = LogicalTree(profile)

    expected = [moved.get(node, parent) for node, parent in enumerate(parents)]
    assert list(logical.parents) == expected
    for node in range(len(parents)):
        above, ran_inside = node, False
        while above >= 0:
            ran_inside |= above in moved
            above = parents[above]
        assert logical.in_backward[node] == ran_inside


@given(parent_lists, edge_lists)
def test_circles_lose_nothing(parents: list[int], edges: list[tuple[str, tuple[int, int]]]) -> None:
    profile = make(parents, edges)
    targets: dict[int, int] = {}
    for edge in profile.edges:
        targets.setdefault(edge.src, edge.dst)

    logical = LogicalTree(profile)

    assert sorted(logical.forest.order) == list(range(len(parents)))
    for node, parent in enumerate(logical.parents):
        assert parent in (parents[node], targets.get(node, parents[node]))


def test_a_move_below_itself_is_not_made() -> None:
    profile = make([-1, 0, 1], [("backward_of", (1, 2))])

    logical = LogicalTree(profile)

    assert list(logical.parents) == [-1, 0, 1]
    assert list(logical.in_backward) == [0, 1, 1]


def test_two_backwards_that_claim_each_other_stay_where_they_ran() -> None:
    profile = make([-1, 0, 0], [("backward_of", (1, 2)), ("backward_of", (2, 1))])

    assert list(LogicalTree(profile).parents) == [-1, 0, 0]


def test_launches_move_nothing() -> None:
    builder = ProfileBuilder()
    frame = builder.frame("runtime", "cudaLaunchKernel")
    first, second = builder.node(None, frame), builder.node(None, frame)
    builder.edge("launched_by", second, first)

    assert list(LogicalTree(builder.finish()).parents) == [-1, -1]


def test_the_engine_counts_as_backward_and_stays_where_it_ran() -> None:
    builder = ProfileBuilder()
    engine_name = "autograd::engine::evaluate_function: MulBackward0"
    names = ["aten::mul", engine_name, "hook", "MulBackward0"]
    mul, engine, hook, backward = (builder.frame("operator", name) for name in names)
    forward = builder.node(None, mul)
    line = builder.node(None, builder.frame("python", engine_name, file="a.py", line=1))
    evaluate = builder.node(line, engine)
    builder.node(evaluate, hook)
    builder.edge("backward_of", builder.node(evaluate, backward), forward)

    logical = LogicalTree(builder.finish())

    assert list(logical.parents) == [-1, -1, line, evaluate, forward]
    assert list(logical.in_backward) == [0, 0, 1, 1, 1]
