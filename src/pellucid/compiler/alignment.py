"""Which of Dynamo's nodes each node of a later graph came from.

A model that calls a block many times has nodes of the same source line many times. What tells them
apart is the flow of values: an operation that needs another's result came later in Dynamo's graph,
or from the same node there. In a backward graph this is reversed for all that depends on the
incoming gradients.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from pellucid.compiler.graph_index import GraphIndex
from pellucid.compiler.sources import Sources

__all__ = ["align"]

_MOST_SOURCES = 1000


def align(
    graph: GraphIndex,
    sources: Sources,
    hints: Mapping[int, Sequence[int]],
    *,
    moved: bool,
    backward: bool,
    forward: GraphIndex | None = None,
) -> list[tuple[int, ...]]:
    """For each node of the graph the indices of those that it may come from.

    ``hints``: nodes of which it is known that they came from one of some. ``moved``: the source
    has, since the graphs were made. ``forward``: the graph that a backward graph takes its inputs
    from, under their names there.
    """
    alignment = _Alignment(graph, sources, moved, hints, backward)
    if backward and forward is not None:
        before = _Alignment(forward, sources, moved)
        before.narrow()
        alignment.start_after(before)
    alignment.narrow()
    return alignment.result()


class _Alignment:
    def __init__(
        self,
        graph: GraphIndex,
        sources: Sources,
        moved: bool,
        hints: Mapping[int, Sequence[int]] | None = None,
        backward: bool = False,
    ) -> None:
        self._graph = graph
        self._reversed = _after_gradients(graph) if backward else [False] * len(graph.names)
        self._options: list[Sequence[int]] = [()] * graph.first
        self._options += (sources.candidates(node, moved) for node in graph.nodes)
        for node, hint in (hints or {}).items():
            if not self._reversed[node]:  # these are named as they are in the backward graph
                possible = sorted(set(self._options[node]).intersection(hint))
                self._options[node] = possible or self._options[node]
        self._loose = _loose(graph, self._reversed) if backward else [False] * len(graph.names)
        last = len(sources.nodes)
        self._low = [o[0] if o else 0 for o in self._options]
        self._high = [o[-1] if o else last for o in self._options]

    def start_after(self, forward: _Alignment) -> None:
        """Take over what the forward graph tells.

        What is saved for the backward of an operation is computed by it or before it. The results
        are gradients of the forward graph's inputs, in order, from where these are used.
        """
        for node, name in enumerate(self._graph.names[: self._graph.first]):
            saved = forward._graph.number.get(name)
            if saved is not None:
                self._low[node] = forward.first_use(saved)
        if len(self._graph.outputs) == forward._graph.first:
            for i, result in enumerate(self._graph.outputs):
                if result is not None and result >= self._graph.first:
                    self._narrow(result, [forward.first_use(i)], [])

    def first_use(self, node: int) -> int:
        """Where a node is, for a placeholder where it is used first."""
        if node >= self._graph.first:
            return self._low[node]
        return min((self._low[user] for user in self._graph.users[node]), default=0)

    def narrow(self) -> None:
        """Let every node come after those that it needs and before those that need it."""
        for _ in range(2):
            for node in range(len(self._graph.names)):
                self._after_inputs(node)
            for node in range(len(self._graph.names) - 1, -1, -1):
                self._before_users(node)

    def result(self) -> list[tuple[int, ...]]:
        """What is possible for each node; more than a thousand are as good as unknown."""
        known: dict[tuple[int, int, int], tuple[int, ...]] = {}
        result = []
        for options, low, high in zip(self._options, self._low, self._high, strict=True):
            key = (id(options), low, high)  # equal ones share their memory: there can be many
            if key not in known:
                start, end = bisect_left(options, low), bisect_right(options, high)
                known[key] = tuple(options[start:end]) if end - start <= _MOST_SOURCES else ()
            result.append(known[key])
        return result

    def _after_inputs(self, node: int) -> None:
        inputs = self._graph.inputs[node]
        if not self._reversed[node]:
            self._narrow(node, [self._low[n] for n in inputs], [])
            return
        lows = [self._low[n] for n in inputs if not self._reversed[n]]
        self._narrow(node, lows, [self._high[n] for n in inputs if self._reversed[n]])

    def _before_users(self, node: int) -> None:
        users = self._graph.users[node]
        if not self._reversed[node]:
            self._narrow(node, [], [self._high[n] for n in users])
        else:
            self._narrow(node, [self._low[n] for n in users], [])

    def _narrow(self, node: int, lows: list[int], highs: list[int]) -> None:
        if self._loose[node]:
            return
        low = max([self._low[node], *lows])
        high = min([self._high[node], *highs])
        options = self._options[node]
        if options:
            start, end = bisect_left(options, low), bisect_right(options, high)
            if start >= end:  # it was merged with another, or moved: then this says nothing
                return
            low, high = options[start], options[end - 1]
        if low <= high:
            self._low[node], self._high[node] = low, high


def _after_gradients(graph: GraphIndex) -> list[bool]:
    found: list[bool] = []
    for i, inputs in enumerate(graph.inputs):
        is_gradient = i < graph.first and graph.names[i].startswith("tangents")
        found.append(is_gradient or any(found[n] for n in inputs))
    return found


def _loose(graph: GraphIndex, after_gradients: list[bool]) -> list[bool]:
    """Nodes of a backward graph that do not belong between what they read and what reads them.

    Constants, which all uses share, and the sums of a parameter's gradients from several places.
    """
    found = [i >= graph.first and not inputs for i, inputs in enumerate(graph.inputs)]
    for i in range(len(found) - 1, -1, -1):
        gradients = sum(after_gradients[n] for n in graph.inputs[i])
        if graph.operators[i] == "add" and gradients > 1:
            found[i] = all(found[user] for user in graph.users[i])
    return found
