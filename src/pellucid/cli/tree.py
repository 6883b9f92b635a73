"""``pellucid tree``: the calling context tree, from the threads down or from the costs up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from pellucid.analysis import Line, Outline, callers, outline
from pellucid.cli.labels import STYLES, frame_label
from pellucid.cli.output import (
    Scale,
    count,
    grid,
    loss_note,
    percent,
    show,
    terminal_width,
)
from pellucid.model import Profile, load

__all__ = ["tree"]

_NUMBERS_WIDTH = 40
_MIN_NAME_WIDTH = 24
_MAX_GUIDES = 30


def tree(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pellucid file.")],
    min_percent: Annotated[
        float, typer.Option(min=0, max=100, help="Sum up branches below this percentage.")
    ] = 1.0,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Show at most this many levels below the top.")
    ] = None,
    metric: Annotated[str, typer.Option(help="The metric to show.")] = "time",
    invert: Annotated[
        bool, typer.Option("--invert", help="From what spent most up to its callers.")
    ] = False,
    all_frames: Annotated[
        bool, typer.Option("--all", help="Frames of torch and the standard library, too.")
    ] = False,
) -> None:
    """Where the time went, as a tree of calls."""
    profile = load(file)
    view = callers if invert else outline
    shown = view(profile, metric=metric, min_percent=min_percent, depth=depth, fold=not all_frames)
    notes = [Text(note, style="dim") for note in _notes(shown, invert)]
    show(_render(profile, shown, invert), "", *notes, *loss_note(profile, file))


def _render(profile: Profile, shown: Outline, invert: bool) -> RenderableType:
    scale = Scale.fit(shown.unit, [line.total for line in shown.lines])
    unit = f" {scale.unit}" if scale.unit else ""
    names = [
        _name(profile, line, guide)
        for line, guide in zip(shown.lines, _guides(shown.lines), strict=True)
    ]
    if invert:
        headers = ["share", f"{shown.metric}{unit}", "called from"]
        numbers = [[percent(line.share), scale.number(line.total)] for line in shown.lines]
    else:
        headers = ["share", f"total{unit}", f"self{unit}", "calls", "call"]
        numbers = [
            [
                percent(line.share),
                scale.number(line.total),
                scale.number(line.self) if line.frame else "",
                count(line.calls) if line.frame else "",
            ]
            for line in shown.lines
        ]
    rows: list[list[Text | str]] = [
        [*cells, name] for cells, name in zip(numbers, names, strict=True)
    ]
    return grid(headers, rows, left=1)


def _name(profile: Profile, line: Line, guide: str) -> Text:
    if line.frame is None:
        kind = "deeper" if line.too_deep else "small"
        return Text(f"{guide}… {line.left_out:,} {kind}", style="dim")
    width = terminal_width()
    if width is not None:
        width = max(width - _NUMBERS_WIDTH - len(guide), _MIN_NAME_WIDTH)
    label = frame_label(profile, line.frame, width)
    return Text.assemble((guide, "dim"), (label, STYLES.get(line.frame.kind, "")))


def _guides(lines: Sequence[Line]) -> list[str]:
    """The branches drawn before each name, worked out from the last line to the first."""
    guides: list[str] = []
    following: list[bool] = []  # by depth: whether a sibling comes later
    for line in reversed(lines):
        depth = line.depth
        following = [*following[: depth + 1], *[False] * (depth + 1 - len(following))]
        parts = ["│ " if later else "  " for later in following[1:depth]]
        if depth:
            parts.append("├ " if following[depth] else "└ ")
        cut = len(parts) - _MAX_GUIDES
        guides.append("".join(parts) if cut <= 0 else f"({depth}) {''.join(parts[cut:])}")
        following[depth] = True
    return guides[::-1]


def _notes(shown: Outline, invert: bool) -> list[str]:
    """What the percentages are of, and what is not shown."""
    recorded = Scale.fit(shown.unit, [shown.recorded]).label(shown.recorded)
    if invert:
        notes = [f"share: of the {recorded} recorded in all threads; callers below what they call."]
    else:
        notes = [f"share: of the {shown.metric} recorded in the thread; {recorded} in all threads."]
    if any(line.left_out and not line.too_deep for line in shown.lines):
        notes.append("small: branches below --min-percent, summed up.")
    if any(line.too_deep for line in shown.lines):
        notes.append("deeper: branches below --depth, summed up.")
    if shown.folded:
        notes.append(
            f"{shown.folded:,} nodes in code of torch and the standard library are left out, what "
            "they call is shown (--all)."
        )
    return notes
