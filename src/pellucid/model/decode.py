"""From the rows of a file to a profile, every value checked."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Collection, Iterator
from math import isfinite
from typing import Any

from pellucid.model.builder import MAX_ATTRS_DEPTH, deeper_than, source_hash
from pellucid.model.columns import StatColumns
from pellucid.model.frame import Frame, FrameKind, canonical_json
from pellucid.model.profile import Profile
from pellucid.model.records import (
    Artifact,
    CompileEntry,
    CompileKind,
    Edge,
    EdgeKind,
    Link,
    Loss,
    Metric,
    Run,
    Source,
    Step,
)
from pellucid.model.text import unescape

__all__ = ["Damaged", "decode_profile"]


class Damaged(Exception):
    """What is wrong inside the file; the reader adds which file and what to do."""


def decode_profile(connection: sqlite3.Connection, missing: Collection[str] = ()) -> Profile:
    """Read all tables but those ``missing``; raises :class:`Damaged` for the first bad value."""
    meta = {
        _text(key, "meta.key"): _text(value, "meta.value")
        for key, value in connection.execute("SELECT key, value FROM meta")
    }
    runs = [_run(at, row) for at, row in _rows(connection, "run", first=1)]
    frames = [_frame(at, row) for at, row in _rows(connection, "frame")]
    parents, frame_ids = _nodes(connection, len(frames))
    metrics = [_metric(at, row) for at, row in _rows(connection, "metric")]
    if len({metric.name for metric in metrics}) < len(metrics):
        raise Damaged("two metrics have the same name")
    compiles: list[CompileEntry] = []
    if "compile" not in missing:
        rows = _rows(connection, "compile")
        compiles = [_compile(id, at, row, len(runs)) for id, (at, row) in enumerate(rows)]
    artifacts: list[Artifact] = []
    if "artifact" not in missing:
        rows = _rows(connection, "artifact")
        artifacts = [_artifact(id, at, row, len(compiles)) for id, (at, row) in enumerate(rows)]
    links: list[Link] = []
    if "link" not in missing:
        links = _links(connection, len(artifacts), len(compiles), len(parents))
    return Profile(
        meta=meta,
        runs=runs,
        frames=frames,
        parents=parents,
        frame_ids=frame_ids,
        metrics={metric.name: metric for metric in metrics},
        columns=_stats(connection, len(parents), [metric.name for metric in metrics], len(runs)),
        edges=_edges(connection, len(parents)),
        steps=_steps(connection, len(runs)),
        losses=_losses(connection, len(runs)),
        sources=_sources(connection),
        compiles=compiles,
        artifacts=artifacts,
        links=links,
    )


def _rows(
    connection: sqlite3.Connection, table: str, first: int = 0
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The rows of a table whose ids count up from ``first``: how to name each, and its values."""
    rows = connection.execute(f"SELECT * FROM {table} ORDER BY id")
    for expected, (id, *values) in enumerate(rows, first):
        if id != expected:
            raise Damaged(f"{table} {expected} is missing")
        yield f"{table} {id}", tuple(values)


def _run(at: str, row: tuple[Any, ...]) -> Run:
    rank, world, host, pid, start, wall, threads, complete, ended = row
    return Run(
        int(at.split()[1]),
        _optional_int(rank, at, 0),
        _optional_int(world, at, 0),
        _text(host, at),
        _int(pid, at, 0),
        _int(start, at, 0),
        _int(wall, at, 0),
        _int(threads, at, 0),
        bool(_int(complete, at, 0, 2)),
        _text(ended, at),
    )


def _frame(at: str, row: tuple[Any, ...]) -> Frame:
    kind, name, file, line, first_line, attrs = row
    try:
        known = FrameKind(kind)
    except ValueError:
        raise Damaged(f"{at} is of kind {kind!r}, which this version does not know") from None
    return Frame(
        known,
        _text(name, at),
        _optional_text(file, at),
        _optional_int(line, at),
        _optional_int(first_line, at),
        "{}" if attrs is None else _object(attrs, at, "attrs"),
    )


def _object(text: Any, at: str, what: str) -> str:
    try:
        decoded = json.loads(text, parse_constant=_refuse_constant)
    except (TypeError, ValueError, RecursionError):
        raise Damaged(f"{at}: its {what} is not valid JSON") from None
    if not isinstance(decoded, dict) or deeper_than(decoded, MAX_ATTRS_DEPTH):
        raise Damaged(f"{at}: its {what} is no JSON object of at most {MAX_ATTRS_DEPTH} levels")
    try:
        return canonical_json(decoded)
    except ValueError:  # 1e999 is valid JSON and infinite
        raise Damaged(f"{at}: its {what} holds a number that is not finite") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _nodes(connection: sqlite3.Connection, frames: int) -> tuple[array[int], array[int]]:
    parents, frame_ids = array("q"), array("q")
    rows = connection.execute("SELECT id, parent, frame FROM node ORDER BY id")
    for expected, (id, parent, frame) in enumerate(rows):
        if id != expected:
            raise Damaged(f"node {expected} is missing")
        if parent is None:
            parent = -1
        elif type(parent) is not int or not 0 <= parent < id:
            raise Damaged(f"node {id} has parent {parent!r}, which does not come before it")
        if type(frame) is not int or not 0 <= frame < frames:
            raise Damaged(f"node {id} has frame {frame!r}, which does not exist")
        parents.append(parent)
        frame_ids.append(frame)
    return parents, frame_ids


