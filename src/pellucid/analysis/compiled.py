"""What was compiled, in short: how much, from which caches, and what went against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pellucid.model import CompileEntry, CompileKind, Profile

__all__ = ["CompileEvent", "CompileSummary", "compile_summary"]

_CACHES = ("fx_graph_cache", "aotautograd_cache")
_EVENTS = (CompileKind.BREAK, CompileKind.RECOMPILE, CompileKind.FAILURE)


@dataclass(frozen=True)
class CompileEvent:
    """Something worth knowing of: a graph break, a recompilation, a failure, a scope left out."""

    kind: str
    function: str
    compile_id: str
    what: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class CompileSummary:
    """``attempts`` by status, caches by name and state (hit, miss, bypass); ``time_ns`` is the wall
    time of all threads inside the compiler."""

    functions: int
    attempts: Counter[str]
    graphs: int
    kernels: int
    guards: int
    time_ns: float
    caches: dict[str, Counter[str]]
    events: list[CompileEvent]


def compile_summary(profile: Profile) -> CompileSummary | None:
    """The summary; None where nothing was compiled."""
    if not profile.compiles:
        return None
    of_kind = Counter(entry.kind for entry in profile.compiles)
    statuses = (e.status for e in profile.compiles if e.kind is CompileKind.ATTEMPT)
    return CompileSummary(
        functions=of_kind[CompileKind.FUNCTION],
        attempts=Counter(statuses),
        graphs=of_kind[CompileKind.GRAPH],
        kernels=of_kind[CompileKind.KERNEL],
        guards=of_kind[CompileKind.GUARD],
        time_ns=(sum(profile.selfs("compile_time")) if "compile_time" in profile.metrics else 0.0),
        caches=_caches(profile),
        events=_events(profile),
    )


def _caches(profile: Profile) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for entry in profile.compiles:
        if entry.kind not in (CompileKind.ATTEMPT, CompileKind.GRAPH):
            continue
        details = entry.details
        for cache in _CACHES:
            said = details.get(cache)
            if isinstance(said, dict) and isinstance(state := said.get("state"), str):
                found.setdefault(cache, Counter())[state] += 1
    return found


def _events(profile: Profile) -> list[CompileEvent]:
    events = []
    for entry in profile.compiles:
        if entry.kind in _EVENTS:
            attempt, function = _owners(profile, entry)
            what = entry.name
            details = entry.details
            if more := details.get("reason") or details.get("explanation"):
                what = f"{what}: {more}"
            events.append(
                CompileEvent(str(entry.kind), function, attempt, what, entry.file, entry.line)
            )
        elif entry.kind is CompileKind.ATTEMPT:
            _, function = _owners(profile, entry)
            dropped = entry.details.get("dropped_scopes")
            scopes = dropped if isinstance(dropped, list) else []
            events += [_scope(s, function, entry.name) for s in scopes if isinstance(s, dict)]
    return events


def _scope(scope: dict[str, Any], function: str, attempt: str) -> CompileEvent:
    file, line = scope.get("file"), scope.get("line")
    return CompileEvent(
        "scope left out",
        function,
        attempt,
        str(scope.get("name")),
        file if isinstance(file, str) else None,
        line if isinstance(line, int) else None,
    )


def _owners(profile: Profile, entry: CompileEntry) -> tuple[str, str]:
    """The names of the attempt and the function that an entry belongs to."""
    names = {entry.kind: entry.name}
    while entry.parent is not None:
        entry = profile.compiles[entry.parent]
        names[entry.kind] = entry.name
    return names.get(CompileKind.ATTEMPT, ""), names.get(CompileKind.FUNCTION, "")
