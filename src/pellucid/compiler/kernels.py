"""The kernels that a generated module defines: what each reads and writes, from its text.

C++ and Triton kernels name their parameters by direction (``in_ptr0``, ``out_ptr1``,
``in_out_ptr0``). Which results depend on which inputs is followed statement by statement, since one
kernel often holds several loops that have nothing to do with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Kernel", "cpp_kernel", "triton_kernel"]

_CPP_HEAD = re.compile(r"\bkernel\s*\(")
_CPP_DECLARED = re.compile(
    r"\s*(?:const )?(?:[\w:]+(?:<[^;=]*>)?)[&*]? (\w+)(?:\[[^\]]*\])* ?=(?!=)(.*)"
)
_CPP_ALIAS = re.compile(r"\s*auto (\w+) = (\w+);")
_CPP_ARRAY = re.compile(r"\s*(?:alignas\(.*\) )?[\w:]+ (\w+)\[[^\]]*\];")
_CPP_CALL = re.compile(r"\s*[\w:]+(?:<[^()]*>)?\((.*)\);")
_CPP_STORES = (".store(", "_add", "] = ", "] += ")
_TRITON_HEAD = re.compile(r"^def (\w+)\(", re.M)
_TRITON_STORED = re.compile(r"\btl\.(?:store|atomic_\w+)\(\s*(\w+)")
_TRITON_NO_TENSOR = re.compile(r"ks\d+|[xyzr]\d*_?numel|[A-Z_0-9]+")
_MUTATED = "'mutated_arg_names': ["
_ASSIGNED = re.compile(r"\s*(\w+)(?:\[.*?\])? ?[-+*|&^]?=(?!=)(.*)")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")

# Beyond these a text is not one of Inductor's, or too large to follow.
_MOST_TEXT = 1_000_000
_MOST_LINE = 20_000
_MOST_HEADS = 50
_MOST_OPEN = 10
_MOST_PARAMETERS = 2_000
_MOST_NEEDS = 100_000


class Kernel(NamedTuple):
    """``parameters`` has "r", "w", "rw" or "" (no tensor) per parameter.

    ``needs``: for a parameter that is written, the parameters whose old content that depends on.
    """

    kind: str
    parameters: tuple[str, ...]
    needs: dict[int, tuple[int, ...]]


def cpp_kernel(text: str) -> Kernel:
    """A kernel of ``async_compile.cpp_pybinding``, from its C++."""
    for declared, body in _heads(text, _CPP_HEAD):
        names = [found[-1] for part in declared if (found := _IDENTIFIER.findall(part))]
        if len(names) == len(declared) and body.startswith("{"):
            uses = [_cpp_use(part, name) for part, name in zip(declared, names, strict=True)]
            flow = _Flow(names, uses)
            for line in body.splitlines():
                flow.cpp(line[:_MOST_LINE])
            return Kernel("fused", tuple(uses), flow.needs())
    return Kernel("fused", (), {})


def triton_kernel(text: str) -> Kernel:
    """A kernel of ``async_compile.triton``, from its Python."""
    written = _mutated(text)
    for declared, body in _heads(text, _TRITON_HEAD):
        names = [part.split(":")[0].split("=")[0].strip() for part in declared]
        uses = [_triton_use(name, written) for name in names]
        flow = _Flow(names, uses)
        for line in body.splitlines():
            flow.triton(line[:_MOST_LINE])
        return Kernel("triton", tuple(uses), flow.needs())
    return Kernel("triton", (), {})


def _heads(text: str, head: re.Pattern[str]) -> Iterator[tuple[list[str], str]]:
    """What look like a kernel's parameters, and what follows them."""
    text = text[:_MOST_TEXT]
    for number, found in enumerate(head.finditer(text)):
        end = text.find(")", found.end())
        if end < 0 or number >= _MOST_HEADS:
            return
        declared = [p.strip() for p in text[found.end() : end].split(",") if p.strip()]
        if 0 < len(declared) <= _MOST_PARAMETERS:
            yield declared, text[end + 1 :].lstrip()


