"""The profile and its builder."""

import time

import pytest
from handmade import MS, handmade_profile

from pellucid.model import Frame, FrameKind, Profile, ProfileBuilder, Stat


def recursion() -> tuple[Profile, list[int]]:
    """f calls f calls f, 1 ms each, below a thread."""
    builder = ProfileBuilder()
    builder.run()
    frame = builder.frame("python", "f", file="a.py", line=1)
    node = builder.node(None, builder.frame("thread", "Main"))
    nodes = []
    for _ in range(3):
        node = builder.node(node, frame)
        builder.stat(node, "time", Stat.of([MS]))
        nodes.append(node)
    return builder.finish(), nodes


def test_a_node_knows_its_place_and_its_numbers() -> None:
    profile = handmade_profile()
    (addmm,) = profile.nodes(kind="operator", name="aten::addmm")

    assert addmm.frame == Frame.of("operator", "aten::addmm")
    assert [frame.name for frame in addmm.path][:2] == ["Main", "<module>"]
    assert addmm.path[-1] == addmm.frame
    assert addmm.parent is not None
    assert addmm in addmm.parent.children
    assert addmm.stats["time"] == Stat.of([20 * MS])
    assert addmm.stats["duration"].count == 4
    assert profile.roots[0].total("time") == 105 * MS
    assert profile.roots[0].parent is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"kind": FrameKind.OPERATOR}, 7),
        ({"kind": "module"}, 3),
        ({"name": "train"}, 2),
        ({"file": "/w/train.py", "line": 11}, 1),
        ({"kind": "python", "name": "Net"}, 0),
        ({}, 17),
    ],
)
def test_nodes_are_found_by_their_frame(query: dict[str, object], found: int) -> None:
    assert len(handmade_profile().nodes(**query)) == found  # type: ignore[arg-type]


def test_recursion_counts_the_topmost_node_once() -> None:
    profile, nodes = recursion()

    assert profile.total(nodes, "time") == 3 * MS
    assert profile.total(profile.nodes(name="f"), "time") == 3 * MS
    assert profile.total(nodes[1:], "time") == 2 * MS
    assert profile.total([], "time") == 0


def test_equal_frames_are_shared_and_attributes_are_part_of_them() -> None:
    builder = ProfileBuilder()

    a = builder.frame("module", "up", attrs={"class": "Linear", "root": "Net"})
    b = builder.frame("module", "up", attrs={"root": "Net", "class": "Linear"})
    c = builder.frame("module", "up", attrs={"root": "Net", "class": "Conv"})

    assert a == b != c


def test_node_makes_siblings_and_child_finds_the_first() -> None:
    builder = ProfileBuilder()
    frame = builder.frame("operator", "aten::mul")
    root = builder.node(None, frame)

    first, second = builder.node(root, frame), builder.node(root, frame)

    assert first != second
    assert builder.child(root, frame) == first
    assert builder.child(None, frame) == root
    assert builder.child(second, frame) not in (root, first, second)


def test_stats_of_several_runs_are_merged_when_asked_for_together() -> None:
    builder = ProfileBuilder()
    builder.run()
    builder.run()
    node = builder.node(None, builder.frame("operator", "aten::mul"))
    builder.stat(node, "time", Stat.of([1, 2]))
    builder.stat(node, "time", Stat.of([3]))
    builder.stat(node, "time", Stat.of([10]), run=2)
    profile = builder.finish()

    assert profile.node(node).stats["time"] == Stat.merge(Stat.of([1, 2, 3]), Stat.of([10]))
    assert profile.totals("time")[node] == 16
    assert profile.counts("time")[node] == 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b: b.node(7, 0),
        lambda b: b.node(None, 7),
        lambda b: b.child(0, -1),
        lambda b: b.frame("nonsense", "x"),
        lambda b: b.frame("module", "x", attrs={"size": float("nan")}),
        lambda b: b.stat(0, "furlongs", Stat(1)),
        lambda b: b.stat(5, "time", Stat(1)),
        lambda b: b.stat(0, "time", Stat(1, float("inf"), 1, 1, 0)),
        lambda b: b.stat(0, "time", Stat(1, 1)),
        lambda b: b.stat(0, "time", Stat(-1)),
        lambda b: b.edge("friend_of", 0, 0),
        lambda b: b.edge("backward_of", 0, 9),
    ],
)
def test_what_cannot_be_is_refused(wrong: object) -> None:
    builder = ProfileBuilder()
    builder.node(None, builder.frame("thread", "Main"))

    with pytest.raises(ValueError):
        wrong(builder)  # type: ignore[operator]


def test_numbers_of_a_run_that_was_never_added_are_refused() -> None:
    builder = ProfileBuilder()
    builder.loss("late_end", 1, "")

    with pytest.raises(ValueError, match="no run 1"):
        builder.finish()


def test_own_metrics_can_be_declared() -> None:
    builder = ProfileBuilder()
    builder.run()
    node = builder.node(None, builder.frame("thread", "Main"))
    builder.metric("furlongs", "1", "how far")
    builder.stat(node, "furlongs", Stat.of([3]))

    assert builder.finish().node(node).total("furlongs") == 3


def test_an_unknown_metric_or_node_is_an_error() -> None:
    profile = handmade_profile()

    with pytest.raises(KeyError, match="it has: time, duration"):
        profile.roots[0].total("furlongs")
    with pytest.raises(IndexError):
        profile.node(99)


def test_totals_of_many_nodes_are_linear() -> None:
    builder = ProfileBuilder()
    builder.run()
    frame = builder.frame("python", "f")
    node = builder.node(None, frame)
    for _ in range(100_000):
        node = builder.node(node, frame)
        builder.stat(node, "time", Stat(1, 1, 1, 1, 0))
    profile = builder.finish()

    begin = time.process_time()
    total = profile.total(profile.nodes(name="f"), "time")

    assert total == 100_000
    assert time.process_time() - begin < 5
