"""What is read from texts alone, against what torch itself records when it is told to."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pellucid.compiler import (
    FxGraph,
    GraphNode,
    KernelCall,
    SourceNode,
    kernel_calls,
    parse_graph,
    source_nodes,
)
from with_torch.recordings import python

PROGRAM = Path(__file__).with_name("compiled_programs.py")
PROGRAMS = (
    "mlp",
    "transformer",
    "dynamic",
    "checkpointed",
    "cnn",
    "cnn_inference",
    "transformer_inference",
    "softmax",
    "pointwise",
    "in_place",
    "branch",
)

# A kernel computes these as part of what reads them (constants), or by writing its result where the
# concatenation has its place. Torch names them for some kernels and not for others.
EITHER_WAY = {"aten.cat", "aten.full", "aten.scalar_tensor", "prims.iota"}

# Nothing is computed for these; a condition's branches have their own kernels.
FREE = {"cond", "expand", "permute", "reshape", "select", "slice", "split", "squeeze", "unbind"}
FREE |= {"unsqueeze"}


@dataclass
class Module:
    """One graph that was compiled, and what is true of it."""

    program: str
    graph_text: str
    code: str
    forward: str | None
    sources: list[SourceNode]
    kernels: dict[str, list[str]]
    mappings: dict[str, Any]
    came_from: dict[str, tuple[str | None, int | None, bool]]
    by_sequence: dict[int, set[str]]

    @property
    def backward(self) -> bool:
        return "tangents_1" in self.graph_text

    @property
    def graph(self) -> FxGraph:
        return parse_graph(self.graph_text)

    def calls(self, **options: Any) -> list[KernelCall]:
        return kernel_calls(
            self.code,
            self.graph_text,
            self.sources,
            backward=self.backward,
            forward_graph=self.forward,
            **options,
        )

    def handle(self, call: KernelCall) -> str:
        """The number that torch gave to the call, from the comment above it."""
        above = self.code.split("\n")[call.line - 2]
        assert "[Provenance debug handles]" in above
        return above.split()[-1]

    def true_sources(self, node: GraphNode) -> set[int]:
        """Dynamo's nodes at the node's line that torch says it came from; empty if it does not."""
        name, sequence, is_backward = self.came_from.get(node.name, (None, None, False))
        names = {name} if name and not is_backward else self.by_sequence.get(sequence or -1, set())
        return {
            i
            for i, source in enumerate(self.sources)
            if source.name in names and (source.file, source.line) == (node.file, node.line)
        }


def read(program: str, records: list[tuple[str, str]]) -> Iterator[Module]:
    latest: dict[str, str] = {}
    forward: str | None = None
    by_sequence: dict[int, set[str]] = {}
    for name, payload in records:
        latest[name] = payload
        if name == "dynamo_output_graph":
            forward, by_sequence = None, {}
        if name != "mappings":
            continue
        sources = source_nodes(parse_graph(latest["dynamo_output_graph"]))
        names = {source.name for source in sources}
        came_from = {k: tuple(v) for k, v in json.loads(latest["true_sources"]).items()}
        for source, sequence, is_backward in came_from.values():
            if source in names and not is_backward:
                by_sequence.setdefault(sequence, set()).add(source)
        yield Module(
            program,
            latest["inductor_post_grad_graph"],
            latest["inductor_output_code"],
            forward,
            sources,
            json.loads(latest["true_kernels"]),
            json.loads(payload),
            came_from,
            by_sequence,
        )
        forward = latest["inductor_post_grad_graph"]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Module]]:
    folder = tmp_path_factory.mktemp("compiled")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    ended = python(folder, str(PROGRAM), "said.json", env=environment)
    assert ended.status == 0, ended.stderr
    said = json.loads((folder / "said.json").read_text())
    assert set(said) == set(PROGRAMS)
    return {name: list(read(name, records)) for name, records in said.items()}


def nodes_of(module: Module) -> dict[str, GraphNode]:
    graphs = [*module.graph.subgraphs.values(), module.graph]
    return {node.name: node for graph in graphs for node in graph.nodes}


def works(node: GraphNode) -> bool:
    """Whether there is anything to compute for it."""
    parts = node.target.split(".")
    if node.target.startswith(("[", "self.")) or node.value.startswith("Sym("):
        return False
    return not (parts[:2] == ["torch", "ops"] and parts[3] in FREE)


def is_either_way(node: GraphNode) -> bool:
    return any(node.target.startswith(f"torch.ops.{name}.") for name in EITHER_WAY)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_kernel_has_a_wrong_node(program: str, modules: dict[str, list[Module]]) -> None:
    for module in modules[program]:
        nodes = nodes_of(module)
        for call in module.calls():
            told = module.kernels[module.handle(call)]
            found = {o.node for o in call.origins}
            wrong = {
                n for n in found - set(told) if works(nodes[n]) and not is_either_way(nodes[n])
            }
            if not any(name in nodes for name in told):
                # Only an input was copied: torch names the input, we the operator that wants this.
                wrong = {n for n in wrong if "convolution" not in nodes[n].target}
            assert not wrong, (call.kernel, call.line)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nearly_all_nodes_are_found(program: str, modules: dict[str, list[Module]]) -> None:
    """Torch names a node also for kernels that only read its result: it has to be found once."""
    for module in modules[program]:
        nodes = nodes_of(module)
        calls = module.calls()
        told = {n for names in module.kernels.values() for n in names if n in nodes}
        told = {n for n in told if works(nodes[n]) and not is_either_way(nodes[n])}
        found = {o.node for call in calls for o in call.origins}
        assert len(told & found) >= 0.97 * len(told), told - found
        assert all(call.origins for call in calls)


@pytest.mark.parametrize("program", PROGRAMS)
def test_dynamo_nodes_are_among_those_named(program: str, modules: dict[str, list[Module]]) -> None:
    for module in modules[program]:
        nodes = nodes_of(module)
        for origin in {o.node: o for call in module.calls() for o in call.origins}.values():
            node = nodes[origin.node]
            assert (origin.file, origin.line) == (node.file, node.line)
            true = module.true_sources(node)
            if true and origin.sources:
                assert true.intersection(origin.sources), origin
            assert all(module.sources[i].line == origin.line for i in origin.sources)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_source_that_has_moved_is_found_again(
    program: str, modules: dict[str, list[Module]]
) -> None:
    """As after an edit above the code: a line that is known must be the right one."""
    for module in modules[program]:
        moved = [source._replace(line=(source.line or 0) + 7) for source in module.sources]
        calls = zip(module.calls(), replace(module, sources=moved).calls(), strict=True)
        lines = [
            (before.line, after.line)
            for call, again in calls
            for before, after in zip(call.origins, again.origins, strict=True)
            if before.line is not None
        ]
        found = [(before + 7, after) for before, after in lines if after is not None]
        assert all(expected == after for expected, after in found)
        assert len(found) >= 0.9 * len(lines)


def test_layers_are_told_apart(modules: dict[str, list[Module]]) -> None:
    """Each layer has the same lines; an operator of one is not mistaken for another layer's."""
    for module in modules["transformer"]:
        ends = [i for i, s in enumerate(module.sources) if s.name.startswith("gelu")]
        assert len(ends) == 3
        operators = [call for call in module.calls() if call.kind == "extern"]
        layers = [{bisect_left(ends, i) for i in c.origins[0].sources} for c in operators]
        share = sum(len(layer) == 1 for layer in layers) / len(layers)
        assert share >= (0.6 if module.backward else 1.0), layers


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_torch_recorded_is_preferred(program: str, modules: dict[str, list[Module]]) -> None:
    for module in modules[program]:
        own = {node.name: node for node in module.graph.nodes}
        for call in module.calls(mappings={"cppCodeToPost": module.kernels}):
            told = {n for n in module.kernels[module.handle(call)] if n in own and works(own[n])}
            found = {o.node for o in call.origins}
            if call.kind in ("extern", "fallback"):
                assert found <= told or not told
            elif found <= set(own):  # not a branch's code
                assert found >= told


def test_records_of_torch_are_understood(modules: dict[str, list[Module]]) -> None:
    """The file format, as it is in a trace log."""
    (module,) = modules["pointwise"]
    assert module.mappings["cppCodeToPost"]
    (call,) = module.calls(mappings=module.mappings)
    assert {o.node for o in call.origins} == set(*module.mappings["cppCodeToPost"].values())
