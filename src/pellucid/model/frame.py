"""Frames: the entries of a call path."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Frame", "FrameKind"]


class FrameKind(str, Enum):
    """What a frame is; the values are the words of the file format."""

    THREAD = "thread"
    PYTHON = "python"
    MODULE = "module"
    OPERATOR = "operator"
    REGION = "region"
    GRAPH = "graph"
    KERNEL = "kernel"
    NATIVE = "native"
    RUNTIME = "runtime"
    DEVICE = "device"
    INSTRUCTION = "instruction"
    PROCESS = "process"
    COMPILE = "compile"

    __str__ = str.__str__


@dataclass(frozen=True)
class Frame:
    """One entry of a call path, hashable so that equal frames can be shared.

    ``line`` is the executing line, ``first_line`` where the function begins. What else is known
    is held as canonical JSON text and decoded by :attr:`attrs`.
    """

    kind: FrameKind
    name: str
    file: str | None = None
    line: int | None = None
    first_line: int | None = None
    attrs_json: str = "{}"

    @classmethod
    def of(
        cls,
        kind: FrameKind | str,
        name: str,
        *,
        file: str | None = None,
        line: int | None = None,
        first_line: int | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> "Frame":
        """Make a frame; ``ValueError`` for an unknown kind or attributes that JSON cannot hold."""
        return cls(FrameKind(kind), name, file, line, first_line, canonical_json(attrs or {}))

    @property
    def attrs(self) -> dict[str, Any]:
        """What else is known: the class of a module, a compile id, a library, shapes."""
        decoded: dict[str, Any] = json.loads(self.attrs_json)
        return decoded


def canonical_json(value: Mapping[str, Any]) -> str:
    """The one text that equal mappings share: sorted keys, no spaces, ASCII, no NaN."""
    if not value:
        return "{}"
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
