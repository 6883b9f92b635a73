"""What torch.compile says about its work: graphs, generated code, and what came from which line."""

from pellucid.compiler.entries import CallSite, Compiled, add_entries
from pellucid.compiler.functions import (
    Attempt,
    Break,
    Function,
    Graph,
    Phase,
    Scope,
    SourcePath,
    Step,
    Text,
    resumed,
)
from pellucid.compiler.fx_graph import FxGraph, GraphNode, SourceNode, parse_graph
from pellucid.compiler.guards import Guard, parse_guards
from pellucid.compiler.provenance import KernelCall, Origin, kernel_calls
from pellucid.compiler.sources import source_nodes
from pellucid.compiler.story import Story
from pellucid.compiler.trace import CompileId, Record, read_log, record_of

__all__ = [
    "Attempt",
    "Break",
    "CallSite",
    "CompileId",
    "Compiled",
    "Function",
    "FxGraph",
    "Graph",
    "GraphNode",
    "Guard",
    "KernelCall",
    "Origin",
    "Phase",
    "Record",
    "Scope",
    "SourceNode",
    "SourcePath",
    "Step",
    "Story",
    "Text",
    "add_entries",
    "kernel_calls",
    "parse_graph",
    "parse_guards",
    "read_log",
    "record_of",
    "resumed",
    "source_nodes",
]
