"""Recording something, in this process or another, and asking the profile simple questions."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pellucid
from pellucid.model import FrameKind, Node, Profile

__all__ = [
    "Ended",
    "calls",
    "line_of",
    "lines",
    "modules",
    "origin",
    "python",
    "record",
    "run",
    "script",
]


def record(work: Callable[[], object]) -> Profile:
    """What pellucid saw of ``work()``."""
    with pellucid.profile() as prof:
        work()
    return prof.profile


def calls(profile: Profile, kind: str = "operator") -> Counter[str]:
    """How often each name of that kind was called, on all threads."""
    counted: Counter[str] = Counter()
    for node in profile.nodes(kind=kind):
        if (duration := node.stats.get("duration")) is not None:
            counted[node.frame.name] += duration.count
    return counted


def modules(node: Node) -> list[str]:
    """The names of the modules around a node, outermost first."""
    return [frame.name for frame in node.path if frame.kind is FrameKind.MODULE]


def lines(node: Node, file: str) -> list[int | None]:
    """The lines of ``file`` on the way to a node, outermost first."""
    return [frame.line for frame in node.path if frame.file == file]


def line_of(file: str, mark: str) -> int:
    """The number of the one line that ends with ``# mark``."""
    text = Path(file).read_text().splitlines()
    (number,) = [n for n, line in enumerate(text, 1) if line.endswith(f"# {mark}")]
    return number


def origin(node: Node, kind: str = "backward_of") -> Node:
    """Where the node's one edge of that kind leads to."""
    (edge,) = [e for e in node.profile.edges if e.kind == kind and e.src == node.id]
    return node.profile.node(edge.dst)


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    stdout: str
    stderr: str


def script(folder: Path, body: str, name: str = "x.py") -> Path:
    """Write a program."""
    path = folder / name
    path.write_text(textwrap.dedent(body))
    return path


def python(folder: Path, *words: str, env: dict[str, str] | None = None) -> Ended:
    """Run this interpreter in ``folder``, with all of our environment or with ``env``."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def run(
    folder: Path, *words: str, env: dict[str, str] | None = None, quiet: bool = True
) -> tuple[Ended, Profile]:
    """Run a program under ``pellucid run``."""
    output = folder / "out.pellucid"
    options = ["--quiet"] if quiet else []
    command = ["-m", "pellucid", "run", *options, "-o", str(output), *words]
    ended = python(folder, *command, env=env)
    assert output.exists(), ended.stderr
    return ended, pellucid.load(output)
