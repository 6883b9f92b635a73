"""Starting a program as the interpreter's own ``main`` would."""

# Paths are kept to the letter, as the interpreter keeps them: pathlib would tidy them up.
# ruff: noqa: PTH109, PTH117, PTH120

from __future__ import annotations

import builtins
import importlib.util
import io
import linecache
import os
import pkgutil
import runpy
import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType
from typing import Any, Literal, NamedTuple

__all__ = ["Command", "Start", "load"]

Call = Callable[[], object]


class Command(NamedTuple):
    """A program as a command line names it."""

    kind: Literal["script", "module", "code"]
    target: str
    arguments: list[str]

    @property
    def words(self) -> list[str]:
        """What follows the interpreter and its flags."""
        option = {"script": [], "module": ["-m"], "code": ["-c"]}[self.kind]
        return [*option, self.target, *self.arguments]


class Start(NamedTuple):
    """What the interpreter sets up before a program's first line.

    ``call`` is made of the new ``__main__`` namespace and runs the program without a frame of
    its own.
    """

    argv: list[str]
    path0: str | None
    loader: Any
    file: str | None
    make_call: Callable[[dict[str, Any]], Call]

    def enter(self) -> tuple[Call, dict[str, Any]]:
        """Set up ``sys`` and a fresh ``__main__``; the call to make, and the namespace."""
        sys.argv = self.argv
        if self.path0 is not None:
            sys.path.insert(0, self.path0)
        main = ModuleType("__main__")
        # In the order in which the interpreter adds them: `dir()` and `globals()` show it.
        main.__dict__.update(__loader__=self.loader, __annotations__={}, __builtins__=builtins)
        if self.file is not None:
            main.__dict__.update(__file__=self.file, __cached__=None)
        sys.modules["__main__"] = main
        return self.make_call(main.__dict__), main.__dict__


def load(command: Command) -> Start:
    """Read and compile what the command names.

    Whatever this raises, the interpreter would report in words of its own.
    """
    if command.kind == "module":
        return _load_module(command)
    if command.kind == "code":
        return _load_code(command)
    return _load_script(command)


def _load_module(command: Command) -> Start:
    return Start(
        argv=["-m", *command.arguments],
        path0=None if _safe_path() else _working_folder(),
        loader=BuiltinImporter,
        file=None,
        make_call=lambda _: partial(runpy._run_module_as_main, command.target),  # type: ignore[attr-defined]
    )


def _load_code(command: Command) -> Start:
    code = _compile(command.target, "<string>")
    if sys.version_info >= (3, 13):
        # From 3.13 on tracebacks show the lines of a command.
        lines = [f"{line}\n" for line in command.target.splitlines()]
        linecache.cache["<string>"] = (len(command.target), None, lines, "<string>")
    return Start(
        argv=["-c", *command.arguments],
        path0=None if _safe_path() else "",
        loader=BuiltinImporter,
        file=None,
        make_call=partial(partial, exec, code),
    )


def _load_script(command: Command) -> Start:
    argv = [command.target, *command.arguments]
    path = command.target
    if not os.path.isabs(path):
        path = f"{os.getcwd()}/{path}"
    if pkgutil.get_importer(path) is not None:  # a folder or an archive with a __main__.py
        return Start(
            argv=argv,
            path0=path,
            loader=BuiltinImporter,
            file=None,
            make_call=lambda _: partial(runpy._run_module_as_main, "__main__", False),  # type: ignore[attr-defined]
        )
    code, loader = _read_script(path)
    return Start(
        argv=argv,
        path0=None if _safe_path() else os.path.dirname(os.path.realpath(path)),
        loader=loader,
        file=path,
        make_call=partial(partial, exec, code),
    )


def _read_script(path: str) -> tuple[CodeType, Any]:
    with io.open_code(path) as file:
        content = file.read()
    if path.endswith(".pyc") or content[:2] == importlib.util.MAGIC_NUMBER[:2]:
        sourceless = SourcelessFileLoader("__main__", path)
        code = sourceless.get_code("__main__")
        if code is None:
            raise ImportError(f"no code in {path}")
        return code, sourceless
    return _compile(content, path), SourceFileLoader("__main__", path)


def _compile(source: str | bytes, name: str) -> CodeType:
    # Warnings are shown once it is certain that the interpreter will not compile it again.
    with warnings.catch_warnings(record=True) as caught:
        code = compile(source, name, "exec", dont_inherit=True)
    for warning in caught:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return code


def _safe_path() -> bool:
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
