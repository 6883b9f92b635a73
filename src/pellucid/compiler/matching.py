"""Which graph nodes each call of generated code computes, found by following the values.

1. Calls of operators are matched with the graph's nodes of that operator, in order, by what they
   read. This tells which nodes the values are that they read.
2. What the code returns is what the graph returns, position by position.
3. A fused kernel computes what lies above the values that it writes, up to those that it reads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from pellucid.compiler.graph_index import GraphIndex, operator
from pellucid.compiler.output_code import OPERATORS, Call, Flow

__all__ = ["match"]

_SAME = {"bias_addmm": "addmm", "randint": "inductor_seeds", "index_put_": "index_put"}
_MOST_CANDIDATES = 100
_MOST_STEPS = 20_000_000
_MOST_BITS = 1 << 31
_ANYTHING = -1  # as a set of bits: all


def match(flow: Flow, graph: GraphIndex, is_likely: Callable[[Call, int], bool]) -> list[list[int]]:
    """For each call the graph's nodes that it computes; none where that is not sure."""
    matcher = _Matcher(flow, graph, is_likely)
    if matcher.is_too_large():
        return [[] for _ in flow.calls]
    matcher.match_operators()
    matcher.match_results()
    matcher.match_between()
    return [matcher.computed(i) for i in range(len(flow.calls))]


