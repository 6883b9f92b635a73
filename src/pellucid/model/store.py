"""The file: ``save`` writes it, ``load`` reads it; docs/format.md describes it."""

from pellucid.model.reader import load
from pellucid.model.writer import save

__all__ = ["load", "save"]
