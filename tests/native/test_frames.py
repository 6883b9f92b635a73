"""The frame walker against the interpreter's own account of where a program stands."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from native import OPERATOR, Entry, Events, Witness, frames_of, recording


def plain(here: Witness) -> None:
    def inner() -> None:
        here()
        here(); here()  # fmt: skip  # noqa: E702

    inner()
    here(
        1,
        here(2),
    )


def generator(here: Witness) -> None:
    def numbers() -> Iterator[int]:
        here()
        for i in range(3):
            here()
            yield i
        here()

    for _ in numbers():
        here()
    list(map(here, numbers()))


def yield_from(here: Witness) -> None:
    def inner() -> Generator[int, int, int]:
        got = 0
        while got < 3:
            got = yield here(got)
        return int(here(got))

    def outer() -> Generator[int, int, None]:
        here((yield from inner()))

    driven = outer()
    next(driven)
    with suppress(StopIteration):
        for i in range(5):
            driven.send(i)
    thrown = outer()
    next(thrown)
    with pytest.raises(KeyError):
        thrown.throw(KeyError())


def coroutine(here: Witness) -> None:
    async def leaf(i: int) -> int:
        here()
        await asyncio.sleep(0)
        return int(here(i))

    async def branch(i: int) -> int:
        here()
        return await leaf(i) + await leaf(i)

    async def root() -> None:
        here(await asyncio.gather(*map(branch, range(3))))

    asyncio.run(root())


def async_generator(here: Witness) -> None:
    async def numbers() -> AsyncIterator[int]:
        try:
            for i in range(3):
                here()
                await asyncio.sleep(0)
                yield i
        finally:
            here()

    async def root() -> None:
        async for _ in numbers():
            here()
        here([here(i) async for i in numbers()])

    asyncio.run(root())


def comprehension(here: Witness) -> None:
    here([here(i) for i in range(2)])
    here({here(i) for i in range(2)})
    here({here(i): [here(k) for k in range(2)] for i in range(2)})
    here(list(here(i) for i in range(2)))  # noqa: C400


def anonymous(here: Witness) -> None:
    (lambda: (lambda: here())())()


def class_body(here: Witness) -> None:
    class Outer:
        here()

        class Inner:
            here()

            def method(self) -> None:
                here()

    Outer.Inner().method()


class Made:
    def __init__(self, here: Witness) -> None:
        here()


class Child(Made):
    def __init__(self, here: Witness) -> None:
        super().__init__(here)
        here()


def hot_init(here: Witness) -> None:
    for _ in range(100):
        Made(here)
        Child(here)


class Special:
    def __init__(self, here: Witness) -> None:
        self._here = here

    @property
    def value(self) -> int:
        return int(self._here(1))

    def __getitem__(self, key: int) -> Any:
        return self._here(key)

    def __getattr__(self, name: str) -> Any:
        return self._here(name)

    def __add__(self, other: object) -> Any:
        return self._here(other)

    def __call__(self) -> Any:
        return self._here()

    def __del__(self) -> None:
        self._here()


def hot_special_methods(here: Witness) -> None:
    for i in range(60):
        it = Special(here)
        it.value + it[i] + len(it.missing) + (it + 1)
        it()
        del it


def decorated(here: Witness) -> None:
    def decorate(function: Callable[[], None]) -> Callable[[], None]:
        here()

        @functools.wraps(function)
        def wrapper() -> None:
            here()
            function()

        return wrapper

    @decorate
    @functools.lru_cache(None)
    def cached() -> None:
        here()

    cached()
    cached()


def called_from_c(here: Witness) -> None:
    sorted([3, 1, 2], key=here)
    sorted([3, 1, 2], key=lambda x: here(x))
    functools.reduce(here, [1, 2, 3])
    functools.reduce(lambda a, b: here(a) + b, [1, 2, 3])
    list(filter(here, map(lambda x: here(x), range(3))))  # noqa: C417
    functools.partial(functools.partial(here, 1), 2)()
    "".join(str(here(i)) for i in range(2))


def called_by_ctypes(here: Witness) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(a: int, b: int) -> int:
        here()
        return ctypes.c_int.from_address(a).value - ctypes.c_int.from_address(b).value

    numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
    qsort = ctypes.CDLL(None).qsort
    qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, kind]
    qsort.restype = None
    qsort(numbers, 4, 4, kind(compare))
    assert list(numbers) == [1, 2, 3, 4]


def executed(here: Witness) -> None:
    exec("def f():\n\n    here()\nhere()\nf()", {"here": here})
    exec(compile("\n\nhere()", "made up.py", "exec"), {"here": here})
    eval("[here(i) for i in range(2)]", {"here": here})


def deep(here: Witness, levels: int = 1000) -> None:
    if levels == 0:
        here()
        return
    if levels % 100 == 0:
        here()
    deep(here, levels - 1)
    if levels % 250 == 0:
        here()


def thrown(here: Witness) -> None:
    def fail() -> None:
        try:
            raise ValueError
        finally:
            here()

    for _ in range(2):
        try:
            fail()
        except ValueError:  # noqa: PERF203
            here()
        else:
            here()


def nested(here: Witness) -> None:
    """Events inside events, at the same and at other frames."""

    def inside() -> None:
        here()
        here._events.event(OPERATOR, "middle", here)

    here._events.event(OPERATOR, "outer", inside)
    here._events.event(OPERATOR, "outer", lambda: here._events.event(OPERATOR, "same", inside))


def in_a_thread(here: Witness) -> None:
    thread = threading.Thread(target=plain, args=(here,))
    thread.start()
    thread.join()


PROGRAMS = [
    plain,
    generator,
    yield_from,
    coroutine,
    async_generator,
    comprehension,
    anonymous,
    class_body,
    hot_init,
    hot_special_methods,
    decorated,
    called_from_c,
    called_by_ctypes,
    executed,
    deep,
    thrown,
    in_a_thread,
]


@pytest.fixture(autouse=True)
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(12_000)
    yield
    sys.setrecursionlimit(before)


programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


@programs
def test_events_are_where_the_interpreter_says(
    program: Callable[[Witness], None], witness: Witness
) -> None:
    with recording() as recorded:
        program(witness)

    witness.check(recorded)
    assert not recorded.losses


HOWS = ["trace", "profile", *(["monitoring"] if sys.version_info >= (3, 12) else [])]


@contextmanager
def observed(how: str) -> Iterator[None]:
    """All events that the interpreter has are told to somebody."""
    if how == "monitoring":
        monitoring: Any = getattr(sys, how)
        kinds = monitoring.events
        wanted = (kinds.LINE, kinds.CALL, kinds.PY_START, kinds.INSTRUCTION, kinds.RAISE)
        monitoring.use_tool_id(4, "test")
        for kind in wanted:
            monitoring.register_callback(4, kind, lambda *_: None)
        monitoring.set_events(4, sum(wanted))
        yield
        monitoring.set_events(4, 0)
        monitoring.free_tool_id(4)
    else:
        before = getattr(sys, f"get{how}")()
        getattr(sys, f"set{how}")(lambda *_: lambda *_: None)
        yield
        getattr(sys, f"set{how}")(before)


@programs
@pytest.mark.parametrize("how", HOWS)
def test_events_are_there_under_observation(
    program: Callable[[Witness], None], how: str, witness: Witness
) -> None:
    with recording() as recorded, observed(how):
        program(witness)

    witness.check(recorded)


def test_events_nest_with_the_python_between_them(witness: Witness) -> None:
    with recording() as recorded:
        nested(witness)

    assert {tuple(recorded.around(name)[:-1]) for name in witness.seen} == {
        ("operator outer",),
        ("operator outer", "operator middle"),
        ("operator outer", "operator same"),
        ("operator outer", "operator same", "operator middle"),
    }
    for name, expected in witness.seen.items():
        python = [entry for entry in recorded.path_of(name) if entry.kind == "python"]
        assert python == expected


def test_the_outermost_of_very_many_frames_are_left_out_and_counted(witness: Witness) -> None:
    with recording() as recorded:
        deep(witness, 5000)

    truncated = 0
    for name, expected in witness.seen.items():
        python = [entry for entry in recorded.path_of(name) if entry.kind == "python"]
        assert python == expected[-2048:]
        truncated += len(expected) > 2048
    assert recorded.losses == {"stack_truncated": truncated}


def test_what_an_operator_calls_deep_down_stays_below_it(events: Events, witness: Witness) -> None:
    with recording() as recorded:
        events.event(OPERATOR, "around", lambda: deep(witness, 5000))

    for name in witness.seen:
        assert recorded.around(name) == ["operator around", f"operator {name}"]


def test_callbacks_from_foreign_threads_have_their_frames(events: Events) -> None:
    seen: list[list[Entry]] = []

    def inside() -> None:
        seen.append(frames_of(sys._getframe(1)))

    def callback() -> None:
        events.event(OPERATOR, "inside", inside)

    with recording() as recorded:
        events.foreign_threads(2, 1, callback)

    path = recorded.path_of("inside")
    assert [str(e) for e in path[:2]] == ["thread foreign", "operator calls back"]
    assert list(path[2:-1]) == seen[0] == seen[1]
    assert recorded.count("inside") == 2
