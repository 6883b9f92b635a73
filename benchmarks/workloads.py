"""The training loops that the overhead is measured on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["WORKLOADS", "Workload"]

Workload = Callable[[], Callable[[], None]]


class Block(nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def _training(
    width: int, batch: int, length: int, layers: int, *, compiled: bool = False
) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(*[Block(width) for _ in range(layers)])
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(batch, length, width)
    call = torch.compile(model) if compiled else model

    def step() -> None:
        optimizer.zero_grad()
        call(data).pow(2).mean().backward()
        optimizer.step()

    return step


def op_bound() -> Callable[[], None]:
    """About 4,500 operators in a step of about 5 ms: the worst case on purpose."""
    return _training(width=64, batch=4, length=16, layers=6)


def matmul_bound() -> Callable[[], None]:
    """The same model, wide enough that the arithmetic counts."""
    return _training(width=512, batch=2, length=128, layers=2)


def compiled_transformer() -> Callable[[], None]:
    """A medium transformer, trained under torch.compile."""
    return _training(width=256, batch=8, length=64, layers=4, compiled=True)


def compiled_toy() -> Callable[[], None]:
    """A compiled function of small kernels and small matrices: dispatch is all that it costs."""
    torch.manual_seed(0)
    weights = [torch.randn(16, 16) for _ in range(8)]

    def layers(x: Tensor) -> Tensor:
        for weight in weights:
            x = torch.tanh(x @ weight) * 0.5 + x
        return x

    call = torch.compile(layers)
    data = torch.randn(8, 16)

    def step() -> None:
        with torch.no_grad():
            for _ in range(50):
                call(data)

    return step


WORKLOADS: dict[str, Workload] = {
    "op-bound": op_bound,
    "matmul-bound": matmul_bound,
    "compiled transformer": compiled_transformer,
    "compiled toy": compiled_toy,
}
