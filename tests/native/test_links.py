"""Which forward event a backward function belongs to."""

from __future__ import annotations

import threading
from collections.abc import Callable

from native import BACKWARD, OPERATOR, Events, Recorded, join, recording


def forward(events: Events, name: str, sequence: int, thread: int = 1) -> None:
    events.event(OPERATOR, name, None, sequence, thread)


def backward(events: Events, name: str, sequence: int, of: int = 1, thread: int = 1) -> None:
    events.event(BACKWARD, name, None, sequence, thread, of)


def on_thread(function: Callable[[], object]) -> None:
    """Run it on a thread of its own, which is gone afterwards."""
    thread = threading.Thread(target=function)
    thread.start()
    join(thread)


def linked(recorded: Recorded, name: str) -> str | None:
    """The name of the forward node that a backward node is linked with."""
    node = recorded.origin(recorded.node_of(name))
    return recorded.paths[node][-1].name if node else None


def test_backward_on_the_same_thread(events: Events) -> None:
    with recording() as recorded:
        forward(events, "mul", 7)
        forward(events, "add", 8)
        backward(events, "MulBackward", 7)
        backward(events, "AddBackward", 8)

    assert linked(recorded, "MulBackward") == "mul"
    assert linked(recorded, "AddBackward") == "add"
    assert not recorded.losses


def test_backward_on_another_thread(events: Events) -> None:
    with recording() as recorded:
        forward(events, "mul", 7)
        on_thread(lambda: forward(events, "sin", 7, thread=2))
        on_thread(lambda: backward(events, "MulBackward", 7, of=1, thread=3))
        on_thread(lambda: backward(events, "SinBackward", 7, of=2, thread=4))

    assert linked(recorded, "MulBackward") == "mul"
    assert linked(recorded, "SinBackward") == "sin"
    assert not recorded.losses


def test_the_forward_that_started_last_counts(events: Events) -> None:
    with recording() as recorded:
        outer = events.begin(OPERATOR, "linear", None, 7, 1)
        forward(events, "t", 7)
        events.end(outer)
        backward(events, "TBackward", 7)
        forward(events, "again", 7)
        backward(events, "AgainBackward", 7)

    assert linked(recorded, "TBackward") == "t"
    assert linked(recorded, "AgainBackward") == "again"


def test_one_backward_function_of_two_forward_events_has_two_nodes(events: Events) -> None:
    with recording() as recorded:
        for name, sequence in (("first", 1), ("second", 2)):
            forward(events, name, sequence)
        for sequence in (1, 2, 1):
            backward(events, "Backward", sequence)

    nodes = [i for i, path in enumerate(recorded.paths) if path and path[-1].name == "Backward"]
    assert [recorded.paths[recorded.origin(node)][-1].name for node in nodes] == ["first", "second"]
    assert recorded.count("Backward") == 3


def test_what_has_no_sequence_number_is_not_linked(events: Events) -> None:
    with recording() as recorded:
        forward(events, "mul", -1)
        backward(events, "AccumulateGrad", -1)

    assert linked(recorded, "AccumulateGrad") is None
    assert not recorded.losses


def test_forward_events_that_were_forgotten_are_counted(events: Events) -> None:
    capacity = 131_072
    with recording() as recorded:
        forward(events, "oldest", 0)
        forward(events, "next", 1)
        events.forwards(2, capacity + 1, 1)
        backward(events, "OldestBackward", 0)
        backward(events, "NextBackward", 1)
        backward(events, "NeverBackward", capacity + 1)

    assert linked(recorded, "OldestBackward") is None
    assert linked(recorded, "NextBackward") == "next"
    assert linked(recorded, "NeverBackward") is None
    assert recorded.losses == {"backward_unlinked": 2}


def test_a_thread_that_ended_before_backward(events: Events) -> None:
    with recording() as recorded:
        on_thread(lambda: forward(events, "mul", 7, thread=5))
        on_thread(lambda: forward(events, "sin", 8, thread=6))  # in the same lane
        backward(events, "MulBackward", 7, of=5)
        backward(events, "SinBackward", 8, of=6)

    assert linked(recorded, "MulBackward") == "mul"
    assert linked(recorded, "SinBackward") == "sin"
    assert not recorded.losses


def test_threads_that_share_a_lane_are_told_apart(events: Events) -> None:
    capacity = 131_072
    with recording() as recorded:
        on_thread(lambda: forward(events, "mul", capacity + 7, thread=5))
        on_thread(lambda: forward(events, "other", 1, thread=6))
        backward(events, "Backward", 7, of=6)

    assert linked(recorded, "Backward") is None
    assert recorded.losses == {"backward_unlinked": 1}


def test_many_threads_do_not_push_out_the_one_that_runs_backward_itself(events: Events) -> None:
    with recording() as recorded:
        forward(events, "mul", 7)
        on_thread(lambda: forward(events, "other", 7, thread=8193))
        forward(events, "mul 2", 8)
        backward(events, "MulBackward", 7)
        backward(events, "Mul2Backward", 8)

    assert linked(recorded, "MulBackward") == "mul"
    assert linked(recorded, "Mul2Backward") == "mul 2"
    assert not recorded.losses


def test_the_recording_before_is_forgotten(events: Events) -> None:
    with recording():
        forward(events, "mul", 7)
    with recording() as recorded:
        forward(events, "other", 8)
        backward(events, "MulBackward", 7)

    assert linked(recorded, "MulBackward") is None
    assert recorded.losses == {"backward_unlinked": 1}
