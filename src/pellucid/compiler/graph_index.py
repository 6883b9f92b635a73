"""A graph by numbers: placeholders first, then its nodes in order."""

from __future__ import annotations

from pellucid.compiler.fx_graph import FxGraph, GraphNode

__all__ = ["GraphIndex", "operator"]

_SPLITS = frozenset(["chunk", "split", "split_with_sizes", "unbind"])
_VIEWS = _SPLITS | {
    *("_reshape_alias", "_unsafe_view", "flatten", "reshape", "unflatten", "view"),
    *("alias", "detach", "lift_fresh_copy"),
    *("movedim", "permute", "swapaxes", "t", "transpose"),
    *("as_strided", "diagonal", "select", "slice", "unfold"),
    *("expand", "squeeze", "unsqueeze"),
}


def operator(target: str) -> str:
    """``addmm`` of ``torch.ops.aten.addmm.default`` or of ``extern_kernels.addmm``."""
    parts = target.split(".")
    if target.startswith("torch.ops.") and len(parts) > 3:
        return parts[3]
    if parts[0] in ("aten", "inductor_ops", "prims", "mkldnn", "quantized", "_quantized"):
        return parts[1] if len(parts) > 1 else ""
    return parts[-1]


class GraphIndex:
    """What the matching asks of a graph; every number is smaller than those that depend on it."""

    def __init__(self, graph: FxGraph) -> None:
        self.names = [*graph.inputs, *(node.name for node in graph.nodes)]
        self.first = len(graph.inputs)
        self.nodes = graph.nodes
        self.number: dict[str, int] = {}
        self.inputs: list[tuple[int, ...]] = [()] * self.first
        self.operators = [""] * self.first
        self.attributes: dict[str, list[int]] = {}  # the nodes that are given a subgraph, say
        for i, name in enumerate(graph.inputs):
            self.number[name] = i
        for i, node in enumerate(graph.nodes, self.first):
            numbers = (self.number.get(name) for name in node.inputs if name not in self.attributes)
            self.inputs.append(tuple(n for n in numbers if n is not None))
            if node.target.startswith("self."):
                self.attributes.setdefault(node.name, [])
            for name in node.inputs:
                if name in self.attributes:
                    self.attributes[name].append(i)
            self.operators.append(operator(node.target))
            self.number[node.name] = i
        self.outputs = [self.number.get(name) for name in graph.outputs]
        self.users: list[list[int]] = [[] for _ in self.names]
        for i, inputs in enumerate(self.inputs):
            for n in dict.fromkeys(inputs):
                self.users[n].append(i)
        self.roots = self._roots()

    def node(self, number: int) -> GraphNode | None:
        """None for a placeholder."""
        return self.nodes[number - self.first] if number >= self.first else None

    def is_item(self, number: int) -> bool:
        """Whether it takes one result of an operator that has several."""
        return self.operators[number].startswith("[") and bool(self.inputs[number])

    def is_view(self, number: int) -> bool:
        """Whether it only looks at memory of its first input in another way."""
        if self.is_item(number):
            return self.operators[self.inputs[number][0]] in _SPLITS
        return self.operators[number] in _VIEWS and bool(self.inputs[number])

    def is_free(self, number: int) -> bool:
        """Whether no work is done for it: a view, one of several results, arithmetic of sizes."""
        node = self.node(number)
        is_size = node is not None and node.value.startswith("Sym(")
        return is_size or self.is_item(number) or self.is_view(number)

    def _roots(self) -> list[int]:
        roots: list[int] = []
        for i in range(len(self.names)):
            roots.append(roots[self.inputs[i][0]] if self.is_view(i) else i)
        return roots
