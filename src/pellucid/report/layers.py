"""Which layer each node belongs to: what its own time is shown as."""

from __future__ import annotations

import re

from pellucid.analysis import is_internal
from pellucid.model import Frame, FrameKind, Profile

__all__ = ["LAYERS", "layers"]

LAYERS = (
    "python",
    "framework",
    "operator",
    "kernel",
    "native",
    "data",
    "compile",
    "device",
    "idle",
)

_NUMBER = {name: number for number, name in enumerate(LAYERS)}
_OF_KIND = {
    FrameKind.OPERATOR: "operator",
    FrameKind.GRAPH: "kernel",
    FrameKind.KERNEL: "kernel",
    FrameKind.NATIVE: "native",
    FrameKind.RUNTIME: "native",
    FrameKind.INSTRUCTION: "native",
    FrameKind.COMPILE: "compile",
    FrameKind.DEVICE: "device",
}
_LOADING = re.compile(r"[\\/]torch[\\/]utils[\\/]data[\\/]")
_LIBRARY = re.compile(r"[\\/]lib(?:64)?[\\/]python3\.\d+t?[\\/](.+)\.py$")
# Functions of the standard library that do nothing but wait: what their own time is. C functions
# (`time.sleep`) have no frame, so they count as their caller's.
_WAITING = {
    "threading": "wait wait_for join acquire __enter__ _wait_for_tstate_lock _shutdown",
    "queue": "get put join",
    "selectors": "select",
    "socket": "accept readinto create_connection",
    "subprocess": "wait _wait _try_wait communicate _communicate",
    "multiprocessing/connection": "accept wait poll _poll recv recv_bytes _recv _recv_bytes",
    "multiprocessing/popen_fork": "wait poll",
    "multiprocessing/popen_forkserver": "wait poll",
    "multiprocessing/process": "join",
    "multiprocessing/queues": "get put",
    "multiprocessing/synchronize": "wait wait_for acquire __enter__",
    "concurrent/futures/_base": "result exception wait as_completed",
    "concurrent/futures/process": "wait_result_broken_or_wakeup",
    "concurrent/futures/thread": "_worker",  # waits for work in a C queue
}
_WAITS = {(file, name) for file, names in _WAITING.items() for name in names.split()}


def layers(profile: Profile) -> bytearray:
    """The number of each node's layer, an index into ``LAYERS``."""
    of_frame = bytes(_NUMBER[_layer(frame)] for frame in profile.frames)
    found = bytearray(map(of_frame.__getitem__, profile.frame_ids))
    if _NUMBER["data"] in of_frame:
        _spread(found, profile, _NUMBER["data"])
    return found


def _spread(found: bytearray, profile: Profile, layer: int) -> None:
    """Give a layer to all that is below its nodes."""
    for node, parent in enumerate(profile.parents):
        if parent >= 0 and found[parent] == layer:
            found[node] = layer


def _layer(frame: Frame) -> str:
    if frame.kind is not FrameKind.PYTHON:
        return _OF_KIND.get(frame.kind, "python")
    file = frame.file or ""
    if _LOADING.search(file):
        return "data"
    if not is_internal(frame):
        return "python"
    return "idle" if _waits(file, frame.name) else "framework"


def _waits(file: str, name: str) -> bool:
    library = _LIBRARY.search(file)
    if library is None:
        return False
    return (library[1].replace("\\", "/"), name.rpartition(".")[2]) in _WAITS
