"""``pellucid top``: what spent most."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from pellucid.analysis import GROUPINGS, ORDERS, Row, Table
from pellucid.analysis import top as top_table
from pellucid.cli.labels import place, source_line
from pellucid.cli.output import (
    GAP,
    Scale,
    count,
    emit,
    grid,
    head,
    loss_note,
    percent,
    safe,
    show,
    tail,
    terminal_width,
)
from pellucid.model import Profile, load

__all__ = ["top"]

_MIN_NAME_WIDTH = 16
_SHARE_OF = "the recorded {metric} of the threads in which the row appears"
_CHOICES = ", ".join(GROUPINGS)
_OUTSIDE = {
    "operator": "outside operators",
    "kernel": "outside kernels",
    "module": "outside modules",
    "line": "under no line of the program's own",
    "function": "under no function of the program's own",
}


def top(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pellucid file.")],
    by: Annotated[
        str, typer.Option(metavar="|".join(GROUPINGS), help="What a row is.")
    ] = "operator",
    metric: Annotated[str, typer.Option(help="The metric to rank by.")] = "time",
    limit: Annotated[int, typer.Option("-n", min=1, help="How many rows to show.")] = 20,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(ORDERS), help="Default: self for operators and kernels, else total."
        ),
    ] = None,
    all_frames: Annotated[
        bool, typer.Option("--all", help="Lines and functions of torch and the standard library.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What spent most: operators, modules, kernels, functions, lines or threads."""
    profile = load(file)
    table = top_table(profile, by, metric, limit, sort=sort, fold=not all_frames)
    if as_json:
        emit(_json(profile, table))
        return
    notes = [Text(note, style="dim") for note in _notes(table)]
    show(_render(profile, table), "", *notes, *loss_note(profile, file))


def _json(profile: Profile, table: Table) -> str:
    document = asdict(table)
    document["share_of"] = _SHARE_OF.format(metric=table.metric)
    document["losses"] = [asdict(loss) for loss in profile.losses]
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _render(profile: Profile, table: Table) -> RenderableType:
    rows = table.rows
    scale = Scale.fit(table.unit, [amount for row in rows for amount in (row.self, row.total)])
    unit = f" {scale.unit}" if scale.unit else ""
    amounts = [f"{what}{unit}" for what in ("self", "total", "forward", "backward")]
    headers = ["share", *amounts, "calls"]
    numbers = [_numbers(row, scale) for row in rows]
    names = {
        header: cells
        for header, cells in _names(profile, table).items()
        if any(cells) or header == table.by
    }
    columns = zip(headers, *numbers, strict=True)
    used = sum(max(map(cell_len, cells)) + GAP for cells in columns)
    names = _fit(names, used)
    return grid(
        [*headers, *names],
        [[*row, *cells] for row, *cells in zip(numbers, *names.values(), strict=True)],
        left=len(names),
    )


def _numbers(row: Row, scale: Scale) -> list[str]:
    amounts = (row.self, row.total, row.forward, row.backward)
    calls = count(row.calls, estimated=row.calls_estimated)
    return [percent(row.share), *map(scale.number, amounts), calls]


def _names(profile: Profile, table: Table) -> dict[str, list[str]]:
    """The columns that name a row; empty ones are left out."""
    rows = table.rows
    names = [safe(row.name) for row in rows]
    if table.by == "module":
        several_roots = len({row.root for row in rows}) > 1
        roots = [safe(row.root or "") if several_roots else "" for row in rows]
        return {"module": names, "class": [safe(row.cls or "") for row in rows], "in": roots}
    if table.by in ("function", "line"):
        places = [place(profile, row.file, row.line) for row in rows]
        if table.by == "function":
            return {"function": names, "defined at": places}
        sources = [source_line(profile, row.file, row.line) for row in rows]
        return {"line": places, "function": names, "source": sources}
    if table.by == "kernel":
        graphs = [safe(row.graph or "") for row in rows]
        return {"kernel": names, "lines": [_lines(profile, row) for row in rows], "graph": graphs}
    return {table.by: names}


def _lines(profile: Profile, row: Row) -> str:
    """The source lines of a kernel, each file named once."""
    by_file: dict[str, list[int]] = {}
    for file, line in row.sources:
        by_file.setdefault(file, []).append(line)
    return " ".join(
        f"{place(profile, file, None)}:{','.join(map(str, sorted(lines)))}"
        for file, lines in by_file.items()
    )


def _fit(names: dict[str, list[str]], used: int) -> dict[str, list[str]]:
    """Make the names fit beside the ``used`` cells of a terminal; they keep their ends.

    The last columns go where there is no room for all; then the widest are cut.
    """
    width = terminal_width()
    if width is None:
        return names
    kept = max((width - used) // (_MIN_NAME_WIDTH + GAP), 1)
    names = dict(list(names.items())[:kept])
    widths = [max(map(cell_len, cells), default=0) for cells in names.values()]
    room = max(width - used - GAP * (len(names) - 1), _MIN_NAME_WIDTH)
    limit = max(widths)
    while limit > 1 and sum(min(each, limit) for each in widths) > room:
        limit -= 1
    return {
        header: [(head if header == "source" else tail)(cell, limit) for cell in cells]
        for header, cells in names.items()
    }


def _notes(table: Table) -> list[str]:
    """What the percentages are of, and everything that the table leaves out."""
    whole = Scale.fit(table.unit, [table.recorded])
    recorded = whole.label(table.recorded)
    if not table.rows:
        return [f"Nothing of this kind was recorded; choose another with --by: {_CHOICES}."]
    notes = [f"share: {table.sorted_by} as a part of {_SHARE_OF.format(metric=table.metric)}."]
    if any(row.backward for row in table.rows):
        notes.append("backward: work in backward functions, counted where its forward ran.")
    if any(row.calls_estimated for row in table.rows):
        notes.append("~ estimated from the first operator inside.")
    if table.left_out:
        notes.append(f"{table.left_out:,} more rows: -n shows more.")
    if table.unassigned and table.recorded:
        part = percent(table.unassigned / table.recorded)
        notes.append(f"{part} of {recorded} recorded is {_OUTSIDE[table.by]}.")
    if table.folded:
        notes.append("Code of torch and the standard library counts as its caller's (--all).")
    return notes
