"""What lies in Dynamo's own frames at the moment when it speaks.

Its trace tells neither which module an operation belongs to nor the whole way to its line, but its
graph knows both, and while a record is being written the graph is a local variable of a caller.
Nothing is kept of it but names.
"""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from pellucid.compiler import Scope, SourceNode, SourcePath, Step, resumed

__all__ = ["CapturedGraph", "captured_graph", "compiled_code", "transformed_code"]

_CALLS = ("call_function", "call_method", "call_module")
_STACK_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)(?:\n    (.*\S))?')
_REGIONS_FILE = "pellucid/capture/regions.py"
_OWN_SCOPES = ("region", "step")
_TORCH_SCOPE = "record_function"
_CAPTURED_SCOPE = "_record_function_enter"
_UNNAMED = "(name not constant)"


class CapturedGraph(NamedTuple):
    """Dynamo's graph: its operations in order, the way to each, and scopes that it left out."""

    sources: list[SourceNode]
    paths: list[SourcePath]
    dropped_scopes: list[Scope]


def compiled_code() -> CodeType | None:
    """The code object that Dynamo is compiling further up this thread's stack."""
    code = _local("_compile", "code")
    return code if isinstance(code, CodeType) else None


def transformed_code() -> dict[str, CodeType]:
    """The bytecode that Dynamo began with, and what it made of it, further up this stack."""
    names = {"original": "code", "transformed": "out_code"}
    found = {kind: _local("_compile_inner", name) for kind, name in names.items()}
    return {kind: code for kind, code in found.items() if isinstance(code, CodeType)}


def captured_graph() -> CapturedGraph | None:
    """The graph that Dynamo is handing to its backend further up this thread's stack."""
    module = _local("compile_and_call_fx_graph", "gm")
    if module is None:
        return None
    codes = _Codes(_traced_code())
    sources, paths = [], []
    keeps_scopes = False
    for node in _operations(module):
        keeps_scopes |= _CAPTURED_SCOPE in str(node.target)
        frames = _STACK_FRAME.findall(node.meta.get("stack_trace") or "")
        if frames:
            file, line, function, code = frames[-1]
            sources.append(SourceNode(node.name, file, int(line), function, code.strip()))
        else:
            sources.append(SourceNode(node.name))
        steps = [codes.step(file, int(line), name) for file, line, name, _ in frames]
        paths.append(_with_modules(steps, node.meta.get("nn_module_stack") or {}))
    return CapturedGraph(sources, paths, [] if keeps_scopes else codes.scopes())


def _operations(module: Any) -> Iterator[Any]:
    """The operations of a graph; those of a graph within it before what calls it."""
    for node in module.graph.nodes:
        if node.op in _CALLS:
            yield node
        elif node.op == "get_attr":
            inner = getattr(module, str(node.target), None)
            if hasattr(inner, "graph"):
                yield from _operations(inner)


def _local(function: str, name: str) -> Any:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == function and "_dynamo" in frame.f_code.co_filename:
            return frame.f_locals.get(name)
        frame = frame.f_back
    return None


def _traced_code() -> list[CodeType]:
    utils = sys.modules.get("torch._dynamo.utils")
    traced = getattr(utils, "get_traced_code", lambda: None)() or []
    code = compiled_code()
    return [*traced, code] if code is not None else list(traced)


class _Codes:
    """The functions that were traced through."""

    def __init__(self, codes: list[CodeType]) -> None:
        self._codes = list(dict.fromkeys(codes))
        self._by_name: dict[tuple[str, str], list[CodeType]] = {}
        for code in sorted(self._codes, key=lambda code: code.co_firstlineno):
            self._by_name.setdefault((code.co_filename, code.co_name), []).append(code)
        self._steps: dict[tuple[str, int, str], Step] = {}

    def step(self, file: str, line: int, name: str) -> Step:
        """That line of that function, with the function's qualified name."""
        key = file, line, name
        if key not in self._steps:
            before = [
                code for code in self._by_name.get((file, name), ()) if code.co_firstlineno <= line
            ]
            qualified = getattr(before[-1], "co_qualname", name) if before else name
            first_line = before[-1].co_firstlineno if before else None
            self._steps[key] = Step("python", resumed(qualified)[0], file, line, first_line)
        return self._steps[key]

    def scopes(self) -> list[Scope]:
        """The scopes that the code opens: torch's, and ours where ours were traced."""
        ours = any(code.co_filename.endswith(_REGIONS_FILE) for code in self._codes)
        wanted = {_TORCH_SCOPE, *(_OWN_SCOPES if ours else ())}
        found = (scope for code in self._codes for scope in _scopes_in(code, wanted))
        return list(dict.fromkeys(found))


def _scopes_in(code: CodeType, wanted: set[str]) -> Iterator[Scope]:
    if not wanted.intersection(code.co_names):
        return
    lines = dict(dis.findlinestarts(code))
    line, opened = code.co_firstlineno, False
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        if instruction.argval in wanted:
            opened = True
        elif opened and instruction.opname in ("LOAD_CONST", "CALL", "CALL_FUNCTION"):
            name = str(instruction.argval) if instruction.opname == "LOAD_CONST" else _UNNAMED
            yield Scope(name, code.co_filename, line)
            opened = False


def _with_modules(steps: list[Step], module_stack: dict[str, Any]) -> SourcePath:
    """Each module before the line inside its ``forward``; those without one come last."""
    path: list[Step] = []
    modules = [_module(entry) for entry in module_stack.values()]
    for step in steps:
        inside = [forward for _, forward in modules]
        place = (step.file, step.first_line)
        if place in inside:
            upto = inside.index(place) + 1
            path += [module for module, _ in modules[:upto]]
            del modules[:upto]
        path.append(step)
    return tuple(path + [module for module, _ in modules])


def _module(entry: Any) -> tuple[Step, tuple[str, int] | None]:
    """A module, and where its ``forward`` begins."""
    name, cls = entry
    if not isinstance(cls, type):
        return Step("module", str(name), cls=str(cls)), None
    code = getattr(getattr(cls, "forward", None), "__code__", None)
    place = (code.co_filename, code.co_firstlineno) if code is not None else None
    return Step("module", str(name), cls=f"{cls.__module__}.{cls.__qualname__}"), place
