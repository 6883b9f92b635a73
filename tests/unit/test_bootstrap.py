"""What the launcher's first file relies on."""

from __future__ import annotations

import sys
from pathlib import Path

from pellucid.launch.launcher import BOOTSTRAP


def test_warnings_look_through_its_frames() -> None:
    assert Path(BOOTSTRAP).is_file()
    assert "importlib" in BOOTSTRAP and "_bootstrap" in BOOTSTRAP


def test_nothing_beside_it_shadows_the_standard_library() -> None:
    # The interpreter puts the folder of the file that it runs first on sys.path.
    beside = {path.stem for path in Path(BOOTSTRAP).parent.iterdir()}
    assert beside.isdisjoint(sys.stdlib_module_names)
