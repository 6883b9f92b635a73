"""Running a program plainly and through the launcher, to compare what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pellucid.launch.launcher import Request, arguments

__all__ = ["PYTHONS", "Outcome", "plainly", "recorded"]

FAKE_SESSION = Path(__file__).parent / "fake_session"

#: The interpreters to try; others than this one are named in PELLUCID_TEST_PYTHONS.
PYTHONS = [sys.executable, *filter(None, os.environ.get("PELLUCID_TEST_PYTHONS", "").split(":"))]


class Outcome(NamedTuple):
    """What a program showed to the outside."""

    stdout: bytes
    stderr: bytes
    status: int


def plainly(python: str, folder: Path, words: list[str], flags: list[str]) -> Outcome:
    """Run ``python [flags] words``."""
    return _run([python, *flags, *words], folder)


def recorded(
    python: str, folder: Path, words: list[str], flags: list[str], *, quiet: bool = True
) -> tuple[Outcome, dict[str, Any]]:
    """Run the same through the launcher; also what the fake session saved (empty: nothing)."""
    kind = {"-m": "module", "-c": "code"}.get(words[0], "script")
    target, *rest = words if kind == "script" else words[1:]
    output = folder / "out.pellucid"
    output.unlink(missing_ok=True)
    request = Request(kind, str(output), output.name, quiet=quiet)  # type: ignore[arg-type]
    outcome = _run([python, *flags, *arguments(request, target, rest)], folder)
    saved = output.read_bytes() if output.is_file() else b""
    # Flags that ignore PYTHONPATH keep the fake session out; then this may be a real profile.
    return outcome, json.loads(saved) if saved.startswith(b"{") else {}


def _run(command: list[str], folder: Path) -> Outcome:
    (folder / "events.txt").unlink(missing_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV_"))}
    environment["PYTHONPATH"] = str(FAKE_SESSION)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=60, check=False
    )
    return Outcome(done.stdout, done.stderr, done.returncode)
