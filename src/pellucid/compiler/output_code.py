"""The calls in Inductor's generated code, in order, and the values that pass between them.

Memory is followed, not names: a buffer that takes over another's memory has the value that was in
it, and every write makes a new value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pellucid.compiler.generated_module import GeneratedModule, Remarks, dotted, read_module
from pellucid.compiler.kernels import Kernel

__all__ = ["OPERATORS", "Call", "Flow", "Value", "read_output_code"]

OPERATORS = frozenset(["extern", "fallback", "graph"])
"""The kinds of calls that are one node of the graph each."""

_PARTITION = re.compile(r"partition_(\d+)$")
_FALLBACKS = ("torch.ops.", "aten.", "inductor_ops.", "prims.", "_quantized.", "mkldnn.")
_VIEWS = {"reinterpret_tensor", "as_strided", "view", "reshape", "permute", "item", "detach"}
_FRESH = re.compile(r"(empty_strided\w*|torch\.empty\w*|alloc_from_pool|torch\.zeros)$")
_DEEPEST = 50
_MOST_NEEDS = 5_000_000


@dataclass
class Value:
    """Some memory's content: an input of the module, or what a call wrote.

    ``items``: the values that it consists of, by index. ``before``: the values that are still a
    part of it, where only some of the memory was written.
    """

    placeholder: str = ""
    items: dict[int, int] = field(default_factory=dict)
    before: tuple[int, ...] = ()


@dataclass
class Call:
    """A call of a kernel, of an operator, or (of kind "graph") of another graph's code.

    ``needs`` gives for each value written those that it depends on.
    """

    line: int
    end_line: int
    kernel: str
    kind: str
    reads: list[int]
    needs: dict[int, list[int]]
    remarks: Remarks


@dataclass
class Flow:
    """The calls of one graph's code; ``graph`` is empty for the outermost one.

    ``renewed``: the last values that were written to inputs' memory, by the inputs' names.
    """

    graph: str
    calls: list[Call] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    returned: list[int | None] = field(default_factory=list)
    renewed: dict[str, int] = field(default_factory=dict)


def read_output_code(text: str) -> tuple[GeneratedModule, list[Flow]]:
    """One flow per graph, or none if this is not Python."""
    module = read_module(text)
    flows = []
    for name, function in module.functions.items():
        if not _PARTITION.match(name):
            flow = Flow("" if name == "call" else name)
            _Reader(flow, module).run(function)
            flows.append(flow)
    return module, flows


@dataclass
class _Memory:
    """``spare``: what is in it is not needed any more, unless the next call reads it."""

    value: int | None = None
    input: str = ""
    spare: bool = False


@dataclass
class _Ref:
    """What a name stands for: memory, or only a part of it."""

    memory: _Memory
    part: bool = False


class _Reader:
    """Runs code without computing. A meaning is a ``_Ref``, a list of meanings, or None."""

    def __init__(self, flow: Flow, module: GeneratedModule) -> None:
        self._flow = flow
        self._module = module
        self._names: dict[str, object] = {}
        self._inputs: list[_Memory] = []
        self._test: int | None = None  # what decides which of two graphs is called
        self._in_partition = False
        self._depth = 0
        self._budget = _MOST_NEEDS

    def run(self, function: ast.FunctionDef) -> None:
        """Go through a function once, through all branches in order of lines."""
        self._block(function.body)

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> object:
        """What the block returned last."""
        returned: object = None
        pending = list(reversed(statements))
        while pending:
            statement = pending.pop()
            if isinstance(statement, ast.Assign):
                self._assign(statement)
            elif isinstance(statement, ast.Expr):
                self._evaluate(statement.value, statement)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                returned = self._evaluate(statement.value, statement)
                if not self._in_partition:
                    self._return(returned)
            else:
                if isinstance(statement, ast.If):
                    self._test = _value(self._evaluate(statement.test, statement))
                for part in ("finalbody", "orelse", "body"):
                    pending.extend(reversed(getattr(statement, part, None) or []))
        return returned

    def _return(self, returned: object) -> None:
        items = returned if isinstance(returned, list) else [returned]
        self._flow.returned = [_value(item) for item in items]
        for memory in self._inputs:
            value = memory.value
            if memory.input and value is not None and not self._flow.values[value].placeholder:
                self._flow.renewed[memory.input] = value

    def _assign(self, statement: ast.Assign) -> None:
        target, right = statement.targets[0], statement.value
        if isinstance(right, ast.Name) and right.id == "args" and not self._in_partition:
            self._take_inputs(target)
            return
        meaning = self._evaluate(right, statement)
        if isinstance(meaning, _Ref) and self._is_reuse(statement):
            meaning.memory.input = ""  # what is written to it now is no new value of the input
            meaning.memory.spare = True
            meaning = _Ref(meaning.memory)
        self._bind(target, meaning)

    def _is_reuse(self, statement: ast.Assign) -> bool:
        number = statement.end_lineno or statement.lineno
        return any(x.rstrip().endswith("# reuse") for x in self._module.lines[number - 1 : number])

    def _bind(self, target: ast.expr, meaning: object) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = meaning
        elif isinstance(target, ast.Tuple):
            for i, part in enumerate(target.elts):
                if isinstance(part, ast.Name):
                    self._names[part.id] = self._item(meaning, i)

    def _take_inputs(self, target: ast.expr) -> None:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name):
                name = part.id.removeprefix(f"{self._flow.graph}_") if self._flow.graph else part.id
                memory = _Memory(self._new(Value(placeholder=name)), input=name)
                self._inputs.append(memory)
                self._names[part.id] = _Ref(memory)

    # Expressions

    def _evaluate(self, node: ast.expr, statement: ast.stmt) -> object:
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        try:
            return self._meaning(node, statement)
        finally:
            self._depth -= 1

    def _meaning(self, node: ast.expr, statement: ast.stmt) -> object:
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return [self._evaluate(part, statement) for part in node.elts]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._item(self._evaluate(node.value, statement), node.slice.value)
        if isinstance(node, ast.Call):
            return self._called(node, statement)
        return None

    def _item(self, whole: object, index: object) -> object:
        if not isinstance(index, int):
            return None
        if isinstance(whole, list):
            return whole[index] if 0 <= index < len(whole) else None
        value = _value(whole)
        if value is None:
            return None
        items = self._flow.values[value].items
        if index not in items:
            items[index] = self._new(Value())
        return _Ref(_Memory(items[index]))

    def _called(self, node: ast.Call, statement: ast.stmt) -> object:
        name = dotted(node.func)
        last = name.rpartition(".")[2]
        if isinstance(node.func, ast.Subscript) and "partitions" in dotted(node.func.value):
            return self._partition(node, node.func.slice, statement)
        if name.removesuffix(".run") in self._module.kernels:
            self._own_kernel(name.removesuffix(".run"), node, statement)
            return None
        if name.startswith("extern_kernels."):
            return self._operator(name, "extern", node, statement)
        if _FRESH.match(name):
            return _Ref(_Memory())
        if last.lstrip("_") in _VIEWS:
            return self._view(node, name, statement)
        if name.startswith(_FALLBACKS):
            return self._operator(name, "fallback", node, statement)
        if last == "copy_" and isinstance(node.func, ast.Attribute):
            return self._operator("copy_", "fallback", node, statement, node.func.value)
        if name in self._module.functions:
            return self._operator(name, "graph", node, statement)
        return None

    def _view(self, node: ast.Call, name: str, statement: ast.stmt) -> object:
        of: ast.expr | None = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and not name.startswith(_FALLBACKS):
            of = node.func.value
        meaning = self._evaluate(of, statement) if of is not None else None
        return _Ref(meaning.memory, part=True) if isinstance(meaning, _Ref) else meaning

    def _partition(self, node: ast.Call, index: ast.expr, statement: ast.stmt) -> object:
        number = str(index.value) if isinstance(index, ast.Constant) else ""
        function = self._module.functions.get(f"partition_{number}")
        if function is None or self._in_partition or not node.args:
            return None
        outer, given = self._names, self._evaluate(node.args[0], statement)
        self._names, self._in_partition = {"args": given}, True
        returned = self._block(function.body)
        self._names, self._in_partition = outer, False
        return returned

    # Calls

    def _own_kernel(self, name: str, node: ast.Call, statement: ast.stmt) -> None:
        kernel = self._module.kernels[name]
        refs = [self._evaluate(argument, statement) for argument in node.args]
        if not kernel.parameters:
            kernel = kernel._replace(parameters=("rw",) * len(refs))
        reads, needs = self._used(refs, kernel)
        self._record(name, kernel.kind, statement, reads, needs)

    def _used(
        self, refs: list[object], kernel: Kernel
    ) -> tuple[list[int], list[tuple[_Ref, list[int]]]]:
        """The values read, and the memory written with the values that it depends on."""
        uses = kernel.parameters[: len(refs)]
        before = [_value(ref) if use else None for ref, use in zip(refs, uses, strict=False)]
        reads = [v for v, use in zip(before, uses, strict=True) if v is not None and "r" in use]
        needs: list[tuple[_Ref, list[int]]] = []
        complete = True
        for i, use in enumerate(uses):
            ref = refs[i]
            if "w" in use and isinstance(ref, _Ref):
                needed = self._needed(i, refs, before, kernel)
                complete = complete and needed is not None
                needs.append((ref, reads if needed is None else needed))
        if needs and complete:
            reads = list(dict.fromkeys(v for _, values in needs for v in values))
        return reads, needs

    def _needed(
        self, index: int, refs: list[object], before: list[int | None], kernel: Kernel
    ) -> list[int] | None:
        if index not in kernel.needs or self._budget < 0:
            return None
        indices = _with_parts(kernel.needs[index], refs, kernel)
        self._budget -= len(indices)
        values = (before[i] for i in sorted(indices) if i < len(before))
        return [v for v in values if v is not None]

    def _operator(
        self,
        name: str,
        kind: str,
        node: ast.Call,
        statement: ast.stmt,
        owner: ast.expr | None = None,
    ) -> _Ref:
        given = [owner] if owner is not None else []
        given += [*node.args, *(k.value for k in node.keywords if k.arg != "out")]
        refs = list(_flat([self._evaluate(argument, statement) for argument in given]))
        out = [self._evaluate(k.value, statement) for k in node.keywords if k.arg == "out"]
        written = [ref for ref in out if isinstance(ref, _Ref)]
        reads = [v for ref in refs if (v := _value(ref)) is not None]
        if kind == "graph" and self._test is not None:
            reads.insert(0, self._test)
        if _is_in_place(name) and refs:
            written.append(refs[0])
        result = _Ref(_Memory())
        self._record(name, kind, statement, reads, [(ref, reads) for ref in [*written, result]])
        return written[0] if written else result

    def _record(
        self,
        name: str,
        kind: str,
        statement: ast.stmt,
        reads: list[int],
        writes: list[tuple[_Ref, list[int]]],
    ) -> None:
        needs: dict[int, list[int]] = {}
        made: dict[int, int] = {}
        for ref, needed in writes:
            memory = ref.memory
            if id(memory) in made:  # another part of the same memory
                value = made[id(memory)]
                needs[value] = list(dict.fromkeys([*needs[value], *needed]))
                continue
            old = memory.value if ref.part and not memory.spare else None
            value = self._new(Value(before=() if old is None else (old,)))
            made[id(memory)] = memory.value = value
            memory.spare = False
            needs[value] = needed
        end = statement.end_lineno or statement.lineno
        remarks = self._module.remarks_above(statement.lineno)
        self._flow.calls.append(Call(statement.lineno, end, name, kind, reads, needs, remarks))

    def _new(self, value: Value) -> int:
        self._flow.values.append(value)
        return len(self._flow.values) - 1


def _value(meaning: object) -> int | None:
    return meaning.memory.value if isinstance(meaning, _Ref) else None


def _flat(meanings: list[object]) -> Iterator[_Ref]:
    for meaning in meanings:
        for part in meaning if isinstance(meaning, list) else [meaning]:
            if isinstance(part, _Ref):
                yield part


def _with_parts(needed: tuple[int, ...], refs: list[object], kernel: Kernel) -> set[int]:
    """The arguments needed, also through new memory that the kernel writes by another argument."""
    found: set[int] = set()
    pending = list(needed)
    while pending:
        i = pending.pop()
        if i in found or i >= len(refs):
            continue
        found.add(i)
        ref = refs[i]
        if isinstance(ref, _Ref) and ref.memory.value is None:
            for j, other in enumerate(refs):
                if isinstance(other, _Ref) and other.memory is ref.memory:
                    pending.extend(kernel.needs.get(j, ()))
    return found


def _is_in_place(name: str) -> bool:
    """By the convention of names, as in ``aten.index_put_``."""
    return any(part.endswith("_") and not part.startswith("_") for part in name.split(".")[-2:])
