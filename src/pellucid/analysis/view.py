"""The tree as it is shown: folded, pruned and sorted, with what was left out said."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pellucid.analysis.calls import operator_calls
from pellucid.analysis.internal import is_internal
from pellucid.analysis.tables import check_metric
from pellucid.model import Frame, Profile

__all__ = ["Line", "Outline", "callers", "outline"]


@dataclass(frozen=True)
class Line:
    """One line of the shown tree; amounts in the outline's unit.

    Without a frame it stands for ``left_out`` branches that are too small or too deep to show.
    ``share`` is a fraction of what was recorded in the line's thread (callers: in all threads).
    """

    depth: int
    frame: Frame | None
    total: float
    self: float
    share: float
    calls: int | None = None
    left_out: int = 0
    too_deep: bool = False


@dataclass(frozen=True)
class Outline:
    """The lines in the order they are shown, and how many nodes were folded into the others."""

    metric: str
    unit: str
    lines: list[Line]
    recorded: float
    folded: int


def outline(
    profile: Profile,
    *,
    metric: str = "time",
    min_percent: float = 1.0,
    depth: int | None = None,
    fold: bool = True,
) -> Outline:
    """The tree from the threads down, as it ran.

    ``fold`` leaves out Python frames of torch and the standard library and lifts what they call.
    Branches below ``min_percent`` of their thread become one line, and so do those below
    ``depth``. Raises :class:`UsageError` for a metric that does not add up.
    """
    check_metric(profile, metric)
    tree = _Visible(profile, fold)
    totals = profile.totals(metric)
    calls = operator_calls(profile)

    def branches(nodes: Iterable[int]) -> list[_Branch]:
        return _branches(profile, ((node, totals[node]) for node in nodes))

    def expand(branch: _Branch) -> list[_Branch]:
        return branches(child for node in branch.amounts for child in tree.children(node))

    def calls_of(branch: _Branch) -> int | None:
        return sum(calls[node] for node in branch.amounts) or None

    walk = _Walk(expand, calls_of, min_percent / 100, depth)
    roots = branches(profile.forest.roots)
    recorded = sum(root.amount for root in roots)
    lines = list(walk.lines(roots, recorded, whole_by_root=True))
    return Outline(metric, profile.metrics[metric].unit, lines, recorded, tree.folded)


def callers(
    profile: Profile,
    *,
    metric: str = "time",
    min_percent: float = 1.0,
    depth: int | None = None,
    fold: bool = True,
) -> Outline:
    """The tree from the bottom up: what spent most itself, and below it who called it.

    A caller's ``total`` is what the top line spent itself on the caller's behalf, its ``self`` the
    part of that which has no caller further up. Otherwise as :func:`outline`; shares are of all
    threads together.
    """
    check_metric(profile, metric)
    tree = _Visible(profile, fold)
    selfs = tree.lift(profile.selfs(metric))

    def expand(branch: _Branch) -> list[_Branch]:
        above = ((tree.parents[node], own) for node, own in branch.amounts.items())
        return _branches(profile, ((node, own) for node, own in above if node >= 0))

    walk = _Walk(expand, lambda _: None, min_percent / 100, depth)
    roots = _branches(profile, ((node, own) for node, own in enumerate(selfs) if own))
    recorded = sum(root.amount for root in roots)
    lines = list(walk.lines(roots, recorded, whole_by_root=False))
    return Outline(metric, profile.metrics[metric].unit, lines, recorded, tree.folded)


@dataclass(frozen=True)
class _Branch:
    """Nodes with equal frames that are shown as one line, each with its amount."""

    frame: Frame
    amounts: dict[int, float]

    @property
    def amount(self) -> float:
        return sum(self.amounts.values())


def _branches(profile: Profile, amounts: Iterable[tuple[int, float]]) -> list[_Branch]:
    found: dict[Frame, dict[int, float]] = {}
    by_id: dict[int, dict[int, float]] = {}  # hashing a frame is slow
    for node, amount in amounts:
        id = profile.frame_ids[node]
        if id not in by_id:
            by_id[id] = found.setdefault(profile.frames[id], {})
        by_id[id][node] = by_id[id].get(node, 0.0) + amount
    return [_Branch(frame, nodes) for frame, nodes in found.items()]


class _Visible:
    """The tree without the folded nodes; roots are never folded."""

    def __init__(self, profile: Profile, fold: bool) -> None:
        hidden_frames = [fold and is_internal(frame) for frame in profile.frames]
        self._forest = profile.forest
        self._hidden = bytearray(
            parent >= 0 and hidden_frames[frame]
            for parent, frame in zip(profile.parents, profile.frame_ids, strict=True)
        )
        self.folded = sum(self._hidden)
        self._shown_at = array("q")  # the node itself, or the visible one above it
        self.parents = array("q")  # the visible node above, -1 for roots
        for node, parent in enumerate(profile.parents):
            above = self._shown_at[parent] if parent >= 0 else -1
            self.parents.append(above)
            self._shown_at.append(above if self._hidden[node] else node)

    def children(self, node: int) -> Iterator[int]:
        """The visible nodes right below a visible one."""
        waiting = [self._forest.children(node)]
        while waiting:
            child = next(waiting[-1], None)
            if child is None:
                waiting.pop()
            elif self._hidden[child]:
                waiting.append(self._forest.children(child))
            else:
                yield child

    def lift(self, amounts: array[float]) -> array[float]:
        """The amounts with those of folded nodes given to the visible ones above them."""
        lifted = array("d", [0.0]) * len(amounts)
        for node, amount in enumerate(amounts):
            lifted[self._shown_at[node]] += amount
        return lifted


@dataclass(frozen=True)
class _Walk:
    """From branches to lines, biggest first, without recursion: call paths can be deep."""

    expand: Callable[[_Branch], list[_Branch]]
    calls_of: Callable[[_Branch], int | None]
    min_share: float
    depth: int | None

    def lines(
        self, roots: list[_Branch], recorded: float, *, whole_by_root: bool
    ) -> Iterator[Line]:
        stack = self._arrange(roots, 0, recorded)
        while stack:
            branch, level, whole = stack.pop()
            if isinstance(branch, Line):
                yield branch
                continue
            if whole_by_root and level == 0:
                whole = branch.amount
            below = self.expand(branch)
            own = branch.amount - sum(child.amount for child in below)
            share = _fraction(branch.amount, whole)
            yield Line(level, branch.frame, branch.amount, own, share, self.calls_of(branch))
            stack += self._arrange(below, level + 1, whole)

    def _arrange(
        self, branches: list[_Branch], level: int, whole: float
    ) -> list[tuple[_Branch | Line, int, float]]:
        """The branches to show, the last one first, before them a line for what is left out."""
        too_deep = self.depth is not None and level > self.depth
        shown: list[_Branch] = []
        hidden: list[_Branch] = []
        for branch in reversed(branches):
            small = too_deep or branch.amount < self.min_share * whole
            (hidden if small else shown).append(branch)
        shown.sort(key=lambda branch: branch.amount)
        stack: list[tuple[_Branch | Line, int, float]] = []
        if hidden:
            left = sum(branch.amount for branch in hidden)
            share = _fraction(left, whole)
            stack.append(
                (Line(level, None, left, 0.0, share, None, len(hidden), too_deep), level, whole)
            )
        stack += [(branch, level, whole) for branch in shown]
        return stack


def _fraction(amount: float, whole: float) -> float:
    return amount / whole if whole > 0 else 0.0
