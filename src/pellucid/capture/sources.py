"""The text of the files that a profile names, taken while it is what ran."""

from __future__ import annotations

import io
import linecache
import os
import tokenize
from collections.abc import Iterable, Iterator

__all__ = ["read_sources"]

_MOST_BYTES = 4 << 20  # of one file


def read_sources(paths: Iterable[str], folder: str) -> Iterator[tuple[str, str]]:
    """Path and text of each that can be read; relative ones count from ``folder``."""
    for path in paths:
        text = _read(os.path.join(folder, path))  # noqa: PTH118 - names may be anything
        if text is None:
            text = _generated(path)
        if text is not None:
            yield path, text


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return None
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (OSError, SyntaxError, ValueError):
        return None


def _generated(path: str) -> str | None:
    """What a notebook or a code generator has left for tracebacks to show."""
    entry = linecache.cache.get(path)
    if entry is None or len(entry) != 4:
        return None
    return "".join(entry[2])
