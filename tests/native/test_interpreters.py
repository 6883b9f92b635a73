"""Interpreters that are not for us say so."""

from __future__ import annotations

import subprocess
import sys

import pytest

BODY = """
try:
    import pellucid
    with pellucid.profile():
        pass
    print("recorded")
except pellucid.PellucidError as error:
    print(type(error).__name__, error)
import sys
sys.stdout.flush()
"""


def test_a_sub_interpreter_is_refused_with_a_clear_error() -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    pytest.importorskip(name)
    run = "exec" if name == "_interpreters" else "run_string"
    code = f"import {name} as i; i.{run}(i.create(), {BODY!r})"
    # Not the exit status: 3.12.1 crashes at its end once a sub-interpreter has imported hashlib.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("UnsupportedPython a sub-interpreter cannot be recorded")
