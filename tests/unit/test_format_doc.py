"""docs/format.md says what is: its statements make the tables, its examples run."""

import re
import sqlite3
from pathlib import Path

import pytest
from handmade import MS, handmade_profile

from pellucid.model import CompileKind, EdgeKind, FrameKind, Profile, ProfileBuilder, Stat, save
from pellucid.model.schema import TABLES, create_statement

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql example\n(.*?)```", DOCUMENT, re.DOTALL)


def test_the_documented_statements_are_the_ones_used() -> None:
    (block,) = re.findall(r"```sql schema\n(.*?)```", DOCUMENT, re.DOTALL)

    assert block.splitlines() == [create_statement(table) for table in TABLES]


def test_every_kind_is_named() -> None:
    for kind in (*FrameKind, *EdgeKind, *CompileKind):
        assert f"`{kind}`" in DOCUMENT


def kernels() -> Profile:
    """One kernel from two lines that ran below two nodes, and one from a single line."""
    builder = ProfileBuilder()
    builder.run()
    thread = builder.node(None, builder.frame("thread", "Main"))
    for name, lines, ms in (("fused_0", (5, 6), 2), ("fused_0", (5, 6), 3), ("fused_1", (6,), 4)):
        node = builder.node(thread, builder.frame("kernel", name))
        builder.stat(node, "time", Stat(1, ms * MS, ms * MS, ms * MS, 0))
        for line in lines:
            builder.link(file="net.py", source_line=line, node=node)
    return builder.finish()


@pytest.mark.parametrize(
    ("example", "profile", "expected"),
    [
        (
            0,
            handmade_profile(),
            [("aten::mm", 30), ("aten::addmm", 20), ("aten::linear", 16)],
        ),
        (1, handmade_profile(), [("Main", 105), ("pt_autograd_0", 11)]),
        (2, kernels(), [("fused_0", 5, "net.py:5,net.py:6"), ("fused_1", 4, "net.py:6")]),
    ],
)
def test_the_examples_run(
    tmp_path: Path, example: int, profile: Profile, expected: list[tuple[object, ...]]
) -> None:
    save(profile, tmp_path / "x.pellucid")
    connection = sqlite3.connect(tmp_path / "x.pellucid")

    rows = connection.execute(EXAMPLES[example]).fetchall()
    connection.close()

    assert rows[: len(expected)] == expected


def test_every_example_is_tried() -> None:
    assert len(EXAMPLES) == 3
