"""The records of torch's structured trace: what its compiler says while it works.

A live handler and a ``TORCH_TRACE`` log file give the same records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["CompileId", "Record", "read_log", "record_of"]

# What every record may carry beside its own content.
_CONTEXT = {
    "rank",
    "compiled_autograd_id",
    "frame_id",
    "frame_compile_id",
    "attempt",
    "has_payload",
    "stack",
    "severity",
    "timestamp",
    "pathname",
    "thread",
    "subgraph_name",
}
# "V0401 12:34:56.789000 4403 torch/_dynamo/utils.py:2350] {...}"
_HEADER = re.compile(r"[A-Z]\d{4} \d\d:\d\d:\d\d\.\d+ (\d{1,18}) \S+:\d+\] ")
_NO_PAYLOAD = ""


class CompileId(NamedTuple):
    """Which compilation: of the frame with that number, for the how-manieth time."""

    frame: int
    compile: int
    attempt: int = 0

    @property
    def name(self) -> str:
        """As torch writes it, with the attempt where it was restarted: ``0/1``, ``0/1_2``."""
        restarted = f"_{self.attempt}" if self.attempt else ""
        return f"{self.compilation}{restarted}"

    @property
    def compilation(self) -> str:
        """The name that all attempts share, which is what runs: ``0/1``."""
        return f"{self.frame}/{self.compile}"


class Record(NamedTuple):
    """One record: what kind it is, what it says, and the compilation that it belongs to."""

    kind: str
    content: Any
    payload: str
    compile_id: CompileId | None
    thread: int

    @property
    def name(self) -> str:
        """The name of an artifact, else the kind."""
        if self.kind == "artifact" and isinstance(self.content, dict):
            return str(self.content.get("name", "artifact"))
        return self.kind

    def decoded(self) -> Any:
        """The payload as JSON; None where it is none."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return None


def record_of(metadata: Mapping[str, Any], payload: Any, thread: int = 0) -> Record | None:
    """The record with this metadata; None where there is nothing in it."""
    kind = next((key for key in metadata if key not in _CONTEXT), None)
    if kind is None:
        return None
    if not isinstance(payload, str):
        payload = _NO_PAYLOAD if payload is None else json.dumps(payload, default=str)
    return Record(kind, metadata[kind], payload, _compile_id(metadata), thread)


def _compile_id(metadata: Mapping[str, Any]) -> CompileId | None:
    numbers = [metadata.get(key, 0) for key in ("frame_id", "frame_compile_id", "attempt")]
    if "frame_id" not in metadata or not all(type(number) is int for number in numbers):
        return None
    return CompileId(*numbers)


def read_log(lines: Iterable[str]) -> Iterator[Record | None]:
    """The records of a log file; None for each that cannot be read, so that it can be counted.

    Records begin with a header; the lines of their payload begin with a tab.
    """
    header: str | None = None
    payload: list[str] = []
    for line in lines:
        if line.startswith("\t"):
            payload.append(line[1:])
            continue
        if header is not None:
            yield _parse(header, "".join(payload))
        header, payload = line, []
    if header is not None:
        yield _parse(header, "".join(payload))


def _parse(line: str, payload: str) -> Record | None:
    match = _HEADER.match(line)
    if match is None:
        return None
    try:
        metadata = json.loads(line[match.end() :])
    except (ValueError, RecursionError):
        return None
    return record_of(metadata, payload, int(match[1])) if isinstance(metadata, dict) else None
