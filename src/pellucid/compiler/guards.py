"""Guards: what has to hold for compiled code to be used again, from the text that torch prints."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

__all__ = ["Guard", "parse_check", "parse_guards"]

_LINE = re.compile(r"^[| ]*\+- ([A-Z][A-Z_]*): (.*)$", re.M)
_PLACE = re.compile(r" *(\S.*?\.py|<[^\s>]*>):(\d{1,9}) in ")


class Guard(NamedTuple):
    """One check. ``file`` and ``line``: where the program used what is checked, in ``code``."""

    kind: str
    text: str
    file: str | None
    line: int | None
    code: str | None


def parse_guards(text: str, files: Collection[str] = ()) -> list[Guard]:
    """The checks of a guard tree, in order.

    Torch prints the ends of file names alone: ``files`` are those that may be meant.
    """
    return [parse_check(match[2], files, match[1]) for match in _LINE.finditer(text)]


def parse_check(text: str, files: Collection[str] = (), kind: str = "") -> Guard:
    """One check with the comments behind it: the user's code, and its place.

    ``x > 1   # return x + 1  # dir/file.py:6 in f (hint)``
    """
    before, marked, last = text.rpartition(" # ")
    place = _PLACE.match(last)
    if not marked or place is None:
        return Guard(kind, text.partition("  #")[0].strip(), None, None, None)
    check, _, code = before.partition("  # ")
    file = next((file for file in sorted(files) if file.endswith(place[1])), place[1])
    return Guard(kind, check.strip(), file, int(place[2]), code.strip() or None)
