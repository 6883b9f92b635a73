"""Tables: known numbers of the handmade profile, and sums against walking up from every node."""

import pytest
from handmade import MS, handmade_profile
from hypothesis import given
from hypothesis import strategies as st
from test_logical import edge_lists, parent_lists

from pellucid.analysis import GROUPINGS, LogicalTree, Row, top
from pellucid.errors import UsageError
from pellucid.model import Profile, ProfileBuilder, Stat


def numbers(row: Row) -> tuple[float, float, float, float, int | None]:
    """Self, total, forward and backward in ms, and the calls."""
    amounts = [amount / MS for amount in (row.self, row.total, row.forward, row.backward)]
    return (*amounts, row.calls)  # type: ignore[return-value]


def test_operators() -> None:
    table = top(handmade_profile())

    assert {row.name: numbers(row) for row in table.rows} == {
        "aten::mm": (30, 30, 0, 30, 8),
        "aten::addmm": (20, 59, 20, 39, 4),
        "aten::linear": (16, 75, 36, 39, 8),
        "ReluBackward0": (11, 11, 0, 11, 4),
        "AddmmBackward0": (9, 39, 0, 39, 4),
        "aten::relu": (7, 18, 7, 11, 4),
    }
    assert [row.name for row in table.rows][:3] == ["aten::mm", "aten::addmm", "aten::linear"]
    assert table.rows[0].share == 30 / 105
    assert table.rows[-1].share == 7 / 116, "its backward runs in a second thread"
    assert (table.recorded, table.unassigned) == (116 * MS, 23 * MS)


def test_modules() -> None:
    table = top(handmade_profile(), "module")

    assert [(row.name, row.root, row.cls, numbers(row)) for row in table.rows] == [
        ("Net", "Net", "Net", (25, 105, 55, 50, 4)),
        ("fc1", "Net", "Linear", (74, 74, 35, 39, 4)),
        ("fc2", "Net", "Linear", (6, 6, 6, 0, 4)),
    ]
    assert all(row.calls_estimated for row in table.rows)
    assert table.rows[1].share == 74 / 105
    assert table.unassigned == 11 * MS


def test_lines_take_the_time_of_torchs_own_code() -> None:
    table = top(handmade_profile(), "line")

    assert {(row.file, row.line): numbers(row) for row in table.rows} == {
        ("/w/train.py", 3): (1, 116, 66, 50, None),
        ("/w/train.py", 10): (5, 107, 57, 50, None),
        ("/w/train.py", 11): (8, 8, 8, 0, None),
        ("/w/net.py", 5): (102, 102, 52, 50, None),
    }
    assert table.folded
    assert table.unassigned == 0


def test_lines_of_torch_on_demand() -> None:
    rows = {row.name: row for row in top(handmade_profile(), "line", fold=False).rows}

    assert numbers(rows["_call_impl"]) == (74, 74, 35, 39, None)
    assert rows["forward"].self == 28 * MS


def test_functions() -> None:
    rows = {row.name: numbers(row) for row in top(handmade_profile(), "function").rows}

    assert rows == {
        "<module>": (1, 116, 66, 50, None),
        "train": (13, 115, 65, 50, None),
        "forward": (102, 102, 52, 50, None),
    }


def test_threads_have_what_ran_in_them() -> None:
    rows = {row.name: numbers(row) for row in top(handmade_profile(), "thread").rows}

    assert rows == {"Main": (0, 105, 66, 39, None), "pt_autograd_0": (0, 11, 0, 11, None)}


def test_the_limit_and_the_order() -> None:
    table = top(handmade_profile(), limit=2, sort="total")

    assert [row.name for row in table.rows] == ["aten::linear", "aten::addmm"]
    assert (table.left_out, table.sorted_by) == (4, "total")
    assert table.rows[0].share == 75 / 105


