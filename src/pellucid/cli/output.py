"""What the verbs share to print: safe names, numbers in one unit, output that survives a pipe."""

import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pellucid.model import Profile
from pellucid.model.text import visible as safe

__all__ = [
    "GAP",
    "UNKNOWN",
    "Scale",
    "count",
    "emit",
    "grid",
    "head",
    "loss_note",
    "percent",
    "safe",
    "show",
    "tail",
    "terminal_width",
]

UNKNOWN = "—"
GAP = 2
_CLOSED_PIPE = 128 + 13  # what a shell reports for a program that SIGPIPE ended
_UNLIMITED = 100_000
_FACTORS = {
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "B": (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)),
}


def tail(text: str, width: int) -> str:
    """The text cut to ``width`` cells from the left, since the end of a name says most."""
    if cell_len(text) <= width:
        return text
    kept = ""
    for char in reversed(text):
        if cell_len(char + kept) > max(width - 1, 0):
            break
        kept = char + kept
    return f"…{kept}"


def head(text: str, width: int) -> str:
    """The text cut to ``width`` cells from the right."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 0))}…"


@dataclass(frozen=True)
class Scale:
    """The one unit that a column's amounts are shown in."""

    unit: str
    factor: float

    @classmethod
    def fit(cls, unit: str, amounts: Iterable[float]) -> "Scale":
        """The biggest unit in which the biggest amount is at least 1."""
        biggest = max((abs(amount) for amount in amounts), default=0.0)
        known = _FACTORS.get(unit, ((unit, 1.0),))
        for name, factor in known:
            if biggest >= factor:
                return cls("" if name == "1" else name, factor)
        return cls("" if known[-1][0] == "1" else known[-1][0], known[-1][1])

    def number(self, amount: float | None) -> str:
        """The amount with three significant digits, at most three of them decimals."""
        if amount is None:
            return UNKNOWN
        value = float(f"{amount / self.factor:.3g}")
        if value == 0:
            return "0"
        if abs(value) < 0.001:
            return "<0.001"
        decimals = 2 - math.floor(math.log10(abs(value)))
        return f"{value:,.{min(max(decimals, 0), 3)}f}"

    def label(self, amount: float | None) -> str:
        """The amount with its unit."""
        return UNKNOWN if amount is None else f"{self.number(amount)} {self.unit}".rstrip()


def percent(share: float | None) -> str:
    """A fraction as a percentage; what is there is never shown as zero."""
    if share is None:
        return UNKNOWN
    if share == 0:
        return "0 %"
    return "<0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def count(number: int | None, *, estimated: bool = False) -> str:
    """A whole number; ``~`` before one that is only estimated."""
    return UNKNOWN if number is None else f"{'~' if estimated else ''}{number:,}"


def grid(headers: Sequence[str], rows: Iterable[Sequence[Text | str]], *, left: int) -> Table:
    """A table without lines whose last ``left`` columns are flush left, the others right.

    Texts are taken as they are: no markup is read from them.
    """
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=any(headers))
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    for position, header in enumerate(headers):
        if position >= len(headers) - left:
            table.add_column(Text(header, style="bold"), no_wrap=True)
        else:  # a cut number would be a wrong one
            width = max([cell_len(header), *(row[position].cell_len for row in cells)])
            table.add_column(
                Text(header, style="bold"), justify="right", no_wrap=True, min_width=width
            )
    for row in cells:
        table.add_row(*row)
    return table


def terminal_width() -> int | None:
    """The terminal's width in cells; None when the output goes elsewhere: then nothing is cut."""
    return Console().width if sys.stdout.isatty() else None


def show(*parts: RenderableType) -> None:
    """Print the parts below one another, coloured only on a terminal."""
    # Names were cut where they must be; rich would cut numbers, too.
    console = Console(highlight=False, markup=False, emoji=False, width=_UNLIMITED)
    with console.capture() as captured:
        for part in parts:
            console.print(part, overflow="fold", no_wrap=False)
    emit("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def emit(text: str) -> None:
    """Write to stdout; a reader that has gone (``| head``) ends the program silently."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_CLOSED_PIPE) from None


def loss_note(profile: Profile, file: object) -> list[Text]:
    """One line that says what was not seen, where anything was not."""
    if not profile.losses:
        return []
    kinds = ", ".join(sorted({safe(loss.kind) for loss in profile.losses}))
    many = "losses" if len(profile.losses) > 1 else "loss"
    note = f"⚠ {len(profile.losses)} {many}: {kinds}. See: pellucid info {safe(str(file))}"
    return [Text(note, style="yellow")]
