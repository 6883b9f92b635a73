"""Questions to a profile. Pure: they read a profile and return values."""

from pellucid.analysis.internal import is_internal
from pellucid.analysis.logical import LogicalTree
from pellucid.analysis.tables import GROUPINGS, ORDERS, Row, Table, top
from pellucid.analysis.view import Line, Outline, callers, outline

__all__ = [
    "GROUPINGS",
    "ORDERS",
    "Line",
    "LogicalTree",
    "Outline",
    "Row",
    "Table",
    "callers",
    "is_internal",
    "outline",
    "top",
]
