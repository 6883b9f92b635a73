"""The examples run, print what they promise, and are the same each time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(name: str, *words: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *words]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


@pytest.mark.parametrize("name", ["train_transformer.py", "train_cnn.py"])
def test_training(name: str) -> None:
    pytest.importorskip("torch")
    text = output_of(name, "--steps", "10")
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", text)]
    assert len(losses) == 2
    assert losses[1] < losses[0]
    assert output_of(name, "--steps", "10") == text


def test_compiled_training() -> None:
    pytest.importorskip("torch")
    # A module of torch's own compiler uses what torch has deprecated.
    command = [sys.executable, str(EXAMPLES / "train_compiled.py"), "--steps", "50"]
    text = subprocess.run(command, capture_output=True, check=True, text=True, timeout=300).stdout
    first, last = (float(loss) for loss in re.findall(r"loss (\S+)", text))
    assert last < first / 2


def test_workers_change_nothing() -> None:
    pytest.importorskip("torch")
    words = ["train_cnn.py", "--steps", "2"]
    assert output_of(*words, "--workers", "2") == output_of(*words)


def test_inference() -> None:
    pytest.importorskip("torch")
    text = output_of("infer_loop.py", "--steps", "2", "--new-tokens", "4")
    assert re.findall(r"\d+ positions", text) == ["20 positions", "28 positions"]


def test_all_examples_are_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "train_transformer.py",
        "train_cnn.py",
        "train_compiled.py",
        "infer_loop.py",
    }
