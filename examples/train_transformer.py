"""Train a small GPT on made-up sentences, eagerly, character by character.

pellucid run examples/train_transformer.py
pellucid top train_transformer.pellucid --by module
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SUBJECTS = ["the cat", "a dog", "my neighbour", "the old captain", "every child"]
VERBS = ["sees", "follows", "paints", "remembers", "never likes"]
OBJECTS = ["the sea", "a red door", "long letters", "the moon", "his own shadow"]


class SelfAttention(nn.Module):
    """Causal attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    """Two linear layers with a GELU in between."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    """Attention and feed-forward, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPT(nn.Module):
    """A decoder that predicts the next character."""

    def __init__(self, vocabulary: int, context: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.position(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_text(sentences: int, rng: random.Random) -> str:
    """Sentences of a subject, a verb and an object each."""
    return "".join(
        f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}.\n"
        for _ in range(sentences)
    )


def sample_batch(data: Tensor, batch: int, context: int) -> tuple[Tensor, Tensor]:
    """Random windows of the text, and the same windows one character on."""
    starts = torch.randint(len(data) - context - 1, (batch,)).tolist()
    inputs = torch.stack([data[start : start + context] for start in starts])
    targets = torch.stack([data[start + 1 : start + context + 1] for start in starts])
    return inputs, targets


def train(steps: int, batch: int, context: int) -> None:
    """Train from scratch and print the loss now and then."""
    text = make_text(sentences=2_000, rng=random.Random(0))
    alphabet = sorted(set(text))
    data = torch.tensor([alphabet.index(character) for character in text])
    model = GPT(len(alphabet), context, width=128, heads=4, depth=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, steps + 1):
        inputs, targets = sample_batch(data, batch, context)
        logits = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step == 1 or step % 10 == 0:
            print(f"step {step:4d}  loss {loss.item():.3f}")


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    options = parser.parse_args()
    torch.manual_seed(0)
    train(options.steps, options.batch, options.context)


if __name__ == "__main__":
    main()
