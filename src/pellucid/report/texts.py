"""Which texts go into a report: sources, and what a compiler made of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from posixpath import normpath
from typing import NamedTuple

from pellucid.analysis import is_internal_file
from pellucid.model import Artifact, Profile, Source

__all__ = ["SOURCES", "Texts", "choose", "encoded", "line_count", "shown"]

SOURCES = ("none", "project", "all")
"""Whose texts: nobody's, those below the program's folder that are its own, everybody's.

``none`` leaves out what a compiler made, too: generated code quotes the program.
"""

_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_LINE_END = re.compile(r"\r\n|\r|\n")  # those that Python counts


class Texts(NamedTuple):
    """The texts that were chosen, and how many sources were not."""

    sources: Sequence[Source]
    artifacts: Sequence[Artifact]
    sources_left_out: int


def choose(profile: Profile, which: str) -> Texts:
    """The texts to show, ``which`` being one of SOURCES."""
    sources = [s for s in profile.sources.values() if _wanted(profile, s.path, which)]
    artifacts = [] if which == "none" else profile.artifacts()
    return Texts(sources, artifacts, len(profile.sources) - len(sources))


def _wanted(profile: Profile, path: str, which: str) -> bool:
    if which != "project":
        return which == "all"
    if is_internal_file(path) or _INSTALLED.search(path):
        return False
    folder = profile.meta.get("folder")
    return bool(folder) and PurePosixPath(normpath(path)).is_relative_to(folder or "")


def shown(profile: Profile, path: str) -> str:
    """The path as it is shown: relative to the folder in which the program ran."""
    folder = profile.meta.get("folder")
    pure = PurePosixPath(path)
    return str(pure.relative_to(folder)) if folder and pure.is_relative_to(folder) else path


def line_count(text: str) -> int:
    """How many lines a text has; what follows the last line end counts if there is any."""
    ends = len(_LINE_END.findall(text))
    return ends + (not text.endswith(("\r", "\n")) and bool(text))


def encoded(text: str) -> bytes:
    """A text in UTF-8, which has no lone surrogates: those are shown as escapes."""
    return text.encode("utf-8", "backslashreplace")
