"""Backward work is linked to the forward that it belongs to: line, module and operator."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pellucid.analysis import LogicalTree
from pellucid.model import EdgeKind, Node, Profile
from with_torch.recordings import calls, line_of, lines, modules, origin, record


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(x)  # up
        return self.down(x)  # down


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


X = torch.ones(3, 4, requires_grad=True)
PATHS = [["Net", f"blocks.{i}", f"blocks.{i}.{name}"] for i in range(2) for name in ("up", "down")]


def backwards(profile: Profile, name: str = "AddmmBackward0") -> list[Node]:
    return profile.nodes(kind="operator", name=name)


def homes(profile: Profile, name: str = "AddmmBackward0") -> Counter[tuple[str, ...]]:
    """The modules around the forward of each backward function, with its calls."""
    found: Counter[tuple[str, ...]] = Counter()
    for node in backwards(profile, name):
        found[tuple(modules(origin(node)))] += node.stats["duration"].count
    return found


def above(node: Node) -> list[Node]:
    """The nodes above in the tree as the program means it, innermost first."""
    logical = LogicalTree(node.profile)
    found, id = [], node.id
    while (id := logical.parents[id]) >= 0:
        found.append(node.profile.node(id))
    return found


def logical_lines(node: Node) -> list[int | None]:
    """The lines of ``work`` in this file that the node's time counts for."""
    return [n.frame.line for n in above(node) if n.frame.name.endswith(".work")]


def each(times: int) -> dict[tuple[str, ...], int]:
    return {tuple(path): times for path in PATHS}


def losses(profile: Profile) -> list[str]:
    return [loss.kind for loss in profile.losses]


def test_each_backward_function_leads_to_the_forward_of_its_layer() -> None:
    net = Net()

    profile = record(lambda: [net(X).sum().backward() for _ in range(5)])

    assert homes(profile) == each(5)
    for node in backwards(profile):
        forward = origin(node)
        assert forward.frame.name in ("aten::addmm", "aten::linear")
        mark = modules(forward)[-1].rpartition(".")[2]
        assert line_of(__file__, mark) in lines(forward, __file__)
    assert losses(profile) == []


def test_backward_on_another_thread() -> None:
    net = Net()
    loss = []

    def work() -> None:
        loss.append(net(X).sum())
        thread = threading.Thread(target=loss[0].backward, name="backward")
        thread.start()
        thread.join()

    profile = record(work)

    assert homes(profile) == each(1)
    assert {node.path[0].name for node in backwards(profile)} == {"backward"}
    assert {origin(node).path[0].name for node in backwards(profile)} == {"MainThread"}


