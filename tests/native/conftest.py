"""The test extension, compiled once a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from native import Events, Witness, build, load_built


@pytest.fixture(scope="session")
def built_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session")
def events(built_events: Path) -> Events:
    return load_built(built_events)


@pytest.fixture
def witness(events: Events) -> Witness:
    return Witness(events)
