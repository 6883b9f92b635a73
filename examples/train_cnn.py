"""Train a small convolutional network on drawn shapes, with a DataLoader that augments them.

pellucid run examples/train_cnn.py
pellucid top train_cnn.pellucid --by line
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32
SHAPES = ("disc", "square", "stripes", "cross")


def draw(shape: str, rng: random.Random) -> Tensor:
    """One grey picture of a shape somewhere in the middle."""
    rows = torch.arange(SIZE).view(-1, 1) - SIZE / 2 - rng.uniform(-4, 4)
    columns = torch.arange(SIZE).view(1, -1) - SIZE / 2 - rng.uniform(-4, 4)
    radius = rng.uniform(6, 11)
    inside = (rows.abs() < radius) & (columns.abs() < radius)
    if shape == "disc":
        inside = rows.square() + columns.square() < radius**2
    elif shape == "stripes":
        inside = inside & (rows.floor() % 4 < 2)
    elif shape == "cross":
        inside = inside & ((rows.abs() < 2.5) | (columns.abs() < 2.5))
    return inside.float().unsqueeze(0)


class Shapes(Dataset[tuple[Tensor, int]]):
    """Pictures that are drawn, and augmented anew, each time one is asked for."""

    def __init__(self, length: int, seed: int) -> None:
        self.length = length
        self.seed = seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        rng = random.Random(self.seed * self.length + index)
        label = rng.randrange(len(SHAPES))
        return self.augment(draw(SHAPES[label], rng), rng), label

    def augment(self, image: Tensor, rng: random.Random) -> Tensor:
        """Flip, shift, fade, add noise and erase a patch."""
        if rng.random() < 0.5:
            image = image.flip(-1)
        image = image.roll((rng.randint(-3, 3), rng.randint(-3, 3)), dims=(-2, -1))
        noise = torch.Generator().manual_seed(rng.randrange(2**31))
        image = image * rng.uniform(0.5, 1.0) + 0.1 * torch.randn(image.shape, generator=noise)
        row, column = rng.randrange(SIZE - 6), rng.randrange(SIZE - 6)
        image[:, row : row + 6, column : column + 6] = 0.0
        return image


class ConvBlock(nn.Module):
    """Convolution, batch norm and ReLU; halves the picture."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(F.relu(self.norm(self.convolution(x))), kernel_size=2)


class ConvNet(nn.Module):
    """Three blocks and a linear classifier."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(ConvBlock(1, 16), ConvBlock(16, 32), ConvBlock(32, 64))
        self.classifier = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean(dim=(-2, -1)))


def train(steps: int, batch: int, workers: int) -> None:
    """Train for one pass over ``steps`` batches and print how often it is right."""
    loader = DataLoader(Shapes(steps * batch, seed=1), batch_size=batch, num_workers=workers)
    model = ConvNet(len(SHAPES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for step, (images, labels) in enumerate(loader, start=1):
        logits = model(images)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 10 == 0:
            right = (logits.argmax(dim=1) == labels).float().mean().item()
            print(f"step {step:4d}  loss {loss.item():.3f}  right {right:4.0%}")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.batch, options.workers)


if __name__ == "__main__":
    main()
