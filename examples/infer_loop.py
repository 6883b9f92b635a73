"""Answer prompts with a small untrained decoder, one token at a time with a key-value cache.

pellucid run examples/infer_loop.py
pellucid tree infer_loop.pellucid --min-percent 2
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

VOCABULARY = 512


class Cache:
    """The keys and values that a layer has seen so far, in memory that does not move."""

    def __init__(self, batch: int, heads: int, length: int, width: int) -> None:
        self.keys = torch.zeros(batch, heads, length, width)
        self.values = torch.zeros(batch, heads, length, width)
        self.used = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add new positions and return all that are filled."""
        start, self.used = self.used, self.used + keys.shape[2]
        self.keys[:, :, start : self.used] = keys
        self.values[:, :, start : self.used] = values
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]


class Attention(nn.Module):
    """Attention of new positions to themselves and to the cache."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cache: Cache) -> Tensor:
        batch, length, width = x.shape
        split = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        keys, values = cache.append(key, value)
        # One new position may look at everything; a prompt only at what came before.
        mixed = F.scaled_dot_product_attention(query, keys, values, is_causal=length > 1)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Attention, then a gated feed-forward."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width)
        self.attention = Attention(width, heads)
        self.feed_forward_norm = nn.RMSNorm(width)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor, cache: Cache) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cache)
        hidden = self.feed_forward_norm(x)
        return x + self.down(F.silu(self.gate(hidden)) * self.up(hidden))


class Decoder(nn.Module):
    """Embedding, layers, and the logits of the last position."""

    def __init__(self, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.heads = heads
        self.token = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def make_caches(self, batch: int, length: int) -> list[Cache]:
        """One empty cache a layer."""
        width = self.token.embedding_dim // self.heads
        return [Cache(batch, self.heads, length, width) for _ in self.layers]

    def forward(self, tokens: Tensor, caches: list[Cache]) -> Tensor:
        x = self.token(tokens)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, cache)
        return self.head(self.norm(x[:, -1]))


def sample(logits: Tensor, temperature: float) -> Tensor:
    """Draw one token a row from the forty likeliest."""
    likeliest, tokens = logits.topk(40, dim=-1)
    choice = torch.multinomial(F.softmax(likeliest / temperature, dim=-1), num_samples=1)
    return tokens.gather(-1, choice)


@torch.inference_mode()
def generate(model: Decoder, prompt: Tensor, new_tokens: int) -> Tensor:
    """Continue the prompts by ``new_tokens`` each."""
    batch, length = prompt.shape
    caches = model.make_caches(batch, length + new_tokens)
    tokens = [prompt, sample(model(prompt, caches), temperature=0.8)]
    for _ in range(new_tokens - 1):
        tokens.append(sample(model(tokens[-1], caches), temperature=0.8))
    return torch.cat(tokens, dim=1)


def serve(steps: int, batch: int, new_tokens: int) -> None:
    """Answer ``steps`` batches of made-up prompts of different lengths."""
    model = Decoder(width=256, heads=4, depth=4).eval()
    for step in range(1, steps + 1):
        prompt = torch.randint(VOCABULARY, (batch, 8 * (1 + step % 4)))
        start = time.perf_counter()
        answer = generate(model, prompt, new_tokens)
        seconds = time.perf_counter() - start
        speed = batch * new_tokens / seconds
        print(f"request {step:3d}  {answer.shape[1]:3d} positions  {speed:6.0f} tokens/s")


def main() -> None:
    """Read the command line and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--new-tokens", type=int, default=96)
    options = parser.parse_args()
    torch.manual_seed(0)
    serve(options.steps, options.batch, options.new_tokens)


if __name__ == "__main__":
    main()
