"""Files that somebody damaged or made on purpose: a PellucidError, never anything else."""

import json
import random
import sqlite3
from pathlib import Path

import pytest
from handmade import handmade_profile
from test_store import rewritten

from pellucid.analysis import callers, outline, top
from pellucid.errors import NotAProfile, PellucidError
from pellucid.model import load, save


def use(path: Path) -> bool:
    """Whether the file loads; if it does, everything asked of it works."""
    try:
        profile = load(path)
        top(profile, "line")
        outline(profile)
        callers(profile)
    except PellucidError as error:
        assert "\n" not in str(error)
        return False
    return True


def test_flipped_bytes(tmp_path: Path) -> None:
    save(handmade_profile(), tmp_path / "x")
    sound = (tmp_path / "x").read_bytes()
    chance = random.Random(1)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(sound)
        for _ in range(chance.choice((1, 1, 8))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (tmp_path / "x").write_bytes(damaged)
        refused += not use(tmp_path / "x")

    assert refused > 20


def test_truncated_files(tmp_path: Path) -> None:
    save(handmade_profile(), tmp_path / "x")
    sound = (tmp_path / "x").read_bytes()
    for length in (*range(0, 200, 7), *range(200, len(sound), 509)):
        (tmp_path / "x").write_bytes(sound[:length])

        assert not use(tmp_path / "x"), f"{length} of {len(sound)} bytes were taken for a profile"


DEEP = json.dumps({"a": [[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE node SET parent = 5 WHERE id = 3", "node 3 has parent 5, which does not come"),
        ("UPDATE node SET parent = 3 WHERE id = 3", "node 3 has parent 3"),
        ("UPDATE node SET parent = -1 WHERE id = 3", "node 3 has parent -1"),
        ("UPDATE node SET parent = 'x' WHERE id = 3", "node 3 has parent 'x'"),
        ("UPDATE node SET frame = 999 WHERE id = 3", "node 3 has frame 999, which does not exist"),
        ("UPDATE node SET frame = NULL WHERE id = 3", "node 3 has frame None"),
        ("UPDATE node SET id = 99 WHERE id = 3", "node 3 is missing"),
        ("UPDATE frame SET id = -1 WHERE id = 3", "frame 0 is missing"),
        ("UPDATE frame SET kind = 'demon' WHERE id = 3", "frame 3 is of kind 'demon', which this"),
        ("UPDATE frame SET name = NULL WHERE id = 3", "frame 3: None is no text"),
        ("UPDATE frame SET name = x'ff' WHERE id = 3", "frame 3: b'\\\\xff' is no text"),
        ("UPDATE frame SET name = CAST(x'ff' AS TEXT) WHERE id = 3", "Could not decode to UTF-8"),
        ("UPDATE frame SET line = 1e300 WHERE id = 3", "frame 3: 1e\\+300 is no whole number"),
        ("UPDATE frame SET attrs = '[]' WHERE id = 3", "frame 3: its attrs is no JSON object"),
        ("UPDATE frame SET attrs = 5 WHERE id = 3", "frame 3: its attrs is no JSON object"),
        ("UPDATE frame SET attrs = x'00ff' WHERE id = 3", "frame 3: its attrs is not valid JSON"),
        ("UPDATE frame SET attrs = '{' WHERE id = 3", "frame 3: its attrs is not valid JSON"),
        ("UPDATE frame SET attrs = '{\"a\": NaN}' WHERE id = 3", "not valid JSON"),
        ("UPDATE frame SET attrs = '{\"a\": 1e999}' WHERE id = 3", "not finite"),
        (f"UPDATE frame SET attrs = '{DEEP}' WHERE id = 3", "at most 16 levels"),
        (
            f"UPDATE frame SET attrs = '{'[' * 100_000}' WHERE id = 3",
            "its attrs is not valid JSON",
        ),
        ("UPDATE stat SET node = 999 WHERE node = 3", "999 is no whole number in its range"),
        ("UPDATE stat SET metric = 9 WHERE node = 3", "9 is no whole number in its range"),
        ("UPDATE stat SET run = 2 WHERE node = 3", "2 is no whole number in its range"),
        ("UPDATE stat SET count = -1 WHERE node = 3", "-1 is no whole number in its range"),
        ("UPDATE stat SET sum = 1e999 WHERE node = 3", "inf is no number"),
        ("UPDATE stat SET sum = 'lots' WHERE node = 3", "'lots' is no number"),
        ("UPDATE stat SET m2 = -1 WHERE node = 3", "its numbers contradict each other"),
        ("UPDATE stat SET min = NULL WHERE node = 3", "None is no number"),
        ("UPDATE edge SET dst = 999", "999 is no whole number in its range"),
        ("UPDATE edge SET kind = 'friend_of'", "kind 'friend_of', which this version does not"),
        ("UPDATE step SET run = 7", "7 is no whole number in its range"),
        ("UPDATE step SET duration_ns = 1.5", "1.5 is no whole number"),
        ("UPDATE run SET complete = 7", "7 is no whole number in its range"),
        ("UPDATE run SET id = 2", "run 1 is missing"),
        ("UPDATE loss SET count = 'x'", "'x' is no whole number"),
        ("UPDATE source SET text = 'evil()'", "is not what its hash says"),
        ("UPDATE metric SET name = 'time'", "two metrics have the same name"),
        ("UPDATE compile SET kind = 'spell' WHERE id = 1", "compile 1 is of kind 'spell'"),
        ("UPDATE compile SET parent = 2 WHERE id = 1", "compile 1: 2 is no whole number in its"),
        ("UPDATE compile SET detail = '[1]' WHERE id = 1", "its detail is no JSON object"),
        (f"UPDATE compile SET detail = '{DEEP}'", "compile 0: its detail is no JSON object of at"),
        ("UPDATE compile SET detail = '{\"a\": NaN}'", "compile 0: its detail is not valid JSON"),
        ("UPDATE compile SET parent = -1 WHERE id = 1", "compile 1: -1 is no whole number in its"),
        ("UPDATE compile SET parent = 1 WHERE id = 1", "compile 1: 1 is no whole number in its"),
        ("UPDATE compile SET name = NULL", "compile 0: None is no text"),
        ("UPDATE compile SET line = 1.5", "compile 0: 1.5 is no whole number in its range"),
        ("UPDATE compile SET run = NULL", "compile 0: None is no whole number in its range"),
        ("UPDATE compile SET duration_ns = -1 WHERE id = 1", "-1 is no whole number in its range"),
        ("UPDATE compile SET run = 5", "5 is no whole number in its range"),
        ("UPDATE compile SET id = 9 WHERE id = 1", "compile 1 is missing"),
        ("UPDATE artifact SET compile = 99", "99 is no whole number in its range"),
        ("UPDATE artifact SET id = 3", "artifact 0 is missing"),
        ("DELETE FROM compile", "2 is no whole number in its range"),
        ("DROP TABLE compile", "2 is no whole number in its range"),
        ("UPDATE artifact SET text = NULL", "artifact 0: None is no text"),
        ("UPDATE link SET node = 999", "999 is no whole number in its range"),
        ("UPDATE link SET artifact = 1", "1 is no whole number in its range"),
        ("UPDATE link SET file = x'07'", "is no text"),
        ("UPDATE link SET compile = 3", "3 is no whole number in its range"),
        ("UPDATE link SET line = 0", "0 is no whole number in its range"),
        ("UPDATE link SET line = 9, end_line = 8", "8 is no whole number in its range"),
        ("UPDATE link SET source_line = 1e300", "1e\\+300 is no whole number in its range"),
        ("ALTER TABLE link ADD COLUMN soul", "its link is not the table"),
        ("DROP TABLE loss", "it has no table loss"),
        ("ALTER TABLE node ADD COLUMN cost", "its node is not the table"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, statement: str, message: str) -> None:
    file = rewritten(tmp_path / "x", statement)

    with pytest.raises(NotAProfile, match=message):
        load(file)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIEW loss AS SELECT 1 AS run, 'x' AS kind, 1 AS count, 'x' AS detail"],
        ["CREATE VIEW loss(run, kind, count, detail) AS SELECT 1, load_extension('x'), 1, 'x'"],
        ["CREATE TABLE loss(run INTEGER, kind AS ('x'), count AS (1), detail AS ('x'))"],
        ["CREATE TABLE loss(run, kind, count, detail, CHECK (length(randomblob(1 << 30)) > 0))"],
        ["CREATE VIRTUAL TABLE loss USING fts5(run, kind, count, detail)"],
        [
            "CREATE TABLE other(run INTEGER, kind TEXT, count INTEGER, detail TEXT)",
            "CREATE VIEW loss AS SELECT * FROM other",
        ],
    ],
)
def test_what_only_looks_like_a_table_is_refused(tmp_path: Path, statements: list[str]) -> None:
    try:
        file = rewritten(tmp_path / "x", "DROP TABLE loss", *statements)
    except sqlite3.OperationalError as error:  # this build of SQLite lacks the feature
        pytest.skip(str(error))

    with pytest.raises(NotAProfile, match="loss"):
        load(file)


def test_a_view_in_place_of_a_table_that_may_be_missing_is_never_read(tmp_path: Path) -> None:
    file = rewritten(
        tmp_path / "x",
        "DROP TABLE link",
        "CREATE VIEW link(artifact, compile, line, end_line, file, source_line, node)"
        " AS SELECT 0, 0, 1, 1, load_extension('x'), 1, 1",
    )

    assert load(file).links == []


def test_a_trigger_under_a_tables_name_is_never_run(tmp_path: Path) -> None:
    file = rewritten(
        tmp_path / "x", "CREATE TRIGGER loss AFTER INSERT ON loss BEGIN DELETE FROM node; END"
    )

    assert len(load(file)) == 17


def test_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = rewritten(tmp_path / "x")
    monkeypatch.setattr("pellucid.model.reader._work_limit", lambda _size: lambda: True)
    monkeypatch.setattr("pellucid.model.reader._STEPS_PER_ASK", 10)

    with pytest.raises(NotAProfile, match="interrupted"):
        load(file)


def test_only_reading_is_allowed(tmp_path: Path) -> None:
    from pellucid.model.reader import _connect

    file = rewritten(tmp_path / "x")
    connection = _connect(file, file.stat().st_size)
    for statement in (
        f"ATTACH '{tmp_path / 'y'}' AS y",
        "VACUUM",
        "DELETE FROM node",
        "CREATE TABLE t(x)",
        "PRAGMA user_version = 3",
        "PRAGMA writable_schema = ON",
        "SELECT load_extension('x')",
        "SELECT randomblob(1 << 30)",
    ):
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute(statement)
    connection.close()