def _cpp_use(declared: str, name: str) -> str:
    if "*" not in declared:
        return ""
    if name.startswith("in_out_ptr"):
        return "rw"
    if "const " in declared:
        return "r"
    return "w" if name.startswith("out_ptr") else "rw"


def _triton_use(name: str, written: set[str]) -> str:
    if name.startswith("in_out_ptr"):
        return "rw"
    if name.startswith("out_ptr"):
        return "w"
    if _TRITON_NO_TENSOR.fullmatch(name):
        return ""
    return "rw" if name in written else "r"


def _mutated(text: str) -> set[str]:
    start = text.find(_MUTATED)
    end = text.find("]", start)
    return set(_IDENTIFIER.findall(text[start + len(_MUTATED) : end])) if start >= 0 else set()


class _Flow:
    """What the variables of a kernel's text depend on: the parameters' first contents, as bits."""

    def __init__(self, names: list[str], uses: list[str]) -> None:
        self._index = {name: i for i, name in enumerate(names)}
        self._written = {name for name, use in zip(names, uses, strict=True) if "w" in use}
        self._depends = {name: 1 << i for name, i in self._index.items()}
        self._same: dict[str, str] = {}
        self._open: list[str] = []  # declarations that go on, such as lambdas
        self._stored: set[str] = set()

    def needs(self) -> dict[int, tuple[int, ...]]:
        """For the written parameters whose stores were found."""
        bits = {self._index[name]: self._depends[name] for name in self._stored}
        if sum(b.bit_count() for b in bits.values()) > _MOST_NEEDS:
            return {}
        return {
            i: tuple(n for n in range(b.bit_length()) if b >> n & 1)
            for i, b in sorted(bits.items())
        }

    def cpp(self, line: str) -> None:
        """Follow one line of C++."""
        if found := _CPP_ALIAS.match(line):
            self._same[found[1]] = self._same.get(found[2], found[2])
            self._depends[found[1]] = self._used(found[2])
        elif found := _CPP_DECLARED.match(line):
            self._same.pop(found[1], None)
            self._depends[found[1]] = self._used(found[2])
            if ";" not in found[2]:
                self._open = [*self._open[-_MOST_OPEN:], found[1]]
        elif any(sign in line for sign in _CPP_STORES) and (target := self._target(line)):
            self._store(target, line)
        elif found := _CPP_ARRAY.match(line):
            self._depends[found[1]] = 0
        elif found := _ASSIGNED.match(line):
            self._add(found[1], found[2])
        elif found := _CPP_CALL.match(line):  # it may write to any of the variables that it gets
            for name in _IDENTIFIER.findall(found[1]):
                if name not in self._index:
                    self._add(name, line)
        self._go_on(line)

    def _go_on(self, line: str) -> None:
        for name in self._open:
            self._add(name, line)
        if self._open and line.strip() in (";", "};", "();"):
            self._open.pop()

    def triton(self, line: str) -> None:
        """Follow one line of Triton's Python."""
        if found := _TRITON_STORED.search(line):
            if found[1] in self._written:
                self._store(found[1], line)
        elif found := _ASSIGNED.match(line):
            self._add(found[1], found[2])

    def _target(self, line: str) -> str | None:
        names = (self._same.get(name, name) for name in _IDENTIFIER.findall(line))
        return next((name for name in names if name in self._written), None)

    def _add(self, name: str, right: str) -> None:
        self._depends[name] = self._depends.get(name, 0) | self._used(right)

    def _store(self, name: str, line: str) -> None:
        """A store depends on all that its line names, but not on what it overwrites."""
        before = self._depends[name] if name in self._stored else 0
        self._depends[name] = 0
        self._depends[name] = before | self._used(line)
        self._stored.add(name)

    def _used(self, text: str) -> int:
        used = 0
        for name in _IDENTIFIER.findall(text):
            used |= self._depends.get(self._same.get(name, name), 0)
        return used
