"""How frames and files are called on the screen."""

import re
from pathlib import PurePosixPath

from rich.cells import cell_len

from pellucid.cli.output import GAP, safe, tail
from pellucid.model import Frame, FrameKind, Profile

__all__ = ["STYLES", "frame_label", "place", "source_line"]

_LINE_ENDS = re.compile(r"\r\n|\r|\n")  # those that Python counts; str.splitlines knows more

STYLES = {
    FrameKind.THREAD: "bold",
    FrameKind.MODULE: "cyan",
    FrameKind.OPERATOR: "green",
    FrameKind.KERNEL: "magenta",
    FrameKind.DEVICE: "magenta",
    FrameKind.REGION: "yellow",
    FrameKind.GRAPH: "bold blue",
    FrameKind.COMPILE: "blue",
}


def place(profile: Profile, file: str | None, line: int | None) -> str:
    """``file:line``, the file relative to the folder in which the program ran."""
    if file is None:
        return "" if line is None else f"line {line}"
    folder = profile.meta.get("folder")
    path = PurePosixPath(file)
    if folder and path.is_relative_to(folder):
        file = str(path.relative_to(folder))
    return safe(file if line is None else f"{file}:{line}")


def frame_label(profile: Profile, frame: Frame, width: int | None = None) -> str:
    """A frame's name with what tells it from others of that name, cut to ``width`` cells."""
    name, detail = safe(frame.name), ""
    if frame.kind is FrameKind.PYTHON:
        detail = place(profile, frame.file, frame.line)
    elif frame.kind is FrameKind.MODULE:
        cls = frame.attrs.get("class")
        detail = f"({safe(cls)})" if isinstance(cls, str) and cls != frame.name else ""
    elif frame.kind is FrameKind.OPERATOR:
        cost = frame.attrs.get("cost")
        detail = f"({safe(cost)})" if isinstance(cost, str) else ""
    elif frame.kind is FrameKind.THREAD:
        name = f"thread {name}"
    if width is not None:
        name = tail(name, width)
        detail = tail(detail, max(width - cell_len(name) - GAP, 0)) if detail else ""
    gap = " " * (GAP if frame.kind is FrameKind.PYTHON else 1)
    return f"{name}{gap}{detail}".rstrip()


def source_line(profile: Profile, file: str | None, line: int | None) -> str:
    """The text of a line, if the profile holds the file."""
    source = profile.sources.get(file or "")
    if source is None or line is None:
        return ""
    lines = _LINE_ENDS.split(source.text)
    return safe(lines[line - 1].strip()) if 0 < line <= len(lines) else ""
