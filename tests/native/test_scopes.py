"""Regions and operators that begin and end in ways of their own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator

import pytest
from native import OPERATOR, REGION, Events, Recorded, recording

import pellucid
from pellucid import _core
from pellucid.capture.regions import region, step
from pellucid.errors import UsageError

Do = Callable[[str], object]


@pytest.fixture
def do(events: Events) -> Do:
    """Run one operator of that name."""
    return functools.partial(events.event, OPERATOR)


@contextlib.contextmanager
def recording_ended() -> Iterator[Recorded]:
    """The end of a recording that has begun, whatever is open."""
    recorded = Recorded()
    yield recorded
    recorded.raw = _core.stop()
    _core.set_clock(None)


def test_a_region_around_a_loop_hides_no_line(events: Events) -> None:
    def work() -> None:
        events.event(OPERATOR, "in work")

    with recording() as recorded, region("loop"):
        for _ in range(2):
            events.event(OPERATOR, "first")
            events.event(OPERATOR, "second")
            work()

    assert recorded.shown("first") == [
        "region loop",
        "test_a_region_around_a_loop_hides_no_line",
        "operator first",
    ]
    assert recorded.shown("in work")[-2:] == ["work", "operator in work"]
    first, second = (recorded.path_of(name)[-2].line for name in ("first", "second"))
    assert second == first + 1
    assert recorded.path_of("in work")[-3].line == first + 2


def test_an_operator_on_the_line_of_the_with_statement_is_inside(events: Events) -> None:
    with recording() as recorded:  # noqa: SIM117
        with region("r"): events.event(OPERATOR, "x")  # fmt: skip  # noqa: E701

    assert recorded.around("x") == ["region r", "operator x"]


def test_a_region_nests_in_one_of_the_same_name(do: Do) -> None:
    with recording() as recorded, region("r"), region("r"), region("r"):
        do("x")

    assert recorded.around("x") == ["region r"] * 3 + ["operator x"]
    assert recorded.count("r") == 3


def test_one_region_object_can_be_entered_inside_itself(do: Do) -> None:
    one = region("r")
    with recording() as recorded, one:
        with one:
            do("x")
        do("y")

    assert recorded.around("x") == ["region r"] * 2 + ["operator x"]
    assert recorded.around("y") == ["region r", "operator y"]


def test_a_generators_region_holds_while_the_generator_runs(do: Do) -> None:
    def numbers() -> Iterator[int]:
        with region("mine"):
            do("before")
            yield 1
            do("after")

    with recording() as recorded:
        for _ in numbers():
            do("between")

    assert recorded.around("before") == ["region mine", "operator before"]
    assert recorded.around("between") == ["operator between"]
    assert recorded.around("after") == ["region mine", "operator after"]
    assert recorded.count("mine") == 1


def test_a_generators_region_holds_in_a_hot_loop(do: Do) -> None:
    def inner() -> Iterator[int]:
        for _ in range(100):
            do("inside")
            yield 1

    def numbers() -> Iterator[int]:
        with region("mine"):
            yield from inner()

    def loop() -> None:
        for _ in numbers():
            do("between")

    with recording() as recorded:
        for _ in range(3):
            loop()

    assert recorded.around("inside") == ["region mine", "operator inside"]
    assert recorded.around("between") == ["operator between"]
    assert recorded.count("inside") == recorded.count("between") == 300


def test_a_generators_region_holds_when_c_code_drives_it(do: Do) -> None:
    def names() -> Iterator[str]:
        with region("mine"):
            for name in ("between 1", "between 2"):
                do("inside")
                yield name

    with recording() as recorded:
        list(map(do, names()))

    assert recorded.around("inside") == ["region mine", "operator inside"]
    assert recorded.around("between 1") == ["operator between 1"]
    assert recorded.around("between 2") == ["operator between 2"]


def test_generators_driven_by_two_callers_run_under_the_caller_of_the_time(do: Do) -> None:
    def driven(name: str) -> Generator[None, None, None]:
        with region(f"region {name}"):
            for i in range(3):
                do(f"{name} {i}")
                try:
                    yield
                except KeyError:
                    do(f"{name} thrown")

    a, b = driven("a"), driven("b")

    def one() -> None:
        next(a)
        do("one's own")
        next(b)
        a.send(None)

    def other() -> None:
        do("other's own")
        a.throw(KeyError())
        b.send(None)
        b.close()
        a.close()

    with recording() as recorded:
        one()
        other()

    for name, caller in {
        "a 0": "one",
        "b 0": "one",
        "a 1": "one",
        "a thrown": "other",
        "a 2": "other",
        "b 1": "other",
    }.items():
        path = recorded.shown(name)
        assert path[0] == caller
        assert path[-2:] == ["driven", f"operator {name}"]
        assert set(recorded.around(name)[:-1]) <= {f"region region {name[0]}"}
    assert recorded.shown("one's own") == ["one", "operator one's own"]
    assert recorded.shown("other's own") == ["other", "operator other's own"]
    assert recorded.count("region a") == recorded.count("region b") == 1
    assert not recorded.losses


def test_tasks_have_their_own_region_each(do: Do) -> None:
    async def leaf(name: str) -> None:
        do(f"{name} in leaf")
        await asyncio.sleep(0)
        do(f"{name} in leaf later")

    async def task(name: str) -> None:
        do(f"{name} before")
        with region(name):
            for _ in range(3):
                do(f"{name} inside")
                await asyncio.sleep(0)
                do(f"{name} after await")
                await leaf(name)
        do(f"{name} done")

    async def main() -> None:
        await asyncio.gather(*(task(name) for name in "abc"))

    with recording() as recorded:
        asyncio.run(main())

    for name in "abc":
        for what in ("inside", "in leaf", "after await", "in leaf later"):
            assert recorded.around(f"{name} {what}") == [
                f"region {name}",
                f"operator {name} {what}",
            ]
        for what in ("before", "done"):
            assert recorded.around(f"{name} {what}") == [f"operator {name} {what}"]
        assert "leaf" in recorded.shown(f"{name} in leaf")
        assert recorded.count(name) == 1


def test_a_cancelled_tasks_region_ends(do: Do) -> None:
    async def forever() -> None:
        with region("cancelled"):
            await asyncio.sleep(3600)

    async def main() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        do("meanwhile")
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        do("afterwards")

    with recording() as recorded:
        asyncio.run(main())

    assert recorded.count("cancelled") == 1
    assert recorded.around("meanwhile") == ["operator meanwhile"]
    assert recorded.around("afterwards") == ["operator afterwards"]


def test_an_async_generators_region_is_its_own(do: Do) -> None:
    async def numbers() -> AsyncIterator[int]:
        with region("mine"):
            do("inside")
            yield 1
            await asyncio.sleep(0)
            do("inside later")

    async def main() -> None:
        async for _ in numbers():
            do("between")

    with recording() as recorded:
        asyncio.run(main())

    assert recorded.around("inside") == ["region mine", "operator inside"]
    assert recorded.around("between") == ["operator between"]
    assert recorded.around("inside later") == ["region mine", "operator inside later"]


@contextlib.contextmanager
def managed(name: str) -> Iterator[None]:
    with region(name):
        yield


@contextlib.contextmanager
def managed_twice(name: str) -> Iterator[None]:
    with managed(name):
        yield


def begin_for_me(name: str) -> region:
    return region(name).__enter__()


@contextlib.contextmanager
def managed_by_helper(name: str) -> Iterator[None]:
    begun = begin_for_me(name)
    yield
    begun.__exit__(None, None, None)


class Managed:
    def __init__(self, name: str) -> None:
        self._region = region(name)

    def __enter__(self) -> None:
        self._region.__enter__()

    def __exit__(self, *error: object) -> None:
        self._region.__exit__(*error)


MANAGERS = pytest.mark.parametrize("manager", [region, managed, managed_twice, Managed])


@MANAGERS
def test_a_region_is_below_the_frame_of_the_with_statement(
    manager: Callable[[str], contextlib.AbstractContextManager[None]], do: Do
) -> None:
    here = "test_a_region_is_below_the_frame_of_the_with_statement"
    with recording() as recorded:
        with manager("r"):
            do("inside")
        do("outside")

    assert [str(e) for e in recorded.path_of("r")[-2:]] == [here, "region r"]
    assert recorded.shown("inside") == ["region r", here, "operator inside"]
    assert recorded.around("outside") == ["operator outside"]


@MANAGERS
def test_a_region_on_an_exit_stack_is_below_the_frame_that_put_it_there(
    manager: Callable[[str], contextlib.AbstractContextManager[None]], do: Do
) -> None:
    here = "test_a_region_on_an_exit_stack_is_below_the_frame_that_put_it_there"
    with recording() as recorded:
        with contextlib.ExitStack() as stack:
            stack.enter_context(manager("r"))
            do("inside")
        do("outside")

    assert [str(e) for e in recorded.path_of("r")[-2:]] == [here, "region r"]
    assert recorded.shown("inside") == ["region r", here, "operator inside"]
    assert recorded.around("outside") == ["operator outside"]


def test_a_region_that_a_managers_helper_began_holds(do: Do) -> None:
    with recording() as recorded:
        with managed_by_helper("r"):
            do("inside")
        do("outside")

    assert recorded.around("inside") == ["region r", "operator inside"]
    assert recorded.around("outside") == ["operator outside"]


def test_an_async_manager_has_its_region_where_it_is_used(do: Do) -> None:
    @contextlib.asynccontextmanager
    async def manager() -> AsyncIterator[None]:
        with region("r"):
            await asyncio.sleep(0)
            yield

    async def user() -> None:
        async with manager():
            do("inside")
            await asyncio.sleep(0)
            do("inside later")

    async def bystander() -> None:
        for _ in range(4):
            do("bystander's")
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(user(), bystander())

    with recording() as recorded:
        asyncio.run(main())

    assert recorded.around("inside") == ["region r", "operator inside"]
    assert recorded.around("inside later") == ["region r", "operator inside later"]
    assert recorded.around("bystander's") == ["operator bystander's"]


def test_a_region_outlives_the_function_that_entered_it(do: Do) -> None:
    with recording() as recorded:
        begun = begin_for_me("r")
        do("inside")
        begun.__exit__(None, None, None)
        do("outside")

    assert recorded.shown("r") == ["begin_for_me", "region r"]
    assert recorded.around("inside") == ["region r", "operator inside"]
    assert recorded.around("outside") == ["operator outside"]


def test_a_region_begun_inside_an_operator_and_left_open_does_not_hold_beyond_it(
    events: Events, do: Do
) -> None:
    begun = []
    with recording() as recorded:
        events.event(OPERATOR, "around", lambda: begun.append(begin_for_me("r")))
        do("outside")
        begun[0].__exit__(None, None, None)

    assert recorded.around("r") == ["operator around", "region r"]
    assert recorded.around("outside") == ["operator outside"]


def test_a_recursive_function_has_a_region_each_time(do: Do) -> None:
    @region("r")
    def recursive(n: int) -> None:
        if n:
            recursive(n - 1)
        else:
            do("deepest")

    with recording() as recorded:
        recursive(3)

    assert recorded.around("deepest") == ["region r"] * 4 + ["operator deepest"]
    assert recorded.count("r") == 4


def test_a_decorated_generator_is_inside_its_region(do: Do) -> None:
    @region("r")
    def numbers() -> Generator[int, str | None, str | None]:
        do("inside")
        got = yield 1
        do("inside later")
        return got

    result = []

    def outer() -> Generator[int, str | None, None]:
        result.append((yield from numbers()))

    with recording() as recorded:
        driven: Generator[int, str | None, None] = outer()
        with pytest.raises(StopIteration):
            for sent in (None, "sent"):
                driven.send(sent)
                do("between")

    assert result == ["sent"]
    assert recorded.around("inside") == ["region r", "operator inside"]
    assert recorded.around("between") == ["operator between"]
    assert recorded.around("inside later") == ["region r", "operator inside later"]
    assert recorded.count("r") == 1


def test_decorated_coroutines_are_inside_their_regions(do: Do) -> None:
    @region("r")
    async def decorated() -> int:
        do("inside")
        await asyncio.sleep(0)
        do("inside later")
        return 3

    async def bystander() -> None:
        for _ in range(3):
            do("bystander's")
            await asyncio.sleep(0)

    async def main() -> None:
        first, _, last = await asyncio.gather(decorated(), bystander(), decorated())
        assert first == last == 3

    with recording() as recorded:
        asyncio.run(main())

    assert recorded.around("inside") == ["region r", "operator inside"]
    assert recorded.around("inside later") == ["region r", "operator inside later"]
    assert recorded.around("bystander's") == ["operator bystander's"]
    assert recorded.count("r") == 2


def test_an_async_generator_cannot_be_decorated() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(UsageError, match="numbers is an async generator"):
        region("r")(numbers)


def test_exceptions_end_regions_and_operators(events: Events, do: Do) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with recording() as recorded:
        with contextlib.suppress(ZeroDivisionError), region("r"):
            events.event(OPERATOR, "failing", fail)
        do("afterwards")

    assert recorded.around("failing") == ["region r", "operator failing"]
    assert recorded.around("afterwards") == ["operator afterwards"]
    assert recorded.count("failing") == recorded.count("r") == 1
    assert not recorded.losses


@pytest.mark.parametrize("kind", [OPERATOR, REGION])
def test_what_ends_on_another_thread_has_a_duration_and_no_time(events: Events, kind: int) -> None:
    _core.set_clock(1000)
    with recording() as recorded:
        handle = events.begin(kind, "x")
        _core.set_clock(1300)
        events.end_elsewhere(handle)
        _core.set_clock(1400)
        events.event(OPERATOR, "afterwards")

    (path,) = (path for path in recorded.stats("duration") if path[-1].name == "x")
    assert recorded.stats("duration")[path].sum == 300
    assert path not in recorded.stats("time")
    assert recorded.around("afterwards") == ["operator afterwards"]
    assert sum(stat.sum or 0 for stat in recorded.stats("time").values()) == 400
    assert not recorded.losses


def test_time_adds_up_when_an_operator_with_children_ends_elsewhere(events: Events) -> None:
    _core.set_clock(0)
    with recording() as recorded:
        handle = events.begin(OPERATOR, "ended elsewhere")
        events.event(OPERATOR, "child", lambda: _core.set_clock(70))
        _core.set_clock(100)
        events.end_elsewhere(handle)

    assert sum(stat.sum or 0 for stat in recorded.stats("time").values()) == 100


def test_time_adds_up_when_an_operator_with_children_stays_open(events: Events) -> None:
    _core.set_clock(0)
    _core.start("", {}, None)
    handle = events.begin(OPERATOR, "left open")
    with recording_ended() as recorded:
        events.event(OPERATOR, "child", lambda: _core.set_clock(70))
        _core.set_clock(100)
    events.end(handle)

    assert sum(stat.sum or 0 for stat in recorded.stats("time").values()) == 100


def test_operators_that_end_out_of_order_are_counted_and_their_time_adds_up(events: Events) -> None:
    _core.set_clock(0)
    with recording() as recorded:
        first = events.begin(OPERATOR, "first")
        _core.set_clock(10)
        second = events.begin(OPERATOR, "second")
        _core.set_clock(30)
        events.end(first)
        _core.set_clock(70)
        events.end(second)
        events.event(OPERATOR, "afterwards")

    durations = {path[-1].name: stat.sum for path, stat in recorded.stats("duration").items()}
    assert durations == {"first": 30, "second": 60, "afterwards": 0}
    assert recorded.around("afterwards") == ["operator afterwards"]
    assert sum(stat.sum or 0 for stat in recorded.stats("time").values()) == 70
    assert not recorded.losses


def test_regions_that_end_out_of_order(do: Do) -> None:
    with recording() as recorded:
        a, b, c = [region(name).__enter__() for name in "abc"]
        b.__exit__(None, None, None)
        do("in a and c")
        c.__exit__(None, None, None)
        do("in a")
        a.__exit__(None, None, None)
        do("outside")

    assert recorded.around("in a and c")[-2] == "region c"
    assert recorded.around("in a") == ["region a", "operator in a"]
    assert recorded.around("outside") == ["operator outside"]


def test_a_region_that_another_thread_ended_holds_no_more(do: Do) -> None:
    with recording() as recorded:
        outer = region("outer").__enter__()
        inner = region("inner").__enter__()
        do("in both")
        for ended in (outer, inner):
            thread = threading.Thread(target=ended.__exit__, args=(None, None, None))
            thread.start()
            thread.join()
        do("outside")

    assert recorded.around("in both") == ["region outer", "region inner", "operator in both"]
    assert recorded.around("outside") == ["operator outside"]


@pytest.mark.parametrize("kind", [OPERATOR, REGION])
@pytest.mark.parametrize("when", ["never started", "after", "in the next recording"])
def test_what_is_open_at_the_end_is_counted_as_lost(events: Events, kind: int, when: str) -> None:
    _core.start("", {}, None)
    handle = events.begin(kind, "open")
    with recording_ended() as recorded:
        events.event(OPERATOR, "inside")

    assert recorded.losses == {"scope_left_open": 1}
    assert recorded.count("open") == 0
    assert recorded.count("inside") == 1
    assert recorded.around("inside")[-1:] == ["operator inside"]
    if when == "after":
        events.end(handle)
    elif when == "in the next recording":
        with recording() as following:
            events.end(handle)
            events.event(OPERATOR, "x")
        assert following.around("x") == ["operator x"]
        assert following.count("open") == 0
        assert not following.losses


def test_a_step_of_the_recording_before_is_none_of_this_one(do: Do) -> None:
    _core.start("", {}, None)
    with recording_ended() as recorded:
        for i in range(300):  # many nodes, which the next recording does not have
            do(f"x {i}")
        late = step().__enter__()
    with recording() as following:
        late.__exit__(None, None, None)
        with step("mine"):
            do("x")

    assert recorded.losses == {"scope_left_open": 1}
    assert [following.raw["frames"][frame][1] for frame, _, _ in following.raw["steps"]] == ["mine"]


def test_a_recording_may_begin_inside_an_operator_and_a_region(events: Events, do: Do) -> None:
    outer = region("begun before").__enter__()
    before = events.begin(OPERATOR, "begun before")
    with recording() as recorded:
        do("inside")
        events.end(before)
        outer.__exit__(None, None, None)
        do("outside")

    assert recorded.around("inside") == ["operator inside"]
    assert recorded.around("outside") == ["operator outside"]
    assert recorded.count("begun before") == 0
    assert not recorded.losses


def test_very_many_region_names_are_merged_and_counted(do: Do) -> None:
    with recording() as recorded:
        for i in range(1010):
            with region(f"region {i}"):
                do("x")
        with region("region 3"):
            do("known")

    assert recorded.losses == {"names_merged": 10}
    assert recorded.count("(other names)") == 10
    assert recorded.count("region 3") == 2
    assert recorded.around("known") == ["region region 3", "operator known"]


def test_regions_cost_no_scope_where_nothing_records(events: Events) -> None:
    assert events.begin(OPERATOR, "x") == 0
    with region("r") as entered:
        assert entered._open == [0]
    assert pellucid.region is region
