"""What torch said while it compiled this program (2.13.0, CPU; long texts and keys taken out):

    8  @torch.compile
    9  def scale(x, factor):
    10     y = x.sin() * factor
    11     print(end="")
    12     return helper(y) + 1          # helper: line 5, x * 2

    15 @torch.compile
    16 def train(w, x):
    17     return torch.tanh(x @ w)

``scale`` was called with the factors 1.5 and 2.5, ``train`` once with its backward, and a lambda in
line 29 was given to a backend that refused.

Two more are from December 2024, before torch 2.6, cut down further: ``fn`` for a backend that
refused, and a function with flex attention that was compiled twice and then as ``fn2``, each time
after a reset; the second time its code came from the cache.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pellucid.compiler import Attempt, Record, Story, read_log, record_of

__all__ = [
    "DYNAMIC_GUARDS",
    "LOG",
    "MODEL",
    "OLDER_CACHES",
    "OLDER_FAILED",
    "attempt",
    "event",
    "read_story",
    "say",
]

_DATA = Path(__file__).parent / "data"
LOG = _DATA / "compile.log"
OLDER_CACHES = _DATA / "older_caches.log"
OLDER_FAILED = _DATA / "older_failed.log"
DYNAMIC_GUARDS = _DATA / "dynamic_guards.txt"
MODEL = "/w/model.py"


def read_story(log: Path = LOG) -> Story:
    """The story of the whole log."""
    story = Story()
    with log.open() as lines:
        for record in read_log(lines):
            story.add(record)
    story.finish()
    return story


def attempt(story: Story, name: str) -> Attempt:
    """The one attempt of that name."""
    (found,) = [attempt for _, attempt in story.attempts() if attempt.id.name == name]
    return found


def say(
    story: Story,
    kind: str,
    content: Any = None,
    payload: str = "",
    *,
    frame: int = 0,
    compile: int = 0,
    attempt: int = 0,
    artifact: bool = False,
    thread: int = 1,
) -> None:
    """One record of a compilation."""
    said = {"name": kind, "encoding": "string"} if artifact else content or {}
    metadata = {
        "artifact" if artifact else kind: said,
        "frame_id": frame,
        "frame_compile_id": compile,
        "attempt": attempt,
    }
    record = record_of(metadata, payload, thread)
    assert isinstance(record, Record)
    story.add(record)


def event(story: Story, sign: str, name: str, microseconds: float, **where: Any) -> None:
    """The begin or the end of a phase."""
    payload = json.dumps({"name": name, "ph": sign, "ts": microseconds, "args": {}})
    say(story, "chromium_event", {}, payload, **where)
