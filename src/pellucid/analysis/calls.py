"""How often something was called."""

from __future__ import annotations

from array import array

from pellucid.model import FrameKind, Profile

__all__ = ["module_calls", "node_calls", "operator_calls"]

_TRANSPARENT = (FrameKind.PYTHON, FrameKind.REGION)
_COUNTED = (FrameKind.OPERATOR, FrameKind.KERNEL)


def operator_calls(profile: Profile) -> array[int]:
    """Calls of each node that has a ``duration``; 0 for the others."""
    if "duration" not in profile.metrics:
        return array("q", [0]) * len(profile)
    return profile.counts("duration")


def node_calls(profile: Profile) -> array[int]:
    """Calls of every node: counted, or estimated for modules; 0 where nothing is known."""
    return array("q", map(max, operator_calls(profile), module_calls(profile)))


def module_calls(profile: Profile) -> array[int]:
    """An estimate of how often each module node was called; 0 where nothing tells.

    Repeated calls of a module share one node, so its calls are those of the first operator or
    kernel right below it, looking through Python and regions; else those of its first nested
    module.
    """
    calls = operator_calls(profile)
    kinds = [profile.frames[frame].kind for frame in profile.frame_ids]
    modules = _nearest_modules(profile, kinds)
    first_operator: dict[int, int] = {}
    for node, kind in enumerate(kinds):
        if kind in _COUNTED and modules[node] >= 0:
            first_operator.setdefault(modules[node], node)
    estimates = array("q", [0]) * len(profile)
    for node in range(len(profile) - 1, -1, -1):
        if kinds[node] is not FrameKind.MODULE:
            continue
        if node in first_operator:
            estimates[node] = calls[first_operator[node]]
        if estimates[node] and modules[node] >= 0:
            estimates[modules[node]] = estimates[node]  # the last one to write is the first nested
    return estimates


def _nearest_modules(profile: Profile, kinds: list[FrameKind]) -> list[int]:
    """The module node above each node with only Python and regions between; -1 without one."""
    nearest: list[int] = []
    for parent in profile.parents:
        if parent < 0:
            nearest.append(-1)
        elif kinds[parent] is FrameKind.MODULE:
            nearest.append(parent)
        else:
            nearest.append(nearest[parent] if kinds[parent] in _TRANSPARENT else -1)
    return nearest
