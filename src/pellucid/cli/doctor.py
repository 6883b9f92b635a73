"""``pellucid doctor``: what works on this machine, what does not and why."""

import importlib
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from rich.text import Text

from pellucid.capture.bridge.build import COMPILERS, cache_folder, find_compiler
from pellucid.cli.output import grid, safe, show
from pellucid.errors import BridgeError

__all__ = ["CHECKS", "Check", "doctor"]

_OLDEST, _NEWEST = (3, 10), (3, 13)


@dataclass(frozen=True)
class Check:
    """One thing that recording needs: whether it is there, what was found, what to do."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def doctor() -> None:
    """What works on this machine, what does not and why."""
    rows: list[list[Text | str]] = []
    for check in (check() for check in CHECKS):
        mark = Text("ok", style="green") if check.ok else Text("no", style="bold red")
        advice = f" → {check.advice}" if check.advice else ""
        rows.append([mark, check.name, safe(f"{check.found}{advice}")])
    show(grid(["", "", ""], rows, left=3))


def check_python() -> Check:
    """Whether there is a frame walker for this interpreter."""
    found = f"{platform.python_implementation()} {platform.python_version()} on {sys.platform}"
    advice = ""
    if sys.implementation.name != "cpython" or not _OLDEST <= sys.version_info[:2] <= _NEWEST:
        advice = "use CPython 3.10 to 3.13"
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        found, advice = f"{found}, free-threaded", "use a build with the GIL"
    elif sys.platform != "linux":
        advice = "use Linux"
    return Check("python", not advice, found, advice)


def check_core() -> Check:
    """Whether the native core can be imported."""
    try:
        core = importlib.import_module("pellucid._core")
    except Exception as error:  # a broken binary raises anything; that is what we are here to say
        reason = f"{type(error).__name__}: {error}"
        return Check("core", False, reason, "install pellucid again: pip install --force-reinstall")
    return Check("core", True, str(core.__file__))


def check_compiler() -> Check:
    """Whether a C++ compiler is there to build the torch bridge with."""
    command = find_compiler()
    if command is not None:
        return Check("compiler", True, f"{command[0]}: {_first_line([command[0], '--version'])}")
    if chosen := os.environ.get("CXX"):
        return Check("compiler", False, f"$CXX is {chosen!r}, not found", "correct or unset CXX")
    found = f"none of {', '.join(COMPILERS)} is on the PATH"
    return Check(
        "compiler", False, found, "install g++, or set CXX; without, no operators are seen"
    )


def check_torch() -> Check:
    """Whether torch is installed; it is not imported."""
    try:
        return Check("torch", True, version("torch"))
    except PackageNotFoundError:
        return Check("torch", False, "not installed", "pip install torch, to see operators")


def check_cache() -> Check:
    """Whether there is a folder, ours alone, for built bridges."""
    try:
        return Check("cache", True, str(cache_folder()))
    except BridgeError as error:
        return Check("cache", False, str(error), "until then the bridge is built for every run")


CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_core,
    check_compiler,
    check_torch,
    check_cache,
)


def _first_line(command: list[str]) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return next(iter(ran.stdout.splitlines()), "")
