"""Graphs of torch.fx, read back from what ``GraphModule.print_readable`` wrote.

The text is read line by line and not parsed as Python: it may be cut off or come from another
version of torch, and its classes can have names such as ``<lambda>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["FxGraph", "GraphNode", "SourceNode", "parse_graph"]

_CLASS = re.compile(r"\s*class ([^\s(]+)\(.*\):\s*$")
_PLACE = re.compile(r"(.+):(\d{1,9}) in (.+)")
_STATEMENT = re.compile(r'\s*([^\W\d]\w*)(?:\s*:\s*"([^"]*)")? = (.+)')
_DECLARED = re.compile(r'\s*([^\W\d]\w*)\s*:\s*"[^"]*"\s*(?:#.*)?$')
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[^\W\d][\w.]*(?: ?=(?!=))?")
_NAME = re.compile(r"[^\W\d]\w*")
_CALLED = re.compile(r"([^\W\d][\w.]*)\(")
_ITEM = re.compile(r"([^\W\d]\w*)(\[\d+\])\s*$")
_FLATTENED = "= fx_pytree.tree_flatten_spec("


class SourceNode(NamedTuple):
    """A node of the graph that Dynamo captured."""

    name: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None


class GraphNode(NamedTuple):
    """One call of a graph; ``target`` is as written, ``[0]`` for an item, else the operator's sign.

    ``value`` is what the node computes, as in ``f32[8, 16][16, 1]cpu``; empty where not stated.
    """

    name: str
    target: str
    inputs: tuple[str, ...]
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    value: str = ""


class FxGraph:
    """The nodes of a graph in order, the names of its placeholders and of what it returns.

    An output that is no node, ``None`` say, is an empty name: positions count.
    """

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.subgraphs: dict[str, FxGraph] = {}

    def operations(self) -> Iterator[GraphNode]:
        """The nodes that compute; those of a graph within this one before what calls it."""
        unseen = dict(self.subgraphs)
        pending = [iter(self.nodes)]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
            elif not node.target.startswith("self."):
                yield node
            elif (inner := unseen.pop(node.target.removeprefix("self."), None)) is not None:
                pending.append(iter(inner.nodes))


def parse_graph(text: str) -> FxGraph:
    """Read a graph; what cannot be read is left out."""
    outermost: FxGraph | None = None
    reader = _Reader()
    for line in _logical_lines(text):
        if found := _CLASS.match(line):
            reader = _Reader()
            if outermost is None:
                outermost = reader.graph
            else:
                outermost.subgraphs[found[1]] = reader.graph
        else:
            reader.read(line)
    return outermost or reader.graph


def _logical_lines(text: str) -> Iterator[str]:
    """The text's lines; a signature or a return over several lines is joined to one."""
    joined: list[str] = []
    for line in text.split("\n"):
        if joined:
            joined.append(line.split("  # ", 1)[0].strip())
            if line.strip().startswith((")", "]")):
                yield " ".join(joined)
                joined = []
        elif line.rstrip().endswith(("(", "([")) and line.lstrip().startswith(("def ", "return ")):
            joined = [line.rstrip()]
        else:
            yield line


class _Reader:
    def __init__(self) -> None:
        self.graph = FxGraph()
        self._known: set[str] = set()
        self._place: tuple[str | None, int | None, str | None, str | None] = (None,) * 4

    def read(self, line: str) -> None:
        stripped = line.lstrip()
        if stripped.startswith("#"):
            self._comment(stripped)
        elif stripped.startswith("def "):
            self._signature(stripped)
        elif stripped.startswith("return ") or stripped == "return":
            self._returned(stripped[len("return ") :])
        elif _FLATTENED in stripped:
            self._placeholders(_NAME.findall(stripped.split(_FLATTENED)[0]))
        elif found := _STATEMENT.match(line):
            self._node(found[1], found[2] or "", _without_freed(found[3]).strip())
        elif found := _DECLARED.match(line):
            self._placeholders([*self.graph.inputs, found[1]])

    def _comment(self, text: str) -> None:
        _, has_place, place = text.partition("File: ")
        place, _, code = place.partition(", code:")
        if has_place and (found := _PLACE.fullmatch(place)):
            self._place = (found[1], int(found[2]), found[3], code.strip())
        elif "No stacktrace" in text:
            self._place = (None,) * 4

    def _signature(self, text: str) -> None:
        inside = re.sub(r"\"[^\"]*\"|'[^']*'", "", text).partition("(")[2]
        names = (_NAME.match(part.strip()) for part in inside.split(","))
        self._placeholders([n[0] for n in names if n and n[0] != "self"])

    def _placeholders(self, names: list[str]) -> None:
        self.graph.inputs = list(dict.fromkeys(names))
        self._known.update(names)

    def _node(self, name: str, value: str, right: str) -> None:
        if right in self._known:  # Dynamo's placeholders have a second name
            self.graph.inputs = [name if i == right else i for i in self.graph.inputs]
        else:
            target, inputs = self._call(right)
            self.graph.nodes.append(GraphNode(name, target, inputs, *self._place, value))
        self._known.add(name)

    def _call(self, right: str) -> tuple[str, tuple[str, ...]]:
        inputs = tuple(self._inputs(right))
        if found := _ITEM.match(right):
            return found[2], inputs
        if found := _CALLED.match(right):
            owner, _, method = found[1].partition(".")
            return (method if owner in self._known else found[1]), inputs
        if right.startswith("self."):
            return right, inputs
        sign = re.search(r" ([^\w\s'\"]{1,2}) ", right)
        return (sign[1] if sign else right[:1]), inputs

    def _inputs(self, right: str) -> Iterator[str]:
        for token in _TOKEN.findall(right):
            name = token.partition(".")[0]
            if name in self._known:  # a keyword's token ends with its equals sign
                yield name

    def _returned(self, text: str) -> None:
        for part in text.replace("pytree.tree_unflatten(", "").split(","):
            bare = part.strip(" ()[];")
            if bare:
                self.graph.outputs.append(bare if bare in self._known else "")


def _without_freed(right: str) -> str:
    """Without ``;  a = b = None``, which names what is not used any more."""
    before, _, freed = right.rpartition(";  ")
    return before if before and freed.rstrip().endswith("= None") else right
