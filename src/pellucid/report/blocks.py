"""A profile in the blocks of docs/report.md."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from pellucid.analysis import is_internal, kernel_graph, text_attr
from pellucid.model import CompileEntry, EdgeKind, FrameKind, Profile
from pellucid.report.columns import Nodes, nodes_of
from pellucid.report.meta import KINDS, SMALL, meta
from pellucid.report.prune import prune
from pellucid.report.texts import choose, encoded

__all__ = ["Blocks"]

_EDGE_KINDS = list(EdgeKind)
_KIND = {kind: number for number, kind in enumerate(KINDS)}


class Blocks(Mapping[str, bytes]):
    """The blocks by name, each made when it is asked for, not yet packed.

    ``source`` is one of SOURCES; of more than ``most_nodes`` nodes the smallest are merged.
    """

    def __init__(
        self, profile: Profile, *, title: str, source: str = "project", most_nodes: int | None
    ) -> None:
        self._profile = profile
        self._title = title
        self._most_nodes = most_nodes
        self._texts = choose(profile, source)
        self._makers: dict[str, Callable[[], bytes]] = {
            "meta": self._meta,
            "strings": lambda: _json(self._named.strings),
            "frames": lambda: _json(self._named.frames),
            "nodes": self._node_columns,
            **{
                f"stat:{i}": partial(self._stat, metric) for i, metric in enumerate(profile.metrics)
            },
            "calls": lambda: _bytes("d", self._nodes.calls),
            "edges": self._edges,
            "links": lambda: _json(self._named.links),
            "compiles": lambda: _json([_compile_row(entry) for entry in profile.compiles]),
            **{
                f"source:{i}": partial(encoded, source.text)
                for i, source in enumerate(self._texts.sources)
            },
            **{f"artifact:{a.id}": partial(encoded, a.text) for a in self._texts.artifacts},
        }

    def __getitem__(self, name: str) -> bytes:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    @property
    def merged(self) -> int:
        """How many nodes were merged because there were too many."""
        return self._nodes.pruned

    @cached_property
    def _nodes(self) -> Nodes:
        nodes = nodes_of(self._profile)
        if self._most_nodes is None or len(nodes) <= self._most_nodes:
            return nodes
        return prune(self._profile, nodes, self._most_nodes)

    @cached_property
    def _named(self) -> _Named:
        return _Named(self._profile, self._nodes, with_artifacts=bool(self._texts.artifacts))

    def _meta(self) -> bytes:
        return _json(meta(self._profile, self._nodes, self._texts, self._title))

    def _node_columns(self) -> bytes:
        nodes = self._nodes
        columns = (_bytes("i", nodes.parent), _bytes("I", nodes.frame), _bytes("i", nodes.logical))
        return b"".join((*columns, nodes.layer, nodes.backward))

    def _stat(self, metric: str) -> bytes:
        rows = self._nodes.stats[metric]
        return b"".join((*(_bytes("d", column) for column in rows.numbers), _bytes("I", rows.node)))

    def _edges(self) -> bytes:
        edges = self._nodes.edges
        ends = (_bytes("I", (e.src for e in edges)), _bytes("I", (e.dst for e in edges)))
        return b"".join((*ends, bytes(_EDGE_KINDS.index(edge.kind) for edge in edges)))


class _Named:
    """What speaks of strings: frames and links, and the strings themselves."""

    def __init__(self, profile: Profile, nodes: Nodes, *, with_artifacts: bool) -> None:
        self._ids: dict[str, int] = {}
        self.frames = self._frames(profile, nodes.small)
        self.links = self._links(nodes, with_artifacts)
        self.strings = list(self._ids)

    def _id(self, text: str | None) -> int:
        return -1 if text is None else self._ids.setdefault(text, len(self._ids))

    def _frames(self, profile: Profile, small: Sequence[int]) -> dict[str, list[int]]:
        rows = [
            (
                _KIND[frame.kind],
                self._id(frame.name),
                self._id(frame.file),
                _known(frame.line),
                _known(frame.first_line),
                int(is_internal(frame)),
                self._id(text_attr(frame, "root") if is_module else None),
                self._id(text_attr(frame, "class") if is_module else None),
                self._id(kernel_graph(frame) if frame.kind is FrameKind.KERNEL else None),
            )
            for frame in profile.frames
            for is_module in [frame.kind is FrameKind.MODULE]
        ]
        for merged in small:
            name = self._id(f"small ({merged:,} nodes)")
            rows.append((_KIND[SMALL], name, -1, -1, -1, 0, -1, -1, -1))
        names = "kind name file line first_line internal root class graph"
        return _columns(names, rows)

    def _links(self, nodes: Nodes, with_artifacts: bool) -> dict[str, list[int]]:
        rows = [
            (
                *(map(_known, (link.artifact, link.compile, link.line, link.end_line))),
                self._id(link.file),
                _known(link.source_line),
                _known(link.node),
            )
            for link in nodes.links
        ]
        if not with_artifacts:
            rows = [(-1, compile, -1, -1, *rest) for _, compile, _, _, *rest in rows]
        return _columns("artifact compile line end_line file source_line node", rows)


def _columns(names: str, rows: Iterable[Sequence[int]]) -> dict[str, list[int]]:
    columns = zip(*rows, strict=True)
    return {name: list(next(columns, ())) for name in names.split()}


def _compile_row(entry: CompileEntry) -> dict[str, Any]:
    row = entry._asdict()
    del row["run"]
    return {**row, "detail": entry.details}


def _known(number: int | None) -> int:
    return -1 if number is None else number


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _bytes(code: str, values: Iterable[float]) -> bytes:
    """Numbers as little-endian bytes."""
    column = (
        values if isinstance(values, array) and values.typecode == code else array(code, values)
    )
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()
