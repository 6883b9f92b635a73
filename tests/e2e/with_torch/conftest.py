"""What needs torch: left out where it is not installed.

All tests here share one cache folder, not the user's, with the bridge already built.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pellucid.capture.torch_bridge import Bridge

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def bridge_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    import torch

    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv("RANK", raising=False)
        patch.setenv("OMP_NUM_THREADS", "1")  # idle ones would spin, and this is not what we test
        torch.set_num_threads(1)
        Bridge.for_installed_torch()
        yield folder


@pytest.fixture(autouse=True)
def seed() -> None:
    import torch

    torch.manual_seed(0)
