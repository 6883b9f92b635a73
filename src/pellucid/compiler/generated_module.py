"""Inductor's generated module, taken apart: its kernels, and the code of its graphs."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from pellucid.compiler.kernels import Kernel, cpp_kernel, triton_kernel

__all__ = ["GeneratedModule", "Remarks", "dotted", "read_module"]

_SOURCES = re.compile(r"Source Nodes: \[([^\]]*)\]")
_HANDLE = re.compile(r"\[Provenance debug handles\] (\S+)")
_FRAGMENT = re.compile(r"#   %(\w+) : .*= call_function\[")
_MAKERS = "async_compile."

_QUOTED = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|#[^\n]*", re.S
)
_SIGN = re.compile(r"[^\s\w]|\b(?:if|not|lambda|await)\b|\n")
_DEEPEST = 1000


@dataclass(frozen=True)
class Remarks:
    """What the comments above a statement say.

    ``sources`` and ``nodes`` are names of Dynamo's and of the graph's nodes, ``handle`` is the
    kernel's name and number where torch records the origins of kernels itself.
    """

    sources: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    handle: str | None = None


@dataclass
class GeneratedModule:
    """``functions`` are those that take a graph's inputs as ``args``, by name."""

    lines: list[str] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    remarks: dict[str, Remarks] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def remarks_above(self, number: int) -> Remarks:
        """The comments straight above a line; fetching a stream may lie between."""
        found: list[str] = []
        for i in range(min(number - 1, len(self.lines)) - 1, -1, -1):
            stripped = self.lines[i].strip()
            if stripped.startswith("#"):
                found.append(stripped)
            elif found or not stripped.startswith(("stream", "raw_stream")):
                break
        text = "\n".join(reversed(found))
        sources, handle = _SOURCES.search(text), _HANDLE.search(text)
        names = sources[1].split(",") if sources else []
        return Remarks(
            tuple(name.strip() for name in names if name.strip()),
            tuple(_FRAGMENT.findall(text)),
            handle[1] if handle else None,
        )


def read_module(text: str) -> GeneratedModule:
    """Nothing is in it if the text is not Python."""
    module = GeneratedModule()
    if sys.version_info < (3, 11) and _is_deep(text):
        return module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the kernels' texts
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return module
    module.lines = text.split("\n")
    for statement in tree.body:
        inside = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        module.functions.update((f.name, f) for f in inside if _takes_inputs(f))
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            _define(module, statement, statement.value)
    return module


def _is_deep(text: str) -> bool:
    """Whether an expression could be so deep that Python 3.10, which does not look, would crash."""
    code = _QUOTED.sub("_", text).replace("\\\n", " ")
    counts = [0]  # of signs since the last comma, for each bracket that is open
    for found in _SIGN.finditer(code):
        sign = found[0]
        if sign == "\n":
            counts[-1] = counts[-1] if len(counts) > 1 else 0
        else:
            counts[-1] = 0 if sign == "," else counts[-1] + 1
        if sign in "([{":
            counts.append(0)
        elif sign in ")]}" and len(counts) > 1:
            counts.pop()
        if counts[-1] > _DEEPEST or len(counts) > _DEEPEST:
            return True
    return code.count("elif ") > _DEEPEST


def _takes_inputs(statement: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(statement, ast.FunctionDef):
        return False
    return [arg.arg for arg in statement.args.args] in (["args"], ["self", "args"])


def _define(module: GeneratedModule, statement: ast.Assign, made: ast.Call) -> None:
    target, how = statement.targets[0], dotted(made.func)
    if not (isinstance(target, ast.Name) and how.startswith(_MAKERS)):
        return
    kernel = _kernel(module, how.removeprefix(_MAKERS), made)
    if kernel is not None:
        module.kernels[target.id] = kernel
        module.remarks[target.id] = module.remarks_above(statement.lineno)


def _kernel(module: GeneratedModule, how: str, made: ast.Call) -> Kernel | None:
    if how == "multi_kernel":  # one of several that do the same
        variants = (n.id for n in ast.walk(made) if isinstance(n, ast.Name))
        return next((module.kernels[v] for v in variants if v in module.kernels), None)
    texts = list(_texts(made))
    if not texts:
        return None
    return triton_kernel(texts[-1]) if how == "triton" else cpp_kernel(texts[-1])


def _texts(made: ast.Call) -> Iterator[str]:
    for argument in made.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value


def dotted(node: ast.expr) -> str:
    """``a.b.c``; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return ""
