"""What is known of compiled code: functions, their attempts, graphs, and the ways through them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pellucid.compiler.fx_graph import SourceNode
from pellucid.compiler.trace import CompileId

__all__ = [
    "Attempt",
    "Break",
    "Function",
    "Graph",
    "Phase",
    "Scope",
    "SourcePath",
    "Step",
    "Text",
    "common_prefix",
    "resumed",
]

_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d{1,9})$")


@dataclass
class Text:
    """A text that the compiler made."""

    kind: str
    name: str
    language: str
    text: str
    origin: str = ""


@dataclass
class Phase:
    """A named part of the compiler's work, all its calls together."""

    calls: int = 0
    ns: int = 0


@dataclass
class Break:
    """Where a graph ended, and why."""

    reason: str
    file: str | None
    line: int | None
    explanation: str = ""


class Scope(NamedTuple):
    """A scope that the user's code opens, and where."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class Step:
    """One step of the path to an operation inside a graph: a line of a function, or a module."""

    kind: str  # "python" | "module"
    name: str  # the function's qualified name, or how the module is reached: L['self'].blocks.0
    file: str | None = None
    line: int | None = None
    first_line: int | None = None
    cls: str | None = None


SourcePath = tuple[Step, ...]


@dataclass
class Graph:
    """One generated program: ``forward``, ``backward`` or ``inference``."""

    direction: str
    texts: list[Text] = field(default_factory=list)
    code: str = ""
    origin: str = ""
    post_grad: str | None = None
    mappings: Mapping[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Attempt:
    """One compilation of a function, or one try at it."""

    id: CompileId
    status: str = ""
    duration_ns: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    graphs: dict[str, Graph] = field(default_factory=dict)
    breaks: list[Break] = field(default_factory=list)
    recompiled: list[str] = field(default_factory=list)
    failure: dict[str, Any] = field(default_factory=dict)
    phases: dict[str, Phase] = field(default_factory=dict)
    guards: str = ""
    captured: str | None = None  # Dynamo's graph, as text
    # What Dynamo captured, in order, and the way to each; paths only where seen live.
    sources: list[SourceNode] = field(default_factory=list)
    paths: list[SourcePath] = field(default_factory=list)
    dropped_scopes: list[Scope] = field(default_factory=list)
    pending: list[Text] = field(default_factory=list)  # of a graph whose direction is not yet known


@dataclass
class Function:
    """A function that was compiled; ``resumed_at``: the rest of it, after a graph break there."""

    name: str
    file: str | None
    first_line: int | None
    resumed_at: int | None = None
    self_name: str | None = None
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def described(self) -> tuple[str, int | None, str | None, int | None]:
        """What tells it from other functions."""
        return self.name, self.resumed_at, self.file, self.first_line

    @property
    def label(self) -> str:
        """The name, with where it goes on."""
        return (
            self.name if self.resumed_at is None else f"{self.name} (resumed at {self.resumed_at})"
        )


def resumed(name: str) -> tuple[str, int | None]:
    """The user's function that a name of Dynamo's stands for, and the line where it goes on."""
    outer, dot, last = name.rpartition(".")
    match = _RESUMED.match(last)
    if match is None:
        return name, None
    return f"{outer}{dot}{match[1]}", int(match[2])


def common_prefix(paths: Sequence[SourcePath]) -> SourcePath:
    """The steps that all paths begin with."""
    if not paths:
        return ()
    shortest = min(paths, key=len)
    for i, step in enumerate(shortest):
        if any(path[i] != step for path in paths):
            return shortest[:i]
    return shortest
