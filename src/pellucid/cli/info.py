"""``pellucid info``: what was recorded, how it ended, and what was not seen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from math import ceil
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from pellucid.analysis import CompileSummary, compile_summary
from pellucid.cli.labels import place
from pellucid.cli.output import UNKNOWN, Scale, count, grid, head, safe, show
from pellucid.model import Profile, Run, load

__all__ = ["info"]

_MOST_EVENTS = 30
_EVENT_WIDTH = 100


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pellucid file.")],
) -> None:
    """What was recorded, how it ended, and what was not seen."""
    profile = load(file)
    pairs = [*_about(profile, file), *(pair for run in profile.runs for pair in _run(run))]
    summary = compile_summary(profile)
    pairs += [*_contents(profile), *_steps(profile), *_compiled(summary)]
    width = max(len(key) for key, _ in pairs)
    lines = [_pair(key, value, width) for key, value in pairs]
    show(*lines, *_compile_events(profile, summary), "", *_losses(profile))


def _pair(key: str, value: str, width: int) -> Text:
    return Text.assemble((f"{safe(key):<{width}}  ", "bold"), safe(value))


def _about(profile: Profile, file: Path) -> list[tuple[str, str]]:
    return [("file", str(file)), *profile.meta.items()]


def _run(run: Run) -> list[tuple[str, str]]:
    where = f"{run.host or UNKNOWN}, pid {run.pid}"
    if run.rank is not None:
        where += f", rank {run.rank} of {run.world if run.world is not None else UNKNOWN}"
    wall = Scale.fit("ns", [run.wall_ns]).label(run.wall_ns)
    ended = run.ended or UNKNOWN
    return [
        ("run", f"{run.id}: {where}"),
        ("started", _moment(run.start_ns)),
        ("wall time", f"{wall} in {count(run.threads)} thread{'s' if run.threads != 1 else ''}"),
        ("ended", ended if run.complete else f"{ended} (incomplete)"),
    ]


def _moment(start_ns: int) -> str:
    try:
        moment = datetime.fromtimestamp(start_ns / 1e9, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return UNKNOWN
    return moment.isoformat(" ", "seconds")


def _contents(profile: Profile) -> list[tuple[str, str]]:
    kinds = Counter(str(profile.frames[frame].kind) for frame in profile.frame_ids)
    edges = Counter(str(edge.kind) for edge in profile.edges)
    return [
        ("nodes", f"{count(len(profile))}{_listed(kinds)}"),
        ("edges", f"{count(len(profile.edges))}{_listed(edges)}"),
        ("metrics", ", ".join(profile.metrics) or UNKNOWN),
        ("sources", f"{count(len(profile.sources))} files"),
    ]


def _listed(kinds: "Counter[str]") -> str:
    parts = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common())
    return f" ({parts})" if parts else ""


def _steps(profile: Profile) -> Iterable[tuple[str, str]]:
    durations: dict[tuple[int, str], list[int]] = defaultdict(list)
    for step in profile.steps:
        durations[step.run, step.name].append(step.duration_ns)
    for (run, name), values in durations.items():
        scale = Scale.fit("ns", values)
        in_run = f"run {run}, " if len(profile.runs) > 1 else ""
        what = f"{in_run}{count(len(values))} of {name}: " if name else f"{count(len(values))}: "
        yield (
            "steps",
            f"{what}median {scale.label(median(values))}, p95 {scale.label(_p95(values))}",
        )


def _compiled(summary: CompileSummary | None) -> Iterable[tuple[str, str]]:
    if summary is None:
        return
    time = Scale.fit("ns", [summary.time_ns]).label(summary.time_ns)
    yield (
        "compiled",
        f"{count(summary.functions)} functions in {time}: {_number(summary.attempts)} attempts, "
        f"{count(summary.graphs)} graphs, {count(summary.kernels)} kernels, "
        f"{count(summary.guards)} guards",
    )
    for cache, states in summary.caches.items():
        yield cache.replace("_", " "), ", ".join(f"{n:,} {s}" for s, n in states.most_common())


def _number(statuses: "Counter[str]") -> str:
    return f"{count(statuses.total())}{_listed(statuses)}"


def _compile_events(profile: Profile, summary: CompileSummary | None) -> list[RenderableType]:
    if summary is None or not summary.events:
        return []
    shown = summary.events[:_MOST_EVENTS]
    rows = [
        [
            event.kind,
            f"{safe(event.function)} [{safe(event.compile_id)}]",
            place(profile, event.file, event.line),
            head(safe(event.what), _EVENT_WIDTH),
        ]
        for event in shown
    ]
    lines: list[RenderableType] = [
        "",
        grid(["compiler", "function", "place", "what"], rows, left=4),
    ]
    if len(shown) < len(summary.events):
        lines.append(Text(f"… {len(summary.events) - len(shown):,} more", style="dim"))
    return lines


def _p95(values: Sequence[int]) -> int:
    """The smallest value that at least 95 % of all do not exceed."""
    return sorted(values)[ceil(0.95 * len(values)) - 1]


def _losses(profile: Profile) -> list[RenderableType]:
    if not profile.losses:
        return [Text("Nothing was lost.", style="green")]
    rows = [
        [count(loss.count), str(loss.run), safe(loss.kind), safe(loss.detail)]
        for loss in profile.losses
    ]
    return [
        Text(f"⚠ Not seen or not understood ({len(rows)}):", style="yellow"),
        grid(["count", "run", "kind", "detail"], rows, left=2),
    ]
