"""docs/format.md says what is: its statements make the tables, its examples run."""

import re
import sqlite3
from pathlib import Path

import pytest
from handmade import handmade_profile

from pellucid.model import EdgeKind, FrameKind, save
from pellucid.model.schema import TABLES, create_statement

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql example\n(.*?)```", DOCUMENT, re.DOTALL)


def test_the_documented_statements_are_the_ones_used() -> None:
    (block,) = re.findall(r"```sql schema\n(.*?)```", DOCUMENT, re.DOTALL)

    assert block.splitlines() == [create_statement(table) for table in TABLES]


def test_every_kind_is_named() -> None:
    for kind in (*FrameKind, *EdgeKind):
        assert f"`{kind}`" in DOCUMENT


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (0, [("aten::mm", 30), ("aten::addmm", 20), ("aten::linear", 16)]),
        (1, [("Main", 105), ("pt_autograd_0", 11)]),
    ],
)
def test_the_examples_run(tmp_path: Path, example: int, expected: list[tuple[str, float]]) -> None:
    save(handmade_profile(), tmp_path / "x.pellucid")
    connection = sqlite3.connect(tmp_path / "x.pellucid")

    rows = connection.execute(EXAMPLES[example]).fetchall()
    connection.close()

    assert rows[: len(expected)] == expected
