"""The core against its twin in plain Python: the same events, the same tree and numbers."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native import OPERATOR, REGION, Entry, Events, frames_of, join, recording

from pellucid import _core
from pellucid.model import Stat, Tree


class Event(NamedTuple):
    kind: int
    name: str
    before: int  # ticks of its own, before and after its children
    after: int
    children: list[Event]


ticks = st.just(0) | st.integers(0, 5) | st.integers(0, 10**9)


def an_event(children: st.SearchStrategy[list[Event]]) -> st.SearchStrategy[Event]:
    kinds = st.sampled_from((OPERATOR, REGION))
    return st.builds(Event, kinds, st.sampled_from("ab"), ticks, ticks, children)


some_events = st.recursive(
    an_event(st.just([])), lambda inner: an_event(st.lists(inner, max_size=3)), max_leaves=12
)
threads = st.lists(
    st.tuples(st.sampled_from(("t0", "t1")), st.lists(some_events, max_size=3)), max_size=4
)


class Clock:
    """The core's clock, which the twin can read."""

    def __init__(self) -> None:
        self.now = 0
        self.advance(1_000)

    def advance(self, ticks: int) -> None:
        self.now += ticks
        _core.set_clock(self.now)


class Open(NamedTuple):
    event: Event
    handle: int
    start: int
    node: int


class Twin:
    """Runs a thread's events on the core, and keeps the same books beside it."""

    def __init__(self, name: str, events: Events, clock: Clock) -> None:
        self.duration, self.time = Tree(), Tree()
        self._name, self._events, self._clock = name, events, clock
        self._covered = [0]  # ticks inside operators directly below, by open operator

    def run(self, program: list[Event]) -> None:
        self._started = self._clock.now
        _core.name_thread(self._name)
        opened: list[Open] = []
        # All begin at one place of one frame: only what is open around them tells them apart.
        for event in flattened(program):
            if event is None:
                self._end(opened.pop())
                continue
            start, around = self._clock.now, opened[-1].node if opened else None
            handle, here = self._events.begin(event.kind, event.name), frames_of(sys._getframe())
            opened.append(Open(event, handle, start, self._node(event, around, here)))
            self._covered += [0] * (event.kind == OPERATOR)
            self._clock.advance(event.before)

    def end(self) -> None:
        wall = self._clock.now - self._started
        self.time.record(self.time.child(0, Entry("thread", self._name)), wall - self._covered[0])

    def _node(self, event: Event, around: int | None, here: list[Entry]) -> int:
        entry = Entry("operator" if event.kind == OPERATOR else "region", event.name)
        keys = [entry] if around is not None else [Entry("thread", self._name), *here, entry]
        node = around or 0
        for key in keys:
            assert self.duration.child(node, key) == self.time.child(node, key)
            node = self.duration.child(node, key)
        return node

    def _end(self, done: Open) -> None:
        self._clock.advance(done.event.after)
        self._events.end(done.handle)
        spent = self._clock.now - done.start
        self.duration.record(done.node, spent)
        if done.event.kind == OPERATOR:
            self.time.record(done.node, spent - self._covered.pop())
            self._covered[-1] += spent


def flattened(program: list[Event]) -> Iterator[Event | None]:
    """The events as they begin, and None where the last one that is open ends."""
    for event in program:
        yield event
        yield from flattened(event.children)
        yield None


def assert_same(found: Mapping[Any, Stat], tree: Tree) -> None:
    expected = {tree.path(node): stat for node, stat in enumerate(tree.stats) if stat.count}
    assert found.keys() == expected.keys()
    for path, stat in expected.items():
        core = found[path]
        assert core.count == stat.count
        assert (core.sum, core.min, core.max) == (stat.sum, stat.min, stat.max)
        assert core.m2 is not None and stat.m2 is not None
        assert math.isclose(core.m2, stat.m2, rel_tol=1e-6, abs_tol=1e-9 * (stat.max or 0) ** 2)


@given(threads, st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_core_and_its_twin_agree(
    events: Events, programs: list[tuple[str, list[Event]]], together: bool
) -> None:
    """``together``: all threads live until the end; else each takes over the lane of the last."""
    clock = Clock()
    twins = [Twin(name, events, clock) for name, _ in programs]
    may_end = threading.Event()

    def work(twin: Twin, program: list[Event], has_run: threading.Event) -> None:
        twin.run(program)
        has_run.set()
        if together:
            may_end.wait(60)

    with recording() as recorded:
        running = []
        for twin, (_, program) in zip(twins, programs, strict=True):
            has_run = threading.Event()
            thread = threading.Thread(target=work, args=(twin, program, has_run))
            thread.start()
            assert has_run.wait(60)
            if together:
                running.append(thread)
            else:
                join(thread)
                twin.end()
            clock.advance(7)
        for twin in twins if together else []:
            twin.end()
    may_end.set()
    for thread in running:
        thread.join()

    duration, time = Tree(), Tree()
    for twin in twins:
        duration.merge(twin.duration)
        time.merge(twin.time)
    found = recorded.stats("time")
    (mine,) = (path for path in found if len(path) == 1 and path[0].name not in ("t0", "t1"))
    assert found.pop(mine).sum == clock.now - 1_000  # this thread ran no operator
    assert_same(found, time)
    assert_same(recorded.stats("duration"), duration)
