"""The documents agree with the tree and with the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid

ROOT = Path(__file__).parents[2]
_ROOMS = ("csrc", "src/pellucid", "tests", "benchmarks", "examples", "docs")


def rooms() -> set[str]:
    """The folders with files of their own that somebody reads."""
    suffixes = {".py", ".cpp", ".c", ".h", ".md"}
    files = [file for top in _ROOMS for file in (ROOT / top).rglob("*") if file.suffix in suffixes]
    return {str(file.parent.relative_to(ROOT)) + "/" for file in files}


def test_architecture_has_a_line_for_every_folder() -> None:
    described = re.findall(r"^\| `([\w/]+/)` \|", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    inner = {"src/pellucid/", "tests/e2e/with_torch/", "tests/e2e/fake_session/"}
    assert {room for room in rooms() if "fake_session" not in room} - inner == set(described)


def test_every_public_name_exists_and_is_documented() -> None:
    for name in pellucid.__all__:
        assert getattr(pellucid, name).__doc__, name


def test_importing_pellucid_imports_neither_torch_nor_the_command_line() -> None:
    code = "import pellucid, sys; pellucid.profile, pellucid.load; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    loaded = {name.partition(".")[0] for name in output.split()}
    assert not loaded & {"torch", "typer", "rich", "networkx", "jinja2", "numpy"}


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_links_and_paths_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link
    for path in re.findall(r"\b(?:examples|benchmarks)/\w+\.py\b", text):
        assert (ROOT / path).exists(), path


def test_every_promise_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "promises.md").read_text()
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert tests
    for path, name in tests:
        assert (ROOT / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(), f"{path}::{name}"
