"""torch.compile, heard while it works: one handler on its structured trace.

The handler costs nothing while nothing compiles. It sorts what it hears into a :class:`Story`,
opens a phase in the core for each phase of the compiler, and has new kernels wrapped.
"""

from __future__ import annotations

import dis
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pellucid.capture.dynamo import captured_graph, compiled_code, transformed_code
from pellucid.capture.kernels import Kernels
from pellucid.capture.native import core
from pellucid.compiler import CompileId, Record, Story, record_of

__all__ = ["CompileWatch"]

_TRACE = logging.getLogger("torch.__trace")
_TRANSFORMED = "build_guards"  # the phase in which the new bytecode is there
_WHOLE = ("dynamo", "entire_frame_compile", "entire_backward_compile")
_LOADED = "PyCodeCache.load_by_key_path"
_MOST_FUNCTIONS = 200
_OTHER_FUNCTIONS = "(other functions)"
_LOSSES = {
    "trace_record_unreadable": "records of the compiler's trace that could not be read",
    "artifact_left_out": "texts of the compiler beyond the 64 MB that are kept",
    "guard_left_out": "guards beyond 1,000 of one compilation; their text is kept",
    "kernel_unlinked": "kernel calls in generated code whose source lines are not known",
    "captured_graph_unseen": "graphs without their modules: torch's internals are not as expected",
    "graph_stale": "graphs from the compiler's cache whose source was edited since: some of their "
    "kernels are without lines",
    "compile_event_failed": "events of the compiler that could not be recorded",
    "compiled_before": "graphs compiled before the recording: kernels without source lines",
    "cpp_wrapper": "graphs with cpp_wrapper, whose kernels cannot be seen from Python",
    "scope_dropped": "record_function and region scopes inside compiled code, which the compiler "
    "leaves out",
}


class CompileWatch:
    """Everything that torch compiles, from :meth:`attach` to :meth:`detach`."""

    def __init__(self) -> None:
        self.story = Story(_interned_file)
        self.kernels = Kernels()
        self.compiled_before: list[str] = []
        self._handler = _Handler(self._hear)
        self._phases: dict[int, list[tuple[str, list[int]]]] = {}
        self._labels: set[str] = set()

    def attach(self) -> None:
        """Begin to listen, and wrap the kernels that are there already."""
        self.compiled_before = self.kernels.wrap_loaded()
        self._handler.pid = os.getpid()
        # In front of the others: torch's own handler takes itself off while it handles its first
        # record, and logging then passes over the one behind it.
        _TRACE.handlers.insert(0, self._handler)

    def detach(self) -> None:
        """Leave everything as it was."""
        with suppress(ValueError):
            _TRACE.handlers.remove(self._handler)
        self.kernels.unwrap()
        with self._handler.hearing:
            self.story.finish()

    def losses(self) -> Iterator[tuple[str, int, str]]:
        """What was not seen: kind, count, and what it means."""
        lost = {**self.story.lost, "compile_event_failed": self._handler.failed}
        lost["compiled_before"] = len(self.compiled_before)
        lost["cpp_wrapper"] = self.kernels.hidden
        lost["scope_dropped"] = sum(len(a.dropped_scopes) for _, a in self.story.attempts())
        for kind, count in lost.items():
            if count:
                yield kind, count, _LOSSES[kind]

    def _hear(self, metadata: dict[str, Any], payload: Any) -> None:
        record = record_of(metadata, payload, threading.get_ident())
        if record is None:
            return
        if record.name == "chromium_event":
            self._phase(record)
        elif record.name == "dynamo_output_graph" and record.compile_id is not None:
            self._look_at_graph(record.compile_id)
        self.story.add(record)

    def _phase(self, record: Record) -> None:
        event = record.decoded()
        stack = self._phases.setdefault(record.thread, [])
        name, kind = event["name"], event["ph"]
        if kind == "B":
            if name == _TRANSFORMED and record.compile_id is not None:
                self._keep_bytecode(record.compile_id)
            stack.append((name, [core.begin_phase(each) for each in self._names(record, name)]))
        elif kind == "E" and any(begun == name for begun, _ in stack):
            begun = None
            while begun != name:
                begun, handles = stack.pop()
                _end(handles)
            if name == _LOADED or not stack:
                self.kernels.wrap_loaded()

    def _keep_bytecode(self, id: CompileId) -> None:
        for kind, code in transformed_code().items():
            self.story.keep(id, f"{kind}_bytecode", dis.Bytecode(code).dis())

    def _names(self, record: Record, phase: str) -> list[bytes]:
        """The nodes that a phase opens; the first one opens those around it."""
        id = record.compile_id
        if self._phases[record.thread]:
            names = [] if phase in _WHOLE else [phase]
        elif id is None:
            names = ["torch.compile", phase]
        else:
            names = ["torch.compile", self._label(id, phase)]
            names += [] if phase in _WHOLE else [phase]
        return [name.encode("utf-8", "surrogatepass").replace(b"\0", b"\\0") for name in names]

    def _label(self, id: CompileId, phase: str) -> str:
        if phase == "dynamo" and (code := compiled_code()) is not None:
            name: str = getattr(code, "co_qualname", code.co_name)
            function = self.story.begin(id, name, code.co_filename, code.co_firstlineno)
            if code.co_argcount and _is_method(name):
                function.self_name = code.co_varnames[0]
        label = self.story.function(id.frame).label
        if label not in self._labels and len(self._labels) >= _MOST_FUNCTIONS:
            return _OTHER_FUNCTIONS
        self._labels.add(label)
        return label

    def _look_at_graph(self, id: CompileId) -> None:
        graph = captured_graph()
        if graph is None:
            self.story.lose("captured_graph_unseen")
            return
        attempt = self.story.attempt(id)
        attempt.sources, attempt.paths, scopes = graph
        attempt.dropped_scopes = [s for s in scopes if not self.story.breaks_before(id, s)]


class _Handler(logging.Handler):
    """Passes on the records of the trace; whatever happens, the compiler goes on."""

    def __init__(self, hear: Any) -> None:
        super().__init__()
        self._hear = hear
        self.pid = 0
        self.hearing = threading.RLock()  # a finalizer may speak while we listen
        self.failed = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Hear a record."""
        metadata = getattr(record, "metadata", None)
        if not isinstance(metadata, dict) or os.getpid() != self.pid:
            return  # a forked child is not recorded
        try:
            with self.hearing:
                self._hear(metadata, getattr(record, "payload", None))
        except Exception:
            self.failed += 1


def _is_method(qualified_name: str) -> bool:
    owner = qualified_name.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


def _end(handles: list[int]) -> None:
    for handle in reversed(handles):
        if handle:
            core.end_phase(handle)


def _interned_file(number: int) -> str | None:
    table = getattr(sys.modules.get("torch._logging.structured"), "INTERN_TABLE", {})
    return next((file for file, known in list(table.items()) if known == number), None)
