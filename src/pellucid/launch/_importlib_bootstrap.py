# What `pellucid run` execs, by path: python [flags] THIS_FILE REQUEST TARGET [ARGS...]
"""The bottom of a recorded program's stack.

These two frames are the only ones of ours below the program's, hence the name of the file:
``warnings`` looks through frames whose file is named after ``importlib`` and ``_bootstrap``, so
what a library reports on behalf of its caller reads as under plain Python.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from types import ModuleType
from typing import NoReturn


def _launcher() -> ModuleType:
    """Import the launcher beside this file, wherever ``sys.path`` leads to."""
    folder = __file__.rpartition("/")[0]
    if sys.path and sys.path[0] == folder:
        del sys.path[0]
    if "pellucid" not in sys.modules:
        package = folder.rpartition("/")[0]
        spec = importlib.util.spec_from_file_location("pellucid", f"{package}/__init__.py")
        assert spec is not None and spec.loader is not None
        sys.modules["pellucid"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["pellucid"])
    return importlib.import_module("pellucid.launch.launcher")


def _step_aside(error: Exception) -> NoReturn:
    """Run the program without us."""
    option = {"module": ["-m"], "code": ["-c"]}.get(json.loads(sys.argv[1])["kind"], [])
    flags = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    print(f"pellucid: not recording: {error}", file=sys.stderr, flush=True)
    os.execv(sys.executable, [sys.executable, *flags, *option, *sys.argv[2:]])


def _run() -> None:
    try:
        program = _launcher().launch()
    except Exception as error:
        _step_aside(error)
    try:
        program.call()
    except BaseException as error:
        program.failed(error)
        raise
    program.returned()


if __name__ == "__main__":
    _run()
