"""Dynamo's nodes, found by what a later graph says of one of its own.

Mostly that is the place in the source. But the compiler's cache does not care where the source
stands: the graph that it gives back may be of another folder, or of lines before an edit. What is
written in a line still holds then, and so does the flow of values, which the nodes' order follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pellucid.compiler.functions import resumed
from pellucid.compiler.fx_graph import FxGraph, GraphNode, SourceNode

__all__ = ["Place", "Sources", "source_nodes"]


class Place(NamedTuple):
    """Where something stands in the source; all None where that is not known."""

    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None


def source_nodes(graph: FxGraph) -> list[SourceNode]:
    """Dynamo's nodes, from the text of its graph."""
    return [SourceNode(n.name, n.file, n.line, n.function, n.code) for n in graph.operations()]


class Sources:
    """Dynamo's nodes in their order. Those found are indices into it, in that order too."""

    def __init__(self, nodes: Sequence[SourceNode]) -> None:
        self.nodes = nodes
        self._named: dict[str, list[int]] = {}
        self._at: dict[tuple[str, int], list[int]] = {}
        self._written: dict[tuple[str, str], list[int]] = {}
        self._inside: dict[str, list[int]] = {}
        for i, node in enumerate(nodes):
            self._named.setdefault(node.name, []).append(i)
            if node.file is not None and node.line is not None:
                self._at.setdefault((node.file, node.line), []).append(i)
            if node.function is not None:
                function, _ = resumed(node.function)  # its rest is named after a line
                self._inside.setdefault(function, []).append(i)
                if node.code:
                    self._written.setdefault((function, node.code), []).append(i)

    def named(self, names: Sequence[str]) -> list[int]:
        """Those of the names, which other nodes of a graph within the graph can have as well."""
        return sorted({i for name in names for i in self._named.get(name, ())})

    def last_named(self, names: Sequence[str]) -> list[int]:
        """The last of those of the names; all of them where it is not sure which one that is."""
        found = self.named(names)
        return found[-1:] if all(len(self._named.get(name, ())) < 2 for name in names) else found

    def have_moved(self, graph: FxGraph) -> bool:
        """Whether the graph speaks of places where nothing stands, or something else."""
        graphs = [graph, *graph.subgraphs.values()]
        return bool(self._at) and not all(self._stands(node) for g in graphs for node in g.nodes)

    def _stands(self, node: GraphNode) -> bool:
        if node.file is None or node.line is None:
            return True
        here = [self.nodes[i].code for i in self._at.get((node.file, node.line), ())]
        return any(not code or not node.code or code == node.code for code in here)

    def candidates(self, node: GraphNode, moved: bool) -> Sequence[int]:
        """Those that a node may come from; if the source has ``moved``, by what is written."""
        if not moved:
            known = node.file is not None and node.line is not None
            return self._at.get((node.file or "", node.line or 0), ()) if known else ()
        function, _ = resumed(node.function or "")
        return self._written.get((function, node.code or ""), self._inside.get(function, ()))

    def place(self, candidates: Sequence[int]) -> Place:
        """Where all of them stand."""
        places = {Place(*self.nodes[i][1:]) for i in candidates}
        return places.pop() if len(places) == 1 else Place()
