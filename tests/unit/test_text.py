"""The escape rule: lossless for every string, UTF-8 without NUL on the other side."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pellucid.model.text import escape, unescape

any_text = st.lists(st.integers(0, 0x10FFFF).map(chr), max_size=20).map("".join)
tricky = st.lists(
    st.sampled_from(["\\", "u", "d", "c", "8", "0", "5", "\ud800", "\udc80", "\0", "ud800", "005c"])
).map("".join)


@given(any_text | tricky)
@example("\\u005cud800")
@example("\\\udc80")
@example("\\u0000")
def test_every_string_comes_back(text: str) -> None:
    stored = escape(text)

    assert unescape(stored) == text
    assert b"\0" not in stored.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("na\udcefve.py", r"na\udcefve.py"),
        ("a\0b", r"a\u0000b"),
        (r"C:\users\u0041", r"C:\users\u0041"),
        (r"\udc80 as text", r"\u005cudc80 as text"),
        ("tab\tand \x1b[31m", "tab\tand \x1b[31m"),
    ],
)
def test_only_what_must_be_is_escaped(text: str, stored: str) -> None:
    assert escape(text) == stored