def test_no_kernels_are_no_rows() -> None:
    assert top(handmade_profile(), "kernel").rows == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": "colour"}, "no grouping 'colour'; choose one of: operator, module"),
        ({"sort": "name"}, "no order 'name'"),
        ({"metric": "furlongs"}, "no metric 'furlongs'; choose one of: time"),
        ({"metric": "duration"}, "duration contains what it calls"),
    ],
)
def test_wrong_use_is_told(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        top(handmade_profile(), **wrong)  # type: ignore[arg-type]


def test_recursion_counts_once() -> None:
    builder = ProfileBuilder()
    builder.run()
    frame = builder.frame("operator", "f")
    node = builder.node(None, builder.frame("thread", "Main"))
    for _ in range(3):
        node = builder.node(node, frame)
        builder.stat(node, "time", Stat.of([MS]))
        builder.stat(node, "duration", Stat.of([MS]))

    (row,) = top(builder.finish()).rows

    assert numbers(row) == (3, 3, 3, 0, 3)


def test_double_backward_and_recomputation_belong_to_the_first_forward() -> None:
    """Line 1 runs mul; its backward (line 2) runs mul again, whose own backward is on line 3."""
    builder = ProfileBuilder()
    builder.run()

    def add(parent: int | None, kind: str, name: str, line: int | None = None) -> int:
        file = "a.py" if line else None
        node = builder.node(parent, builder.frame(kind, name, file=file, line=line))
        builder.stat(node, "time", Stat.of([MS]))
        return node

    thread = add(None, "thread", "Main")
    lines = [add(thread, "python", "f", line) for line in (1, 2, 3)]
    mul = add(lines[0], "operator", "mul")
    mul_backward = add(lines[1], "operator", "MulBackward0")
    again = add(mul_backward, "operator", "mul")
    second = add(lines[2], "operator", "MulBackward0")
    recomputed = add(second, "operator", "mul")
    builder.edge("backward_of", mul_backward, mul)
    builder.edge("backward_of", second, again)
    builder.edge("recompute_of", recomputed, mul)

    rows = {row.line: numbers(row) for row in top(builder.finish(), "line").rows}

    assert rows == {1: (6, 6, 2, 4, None), 2: (1, 1, 1, 0, None), 3: (1, 1, 1, 0, None)}


def test_models_that_use_the_same_names_are_told_apart() -> None:
    builder = ProfileBuilder()
    builder.run()
    thread = builder.node(None, builder.frame("thread", "Main"))
    for root in ("Generator", "Critic"):
        outer = builder.node(thread, builder.frame("module", root))
        inner = builder.node(outer, builder.frame("module", "net.0", attrs={"class": "Linear"}))
        builder.stat(inner, "time", Stat.of([MS]))
    alone = builder.frame("module", "net.0", attrs={"class": "Linear", "root": "Critic"})
    builder.stat(builder.node(thread, alone), "time", Stat.of([MS]))

    rows = [row for row in top(builder.finish(), "module").rows if row.name == "net.0"]

    assert [(row.root, row.total) for row in rows] == [("Critic", 2 * MS), ("Generator", MS)]


def test_calls_of_modules_come_from_the_first_operator_then_from_the_first_module() -> None:
    builder = ProfileBuilder()
    builder.run()

    def operator(parent: int, calls: int) -> None:
        node = builder.node(parent, builder.frame("operator", f"op{calls}"))
        builder.stat(node, "duration", Stat.of([MS] * calls))
        builder.stat(node, "time", Stat.of([MS] * calls))

    outer = builder.node(None, builder.frame("module", "Outer"))
    line = builder.node(outer, builder.frame("python", "forward", file="a.py", line=1))
    first = builder.node(line, builder.frame("module", "first"))
    operator(builder.node(first, builder.frame("region", "attention")), 3)
    operator(builder.node(line, builder.frame("module", "second")), 9)
    assert {row.name: row.calls for row in top(builder.finish(), "module").rows} == {
        "Outer": 3,
        "first": 3,
        "second": 9,
    }

    operator(line, 5)
    assert {row.name: row.calls for row in top(builder.finish(), "module").rows}["Outer"] == 5


KINDS = ("thread", "module", "operator", "region", "python")


@st.composite
def mixed_profiles(draw: st.DrawFn) -> Profile:
    builder = ProfileBuilder()
    builder.run()
    for parent in draw(parent_lists):
        kind = draw(st.sampled_from(KINDS)) if parent >= 0 else "thread"
        frame = builder.frame(kind, draw(st.sampled_from("ab")), file="x.py", line=1)
        node = builder.node(parent if parent >= 0 else None, frame)
        builder.stat(node, "time", Stat.of([draw(st.integers(0, 2**30))]))
    profile = builder.finish()
    for kind, (src, dst) in draw(edge_lists):
        if max(src, dst) < len(profile):
            builder.edge(kind, src, dst)
    return builder.finish()


@given(mixed_profiles(), st.sampled_from(GROUPINGS[:-1]))
def test_totals_are_what_is_below_counted_once(profile: Profile, by: str) -> None:
    logical = LogicalTree(profile)
    times = profile.selfs("time")
    kind = "python" if by in ("line", "function") else by

    for row in top(profile, by, limit=None).rows if by != "module" else []:
        wanted = {node.id for node in profile.nodes(kind=kind, name=row.name)}
        below = set()
        for node in range(len(profile)):
            above = node
            while above >= 0 and above not in wanted:
                above = logical.parents[above]
            if above >= 0:
                below.add(node)
        backward = {node for node in below if logical.in_backward[node]}
        assert row.total == sum(times[node] for node in below)
        assert row.backward == sum(times[node] for node in backward)
        assert row.forward + row.backward == row.total
        assert row.share is None or 0 <= row.share <= 1


@given(mixed_profiles(), st.sampled_from(GROUPINGS[:-1]))
def test_no_time_is_lost_between_the_rows(profile: Profile, by: str) -> None:
    table = top(profile, by, limit=None)

    assert sum(row.self for row in table.rows) + table.unassigned == sum(profile.selfs("time"))
    assert table.recorded == sum(profile.selfs("time"))
    assert all(row.self <= row.total for row in table.rows)
