"""Train a small gated network under torch.compile, which fuses its arithmetic into kernels.

A program like many: modules of its own, a loss, a training step that is compiled. Under
`pellucid run` the fused kernels are shown with the lines below that they were made from.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Scale each row to a root mean square of 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


class GatedLayer(nn.Module):
    """A residual layer whose second half opens and closes its first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = RMSNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.up(self.norm(x)).chunk(2, dim=-1)
        hidden = value * F.silu(gate)
        return x + self.down(hidden)


class Network(nn.Module):
    """Layers between an input and an output projection."""

    def __init__(self, inputs: int, width: int, depth: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(GatedLayer(width) for _ in range(depth))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.embed(x))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def make_data(samples: int, inputs: int, classes: int) -> tuple[Tensor, Tensor]:
    """Points around one random centre a class."""
    centres = torch.randn(classes, inputs)
    labels = torch.randint(classes, (samples,))
    return centres[labels] + 0.7 * torch.randn(samples, inputs), labels


def train(steps: int, batch: int) -> None:
    """Train from scratch and print the loss now and then."""
    inputs, labels = make_data(samples=4_000, inputs=32, classes=8)
    model = Network(inputs=32, width=128, depth=3, classes=8)
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, steps + 1):
        chosen = torch.randint(len(labels), (batch,))
        loss = F.cross_entropy(compiled(inputs[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.3f}")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.batch)


if __name__ == "__main__":
    main()
