"""The records of torch's structured trace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from compile_log import LOG, OLDER_CACHES, OLDER_FAILED
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import CompileId, Story, read_log, record_of

HEADER = "V0401 12:34:56.789000 4403 torch/_dynamo/utils.py:2350] "


def test_every_record_of_a_real_log_is_read() -> None:
    with LOG.open() as lines:
        records = list(read_log(lines))

    assert None not in records
    names = Counter(record.name for record in records if record)
    assert names["dynamo_output_graph"] == 5
    assert names["inductor_output_code"] == 5
    assert names["dynamo_graph_break_reason"] == 2
    assert {record.thread for record in records if record} == {4242}


@pytest.mark.parametrize(("log", "records"), [(OLDER_CACHES, 66), (OLDER_FAILED, 18)])
def test_every_record_of_an_older_torch_is_read(log: Path, records: int) -> None:
    text = log.read_text()

    read = list(read_log(text.splitlines(keepends=True)))

    assert None not in read
    assert len(read) == records == text.count("\nV1206") + 1
    events = [record for record in read if record and record.kind == "chromium_event"]
    assert {event.decoded()["ph"] for event in events} == {"B", "E"}  # over several lines


def test_a_log_that_ends_too_early_loses_its_last_record_at_most() -> None:
    text = OLDER_FAILED.read_text()
    whole = list(read_log(text.splitlines(keepends=True)))

    for end in range(0, len(text), 97):
        cut = list(read_log(text[:end].splitlines(keepends=True)))
        assert cut[:-1] == whole[: max(len(cut) - 1, 0)]


def test_a_record_says_its_compilation_and_its_payload() -> None:
    lines = [
        HEADER + '{"artifact": {"name": "x", "encoding": "string"}, "frame_id": 3, '
        '"frame_compile_id": 1, "attempt": 2, "has_payload": "0"}\n',
        "\tfirst\n",
        "\t\tsecond\n",
    ]
    (record,) = read_log(lines)

    assert record is not None
    assert (record.name, record.payload, record.thread) == ("x", "first\n\tsecond\n", 4403)
    assert record.compile_id == CompileId(3, 1, 2)
    assert record.compile_id.name == "3/1_2"
    assert CompileId(3, 1).name == "3/1"


def test_what_is_damaged_is_one_record_and_counted() -> None:
    lines = [
        HEADER + '{"dynamo_start": {"stack": [\n',
        "\tits payload\n",
        "no header at all\n",
        HEADER + '{"dynamo_error": {}, "frame_id": 0, "frame_compile_id": 0}\n',
    ]
    records = list(read_log(lines))
    story = Story()
    for record in records:
        story.add(record)

    assert [record.kind if record else None for record in records] == [None, None, "dynamo_error"]
    assert story.lost == {"trace_record_unreadable": 2}


@pytest.mark.parametrize(
    "line",
    [
        HEADER,
        HEADER + "[1]",
        HEADER + '{"str": ["cut',
        HEADER + '{"deep": ' + "[" * 100_000,
        HEADER + '{"number": ' + "9" * 5_000 + "}",
        HEADER.replace("4403", "4" * 5_000) + '{"str": ["a.py", 0]}',
        HEADER.replace("2350", "x") + '{"str": ["a.py", 0]}',
    ],
)
def test_a_damaged_line_is_no_record(line: str) -> None:
    assert list(read_log([line + "\n"])) == [None]


@pytest.mark.parametrize("number", ['"0"', "null", "1.5", "true", "[0]"])
def test_a_compilation_has_whole_numbers(number: str) -> None:
    (record,) = read_log([HEADER + f'{{"x": {{}}, "frame_id": 0, "frame_compile_id": {number}}}'])

    assert record is not None
    assert record.compile_id is None


def test_a_live_payload_may_be_an_object() -> None:
    record = record_of({"chromium_event": {}}, {"name": "dynamo", "ph": "B"})

    assert record is not None
    assert record.decoded() == {"name": "dynamo", "ph": "B"}
    assert record.compile_id is None
    assert record_of({"frame_id": 0, "has_payload": "x"}, None) is None


@given(st.lists(st.text() | st.just(HEADER + '{"artifact": 7, "frame_id": "x"}')))
def test_no_text_is_an_error(lines: list[str]) -> None:
    story = Story()
    for record in read_log(lines):
        story.add(record)
    story.finish()
