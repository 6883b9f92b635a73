"""From a story to the tables of a profile, and from a line of generated code to its origins."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pellucid.compiler.functions import (
    Attempt,
    Function,
    Graph,
    SourcePath,
    Text,
    common_prefix,
)
from pellucid.compiler.fx_graph import parse_graph
from pellucid.compiler.guards import Guard, parse_check, parse_guards
from pellucid.compiler.provenance import KernelCall, kernel_calls
from pellucid.compiler.sources import Sources, source_nodes
from pellucid.compiler.story import Story
from pellucid.model import ProfileBuilder

__all__ = ["CallSite", "Compiled", "add_entries"]

_MOST_GUARDS = 1000


@dataclass(frozen=True)
class CallSite:
    """A line of generated code, and where it came from.

    ``call`` is the kernel call there, if any. ``path`` is the way, from the compiled function's own
    line down, that all its operations share.
    """

    function: Function
    attempt: Attempt
    graph: Graph
    call: KernelCall | None
    path: SourcePath
    artifact: int
    entry: int

    @property
    def lines(self) -> list[tuple[str, int]]:
        """The source lines that the kernel came from, in the order of its operations."""
        found = ((o.file, o.line) for o in self.call.origins) if self.call else ()
        return list(dict.fromkeys((f, n) for f, n in found if f is not None and n is not None))


class Compiled:
    """Generated code by file and line."""

    def __init__(self) -> None:
        self._calls: dict[str, list[tuple[KernelCall, CallSite]]] = {}
        self._files: dict[str, CallSite] = {}
        self._functions: dict[tuple[str | None, str], list[Function]] = {}
        self._owners: dict[str, set[str]] = {}

    def add(self, file: str, whole: CallSite, sites: list[CallSite]) -> None:
        """One generated file, and the calls in it."""
        self._files[file] = whole
        calls = [(site.call, site) for site in sites if site.call is not None]
        self._calls[file] = sorted(calls, key=lambda pair: pair[0].line)

    def add_attempt(self, function: Function, attempt: Attempt) -> None:
        """What was compiled."""
        if function.resumed_at is None:
            self._functions.setdefault((function.file, function.name), []).append(function)
        self._owners.setdefault(attempt.id.compilation, set()).add(function.label)

    def site(self, file: str, line: int) -> CallSite | None:
        """What is on that line of a generated file; None for files that are not."""
        calls = self._calls.get(file, [])
        index = bisect_right(calls, line, key=lambda pair: pair[0].line) - 1
        if index >= 0 and line <= calls[index][0].end_line:
            return calls[index][1]
        return self._files.get(file)

    def function(self, compile_id: str) -> str | None:
        """What was compiled under an id such as ``0/1``; None where several functions were."""
        owners = self._owners.get(compile_id, set())
        return next(iter(owners)) if len(owners) == 1 else None

    def self_name(self, function: Function) -> str | None:
        """What the function calls its object, if it is a method; its rest calls it the same."""
        whole = self._functions.get((function.file, function.name), ())
        return whole[0].self_name if whole else function.self_name

    def first_line(self, file: str, name: str) -> int | None:
        """Where a compiled function of that name begins."""
        functions = self._functions.get((file, name), ())
        return functions[0].first_line if functions else None

    @property
    def files(self) -> list[str]:
        """The generated files."""
        return list(self._files)


def add_entries(story: Story, builder: ProfileBuilder, run: int) -> Compiled:
    """Fill the tables ``compile`` and ``artifact``, and ``link`` as far as it needs no tree."""
    compiled = Compiled()
    for function in story.functions:
        owner = builder.compile_entry(
            "function", function.label, run=run, file=function.file, line=function.first_line
        )
        for attempt in function.attempts:
            compiled.add_attempt(function, attempt)
            _Attempt(story, builder, run, function, attempt, owner).add(compiled)
    return compiled


class _Attempt:
    """Writes down one attempt and all that belongs to it."""

    def __init__(
        self,
        story: Story,
        builder: ProfileBuilder,
        run: int,
        function: Function,
        attempt: Attempt,
        owner: int,
    ) -> None:
        self._story = story
        self._builder = builder
        self._run = run
        self._function = function
        self._attempt = attempt
        if not attempt.sources and attempt.captured:
            attempt.sources = source_nodes(parse_graph(attempt.captured))
        details = dict(attempt.details)
        if attempt.dropped_scopes:
            details["dropped_scopes"] = [scope._asdict() for scope in attempt.dropped_scopes]
        self._entry = builder.compile_entry(
            "attempt",
            attempt.id.name,
            parent=owner,
            run=run,
            file=function.file,
            line=function.first_line,
            status=attempt.status or "unfinished",
            duration_ns=attempt.duration_ns,
            detail=_plain(details),
        )

    def add(self, compiled: Compiled) -> None:
        for text in self._attempt.texts:
            self._text(text, self._entry)
        for graph in self._attempt.graphs.values():
            self._graph(graph, compiled)
        if not self._attempt.graphs and self._attempt.captured is not None:
            self._child("graph", "captured")
        self._events()
        self._guards()
        for name, phase in self._attempt.phases.items():
            self._child("phase", name, duration_ns=phase.ns, detail={"calls": phase.calls})

    def _events(self) -> None:
        for broken in self._attempt.breaks:
            detail: dict[str, object] = {}
            if broken.explanation:
                detail["explanation"] = broken.explanation
            self._child("break", broken.reason, file=broken.file, line=broken.line, detail=detail)
        for reason in self._attempt.recompiled:
            guard = parse_check(reason.partition("\n")[0], self._files())
            self._check("recompile", guard)
        if failure := self._attempt.failure:
            file, line = failure.get("file"), failure.get("line")
            self._child(
                "failure",
                str(failure.get("type")),
                file=file if isinstance(file, str) else None,
                line=line if isinstance(line, int) else None,
                detail={"reason": str(failure.get("reason", ""))},
            )

    def _check(self, kind: str, guard: Guard, status: str = "") -> None:
        detail: dict[str, object] = {"code": guard.code} if guard.code else {}
        self._child(
            kind, guard.text, file=guard.file, line=guard.line, status=status, detail=detail
        )

    def _files(self) -> set[str]:
        files = {source.file for source in self._attempt.sources if source.file}
        return files | ({self._function.file} if self._function.file else set())

    def _guards(self) -> None:
        guards = parse_guards(self._attempt.guards, self._files())
        for guard in guards[:_MOST_GUARDS]:
            self._check("guard", guard, guard.kind)
        if len(guards) > _MOST_GUARDS:
            self._story.lose("guard_left_out", len(guards) - _MOST_GUARDS)

    def _graph(self, graph: Graph, compiled: Compiled) -> None:
        calls = self._calls(graph)
        status = str(graph.details.get("fx_graph_cache", {}).get("state", ""))
        entry = self._child("graph", graph.direction, status=status, detail=_plain(graph.details))
        artifacts = [self._text(text, entry) for text in graph.texts]
        code = artifacts[-1]  # what was generated comes last
        by_name: dict[str, list[KernelCall]] = {}
        for call in calls:
            by_name.setdefault(call.kernel, []).append(call)
        kernels = {name: self._kernel(name, mine, entry) for name, mine in by_name.items()}
        whole = CallSite(self._function, self._attempt, graph, None, (), code, entry)
        paths = self._attempt.paths
        sites = [
            replace(
                whole,
                call=call,
                path=common_prefix(list(_paths(call, paths))),
                entry=kernels[call.kernel],
            )
            for call in calls
        ]
        self._lose_lines(graph, [s for s in sites if s.call and s.call.kind != "fallback"])
        if graph.origin:
            compiled.add(graph.origin, whole, sites)

    def _lose_lines(self, graph: Graph, sites: Sequence[CallSite]) -> None:
        unlinked = sum(not site.call.origins for site in sites if site.call)
        if unlinked:
            self._story.lose("kernel_unlinked", unlinked)
        if all(site.lines for site in sites) or not graph.post_grad:
            return
        if Sources(self._attempt.sources).have_moved(parse_graph(graph.post_grad)):
            self._story.lose("graph_stale")

    def _calls(self, graph: Graph) -> list[KernelCall]:
        forward = self._attempt.graphs.get("forward")
        return kernel_calls(
            graph.code,
            graph.post_grad,
            self._attempt.sources,
            backward=graph.direction == "backward",
            mappings=graph.mappings,
            forward_graph=forward.post_grad if forward and forward is not graph else None,
        )

    def _kernel(self, name: str, mine: Sequence[KernelCall], graph: int) -> int:
        nodes = list(dict.fromkeys(origin.node for call in mine for origin in call.origins))
        lines = [call.line for call in mine]
        detail: dict[str, object] = {"kind": mine[0].kind, "lines": lines, "nodes": nodes}
        return self._child("kernel", name, parent=graph, detail=detail)

    def _text(self, text: Text, entry: int) -> int:
        return self._builder.artifact(
            text.kind,
            f"{self._function.label} [{self._attempt.id.name}] {text.name}",
            text.text,
            compile=entry,
            language=text.language,
            origin=text.origin,
        )

    def _child(
        self,
        kind: str,
        name: str,
        *,
        parent: int | None = None,
        file: str | None = None,
        line: int | None = None,
        status: str = "",
        duration_ns: int | None = None,
        detail: dict[str, object] | None = None,
    ) -> int:
        return self._builder.compile_entry(
            kind,
            name,
            parent=self._entry if parent is None else parent,
            run=self._run,
            file=file,
            line=line,
            status=status,
            duration_ns=duration_ns,
            detail=detail,
        )


def _paths(call: KernelCall, paths: Sequence[SourcePath]) -> Iterator[SourcePath]:
    """The ways to all operations of a kernel; of an ambiguous one to all that it may be."""
    for origin in call.origins:
        for source in origin.sources:
            if source < len(paths):
                yield paths[source]


def _plain(details: dict[str, object]) -> dict[str, object]:
    """As JSON can hold it: the compiler's values may be anything, infinite for one."""
    plain: dict[str, object] = json.loads(json.dumps(details, default=str), parse_constant=str)
    return plain
