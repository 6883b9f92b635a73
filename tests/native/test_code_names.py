"""Names that are hard to keep: of code that dies, and of characters that break things."""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from native import OPERATOR, Entry, Events, recording

import pellucid

NASTY = {
    "quotes": "\"'`\\",
    "tab and newline": "a\tb\nc\r",
    "nul": "a\0b",
    "control": "\x01\x1b[31m\x7f\x85\u2028",
    "markup": "</script><b>&amp;[bold]",
    "not utf-8": os.fsdecode(b"caf\xe9\xff"),
    "four bytes": "\U0001f600\U00010348",
    "two bytes": "naïve Ω",
    "long": "x" * 5000,
}
nasty = pytest.mark.parametrize("name", NASTY.values(), ids=NASTY.keys())


def function_named(name: str, file: str, event: Callable[[str], Any]) -> Callable[[], None]:
    """A function with one event on its line 3, whose code object nothing else holds."""
    tree = ast.parse("def f():\n\n    event('x')\n")
    code = compile(tree, file.replace("\0", ""), "exec")
    namespace: dict[str, Any] = {"event": event}
    exec(code, namespace)
    function = namespace.pop("f")
    names = {"co_name": name} | ({"co_qualname": name} if sys.version_info >= (3, 11) else {})
    function.__code__ = function.__code__.replace(co_filename=file, **names)
    result: Callable[[], None] = function
    return result


def test_code_that_is_made_and_freed_keeps_its_names(events: Events) -> None:
    addresses: list[int] = []
    with recording() as recorded:
        for i in range(200):
            source = f"def function_{i}():\n" + "\n" * i + f"    event({OPERATOR}, 'event {i}')\n"
            namespace: dict[str, Any] = {"event": events.event}
            exec(compile(source, f"file {i}.py", "exec"), namespace)
            namespace[f"function_{i}"]()
            addresses.append(id(namespace[f"function_{i}"].__code__))
            del namespace
            if i % 7 == 0:
                gc.collect()

    assert len(set(addresses)) < 100, "no address was used twice, so this tests nothing"
    for i in range(200):
        assert recorded.path_of(f"event {i}")[-2] == Entry(
            "python", f"function_{i}", f"file {i}.py", i + 2
        )


def test_code_that_another_thread_frees(events: Events) -> None:
    """The thread that runs events at the address used again is not the one that freed it."""
    addresses: list[int] = []
    with recording() as recorded:
        for i in range(200):
            made = [function_named(f"function_{i}", "x.py", lambda n: events.event(OPERATOR, n))]
            addresses.append(id(made[0].__code__))
            runs = threading.Thread(target=lambda made=made: made[0]())
            runs.start()
            runs.join()
            frees = threading.Thread(target=made.clear)
            frees.start()
            frees.join()

    assert len(set(addresses)) < 200, "no address was used twice, so this tests nothing"
    shown = {str(entry) for path in recorded.paths for entry in path if entry.file == "x.py"}
    assert shown == {f"function_{i}" for i in range(200)}


@nasty
def test_a_nasty_name_reaches_every_output(name: str, events: Events, tmp_path: Path) -> None:
    with pellucid.profile() as profile:
        with pellucid.region(name):
            function_named(name, f"/{name}.py", lambda _: events.event(OPERATOR, "x"))()
        thread = threading.Thread(target=lambda: events.event(OPERATOR, "y"), name=name)
        thread.start()
        thread.join()
    profile.save(tmp_path / "x.pellucid")

    loaded = pellucid.load(tmp_path / "x.pellucid")
    (frame,) = {node.frame for node in loaded.nodes(kind="python", name=name)}
    assert (frame.file, frame.line) == (f"/{name}.py", 3)
    assert loaded.nodes(kind="thread", name=name)
    assert loaded.nodes(kind="region", name=name.replace("\0", "\\0"))
    for arguments in (
        ["top", "--by", "function", "-n", "999", "--json"],
        ["top", "--by", "line"],
        ["tree"],
    ):
        command = [sys.executable, "-m", "pellucid", *arguments, str(tmp_path / "x.pellucid")]
        shown = subprocess.run(command, capture_output=True, check=True)
        assert shown.stderr == b""
        if "--json" in arguments:
            assert name in {row["name"] for row in json.loads(shown.stdout)["rows"]}


def test_operators_may_have_any_bytes_for_a_name(events: Events) -> None:
    with recording() as recorded:
        events.event(OPERATOR, b"\xff\xfe caf\xe9")

    assert recorded.count("\\xff\\xfe caf\\xe9") == 1


def test_a_name_that_lies_at_the_address_of_another(events: Events) -> None:
    with recording() as recorded:
        for i in range(50):
            name = bytearray(b"operator %d" % (i % 10))
            events.event(OPERATOR, bytes(name))
            with contextlib.suppress(BufferError):
                name.clear()

    assert {recorded.count(f"operator {i}") for i in range(10)} == {5}
