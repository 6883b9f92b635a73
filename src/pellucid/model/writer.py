"""Writing a profile: a new file beside the target, then one rename.

This may run while the interpreter exits or before ``os._exit``: no threads, no logging.
"""

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import astuple
from heapq import merge
from itertools import repeat
from pathlib import Path
from typing import Any

from pellucid.errors import FileError
from pellucid.model.files import replacing
from pellucid.model.frame import Frame
from pellucid.model.profile import Profile
from pellucid.model.records import CompileEntry
from pellucid.model.schema import (
    APPLICATION_ID,
    FORMAT_VERSION,
    create_statement,
    insert_statement,
)
from pellucid.model.text import escape

__all__ = ["save"]

Row = tuple[Any, ...]


def save(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write the profile to ``path``, replacing what is there in one step.

    Raises :class:`FileError` when that is impossible; the old file is then as it was, and nothing
    half-written is left. No ``-wal`` or ``-journal`` file is ever beside it.
    """
    target = Path(os.path.realpath(path))
    try:
        with replacing(target) as temporary:
            _write(profile, temporary)
    except (OSError, sqlite3.Error, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(
            f"cannot write {target}: {reason}. What was there before is unchanged; "
            "make room, or choose another place with -o."
        ) from error


def _write(profile: Profile, path: Path) -> None:
    # No URI: making one imports, and code that runs at exit must not. CPython forgets that it was
    # to die of an interrupt when anything compiles meanwhile, as a first import does.
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # The file is ours alone and thrown away on failure: neither journal nor locks are needed.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("BEGIN")
        for table, rows in _tables(profile):
            connection.execute(create_statement(table))
            connection.executemany(insert_statement(table), rows)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _tables(profile: Profile) -> list[tuple[str, Iterable[Row]]]:
    metric_ids = {name: id for id, name in enumerate(profile.metrics)}
    return [
        ("meta", (_escaped(item) for item in profile.meta.items())),
        ("run", map(_escaped, profile.runs)),
        ("frame", ((id, *_frame_row(frame)) for id, frame in enumerate(profile.frames))),
        (
            "node",
            (
                (id, parent if parent >= 0 else None, frame)
                for id, (parent, frame) in enumerate(
                    zip(profile.parents, profile.frame_ids, strict=True)
                )
            ),
        ),
        ("metric", ((metric_ids[m.name], *_escaped(m)) for m in profile.metrics.values())),
        ("stat", _stat_rows(profile, metric_ids)),
        ("edge", ((str(edge.kind), edge.src, edge.dst) for edge in profile.edges)),
        ("step", map(_escaped, profile.steps)),
        ("source", map(_escaped, profile.sources.values())),
        ("compile", map(_compile_row, profile.compiles)),
        ("artifact", map(_escaped, profile.artifacts())),
        ("link", map(_escaped, profile.links)),
        ("loss", map(_escaped, map(astuple, profile.losses))),
    ]


def _frame_row(frame: Frame) -> Row:
    attrs = None if frame.attrs_json == "{}" else frame.attrs_json
    named = _escaped((str(frame.kind), frame.name, frame.file, frame.line, frame.first_line))
    return (*named, attrs)  # JSON has escapes of its own


def _compile_row(entry: CompileEntry) -> Row:
    detail = None if entry.detail == "{}" else entry.detail
    plain = entry._replace(kind=str(entry.kind), detail="")  # type: ignore[arg-type]
    return (*_escaped(plain[:-1]), detail)


def _stat_rows(profile: Profile, metric_ids: dict[str, int]) -> Iterable[Row]:
    """The rows in the order of the key, as far as nodes were given in order: that is faster."""
    return merge(
        *(
            zip(
                columns.node,
                repeat(metric_ids[metric]),
                repeat(run),
                columns.count,
                columns.sum,  # NaN, an unknown value, becomes NULL
                columns.min,
                columns.max,
                columns.m2,
                strict=False,
            )
            for (metric, run), columns in profile.columns.items()
        )
    )


def _escaped(row: Iterable[Any]) -> Row:
    return tuple(escape(value) if isinstance(value, str) else value for value in row)
