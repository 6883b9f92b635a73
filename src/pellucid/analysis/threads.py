"""Shares of the recorded time of threads."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.model import Forest, FrameKind, Profile

__all__ = ["ThreadShares"]


class ThreadShares:
    """What 100 % is for a set of nodes: all that was recorded in the threads they appear in.

    ``forest`` and its ``parents`` may be the logical tree: a line's backward often runs in
    another thread than the line, and then both threads count.
    """

    def __init__(
        self, profile: Profile, metric: str, forest: Forest, parents: Sequence[int]
    ) -> None:
        totals = profile.totals(metric)
        self._recorded: list[float] = []
        threads: list[int] = []
        for node, parent in enumerate(profile.parents):
            kind = profile.frames[profile.frame_ids[node]].kind
            if parent >= 0 and kind is not FrameKind.THREAD:
                threads.append(threads[parent])
                continue
            if parent >= 0:  # a thread below its process: the rest is the process's own
                self._recorded[threads[parent]] -= totals[node]
            threads.append(len(self._recorded))
            self._recorded.append(totals[node])
        masks = [1 << thread for thread in threads]
        for node in reversed(forest.order):
            if parents[node] >= 0:
                masks[parents[node]] |= masks[node]
        self._masks = masks
        self._known: dict[int, float] = {}

    def of(self, amount: float, nodes: Sequence[int]) -> float | None:
        """The amount as a fraction of the threads below ``nodes``; None of nothing."""
        mask = 0
        for node in nodes:
            mask |= self._masks[node]
        if mask not in self._known:
            self._known[mask] = sum(
                recorded for bit, recorded in enumerate(self._recorded) if mask >> bit & 1
            )
        whole = self._known[mask]
        return amount / whole if whole > 0 else None
