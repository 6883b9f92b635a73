"""What a compiler did, put together from the records of its trace.

A function is compiled in attempts, each of which may leave graphs; all keep their texts. Nothing is
worked out while the compiler runs: records are only sorted in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pellucid.compiler.functions import (
    Attempt,
    Break,
    Function,
    Graph,
    Phase,
    Scope,
    Text,
    resumed,
)
from pellucid.compiler.trace import CompileId, Record

__all__ = ["Story"]

MOST_TEXT = 64 << 20
"""Characters of texts that are kept; what comes later is counted."""

_IGNORED = {"str", "describe_storage", "describe_tensor", "describe_source", "torch_version"}
_GRAPH_TEXTS = {"fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph"}
_LANGUAGES = {"string": "text", "json": "json"}
_DIRECTION = re.compile(r"# AOT ID: \['(?:[^'\]]*_)?(forward|backward|inference)'\]")
_BREAK_PLACE = re.compile(r"^Graph break in user code at (.+):(\d{1,9})$", re.M)
# "Reason: while tracing CALL:", an empty line, and then the reason itself.
_BREAK_REASON = re.compile(r"^(?:Graph Break )?Reason: (?:[^\n]*:\n\s*)?([^\n]+)$", re.M)
_EXPLANATION = re.compile(r"^  Explanation: (.+)$", re.M)

# What content raises that is not as expected: from another torch, damaged, or made to harm.
_NOT_UNDERSTOOD = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_MOST_NS = 2**63 - 1
_MOST_OPEN = 100  # phases inside each other


class Story:
    """All that was compiled. ``file_name`` tells what a number in a stack stands for."""

    def __init__(self, file_name: Callable[[int], str | None] | None = None) -> None:
        self.functions: list[Function] = []
        self.lost: dict[str, int] = {}
        # What the numbers stand for now: after torch._dynamo.reset() they are given anew.
        self._functions: dict[int, Function] = {}
        self._attempts: dict[int, dict[CompileId, Attempt]] = {}  # by frame
        self._over: dict[tuple[int, int], int] = {}  # the last attempt that came to an end
        self._files: dict[int, str] = {}
        self._file_name = file_name or self._files.get
        self._open: dict[int, list[tuple[str, float, CompileId | None]]] = {}  # phases, by thread
        self._kept = 0
        self._configured = False
        self._handlers: dict[str, Callable[[Record, Attempt], object]] = {
            "dynamo_start": self._start,
            "dynamo_graph_break_reason": self._break,
            "recompile_reasons": self._recompile,
            "dynamo_cpp_guards_str": self._guards,
            "dynamo_error": self._error,
            "compilation_metrics": self._metrics,
            "bwd_compilation_metrics": self._backward_metrics,
            "inductor_output_code": self._output_code,
            "inductor_provenance_tracking_node_mappings": self._mappings,
            "fx_graph_cache_hit": self._cache,
            "fx_graph_cache_miss": self._cache,
            "fx_graph_cache_bypass": self._cache,
            "aotautograd_cache_hit": self._cache,
            "aotautograd_cache_miss": self._cache,
            "aotautograd_cache_bypass": self._cache,
        }

    def add(self, record: Record | None) -> None:
        """Sort in one record; what is not understood is counted."""
        if record is None:
            self.lose("trace_record_unreadable")
            return
        try:
            self._sort_in(record, record.name)
        except _NOT_UNDERSTOOD:
            self.lose("trace_record_unreadable")

    def _sort_in(self, record: Record, name: str) -> None:
        if name == "str":
            self._intern(record.content)
        elif name == "chromium_event":
            self._phase(record)
        elif name not in _IGNORED and record.compile_id is not None:
            handler = self._handlers.get(name, self._keep)
            handler(record, self.attempt(record.compile_id))

    def keep(self, id: CompileId, kind: str, text: str) -> None:
        """Keep a text that the trace does not have."""
        self.attempt(id).texts.append(Text(kind, kind, "text", self._fitting(text)))

    def lose(self, kind: str, count: int = 1) -> None:
        """Count something that was not understood or not kept."""
        self.lost[kind] = self.lost.get(kind, 0) + count

    def function(self, frame: int) -> Function:
        """The function that was compiled as that frame."""
        known = self._functions.get(frame)
        if known is None:
            known = self._functions[frame] = Function(f"frame {frame}", None, None)
            self.functions.append(known)
        return known

    def begin(self, id: CompileId, name: str, file: str | None, first_line: int | None) -> Function:
        """Say that a compilation begins, and of which function."""
        if self._is_over(id):
            mine = self._attempts[id.frame]
            for old in [i for i in mine if i.compile >= id.compile]:
                del mine[old]
                self._over.pop(old[:2], None)
        return self._describe(id, name, file, first_line)

    def _is_over(self, id: CompileId) -> bool:
        """Whether that compilation came to its end, so that its number can only be given anew."""
        return self._over.get(id[:2], -1) >= id.attempt

    def _end(self, attempt: Attempt, status: str) -> None:
        attempt.status = status
        self._over[attempt.id[:2]] = max(attempt.id.attempt, self._over.get(attempt.id[:2], 0))

    def _describe(
        self, id: CompileId, name: str, file: str | None, first_line: int | None
    ) -> Function:
        plain, resumed_at = resumed(name)
        described = plain, resumed_at, file, first_line
        function = self.function(id.frame)
        if function.file is not None and function.described != described:
            del self._functions[id.frame]
            function = self.function(id.frame)
        function.name, function.resumed_at, function.file, function.first_line = described
        return function

    def attempt(self, id: CompileId) -> Attempt:
        """The attempt of that id, made when it is first heard of."""
        mine = self._attempts.setdefault(id.frame, {})
        known = mine.get(id)
        if known is None:
            known = mine[id] = Attempt(id)
            self.function(id.frame).attempts.append(known)
        return known

    def breaks_before(self, id: CompileId, scope: Scope) -> bool:
        """Whether the graph of that compilation ended before it came to that scope.

        The attempt that found the end may be an earlier one.
        """
        mine = (a for i, a in self._attempts.get(id.frame, {}).items() if i[:2] == id[:2])
        places = ((b.file, b.line or 0) for attempt in mine for b in attempt.breaks)
        return any(file == scope.file and line < scope.line for file, line in places)

    def attempts(self) -> Iterator[tuple[Function, Attempt]]:
        """All attempts, in the order of their functions."""
        for function in self.functions:
            for attempt in function.attempts:
                yield function, attempt

    def graphs(self) -> Iterator[tuple[Function, Attempt, Graph]]:
        """All graphs that code was generated from."""
        for function, attempt in self.attempts():
            for graph in attempt.graphs.values():
                yield function, attempt, graph

    def finish(self) -> None:
        """Settle what only the end tells: which attempts were restarted, texts of no graph."""
        for function in self.functions:
            for attempt, after in zip(function.attempts, function.attempts[1:], strict=False):
                if after.id[:2] == attempt.id[:2] and after.id.attempt > attempt.id.attempt:
                    attempt.status = "restarted"
            for attempt in function.attempts:
                attempt.texts += attempt.pending
                attempt.pending = []

    # One method a kind of record.

    def _intern(self, content: Any) -> None:
        if isinstance(content, list) and len(content) == 2 and isinstance(content[1], int):
            self._files[content[1]] = str(content[0])

    def _phase(self, record: Record) -> None:
        event = record.decoded()
        if not isinstance(event, dict) or not isinstance(event.get("ts"), (int, float)):
            self.lose("trace_record_unreadable")
            return
        name, at = str(event.get("name")), float(event["ts"])
        stack = self._open.setdefault(record.thread, [])
        if event.get("ph") == "B" and len(stack) < _MOST_OPEN:
            stack.append((name, at, record.compile_id))
        elif event.get("ph") == "B":
            self.lose("trace_record_unreadable")
        elif event.get("ph") == "E" and any(begun == name for begun, _, _ in stack):
            while (open := stack.pop())[0] != name:
                pass  # its end was not heard
            self._end_phase(name, open[2] or record.compile_id, at - open[1])

    def _end_phase(self, name: str, id: CompileId | None, microseconds: float) -> None:
        ns = _nanoseconds(max(microseconds, 0), 1e3)
        if ns is None:
            self.lose("trace_record_unreadable")
        elif id is not None:
            phase = self.attempt(id).phases.setdefault(name, Phase())
            phase.calls += 1
            phase.ns = min(phase.ns + ns, _MOST_NS)

    def _start(self, record: Record, attempt: Attempt) -> None:
        stack = record.content.get("stack") or []
        id = attempt.id
        if stack and (self.function(id.frame).file is None or self._is_over(id)):
            last = stack[-1]
            name, file = str(last["name"]), self._file_name(last["filename"])
            self.begin(id, name, file, _line(last["line"]))
            attempt = self.attempt(id)
        calls = [f"{self._file_name(f['filename'])}:{f['line']}" for f in stack[:-1]]
        attempt.details["called_from"] = calls[-10:]

    def _break(self, record: Record, attempt: Attempt) -> None:
        place = _BREAK_PLACE.search(record.payload)
        reason = _BREAK_REASON.search(record.payload)
        explanation = _EXPLANATION.search(record.payload)
        attempt.breaks.append(
            Break(
                reason[1].strip() if reason else record.payload.strip().partition("\n")[0],
                place[1] if place else None,
                int(place[2]) if place else None,
                explanation[1].strip() if explanation else "",
            )
        )
        self._keep(record, attempt)

    def _recompile(self, record: Record, attempt: Attempt) -> None:
        reasons = record.decoded()
        attempt.recompiled += (
            [str(reason) for reason in reasons]
            if isinstance(reasons, list)
            else [str(reasons) if isinstance(reasons, str) else record.payload]
        )
        self._keep(record, attempt)

    def _guards(self, record: Record, attempt: Attempt) -> None:
        attempt.guards = self._keep(record, attempt)

    def _error(self, record: Record, attempt: Attempt) -> None:
        attempt.failure.setdefault("type", "error")
        self._end(attempt, "failed")
        self._keep(record, attempt)

    def _metrics(self, record: Record, attempt: Attempt) -> None:
        metrics: dict[str, Any] = record.content
        if self.function(attempt.id.frame).file is None and metrics.get("co_filename"):
            name, line = str(metrics["co_name"]), _line(metrics.get("co_firstlineno"))
            self._describe(attempt.id, name, str(metrics["co_filename"]), line)
        if metrics.get("fail_type"):
            self._end(attempt, "failed")
            attempt.failure = {
                "type": metrics["fail_type"],
                "reason": str(metrics.get("fail_reason")),
                "file": metrics.get("fail_user_frame_filename"),
                "line": _line(metrics.get("fail_user_frame_lineno")),
            }
        elif metrics.get("has_guarded_code") is False:
            self._end(attempt, "skipped")
        else:
            self._end(attempt, "ok")
        attempt.duration_ns = _nanoseconds(metrics.get("entire_frame_compile_time_s"), 1e9)
        self._note(attempt, metrics, "guard_count", "graph_op_count", "cache_size")
        self._note(attempt, metrics, "restart_reasons", "dynamo_time_before_restart_s")
        self._note(attempt, metrics, "accumulated_cache_size", "structured_logging_overhead_s")
        self._keep_json(attempt, record)

    def _backward_metrics(self, record: Record, attempt: Attempt) -> None:
        seconds = record.content.get("inductor_compile_time_s")
        if "backward" in attempt.graphs and isinstance(seconds, (int, float)):
            attempt.graphs["backward"].details["compile_time_s"] = seconds
        self._keep_json(attempt, record)

    def _output_code(self, record: Record, attempt: Attempt) -> None:
        direction = _DIRECTION.search(record.payload[:10_000])
        name = direction[1] if direction else "inference"
        path = record.content.get("file_path") or record.content.get("filename") or ""
        graph = attempt.graphs.setdefault(name, Graph(name))
        graph.origin = str(path)
        # Each fills the same slot: what was compiled last under this id is what runs.
        graph.texts, attempt.pending = attempt.pending, []
        for text in graph.texts:
            if text.kind == "inductor_post_grad_graph":
                graph.post_grad = text.text
        graph.code = self._fitting(record.payload)
        graph.texts.append(Text(record.name, name, "python", graph.code, graph.origin))

    def _mappings(self, record: Record, attempt: Attempt) -> None:
        mappings = record.decoded()
        if isinstance(mappings, dict) and mappings and attempt.graphs:
            list(attempt.graphs.values())[-1].mappings = mappings
        self._keep(record, attempt)

    def _cache(self, record: Record, attempt: Attempt) -> None:
        said = record.decoded()
        cache, _, state = record.name.rpartition("_")
        detail = {"state": state}
        if isinstance(said, dict):
            detail["key"] = str(said.get("key", ""))
            if said.get("cache_bypass_reason"):
                detail["reason"] = str(said["cache_bypass_reason"])
        graphs = list(attempt.graphs.values())
        owner = graphs[-1].details if cache == "fx_graph_cache" and graphs else attempt.details
        owner[cache] = detail
        self._keep(record, attempt)

    def _keep(self, record: Record, attempt: Attempt) -> str:
        """Keep the text of a record that has one, as far as there is room for it."""
        if not record.payload:
            return ""
        text = Text(record.name, record.name, _language(record), self._fitting(record.payload))
        if record.name == "dynamo_output_graph":
            attempt.captured = text.text
        (attempt.pending if record.name in _GRAPH_TEXTS else attempt.texts).append(text)
        return text.text

    def _keep_json(self, attempt: Attempt, record: Record) -> None:
        content = record.content
        if self._configured:  # the same each time, and long
            content = {key: content[key] for key in content if not key.endswith("_config")}
        self._configured = True
        text = self._fitting(json.dumps(content, indent=1, default=str))
        attempt.texts.append(Text(record.kind, record.kind, "json", text))

    def _fitting(self, text: str) -> str:
        if self._kept + len(text) > MOST_TEXT:
            self.lose("artifact_left_out")
            return ""
        self._kept += len(text)
        return text

    @staticmethod
    def _note(attempt: Attempt, metrics: Mapping[str, Any], *keys: str) -> None:
        for key in keys:
            if metrics.get(key):
                attempt.details[key] = _flat(metrics[key])


def _line(number: Any) -> int | None:
    """A line's number; None where it cannot be one."""
    return number if type(number) is int and 0 <= number < 2**31 else None


def _nanoseconds(span: Any, unit: float) -> int | None:
    """A time as nanoseconds; None where it cannot be one."""
    is_time = isinstance(span, (int, float)) and 0 <= span < _MOST_NS / unit
    return round(span * unit) if is_time else None


def _flat(value: Any) -> Any:
    """A number, a word or a list of them; what is deeper becomes words."""
    if isinstance(value, (list, set, tuple)):
        return [each if isinstance(each, (int, float, str)) else str(each) for each in value]
    return value if isinstance(value, (int, float, str)) else str(value)


def _language(record: Record) -> str:
    if record.kind == "artifact" and isinstance(record.content, dict):
        if record.name.endswith("_graph"):
            return "python"
        return _LANGUAGES.get(str(record.content.get("encoding")), "text")
    return "python" if record.name.endswith("_graph") else "text"
