"""The small records of a profile, and the metrics that the contract names."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

__all__ = [
    "METRICS",
    "Artifact",
    "CompileEntry",
    "CompileKind",
    "Edge",
    "EdgeKind",
    "Link",
    "Loss",
    "Metric",
    "Run",
    "Source",
    "Step",
]


class Metric(NamedTuple):
    """A named aggregate and its unit (``ns``, ``B``, or ``1`` for plain counts)."""

    name: str
    unit: str
    help: str

    @property
    def additive(self) -> bool:
        """Whether the sums of a subtree add up; only ``duration`` contains its children's."""
        return self.name != "duration"


METRICS = {
    metric.name: metric
    for metric in (
        Metric("time", "ns", "self wall time; a subtree's sum is its total"),
        Metric("duration", "ns", "wall time of one call with all that it calls"),
        Metric("samples", "1", "ticks of the sampler, inside operators too"),
        Metric("cpu_time", "ns", "sampled CPU time, self"),
        Metric("alloc", "B", "bytes allocated at the node"),
        Metric("free", "B", "bytes freed at the node"),
        Metric("peak", "B", "bytes alive at the process's peak that the node allocated"),
        Metric("device_time", "ns", "time on the device, never part of time"),
        Metric("compile_time", "ns", "time inside the compiler"),
    )
}


class EdgeKind(str, Enum):
    """How two nodes that are not parent and child belong together: ``src`` is … ``dst``."""

    BACKWARD_OF = "backward_of"
    LAUNCHED_BY = "launched_by"
    RECOMPUTE_OF = "recompute_of"

    __str__ = str.__str__


class Edge(NamedTuple):
    """A link from node ``src`` to node ``dst``, such as a backward function to its forward."""

    kind: EdgeKind
    src: int
    dst: int


class Run(NamedTuple):
    """One process's recording. ``start_ns`` counts from the Unix epoch.

    ``ended`` says how it came to its end: ``exit 0``, ``exception ValueError``, ``SystemExit 3``,
    ``KeyboardInterrupt``, ``signal SIGTERM``, ``os._exit 3``, ``os.execv``, ``stopped``.
    """

    id: int
    rank: int | None
    world: int | None
    host: str
    pid: int
    start_ns: int
    wall_ns: int
    threads: int
    complete: bool
    ended: str


class Step(NamedTuple):
    """One step of the program as it named it."""

    run: int
    idx: int
    name: str
    start_ns: int
    duration_ns: int


class Source(NamedTuple):
    """The text of a source file as it was when it was recorded."""

    path: str
    sha256: str
    text: str


class CompileKind(str, Enum):
    """What a compiler did: a function has attempts, an attempt has graphs, a graph has kernels."""

    FUNCTION = "function"
    ATTEMPT = "attempt"
    GRAPH = "graph"
    KERNEL = "kernel"
    GUARD = "guard"
    BREAK = "break"
    RECOMPILE = "recompile"
    PHASE = "phase"
    FAILURE = "failure"

    __str__ = str.__str__


class CompileEntry(NamedTuple):
    """One thing that a compiler did, part of ``parent`` (None for functions).

    ``file`` and ``line`` are the user's; ``detail`` is a JSON object.
    """

    id: int
    run: int
    parent: int | None
    kind: CompileKind
    name: str
    file: str | None
    line: int | None
    status: str
    duration_ns: int | None
    detail: str

    @property
    def details(self) -> dict[str, Any]:
        """What else is known, decoded."""
        decoded: dict[str, Any] = json.loads(self.detail)
        return decoded


class Artifact(NamedTuple):
    """A text that a compiler made: a graph, guards, bytecode, a kernel. ``origin``: its file."""

    id: int
    compile: int | None
    kind: str
    name: str
    language: str
    text: str
    origin: str


class Link(NamedTuple):
    """Lines of an artifact ↔ a source line ↔ a node of the tree; None where not known."""

    artifact: int | None
    compile: int | None
    line: int | None
    end_line: int | None
    file: str | None
    source_line: int | None
    node: int | None


@dataclass(frozen=True)
class Loss:
    """Something that was not seen or not understood, and how often."""

    run: int
    kind: str
    count: int
    detail: str
