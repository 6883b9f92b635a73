"""Activation checkpointing: which recomputed node stands for which node of the first forward.

torch.utils.checkpoint runs a function a second time inside the backward pass. What lies below that
second call is matched, frame by frame, with what lies below the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["recomputed"]

_FILE = "torch/utils/checkpoint.py"


def recomputed(
    frames: Sequence[tuple[str, str, str, int, int]],
    parent: Sequence[int],
    frame: Sequence[int],
    origin: Sequence[int],
) -> Iterator[tuple[int, int]]:
    """Pairs (recomputed node, its original), given the columns of a recording's nodes.

    ``parent`` and ``origin`` are smaller than the node they belong to; 0 stands for none.
    """
    is_ours = [kind == "python" and file.endswith(_FILE) for kind, _, file, _, _ in frames]
    if any(is_ours):
        yield from _Matcher(is_ours, parent, frame, origin).pairs()


class _Matcher:
    def __init__(
        self,
        is_ours: Sequence[bool],
        parent: Sequence[int],
        frame: Sequence[int],
        origin: Sequence[int],
    ) -> None:
        self._parent = parent
        self._frame = frame
        self._origin = origin
        self._ours = [is_ours[f] for f in frame]  # by node: a frame of torch.utils.checkpoint
        self._child: dict[tuple[int, int], int] = {}
        self._ours_below: dict[int, list[int]] = {}
        for node in range(1, len(parent)):
            self._child.setdefault((parent[node], frame[node]), node)
            if self._ours[node]:
                self._ours_below.setdefault(parent[node], []).append(node)

    def pairs(self) -> Iterator[tuple[int, int]]:
        backward = [0] * len(self._parent)  # the innermost backward function around a node
        original = [0] * len(self._parent)
        for node in range(1, len(self._parent)):
            above = self._parent[node]
            backward[node] = node if self._origin[node] else backward[above]
            if self._ours[node]:
                continue
            if original[above]:
                original[node] = self._child.get((original[above], self._frame[node]), 0)
            elif self._ours[above] and backward[above]:
                original[node] = self._first_call(self._origin[backward[above]], self._frame[node])
            if original[node]:
                yield node, original[node]

    def _first_call(self, forward: int, frame: int) -> int:
        """The node of that frame which checkpoint called around or below a forward node."""
        for ours in self._ours_below.get(forward, ()):
            if found := self._child.get((ours, frame)):
                return found
        while forward and not self._ours[forward]:
            forward = self._parent[forward]
        return self._child.get((forward, frame), 0)