class _Matcher:
    """What is known so far of one flow and its graph."""

    def __init__(
        self, flow: Flow, graph: GraphIndex, is_likely: Callable[[Call, int], bool]
    ) -> None:
        self._flow = flow
        self._graph = graph
        self._is_likely = is_likely
        self._own = {i: _own_operator(c) for i, c in enumerate(flow.calls) if c.kind in OPERATORS}
        self._anchors: list[list[int]] = [[] for _ in flow.values]  # the nodes that a value is
        self._matched: dict[int, int] = {}  # by call
        self._taken: set[int] = set()
        # Nodes in order, by their operator and each of their operands (-1: any).
        self._waiting: dict[tuple[str, int], deque[int]] = {}
        for i, value in enumerate(flow.values):
            if value.placeholder in graph.number:
                self._anchors[i].append(graph.number[value.placeholder])
        self._bits = self._leaf_bits()
        self._leaves = [0] if self.is_too_large() else self._leaves_above()
        self._steps = 0
        self._possible: dict[int, list[int]] = {}  # the nodes that a value may be
        self._reached = [0] * len(flow.values)  # the leaves that a value depends on
        self._needs = {v: n for call in flow.calls for v, n in call.needs.items()}
        self._readers: dict[int, list[int]] = {}  # calls, by the value that they read
        for i, call in enumerate(flow.calls):
            for read in call.reads:
                self._readers.setdefault(read, []).append(i)

    def is_too_large(self) -> bool:
        """Whether it would take too much memory; no real graph's does."""
        return len(self._bits) * len(self._graph.names) > _MOST_BITS

    # What the graph's nodes depend on

    def _leaf_bits(self) -> dict[int, int]:
        """A bit for each node that no fused kernel computes: what is read, calls of operators."""
        read = {value for call in self._flow.calls for value in call.reads}
        names = {self._flow.values[value].placeholder for value in read}
        operators = set(self._own.values())
        graph = self._graph
        leaves = [
            i
            for i, name in enumerate(graph.names)
            if (name in names if i < graph.first else graph.operators[i] in operators)
        ]
        called = {n for call in self._flow.calls for n in self._calling(call)}
        return {leaf: 1 << bit for bit, leaf in enumerate(sorted(called.union(leaves)))}

    def _calling(self, call: Call) -> list[int]:
        """The nodes that another graph is given to whose code this calls."""
        return self._graph.attributes.get(call.kernel, []) if call.kind == "graph" else []

    def _leaves_above(self) -> list[int]:
        above: list[int] = []
        for i, inputs in enumerate(self._graph.inputs):
            bits = self._bits.get(i, 0)
            if not bits:
                for n in inputs:
                    bits |= above[n]
            above.append(bits)
        return above

    def _operands(self, node: int) -> list[int]:
        return [self._graph.roots[n] for n in self._graph.inputs[node]]

    # Operators

    def match_operators(self) -> None:
        """Match each call with a node, and so what it reads with the node's inputs."""
        for leaf in self._bits:
            for key in self._keys(leaf):
                self._waiting.setdefault(key, deque()).append(leaf)
        for number, call in enumerate(self._flow.calls):
            if number in self._own:
                node = self._node_of(call, self._own[number])
                if node is not None:
                    self._take(number, node)
            self._reach(number, call)

    def _node_of(self, call: Call, own: str) -> int | None:
        if call.kind == "graph":
            calling = self._calling(call)
            return calling[0] if len(calling) == 1 else None
        candidates = [n for n in self._candidates(call, own) if self._fits(call, n)]
        for narrower in (self._is_exact, self._is_likely):
            if len(candidates) > 1:
                candidates = [n for n in candidates if narrower(call, n)] or candidates
        places = {(n.file, n.line) for c in candidates if (n := self._graph.node(c))}
        return candidates[0] if len(places) == 1 else None

    def _keys(self, node: int) -> list[tuple[str, int]]:
        own = self._graph.operators[node]
        return [(own, operand) for operand in (-1, *self._operands(node))]

    def _candidates(self, call: Call, own: str) -> list[int]:
        """Nodes of that operator, of those with a known operand if there is one."""
        known = [a[0] for value in call.reads if (a := self._anchors[value])]
        waiting = [self._waiting.get((own, self._graph.roots[k]), deque()) for k in known]
        fewest = min(waiting, key=len) if waiting else self._waiting.get((own, -1), deque())
        while fewest and fewest[0] in self._taken:
            fewest.popleft()
        return list(islice((n for n in fewest if n not in self._taken), _MOST_CANDIDATES))

    def _fits(self, call: Call, node: int) -> bool:
        operands = self._operands(node)
        reads = call.reads
        if len(operands) == len(reads):
            return all(self._may_be(v, n) for v, n in zip(reads, operands, strict=True))
        return all(any(self._may_be(v, n) for n in operands) for v in reads)

    def _may_be(self, value: int, node: int) -> bool:
        if self._anchors[value]:
            return any(self._graph.roots[a] == node for a in self._anchors[value])
        return not self._leaves[node] & ~self._reached[value]

    def _is_exact(self, call: Call, node: int) -> bool:
        unknown = [v for v in call.reads if not self._anchors[v]]
        operands = self._operands(node)
        return all(any(self._leaves[n] == self._reached[v] for n in operands) for v in unknown)

    def _take(self, number: int, node: int) -> None:
        call, graph = self._flow.calls[number], self._graph
        self._matched[number] = node
        self._taken.add(node)
        for value in call.needs:
            self._anchor(value, node)
        inputs = graph.inputs[node]
        if len(inputs) == len(call.reads):
            for value, n in zip(call.reads, inputs, strict=True):
                self._anchor(value, n)
            return
        for value in call.reads:
            fitting = {n for n in inputs if self._may_be(value, graph.roots[n])}
            if len(fitting) == 1:
                self._anchor(value, fitting.pop())

    def _anchor(self, value: int, node: int) -> None:
        """A value is a node's result; so are its items, and the parts it was put together from."""
        graph, values = self._graph, self._flow.values
        pending = [(value, node)]
        while pending:
            value, node = pending.pop()
            if node in self._anchors[value] or values[value].placeholder:
                continue
            self._anchors[value].append(node)
            pending.extend((part, node) for part in values[value].before)
            for index, item in values[value].items.items():
                users = graph.users[node]
                pending.extend((item, u) for u in users if graph.operators[u] == f"[{index}]")

    def _reach(self, number: int, call: Call) -> None:
        for value, needs in call.needs.items():
            if number in self._own:
                reached = self._bits.get(self._matched.get(number, -1), _ANYTHING)
            else:
                reached = self._reach_of(needs)
            for before in self._flow.values[value].before:
                reached |= self._reached[before]
            self._set_reached(value, reached)

    def _set_reached(self, value: int, reached: int) -> None:
        pending = [value]
        while pending:
            value = pending.pop()
            self._reached[value] = reached
            pending.extend(self._flow.values[value].items.values())

    def _reach_of(self, values: Iterable[int]) -> int:
        reached = 0
        for value in values:
            if self._flow.values[value].placeholder:
                reached |= self._bits.get(self._anchors[value][0], 0) if self._anchors[value] else 0
            else:
                reached |= self._reached[value]
        return reached

    # Results

    def match_results(self) -> None:
        returned, outputs = self._flow.returned, self._graph.outputs
        if len(returned) == len(outputs):
            for value, node in zip(returned, outputs, strict=True):
                if value is not None and node is not None:
                    self._anchor(value, node)
        for name, value in self._flow.renewed.items():
            self._anchor_copies(value, self._graph.number.get(name))

    def _anchor_copies(self, value: int, owner: int | None) -> None:
        """What was written to an input's memory is what the graph copies there at its end."""
        for user in self._graph.users[owner] if owner is not None else ():
            if self._graph.operators[user] == "copy_" and self._graph.inputs[user][0] == owner:
                self._anchor(value, user)

    # Values that only fused kernels read

    def match_between(self) -> None:
        """Find what the values are that one fused kernel hands to another, last ones first."""
        readers: dict[int, list[int]] = {}
        for call in self._flow.calls:
            for value, needs in call.needs.items():
                for need in needs:
                    readers.setdefault(need, []).append(value)
        for number in range(len(self._flow.calls) - 1, -1, -1):
            if number in self._own:
                continue
            for value in self._flow.calls[number].needs:
                known = [r for r in readers.get(value, ()) if self._anchors[r]]
                if not self._anchors[value] and known and self._reached[value] > 0:
                    self._possible[value] = self._cuts(value, known)
                    if len(self._possible[value]) == 1:
                        self._anchor(value, *self._possible[value])

    def _cuts(self, value: int, readers: list[int]) -> list[int]:
        """The nodes that a value can be: with it, its readers must not need anything else."""
        possible: set[int] | None = None
        for reader in readers:
            cuts = self._same_leaves(value, reader)
            if len(cuts) >= _MOST_CANDIDATES:
                return []
            closing = {n for n in cuts if self._closes(n, value, reader)}
            possible = closing if possible is None else possible & closing
        return sorted(possible or ())

    def _same_leaves(self, value: int, reader: int) -> list[int]:
        graph, reached = self._graph, self._reached[value]
        stops = self._stops(reader)
        found: list[int] = []
        seen: set[int] = set()
        pending = list(self._anchors[reader])
        while pending and len(found) < _MOST_CANDIDATES:
            node = pending.pop()
            if node in seen or node in stops or node in self._bits or reached & ~self._leaves[node]:
                continue
            seen.add(node)
            if self._leaves[node] == reached and not graph.is_view(node):
                found.append(node)
            pending.extend(graph.inputs[node])
        return found

    def _closes(self, node: int, value: int, reader: int) -> bool:
        others = [v for v in self._needs[reader] if v != value and not self._anchors[v]]
        excused = self._reach_of(others)
        _, leaks = self._above(self._anchors[reader], self._stops(reader) | {node})
        return not any(self._bits[leak] & ~excused for leak in leaks)

    def _stops(self, value: int) -> set[int]:
        """What was there before a value was computed, or may have been."""
        stops = {self._graph.roots[a] for v in self._needs[value] for a in self._anchors[v]}
        return stops.union(*(self._possible.get(v, ()) for v in self._needs[value]))

    # Fused kernels

    def computed(self, number: int) -> list[int]:
        """The nodes of one call."""
        if number in self._own:
            return [self._matched[number]] if number in self._matched else []
        found: set[int] = set()
        for value in self._flow.calls[number].needs:
            found |= self._nodes_of(value)
        return sorted(found) if self._steps < _MOST_STEPS else []

    def _nodes_of(self, value: int) -> set[int]:
        """What was computed for a value, and not only looked at in another way.

        If that is nothing, then the kernel put memory into the order that its readers want.
        """
        anchors = self._anchors[value] or self._least(value)
        nodes, leaks = self._above(anchors, self._stops(value))
        unknown = any(
            not self._anchors[v] and not self._possible.get(v) for v in self._needs[value]
        )
        if leaks or unknown:  # where to stop is not known, only the last operation is sure
            nodes = {n for a in anchors if (n := self._producer(a)) in nodes}
        worked = {n for n in nodes if not self._graph.is_free(n)}
        if worked or not anchors or not all(self._anchors[v] for v in self._needs[value]):
            return worked
        readers = (self._matched.get(call) for call in self._readers.get(value, ()))
        return nodes | {n for n in readers if n is not None}

    def _producer(self, node: int) -> int:
        graph = self._graph
        node = graph.roots[node]
        while graph.is_item(node):
            node = graph.roots[graph.inputs[node][0]]
        return node

    def _least(self, value: int) -> list[int]:
        """The node that a value is computed from at least, if it can be one of several."""
        first, *others = self._possible.get(value) or [-1]
        stops = self._stops(value)
        return (
            [first] if others and all(first in self._above([n], stops)[0] for n in others) else []
        )

    def _above(self, anchors: Sequence[int], stops: set[int]) -> tuple[set[int], set[int]]:
        """What lies above some nodes, and what was reached beyond the places to stop at."""
        graph = self._graph
        found: set[int] = set()
        leaks: set[int] = set()
        pending = list(anchors) if self._steps < _MOST_STEPS else []
        while pending:
            self._steps += 1
            node = pending.pop()
            if node in found or node in stops:
                continue
            if node in self._bits and (node in self._taken or node < graph.first):
                leaks.add(node)
            elif node >= graph.first:
                found.add(node)
                pending.extend(graph.inputs[node])
        return found, leaks


def _own_operator(call: Call) -> str:
    own = operator(call.kernel)
    return _SAME.get(own, own)
