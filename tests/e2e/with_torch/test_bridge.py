"""The bridge to torch is built once, safely, and where it cannot be, the run goes on."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from pellucid.model import Profile
from with_torch.recordings import Ended, calls, run, script

PROGRAM = """
    import sys
    import torch
    print(torch.ones(2).add(1).sum().item())
    sys.exit(5)
"""
BUILDING = "pellucid: building the bridge to torch "


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An empty cache, temporary folder and home, and nothing said about a compiler."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CXX", "CC")}
    for name in "cache", "home", "tmp":
        (tmp_path / name).mkdir(mode=0o700)
    return {
        **kept,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
    }


@pytest.fixture
def no_compiler(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {**environment, "PATH": str(tmp_path / "bin")}


@pytest.fixture
def filled(environment: dict[str, str], bridge_cache: Path) -> Path:
    """The cache with the bridge in it; its own path."""
    cache = Path(environment["XDG_CACHE_HOME"]) / "pellucid"
    shutil.copytree(bridge_cache / "pellucid", cache)
    (bridge,) = cache.glob("*.so")
    return bridge


def run_program(folder: Path, environment: dict[str, str]) -> tuple[Ended, Profile]:
    script(folder, PROGRAM)
    ended, profile = run(folder, "x.py", env=environment)
    assert (ended.status, ended.stdout) == (5, "4.0\n"), ended.stderr
    assert profile.runs[0].ended == "SystemExit 5"
    return ended, profile


def told(ended: Ended) -> list[str]:
    """The lines that were said, but for the progress."""
    return [line for line in ended.stderr.splitlines() if not line.startswith(BUILDING)]


def recorded(profile: Profile) -> bool:
    if calls(profile)["aten::add"] == 1:
        assert profile.losses == []
        return True
    assert [loss.kind for loss in profile.losses] == ["torch_not_recorded"]
    return False


def built(environment: dict[str, str]) -> list[str]:
    return sorted(path.suffix for path in Path(environment["XDG_CACHE_HOME"]).rglob("*.so"))


def test_without_a_compiler_one_line_says_so(tmp_path: Path, no_compiler: dict[str, str]) -> None:
    ended, profile = run_program(tmp_path, no_compiler)

    (line,) = ended.stderr.splitlines()
    assert line.startswith("pellucid: torch is not recorded: no C++ compiler was found")
    assert "install g++" in line
    assert not recorded(profile)


def test_a_built_bridge_needs_no_compiler(
    tmp_path: Path, no_compiler: dict[str, str], filled: Path
) -> None:
    ended, profile = run_program(tmp_path, no_compiler)

    assert ended.stderr == ""
    assert recorded(profile)
    assert filled.exists()


def test_a_compiler_that_fails(tmp_path: Path, environment: dict[str, str]) -> None:
    ended, profile = run_program(tmp_path, {**environment, "CXX": "false"})

    (line,) = told(ended)
    assert "could not build the bridge to torch" in line
    assert not recorded(profile)
    assert built(environment) == []
    assert list((tmp_path / "cache" / "pellucid").iterdir()) == [tmp_path / "cache/pellucid/lock"]


def test_a_damaged_bridge_is_built_anew(
    tmp_path: Path, environment: dict[str, str], filled: Path
) -> None:
    filled.write_bytes(filled.read_bytes()[:1000])

    ended, profile = run_program(tmp_path, environment)

    assert ended.stderr.startswith(BUILDING)
    assert told(ended) == []
    assert recorded(profile)


@pytest.mark.parametrize("damage", ["cut", "open to others"])
def test_a_damaged_bridge_and_no_compiler(
    tmp_path: Path, no_compiler: dict[str, str], filled: Path, damage: str
) -> None:
    if damage == "cut":
        filled.write_bytes(filled.read_bytes()[:-1])
    else:
        filled.chmod(0o722)

    ended, profile = run_program(tmp_path, no_compiler)

    assert "no C++ compiler was found" in ended.stderr
    assert not recorded(profile)


def test_another_bridge_under_the_right_name_is_not_used(
    tmp_path: Path, environment: dict[str, str], filled: Path
) -> None:
    source = tmp_path / "other.cpp"
    source.write_text('extern "C" const char* pellucid_bridge_key() { return "another"; }')
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(filled)], check=True)
    filled.write_bytes(filled.read_bytes() + sha256(filled.read_bytes()).digest())

    ended, profile = run_program(tmp_path, environment)

    (line,) = told(ended)
    assert "is not the bridge that it is named after" in line
    assert not recorded(profile)
    assert not filled.exists()


@pytest.mark.parametrize("trap", ["open", "link"])
def test_a_cache_that_others_could_write_to_is_not_used(
    tmp_path: Path, environment: dict[str, str], filled: Path, trap: str
) -> None:
    cache = filled.parent
    filled.write_bytes(b"a trap")
    if trap == "open":
        cache.chmod(0o777)
    else:
        cache.rename(tmp_path / "elsewhere")
        cache.symlink_to(tmp_path / "elsewhere")

    ended, profile = run_program(tmp_path, environment)

    assert ended.stderr.startswith(BUILDING)
    assert told(ended) == []
    assert recorded(profile)
    assert filled.read_bytes() == b"a trap"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_cache_folder_is_for_its_owner_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    run_program(tmp_path, {**environment, "CXX": "false"})

    mode = (tmp_path / "cache" / "pellucid").stat().st_mode
    assert stat.S_IMODE(mode) == 0o700


def test_where_there_can_be_no_cache_the_bridge_is_built_for_now(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "file").touch()
    nowhere = {**environment, "XDG_CACHE_HOME": "", "HOME": str(tmp_path / "file")}

    ended, profile = run_program(tmp_path, nowhere)

    assert told(ended) == []
    assert recorded(profile)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_two_first_uses_build_it_once(tmp_path: Path, environment: dict[str, str]) -> None:
    script(tmp_path, PROGRAM)
    command = [sys.executable, "-m", "pellucid", "run", "--quiet", "-o"]
    both = [
        subprocess.Popen(
            [*command, f"{i}.pellucid", "x.py"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    outputs = [process.communicate(timeout=120) for process in both]

    assert [process.returncode for process in both] == [5, 5]
    assert [stdout for stdout, _ in outputs] == ["4.0\n"] * 2
    assert sum(stderr.count(BUILDING) for _, stderr in outputs) == 1
    assert built(environment) == [".so"]
    import pellucid

    assert all(recorded(pellucid.load(tmp_path / f"{i}.pellucid")) for i in range(2))
