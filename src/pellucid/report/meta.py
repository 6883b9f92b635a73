"""The block that is read first: what the report holds and how it came about."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any

from pellucid.analysis import compile_summary, is_internal_file
from pellucid.model import FrameKind, Profile, Step
from pellucid.report.columns import Nodes
from pellucid.report.layers import LAYERS
from pellucid.report.texts import Texts, line_count, shown

__all__ = ["KINDS", "SMALL", "VERSION", "meta"]

VERSION = 1
"""Of the data: grows with any change that an older viewer would misread."""

SMALL = "small"
KINDS = (*map(str, FrameKind), SMALL)

_MOST_STEPS = 10_000


def meta(profile: Profile, nodes: Nodes, texts: Texts, title: str) -> dict[str, Any]:
    """The block, to be written as JSON."""
    return {
        "version": VERSION,
        "title": title,
        "pellucid": _pellucid_version(),
        "counts": {
            "nodes": len(nodes),
            "frames": len(profile.frames) + len(nodes.small),
            "edges": len(nodes.edges),
        },
        "metrics": [
            {**m._asdict(), "additive": m.additive, "rows": len(nodes.stats[name].node)}
            for name, m in profile.metrics.items()
        ],
        "layers": LAYERS,
        "kinds": KINDS,
        "runs": [run._asdict() for run in profile.runs],
        "losses": [
            {"kind": loss.kind, "count": loss.count, "detail": loss.detail}
            for loss in profile.losses
        ],
        "about": profile.meta,
        "steps": _steps(profile.steps),
        "compile": _compile(profile),
        "pruned": {"nodes": nodes.pruned, "min_ns": nodes.pruned_below_ns},
        **_texts(profile, texts),
    }


def _texts(profile: Profile, texts: Texts) -> dict[str, Any]:
    return {
        "sources": [
            {
                "path": source.path,
                "shown": shown(profile, source.path),
                "lines": line_count(source.text),
                "internal": is_internal_file(source.path),
            }
            for source in texts.sources
        ],
        "sources_left_out": texts.sources_left_out,
        "artifacts": [
            {
                "id": artifact.id,
                "compile": artifact.compile,
                "kind": artifact.kind,
                "name": artifact.name,
                "language": artifact.language,
                "origin": artifact.origin,
                "lines": line_count(artifact.text),
            }
            for artifact in texts.artifacts
        ],
    }


def _steps(steps: list[Step]) -> dict[str, Any] | None:
    """The steps of the name, in one run, that has most of them."""
    if not steps:
        return None
    series: dict[tuple[int, str], list[int]] = defaultdict(list)
    for step in steps:
        series[step.run, step.name].append(step.duration_ns)
    (_, name), durations = max(series.items(), key=lambda item: len(item[1]))
    kept = durations[:_MOST_STEPS]
    return {"name": name, "durations_ns": kept, "left_out": len(steps) - len(kept)}


def _compile(profile: Profile) -> dict[str, Any] | None:
    summary = compile_summary(profile)
    if summary is None:
        return None
    return {
        **vars(summary),
        "time_ns": summary.time_ns if isfinite(summary.time_ns) else None,
        "events": list(map(vars, summary.events)),
    }


def _pellucid_version() -> str:
    try:
        return version("pellucid")
    except PackageNotFoundError:
        return ""
