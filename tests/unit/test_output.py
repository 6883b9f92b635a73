"""Numbers and names on the screen."""

import pytest
from hypothesis import given
from rich.cells import cell_len
from test_text import any_text

from pellucid.cli.output import Scale, count, head, percent, safe, tail


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "0"),
        (1, "1.00"),
        (12.345, "12.3"),
        (999.6, "1,000"),
        (9.996, "10.0"),
        (123456, "123,000"),
        (0.1234, "0.123"),
        (0.01234, "0.012"),
        (0.0004, "<0.001"),
        (-12.345, "-12.3"),
        (None, "—"),
    ],
)
def test_three_significant_digits(amount: float | None, shown: str) -> None:
    assert Scale("ms", 1).number(amount) == shown


@pytest.mark.parametrize(
    ("unit", "amounts", "label"),
    [
        ("ns", [2.5e9, 1], "2.50 s"),
        ("ns", [2.5e6], "2.50 ms"),
        ("ns", [999], "999 ns"),
        ("ns", [0.5], "0.500 ns"),
        ("ns", [0], "0 ns"),
        ("B", [3 * 2**20], "3.00 MiB"),
        ("1", [12], "12.0"),
        ("furlongs", [12], "12.0 furlongs"),
    ],
)
def test_one_unit_for_a_column(unit: str, amounts: list[float], label: str) -> None:
    assert Scale.fit(unit, amounts).label(amounts[0]) == label


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0 %"),
        (0.0004, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.1234, "12.3 %"),
        (1, "100.0 %"),
        (None, "—"),
    ],
)
def test_percentages(share: float | None, shown: str) -> None:
    assert percent(share) == shown


def test_counts() -> None:
    assert [count(12345), count(4, estimated=True), count(None)] == ["12,345", "~4", "—"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aten::mm", "aten::mm"),
        ("größe 模型", "größe 模型"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\0", r"a\nb\tc\x00"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("na\udcefve", r"na\udcefve"),
        ("zero\u200bwidth\u2028", r"zero\u200bwidth\u2028"),
    ],
)
def test_nothing_invisible_reaches_the_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(any_text)
def test_safe_text_is_printable(text: str) -> None:
    assert safe(text).isprintable()


def test_names_keep_their_ends() -> None:
    assert tail("transformer.blocks.2.mlp.fc1", 12) == "…s.2.mlp.fc1"
    assert tail("short", 12) == "short"
    assert head("loss = model(inputs)", 8) == "loss = …"
    assert cell_len(tail("模型" * 10, 9)) <= 9
    assert cell_len(head("模型" * 10, 9)) <= 9
    assert tail("abc", 0) == "…"
