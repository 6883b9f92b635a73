"""Which graph nodes, and so which source lines, each kernel call of generated code came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pellucid.compiler.alignment import align
from pellucid.compiler.fx_graph import FxGraph, GraphNode, SourceNode, parse_graph
from pellucid.compiler.generated_module import GeneratedModule
from pellucid.compiler.graph_index import GraphIndex
from pellucid.compiler.matching import match
from pellucid.compiler.output_code import OPERATORS, Call, Flow, read_output_code
from pellucid.compiler.sources import Place, Sources

__all__ = ["KernelCall", "Origin", "kernel_calls"]


class Origin(NamedTuple):
    """One node of the post-grad graph that a kernel computes.

    ``sources`` are indices into Dynamo's nodes: empty for unknown, several for one of these.
    ``node`` is empty where only the node of Dynamo's is known.
    """

    node: str
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    sources: tuple[int, ...]


class KernelCall(NamedTuple):
    """One call in the generated file; ``kind`` is fused (C++), triton, extern or fallback."""

    line: int
    end_line: int
    kernel: str
    kind: str
    origins: tuple[Origin, ...]


def kernel_calls(
    output_code: str,
    graph: str | None,
    sources: Sequence[SourceNode],
    *,
    backward: bool = False,
    mappings: Mapping[str, Any] | None = None,
    forward_graph: str | None = None,
) -> list[KernelCall]:
    """The calls of kernels in generated code, in order of lines, each with what it came from.

    ``graph`` is the text of the post-grad graph, ``sources`` are Dynamo's nodes in order.
    ``mappings`` is what torch recorded itself, ``inductor_provenance_tracking_node_mappings``.
    ``forward_graph``, for a backward one, tells more exactly which of Dynamo's nodes are meant.
    Nothing is ever raised because of the texts: what they do not tell is left empty.
    """
    outermost = parse_graph(graph) if graph else FxGraph()
    forward = GraphIndex(parse_graph(forward_graph)) if forward_graph else None
    module, flows = read_output_code(output_code)
    dynamo = _Dynamo(Sources(sources), outermost, backward, forward)
    found: list[KernelCall] = []
    for flow in flows:
        own = outermost.subgraphs.get(flow.graph) if flow.graph else outermost
        told = _Told(module, flow, mappings)
        found.extend(_Finder(flow, GraphIndex(own or FxGraph()), dynamo).calls(told))
    return sorted(found, key=lambda call: (call.line, call.end_line))


class _Dynamo:
    """Dynamo's nodes, and how a graph relates to them."""

    def __init__(
        self, sources: Sources, graph: FxGraph, backward: bool, forward: GraphIndex | None
    ) -> None:
        self.sources = sources
        self.moved = sources.have_moved(graph)
        self.backward = backward
        self.forward = forward

    def named_above(self, call: Call) -> list[int]:
        """The nodes that the comment above a call names, in Dynamo's order."""
        return self.sources.named(call.remarks.sources)

    def own(self, call: Call) -> list[int]:
        """Of these, the one that an operator computes, which comes last."""
        return self.sources.last_named(call.remarks.sources)

    def place(self, node: GraphNode, found: Sequence[int]) -> Place:
        """Where a node of the graph stands now."""
        if self.moved:
            return self.sources.place(found)
        return Place(node.file, node.line, node.function, node.code)


class _Told:
    """What torch says of a call's graph nodes: recorded, or in a comment above the kernel.

    That comment is about the kernel's first call. Old records do not number the calls.
    """

    def __init__(
        self, module: GeneratedModule, flow: Flow, mappings: Mapping[str, Any] | None
    ) -> None:
        nodes = mappings.get("cppCodeToPost") if isinstance(mappings, Mapping) else None
        self._recorded: Mapping[str, Any] = nodes if isinstance(nodes, Mapping) else {}
        self._above = module.remarks
        self._times = Counter(call.kernel for call in flow.calls)

    def nodes(self, call: Call) -> list[str]:
        """Empty if nothing was said about just this call."""
        names = self._recorded.get(call.remarks.handle or "")
        if names is None and self._times[call.kernel] == 1:
            names = self._recorded.get(call.kernel)
            if names is None and call.kernel in self._above:
                names = list(self._above[call.kernel].nodes)
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


class _Finder:
    """The calls of one graph's code."""

    def __init__(self, flow: Flow, graph: GraphIndex, dynamo: _Dynamo) -> None:
        self._flow = flow
        self._graph = graph
        self._dynamo = dynamo

    def calls(self, told: _Told) -> Iterator[KernelCall]:
        """All but the calls of other graphs' code."""
        calls = self._flow.calls
        found = match(self._flow, self._graph, self._is_likely)
        nodes = [self._better(c, n, told.nodes(c)) for c, n in zip(calls, found, strict=True)]
        aligned = align(
            self._graph,
            self._dynamo.sources,
            self._hints(nodes),
            moved=self._dynamo.moved,
            backward=self._dynamo.backward,
            forward=self._dynamo.forward,
        )
        for call, numbers in zip(calls, nodes, strict=True):
            if call.kind != "graph":
                origins = tuple(self._origins(numbers, aligned)) or tuple(self._commented(call))
                yield KernelCall(call.line, call.end_line, call.kernel, call.kind, origins)

    def _better(self, call: Call, found: list[int], names: list[str]) -> list[int]:
        """What torch says; but not what it adds to an operator, which is what leads up to it."""
        numbers = (self._graph.number.get(name) for name in names)
        told = sorted({n for n in numbers if n is not None and not self._graph.is_free(n)})
        if not told or (call.kind in OPERATORS and found and found[0] in told):
            return found
        return told

    def _is_likely(self, call: Call, number: int) -> bool:
        """Whether the comment above a call names a node of Dynamo's at the graph node's line."""
        node = self._graph.node(number)
        if node is None:
            return False
        candidates = self._dynamo.sources.candidates(node, self._dynamo.moved)
        return not set(candidates).isdisjoint(self._dynamo.named_above(call))

    def _hints(self, nodes: list[list[int]]) -> dict[int, list[int]]:
        """From the comments above calls: the nodes of Dynamo's that graph nodes can come from.

        An operator's comment also names what leads up to it. In a forward graph its own node comes
        after all these. In a backward graph only the way to its operands is named with certainty.
        """
        hints: dict[int, list[int]] = {}
        for call, numbers in zip(self._flow.calls, nodes, strict=True):
            named = self._dynamo.named_above(call)
            if not named:
                continue
            if call.kind not in OPERATORS:
                hints.update((n, named) for n in numbers)
            elif self._dynamo.backward:
                hints.update((v, named) for n in numbers for v in self._views_into(n))
            else:
                hints.update((n, self._dynamo.own(call)) for n in numbers)
        return hints

    def _views_into(self, number: int) -> Iterator[int]:
        for n in self._graph.inputs[number]:
            while self._graph.is_view(n):
                yield n
                n = self._graph.inputs[n][0]

    def _origins(
        self, numbers: Sequence[int], aligned: Sequence[tuple[int, ...]]
    ) -> Iterator[Origin]:
        for number in numbers:
            if (node := self._graph.node(number)) is not None:
                place = self._dynamo.place(node, aligned[number])
                yield Origin(node.name, *place, aligned[number])

    def _commented(self, call: Call) -> Iterator[Origin]:
        """Without a graph: what the comment says, for an operator only its own."""
        if self._graph.nodes or self._dynamo.backward:
            return
        dynamo = self._dynamo
        for i in dynamo.own(call) if call.kind in OPERATORS else dynamo.named_above(call):
            yield Origin("", *self._dynamo.sources.place([i]), (i,))