def _metric(at: str, row: tuple[Any, ...]) -> Metric:
    name, unit, help = row
    return Metric(_text(name, at), _text(unit, at), _text(help, at))


def _stats(
    connection: sqlite3.Connection, nodes: int, metrics: list[str], runs: int
) -> dict[tuple[str, int], StatColumns]:
    found: dict[tuple[int, int], StatColumns] = {}
    previous = (-1, -1, -1)
    rows = connection.execute("SELECT * FROM stat ORDER BY node, metric, run")
    for node, metric, run, count, total, low, high, m2 in rows:
        at = f"stat of node {node!r}, metric {metric!r}, run {run!r}"
        key = (
            _int(node, at, 0, nodes),
            _int(metric, at, 0, len(metrics)),
            _int(run, at, 1, runs + 1),
        )
        if key <= previous:
            raise Damaged(f"{at} is there twice")
        previous = key
        _check_numbers(at, total, low, high, m2)
        columns = found.setdefault((metric, run), StatColumns())
        columns.append(node, _int(count, at, 0), total, low, high, m2)
    return {(metrics[metric], run): columns for (metric, run), columns in found.items()}


def _check_numbers(at: str, total: Any, low: Any, high: Any, m2: Any) -> None:
    values = (total, low, high, m2)
    if values == (None, None, None, None):
        return
    for value in values:
        if type(value) not in (int, float) or not isfinite(value):
            raise Damaged(f"{at}: {value!r} is no number")
    if m2 < 0 or low > high:
        raise Damaged(f"{at}: its numbers contradict each other")


def _edges(connection: sqlite3.Connection, nodes: int) -> list[Edge]:
    edges = []
    for kind, src, dst in connection.execute("SELECT kind, src, dst FROM edge"):
        at = f"edge from {src!r} to {dst!r}"
        try:
            known = EdgeKind(kind)
        except ValueError:
            raise Damaged(f"{at} is of kind {kind!r}, which this version does not know") from None
        edges.append(Edge(known, _int(src, at, 0, nodes), _int(dst, at, 0, nodes)))
    return edges


def _steps(connection: sqlite3.Connection, runs: int) -> list[Step]:
    steps = []
    for run, idx, name, start, duration in connection.execute("SELECT * FROM step"):
        at = f"step {idx!r}"
        steps.append(
            Step(
                _int(run, at, 1, runs + 1),
                _int(idx, at),
                _text(name, at),
                _int(start, at, 0),
                _int(duration, at, 0),
            )
        )
    return steps


def _losses(connection: sqlite3.Connection, runs: int) -> list[Loss]:
    losses = []
    for run, kind, count, detail in connection.execute("SELECT * FROM loss"):
        at = f"loss {kind!r}"
        losses.append(
            Loss(_int(run, at, 1, runs + 1), _text(kind, at), _int(count, at, 0), _text(detail, at))
        )
    return losses


def _sources(connection: sqlite3.Connection) -> dict[str, Source]:
    sources = {}
    for path, sha256, text in connection.execute("SELECT * FROM source"):
        source = Source(_text(path, "source"), _text(sha256, "source"), _text(text, "source"))
        if source_hash(source.text) != source.sha256:
            raise Damaged(f"the text of {source.path!r} is not what its hash says")
        sources[source.path] = source
    return sources


def _compile(id: int, at: str, row: tuple[Any, ...], runs: int) -> CompileEntry:
    run, parent, kind, name, file, line, status, duration, detail = row
    try:
        known = CompileKind(kind)
    except ValueError:
        raise Damaged(f"{at} is of kind {kind!r}, which this version does not know") from None
    return CompileEntry(
        id,
        _int(run, at, 1, runs + 1),
        _optional_int(parent, at, 0, id),
        known,
        _text(name, at),
        _optional_text(file, at),
        _optional_int(line, at),
        _text(status, at),
        _optional_int(duration, at, 0),
        "{}" if detail is None else _object(detail, at, "detail"),
    )


def _artifact(id: int, at: str, row: tuple[Any, ...], compiles: int) -> Artifact:
    compile, *texts = row
    kind, name, language, text, origin = (_text(value, at) for value in texts)
    owner = _optional_int(compile, at, 0, compiles)
    return Artifact(id, owner, kind, name, language, text, origin)


def _links(connection: sqlite3.Connection, artifacts: int, compiles: int, nodes: int) -> list[Link]:
    links = []
    for row in connection.execute("SELECT * FROM link"):
        artifact, compile, line, end_line, file, source_line, node = row
        at = f"link {row!r}"[:200]
        links.append(
            Link(
                _optional_int(artifact, at, 0, artifacts),
                _optional_int(compile, at, 0, compiles),
                (first := _optional_int(line, at, 1)),
                _optional_int(end_line, at, first or 1),
                _optional_text(file, at),
                _optional_int(source_line, at),
                _optional_int(node, at, 0, nodes),
            )
        )
    return links


def _text(value: Any, at: str) -> str:
    if type(value) is not str:
        raise Damaged(f"{at}: {value!r} is no text")
    return unescape(value)


def _int(value: Any, at: str, low: int = -(2**63), limit: int = 2**63) -> int:
    if type(value) is not int or not low <= value < limit:
        raise Damaged(f"{at}: {value!r} is no whole number in its range")
    return value


def _optional_text(value: Any, at: str) -> str | None:
    return None if value is None else _text(value, at)


def _optional_int(value: Any, at: str, low: int = -(2**63), limit: int = 2**63) -> int | None:
    return None if value is None else _int(value, at, low, limit)