def test_three_threads_that_train_at_once() -> None:
    nets = [Net() for _ in range(3)]
    together = threading.Barrier(3)

    def train(net: Net) -> None:
        together.wait()
        for _ in range(20):
            net(torch.ones(3, 4)).sum().backward()

    def work() -> None:
        threads = [
            threading.Thread(target=train, args=(n,), name=f"t{i}") for i, n in enumerate(nets)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    profile = record(work)

    assert calls(profile)["AddmmBackward0"] == 3 * 20 * 4
    for node in backwards(profile):
        assert origin(node).path[0] == node.path[0]
    assert losses(profile) == []


def test_gradient_accumulation_and_retained_graphs() -> None:
    net = Net()

    def work() -> None:
        for _ in range(2):
            loss = net(X).sum()
            loss.backward(retain_graph=True)
            loss.backward()

    assert homes(record(work)) == each(4)


def test_autograd_grad_and_hooks() -> None:
    net = Net()
    seen = []

    def hook(grad: Tensor) -> None:
        seen.append(grad.mul(2))

    def work() -> None:
        out = net(X)
        out.register_hook(hook)
        torch.autograd.grad(out.sum(), list(net.parameters()))

    profile = record(work)

    assert homes(profile) == each(1)
    (mul,) = profile.nodes(kind="operator", name="aten::mul")
    assert mul.path[-2].name == "test_autograd_grad_and_hooks.<locals>.hook"
    assert LogicalTree(profile).in_backward[mul.id] == 1


def test_double_backward() -> None:
    x = torch.ones(3, requires_grad=True)

    def work() -> None:
        y = (x**3).sum()  # forward
        (grad,) = torch.autograd.grad(y, x, create_graph=True)  # first
        grad.sum().backward()  # second

    profile = record(work)

    ran_in: dict[str, list[Node]] = {mark: [] for mark in ("first", "second")}
    for node in backwards(profile, "PowBackward0"):
        (mark,) = [m for m in ran_in if line_of(__file__, m) in lines(node, __file__)]
        ran_in[mark].append(node)
    (first,) = ran_in["first"]
    assert lines(origin(first), __file__)[-1] == line_of(__file__, "forward")
    (second,) = ran_in["second"]
    assert origin(second).parent == first, "the backward of the pow inside the first backward"
    assert logical_lines(second) == [line_of(__file__, "forward")]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return torch.addcmul(torch.zeros_like(x), x * x, grad, value=3)


class Cubed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return Cube.apply(x)  # apply


def test_a_function_of_the_users_belongs_to_its_caller() -> None:
    model = nn.Sequential(Cubed(), nn.Linear(4, 4))

    profile = record(lambda: model(X).sum().backward())

    (node,) = backwards(profile, "CubeBackward")
    forward = origin(node)
    assert modules(forward) == ["Sequential", "0"]
    assert lines(forward, __file__)[-1] == line_of(__file__, "apply")
    logical = LogicalTree(profile)
    (inside,) = profile.nodes(kind="operator", name="aten::addcmul")
    assert inside.path[-2].name == "Cube.backward"
    assert logical.in_backward[inside.id] == 1


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputed_operators_lead_to_their_originals(reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Layer()

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.inner, x, use_reentrant=reentrant)

    model = Checkpointed()

    profile = record(lambda: [model(X).sum().backward() for _ in range(3)])

    recomputed = {
        e.src: profile.node(e.dst) for e in profile.edges if e.kind is EdgeKind.RECOMPUTE_OF
    }
    again = [profile.node(src) for src in recomputed]
    linears = [node for node in again if node.frame.name == "aten::linear"]
    assert len(linears) == 2
    for node in linears:
        original = recomputed[node.id]
        assert original.frame == node.frame
        assert modules(original) == ["Checkpointed", *modules(node)]
        assert lines(original, __file__)[-1] == lines(node, __file__)[-1]
        assert node not in original.path
    logical = LogicalTree(profile)
    assert all(logical.in_backward[node.id] for node in again)
    homes = [
        [n.frame.name for n in above(b) if n.frame.kind == "module"] for b in backwards(profile)
    ]
    assert sorted(homes) == [[f"inner.{x}", "inner", "Checkpointed"] for x in ("down", "up")]
    assert losses(profile) == []


def test_a_region_around_the_loop_and_the_optimizer_hide_no_line() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())

    def work() -> None:
        with torch.profiler.record_function("everything"):
            for _ in range(2):
                net(X).sum().backward()  # backward
                optimizer.step()  # step

    profile = record(work)

    assert homes(profile) == each(2)
    for name, mark in ("AddmmBackward0", "backward"), ("aten::addcdiv_", "step"):
        found = profile.nodes(kind="operator", name=name)
        assert found
        assert {lines(node, __file__)[-1] for node in found} == {line_of(__file__, mark)}
    (node,) = {n.parent for n in profile.nodes(name="aten::addcdiv_")}
    assert node is not None
    assert node.frame.name == "_single_tensor_adam"


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_there_are_no_edges(mode: Any) -> None:
    net = Net()

    def work() -> None:
        with mode():
            net(X)

    profile = record(work)

    assert calls(profile)["aten::addmm"] == 4
    assert profile.edges == []


def test_operators_that_share_a_number_are_told_apart() -> None:
    """A linear and its transpose share a sequence number, as a comparison and the next multiply."""
    x = torch.ones(3, 3, requires_grad=True)

    def work() -> None:
        y = x.t()  # transpose
        mask = y.detach() > 0  # compare
        (y * 2)[mask].sum().backward()  # multiply

    profile = record(work)

    (mul,) = backwards(profile, "MulBackward0")
    assert lines(origin(mul), __file__)[-1] == line_of(__file__, "multiply")
    assert origin(mul).frame.name == "aten::mul"
    (transpose,) = backwards(profile, "TBackward0")
    assert lines(origin(transpose), __file__)[-1] == line_of(__file__, "transpose")
