"""From what the core recorded to a :class:`Profile`."""

from __future__ import annotations

import os
import platform
import socket
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pellucid.capture.module_names import ModuleNames
from pellucid.capture.nodes import Layout
from pellucid.capture.sources import read_sources
from pellucid.capture.torch_compile import CompileWatch
from pellucid.compiler import Compiled, add_entries
from pellucid.model import FrameKind, Profile, ProfileBuilder, Stat

if TYPE_CHECKING:
    from pellucid._core import Recording, StatColumns

__all__ = ["to_profile"]

_LOSSES = {
    "scope_left_open": "scopes that were open when their thread or the recording ended",
    "stack_truncated": "calls from more than 2,048 Python frames deep, outermost left out",
    "backward_unlinked": "backward functions whose forward operator was no longer known",
    "tree_full": "events counted on their parent: a thread's tree has 16 million nodes",
    "foreign_interpreter": "events in a sub-interpreter, without Python frames",
    "names_merged": "regions named '(other names)': more than 1,000 names",
    "forked_process": "child processes made by fork(), not recorded",
    "event_failed": "events that could not be recorded",
}


def to_profile(
    recorded: Recording,
    *,
    names: ModuleNames | None,
    compiles: CompileWatch,
    folder: str,
    ended: str,
    complete: bool,
    problems: Sequence[tuple[str, str]],
) -> Profile:
    """Build the profile of one run; ``folder`` is where relative file names count from."""
    problems = list(problems)
    builder = ProfileBuilder()
    run = builder.run(
        rank=_number("RANK"),
        world=_number("WORLD_SIZE"),
        host=socket.gethostname(),
        pid=os.getpid(),
        start_ns=recorded["start_ns"],
        wall_ns=recorded["wall_ns"],
        threads=recorded["threads"],
        complete=complete,
        ended=ended,
    )
    compiled = _compiled(builder, run, compiles, problems)
    layout = Layout(
        builder,
        recorded["frames"],
        *(_column("I", recorded[key]) for key in ("parent", "frame", "origin")),
        names=names.by_frame if names is not None else None,
        compiled=compiled,
        generated={*compiled.files, *compiles.kernels.files},
    )
    durations, times = (list(_stats(recorded[key])) for key in ("duration", "time"))
    ids = layout.build([bool(d or t) for d, t in zip(durations, times, strict=True)])
    _add_stats(builder, ids, durations, times, recorded)
    layout.link_kernels()
    _add_library_kernels(builder, layout, durations)
    for kind, count in recorded["losses"].items():
        builder.loss(kind, count, _LOSSES[kind])
    if names is not None and layout.unnamed:
        detail = "modules that were gone before they could be named: shown by class"
        builder.loss("module_unnamed", layout.unnamed, detail)
    for kind, detail in problems:
        builder.loss(kind, 1, detail)
    for kind, count, detail in compiles.losses():
        builder.loss(kind, count, detail)
    for index, (frame, start, duration) in enumerate(recorded["steps"]):
        builder.step(run, index, recorded["frames"][frame][1], start, duration)
    for path, text in read_sources(layout.files(), folder):
        builder.source(path, text)
    builder.meta.update(_meta(folder))
    return builder.finish()


def _compiled(
    builder: ProfileBuilder, run: int, compiles: CompileWatch, problems: list[tuple[str, str]]
) -> Compiled:
    """Write down what was compiled; what cannot be understood must not cost the rest."""
    for path, text in read_sources(compiles.compiled_before, ""):
        builder.artifact("inductor_output_code", path, text, language="python", origin=path)
    try:
        return add_entries(compiles.story, builder, run)
    except Exception as error:
        problems.append(("compile_story_failed", f"{type(error).__name__}: {error}"))
        return Compiled()


def _add_stats(
    builder: ProfileBuilder,
    ids: Sequence[int],
    durations: Sequence[Stat | None],
    times: Sequence[Stat | None],
    recorded: Recording,
) -> None:
    frames, frame = recorded["frames"], _column("I", recorded["frame"])
    for metric, stats in (("duration", durations), ("time", times)):
        for node, stat in enumerate(stats):
            if stat is not None:
                builder.stat(ids[node], metric, stat)
    for node, stat in enumerate(times):
        if stat is not None and frames[frame[node]][0] == FrameKind.COMPILE:
            builder.stat(ids[node], "compile_time", stat)


def _add_library_kernels(
    builder: ProfileBuilder, layout: Layout, durations: Sequence[Stat | None]
) -> None:
    """A library kernel takes as long as the operator that it runs, the longest of several."""
    longest: dict[int, Stat] = {}
    for operator, kernel in layout.kernel_of.items():
        stat = durations[operator]
        if stat is not None and (stat.sum or 0) > (longest.get(kernel, Stat(0)).sum or -1):
            longest[kernel] = stat
    for kernel, stat in longest.items():
        builder.stat(kernel, "duration", stat)


def _stats(columns: StatColumns) -> Iterator[Stat | None]:
    count, total, least, most = (_column("Q", column) for column in columns[:4])
    m2 = _column("d", columns[4])
    for i in range(len(count)):
        yield Stat(count[i], total[i], least[i], most[i], m2[i]) if count[i] else None


def _column(typecode: str, data: bytes) -> array[int]:
    values: array[int] = array(typecode)
    values.frombytes(data)
    return values


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else None


def _meta(folder: str) -> dict[str, str]:
    torch = sys.modules.get("torch")
    meta = {
        "command": " ".join(sys.orig_argv),
        "folder": folder,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
    }
    if torch is not None:
        meta["torch"] = str(getattr(torch, "__version__", "unknown"))
    return meta
