"""Tables: where the time went, by operator, module, kernel, function, line or thread."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pellucid.analysis.calls import module_calls, operator_calls
from pellucid.analysis.grouping import group
from pellucid.analysis.logical import LogicalTree
from pellucid.analysis.threads import ThreadShares
from pellucid.errors import UsageError
from pellucid.model import Forest, Profile

__all__ = ["GROUPINGS", "ORDERS", "Row", "Table", "check_metric", "top"]

GROUPINGS = ("operator", "module", "kernel", "function", "line", "thread")
ORDERS = ("self", "total")

_WITH_CALLS = ("operator", "kernel")
_INHERITED = ("module", "function", "line", "kernel")


@dataclass(frozen=True)
class Row:
    """One line of a table; amounts in the table's unit.

    ``self`` is what the row spent itself: an operator less the operators it called, a kernel with
    the operators it runs, a module less the modules inside it, a line or function with the
    operators it called directly. ``total`` is all that is below it, each node once:
    ``forward + backward``. ``backward`` is what ran inside backward functions, counted where their
    forward ran (for a thread: where they ran), and what the engine that calls them took itself,
    counted where ``backward()`` was called. ``share`` is the amount that the table is sorted by, as
    a fraction of the recorded time of those threads in which the row appears; None if nothing was
    recorded there. ``graph`` is the compiled graph of a kernel, ``sources`` the source lines (file,
    line) that it came from.
    """

    name: str
    file: str | None
    line: int | None
    root: str | None
    cls: str | None
    graph: str | None
    self: float
    total: float
    forward: float
    backward: float
    calls: int | None
    calls_estimated: bool
    share: float | None
    sources: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Table:
    """The rows, biggest first, and what is not in them.

    ``recorded`` is the metric's sum over all threads, ``unassigned`` the part of it that is no
    row's ``self`` (outside operators, outside modules, under no line of the program's own).
    ``left_out`` rows were cut by the limit; ``folded`` tells whether frames were looked through.
    """

    by: str
    metric: str
    unit: str
    sorted_by: str
    rows: list[Row]
    left_out: int
    recorded: float
    unassigned: float
    folded: bool


def top(
    profile: Profile,
    by: str = "operator",
    metric: str = "time",
    limit: int | None = 20,
    *,
    sort: str | None = None,
    fold: bool = True,
) -> Table:
    """The rows that spent most of an additive ``metric``, grouped ``by`` one of GROUPINGS.

    Sorted by ``self`` for operators and kernels, else by ``total``, unless ``sort`` says. With
    ``fold`` lines and functions of torch and the standard library are looked through: their time
    is their caller's. Raises :class:`UsageError` for a grouping, order or metric that is not.
    """
    sorted_by = sort or ("self" if by in _WITH_CALLS else "total")
    _check_choice("grouping", by, GROUPINGS)
    _check_choice("order", sorted_by, ORDERS)
    check_metric(profile, metric)
    rows, unassigned = _rows(profile, by, metric, sorted_by, fold)
    rows.sort(key=lambda row: (-getattr(row, sorted_by), row.name, row.file or "", row.line or 0))
    shown = rows[:limit]
    return Table(
        by=by,
        metric=metric,
        unit=profile.metrics[metric].unit,
        sorted_by=sorted_by,
        rows=shown,
        left_out=len(rows) - len(shown),
        recorded=sum(profile.totals(metric)[root] for root in profile.forest.roots),
        unassigned=unassigned,
        folded=fold and by in ("line", "function"),
    )


def check_metric(profile: Profile, metric: str) -> None:
    """Refuse a metric that the profile does not have or that does not add up."""
    known = [name for name, described in profile.metrics.items() if described.additive]
    if metric in known:
        return
    if metric in profile.metrics:
        problem = f"{metric} contains what it calls, so it does not add up over nodes"
    else:
        problem = f"this profile has no metric {metric!r}"
    raise UsageError(f"{problem}; choose one of: {', '.join(known) or 'none was recorded'}.")


def _check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"there is no {what} {value!r}; choose one of: {', '.join(choices)}.")


def _rows(
    profile: Profile, by: str, metric: str, sorted_by: str, fold: bool
) -> tuple[list[Row], float]:
    """All rows, and the amount that is no row's own."""
    logical = LogicalTree(profile)
    groups = group(profile, logical, by, fold)
    tree = (
        (profile.forest, profile.parents) if by == "thread" else (logical.forest, logical.parents)
    )
    forest, parents = tree
    values = profile.selfs(metric)
    all_work = _SubtreeSums(forest, values)
    backward_work = _SubtreeSums(
        forest, [v * back for v, back in zip(values, logical.in_backward, strict=True)]
    )
    owners = _owners(forest, parents, groups.of_node, inherit=by in _INHERITED)
    selfs = [0.0] * (len(groups.keys) + 1)  # the last one gathers what is nobody's: owner -1
    for node, owner in enumerate(owners):
        selfs[owner] += values[node]
    shares = ThreadShares(profile, metric, forest, parents)
    calls = _calls(profile, by)
    sources = _sources(profile) if by == "kernel" else {}
    rows = []
    for key, own, nodes in zip(groups.keys, selfs, groups.nodes(), strict=False):
        tops = forest.topmost(nodes)
        total, backward = all_work.below(tops), backward_work.below(tops)
        counted = sum(calls[node] for node in nodes) if calls is not None else 0
        rows.append(
            Row(
                *key,
                self=own,
                total=total,
                forward=total - backward,
                backward=backward,
                calls=counted or None,
                calls_estimated=by == "module" and counted > 0,
                share=shares.of(own if sorted_by == "self" else total, tops),
                sources=tuple(dict.fromkeys(s for node in nodes for s in sources.get(node, ()))),
            )
        )
    return rows, selfs[-1] if by != "thread" else 0.0


def _sources(profile: Profile) -> dict[int, list[tuple[str, int]]]:
    """The source lines that each linked node came from."""
    found: dict[int, list[tuple[str, int]]] = {}
    for link in profile.links:
        if link.node is not None and link.file is not None and link.source_line is not None:
            found.setdefault(link.node, []).append((link.file, link.source_line))
    return found


class _SubtreeSums:
    """Sums over whole subtrees, each a difference of two prefix sums of the preorder."""

    def __init__(self, forest: Forest, values: Sequence[float]) -> None:
        self._forest = forest
        self._until = list(accumulate((values[node] for node in forest.order), initial=0.0))

    def below(self, nodes: Sequence[int]) -> float:
        """The sum over the nodes and all below; none of the nodes may be below another."""
        begin, end, until = self._forest.begin, self._forest.end, self._until
        return sum(until[end[node]] - until[begin[node]] for node in nodes)


def _owners(
    forest: Forest, parents: Sequence[int], of_node: array[int], *, inherit: bool
) -> array[int]:
    """The row that each node's own amount belongs to: its own, else the nearest one above."""
    if not inherit:
        return of_node
    owners = array("q", of_node)
    for node in forest.order:
        if owners[node] < 0 and parents[node] >= 0:
            owners[node] = owners[parents[node]]
    return owners


def _calls(profile: Profile, by: str) -> array[int] | None:
    if by == "module":
        return module_calls(profile)
    return operator_calls(profile) if by in _WITH_CALLS else None
