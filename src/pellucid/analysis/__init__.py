"""Questions to a profile. Pure: they read a profile and return values."""

from pellucid.analysis.calls import node_calls
from pellucid.analysis.compiled import CompileEvent, CompileSummary, compile_summary
from pellucid.analysis.grouping import kernel_graph, text_attr
from pellucid.analysis.internal import is_internal, is_internal_file
from pellucid.analysis.logical import LogicalTree
from pellucid.analysis.tables import GROUPINGS, ORDERS, Row, Table, top
from pellucid.analysis.view import Line, Outline, callers, outline

__all__ = [
    "GROUPINGS",
    "ORDERS",
    "CompileEvent",
    "CompileSummary",
    "Line",
    "LogicalTree",
    "Outline",
    "Row",
    "Table",
    "callers",
    "compile_summary",
    "is_internal",
    "is_internal_file",
    "kernel_graph",
    "node_calls",
    "outline",
    "text_attr",
    "top",
]
