"""Compiles programs and writes what torch said of it to a file; run by test_provenance_oracle.

Kernels are not built: only the texts matter, and what the kernels would compute does not.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._inductor.async_compile
import torch._inductor.config
import torch._inductor.debug
import torch._inductor.graph
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

_KEPT = ("dynamo_output_graph", "inductor_post_grad_graph", "inductor_output_code")
Records = list[tuple[str, str]]


class _Channel(logging.Handler):
    def __init__(self, records: Records) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        metadata: dict[str, Any] = vars(record).get("metadata", {})
        name = metadata.get("artifact", {}).get("name", next(iter(metadata), ""))
        payload = vars(record).get("payload")
        if name in _KEPT and isinstance(payload, str):
            self._records.append((name, payload))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, width // 4).unbind(2)
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Transformer(nn.Module):
    def __init__(self, width: int = 32, layers: int = 3, words: int = 50) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        x = self.head(x)
        return F.cross_entropy(x.flatten(0, 1), tokens.flatten())


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.drop(x).sin()


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.first(x)))
        y = F.max_pool2d(x, 2)
        x = torch.relu(self.second(y)) + y
        return self.head(x.mean((2, 3)))


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Mlp() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x.tanh()


def _pointwise(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    c = a.sin() + b.cos()
    d = torch.exp(c * a)
    return d / (1 + d), d.relu()


def _softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    p = torch.softmax(x, -1)
    q = torch.log_softmax(x * 2, -1)
    return p.sum(0) * q.mean(0) + F.cross_entropy(x, y)


def _in_place(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.add_(b)
    c = a @ b
    b.mul_(2)
    return c.relu() + b


def _branch(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z: torch.Tensor = torch.cond(
        x.sum() > 0, lambda x, y: x.sin() @ y, lambda x, y: x.cos() + y, (x, y)
    )
    return z * 2


def _programs() -> dict[str, Callable[[], object]]:
    tokens = torch.randint(0, 50, (2, 16))
    image = torch.randn(2, 3, 16, 16)
    square = torch.randn(16, 16)
    learnt = torch.randn(8, 10, requires_grad=True)
    wanted = torch.randint(0, 10, (8,))
    compiled = torch.compile
    return {
        "mlp": lambda: compiled(Mlp())(torch.randn(8, 16)).sum().backward(),
        "transformer": lambda: compiled(Transformer())(tokens).backward(),
        "dynamic": lambda: compiled(Transformer(layers=2), dynamic=True)(tokens).backward(),
        "checkpointed": lambda: compiled(Checkpointed())(torch.randn(8, 16)).sum().backward(),
        "cnn": lambda: compiled(Cnn())(image).sum().backward(),
        "cnn_inference": torch.no_grad()(lambda: compiled(Cnn().eval())(image)),
        "transformer_inference": torch.no_grad()(lambda: compiled(Transformer().eval())(tokens)),
        "softmax": lambda: compiled(_softmax)(learnt, wanted).sum().backward(),
        "pointwise": lambda: compiled(_pointwise)(square, square),
        "in_place": lambda: compiled(_in_place)(square.clone(), square.clone()),
        "branch": lambda: compiled(_branch)(square, square),
    }


def _without_building() -> None:
    def compute(*values: object) -> None:
        for value in values:  # what was never computed is no index to be used
            if isinstance(value, torch.Tensor) and not value.is_floating_point():
                value.zero_()

    def kernel(*_: object) -> Callable[..., None]:
        return compute

    torch._inductor.async_compile.AsyncCompile.cpp_pybinding = kernel


def _tell_truth(records: Records) -> None:
    """Record which nodes each kernel computes, and which of Dynamo's nodes those come from.

    Torch's own record leaves out backward graphs.
    """
    debug, lowering = torch._inductor.debug, torch._inductor.graph.GraphLowering
    dump, start = debug.dump_inductor_provenance_info, lowering.__init__

    def dumped() -> Any:
        kernels = debug._inductor_triton_kernel_to_post_grad_node_info
        records.append(("true_kernels", json.dumps(kernels)))
        records.append(("mappings", json.dumps(dump())))
        return dump()

    def started(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is lowering:  # not for the branches of a condition
            told = {}
            for node in args[0].graph.nodes:
                came_from = node.meta.get("from_node") or [None]
                is_backward = node.meta.get("partitioner_tag") == "is_backward"
                name = getattr(came_from[0], "name", None)
                told[node.name] = [name, node.meta.get("seq_nr"), is_backward]
            records.append(("true_sources", json.dumps(told)))
        start(self, *args, **kwargs)

    debug.dump_inductor_provenance_info = dumped
    lowering.__init__ = started


def main() -> None:
    """Write the records of every program, by its name."""
    torch.manual_seed(0)
    torch._inductor.config.trace.provenance_tracking_level = 1
    records: Records = []
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(_Channel(records))
    trace.setLevel(logging.DEBUG)
    trace.propagate = False
    _without_building()
    _tell_truth(records)
    found: dict[str, Records] = {}
    for name, run in _programs().items():
        torch._dynamo.reset()
        run()
        found[name] = list(records)
        records.clear()
    Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
