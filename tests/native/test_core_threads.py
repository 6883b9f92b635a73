"""Threads, sessions and processes that come and go while events run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from native import OPERATOR, REGION, Events, join, recording

import pellucid
from pellucid import _core
from pellucid.capture.threads import ThreadNames, live_names
from pellucid.errors import SessionError


@pytest.fixture
def named_threads() -> Iterator[None]:
    names = ThreadNames(_core.name_thread)
    names.install()
    yield
    names.uninstall()


def run_threads(count: int, work: Callable[[], object], name: str = "worker") -> None:
    """One after the other."""
    for _ in range(count):
        thread = threading.Thread(target=work, name=name)
        thread.start()
        join(thread)


@pytest.mark.usefixtures("named_threads")
def test_a_thousand_short_threads_are_one_root(events: Events) -> None:
    with recording() as recorded:
        run_threads(1000, lambda: events.event(OPERATOR, "x"))

    assert recorded.path_of("x")[0].name == "worker"
    assert recorded.count("x") == 1000
    assert recorded.raw["threads"] == 1001
    assert len(recorded.paths) < 100
    assert not recorded.losses


@pytest.mark.usefixtures("named_threads")
def test_threads_that_live_at_once_have_trees_of_their_own(events: Events) -> None:
    barrier = threading.Barrier(8)

    def work() -> None:
        for _ in range(20):
            barrier.wait(60)
            events.event(OPERATOR, f"of {threading.current_thread().name}")

    with recording() as recorded:
        threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for thread in threads:
        assert recorded.path_of(f"of {thread.name}")[0].name == thread.name
        assert recorded.count(f"of {thread.name}") == 20


def test_a_thread_that_dies_with_an_open_scope(events: Events) -> None:
    handles: list[int] = []

    def work() -> None:
        handles.append(events.begin(REGION, "left region"))
        handles.append(events.begin(OPERATOR, "left operator"))
        events.event(OPERATOR, "inside")

    with recording() as recorded:
        run_threads(1, work)
        run_threads(1, lambda: events.event(OPERATOR, "next in its lane"))
        for handle in handles:
            events.end(handle)

    assert recorded.losses == {"scope_left_open": 2}
    assert recorded.count("inside") == 1
    assert recorded.around("next in its lane") == ["operator next in its lane"]


def test_a_thread_of_before_has_its_name_and_its_whole_time(events: Events) -> None:
    may_run, has_run = threading.Event(), threading.Event()

    def work() -> None:
        may_run.wait(60)
        events.event(OPERATOR, "x")
        has_run.set()
        may_run.clear()
        may_run.wait(60)

    thread = threading.Thread(target=work, name="from before")
    thread.start()
    _core.set_clock(1_000)
    with recording(live_names()) as recorded:
        _core.set_clock(1_400)
        may_run.set()
        assert has_run.wait(60)
        _core.set_clock(1_500)
    may_run.set()
    thread.join()

    root = recorded.path_of("x")[:1]
    assert root[0].name == "from before"
    assert recorded.stats("time")[root].sum == 500


@pytest.mark.usefixtures("named_threads")
def test_a_new_thread_does_not_inherit_the_name_of_a_dead_one(events: Events) -> None:
    may_end = threading.Event()
    old = threading.Thread(target=may_end.wait, args=(60,), name="old")
    old.start()
    with recording(live_names()) as recorded:
        may_end.set()
        join(old)
        idents: list[int] = []

        def work() -> None:
            idents.append(threading.get_ident())
            events.event(OPERATOR, "x")

        run_threads(1, work, "new")

    assert idents == [old.ident], "the system did not use the number again: this tests nothing"
    assert recorded.path_of("x")[0].name == "new"


def test_threads_unknown_to_python_are_recorded(events: Events) -> None:
    with recording() as recorded:
        events.foreign_threads(3, 5)

    assert [str(e) for e in recorded.path_of("inner")] == [
        "thread foreign",
        "operator outer",
        "operator inner",
    ]
    assert recorded.count("outer") == recorded.count("inner") == 15
    assert not recorded.losses


def test_stopping_while_threads_run_events_loses_none(events: Events) -> None:
    for _ in range(50):
        events.start_storm(4)
        with recording() as recorded:
            while events.storm_count() < 500:
                time.sleep(0)
        told = events.stop_storm()

        counted = recorded.count("outer") + recorded.count("inner")
        left_open = recorded.losses.pop("scope_left_open", 0)
        assert counted + left_open == told
        assert left_open <= 8
        assert not recorded.losses
        durations = recorded.stats("duration").values()
        assert all((s.min or 0) <= (s.max or 0) <= (s.sum or 0) < 60e9 for s in durations)


def test_recordings_follow_one_another_while_threads_run_events(events: Events) -> None:
    events.start_storm(4)
    counted = 0
    for _ in range(200):
        with recording() as recorded:
            events.event(OPERATOR, "mine")
            time.sleep(0)
        assert recorded.count("mine") == 1
        counted += recorded.count("outer") + recorded.count("inner")
        counted += recorded.losses.pop("scope_left_open", 0)
        assert not recorded.losses
    assert events.stop_storm() == counted


def test_a_second_recording_is_refused_by_the_place_of_the_first() -> None:
    line = sys._getframe().f_lineno + 1
    with pellucid.profile() as outer:  # noqa: SIM117
        with pytest.raises(SessionError, match=rf"recorded, since {__file__}:{line};.* not nest"):
            pellucid.profile().__enter__()
    assert outer.profile.runs[0].ended == "stopped"
    with pellucid.profile():
        pass


def test_sessions_that_race_are_whole_or_refused(events: Events) -> None:
    outcomes: list[int] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait(60)
        for _ in range(50):
            try:
                with pellucid.profile(modules=False) as profile:
                    events.event(OPERATOR, "x")
            except SessionError:  # noqa: PERF203
                outcomes.append(0)
            else:
                nodes = profile.profile.nodes(name="x")
                outcomes.append(sum(node.stats["duration"].count for node in nodes))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 300
    assert max(outcomes) >= 1
    assert not _core.recording()


def test_the_core_stops_once() -> None:
    """Also where two threads ask at once: one of them lets go of the GIL meanwhile."""
    stopped: list[object] = []

    def stop() -> None:
        try:
            stopped.append(_core.stop())
        except ValueError as error:
            assert str(error) == "not recording"

    for _ in range(50):
        _core.start("", {}, None)
        threads = [threading.Thread(target=stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stopped) == 1
        stopped.clear()


PRELUDE = """
import faulthandler, os, sys, threading, traceback
faulthandler.dump_traceback_later(60, exit=True)
sys.path[:0] = [{tests!r}]
from pathlib import Path
from native import OPERATOR, Events, load_built
import pellucid
from pellucid import _core

events = load_built(Path({built!r}))

def in_child(work):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def count(profile, name):
    return sum(node.stats["duration"].count for node in profile.nodes(name=name))
"""


def run_alone(built: Path, program: str) -> None:
    source = PRELUDE.format(tests=str(Path(__file__).parent), built=str(built))
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            source + textwrap.dedent(program),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_six_hundred_recordings_leave_nothing_behind(built_events: Path) -> None:
    run_alone(
        built_events,
        """
        import gc

        def session():
            with pellucid.profile(modules=False) as profile:
                for i in range(20):
                    with pellucid.region(f"region {i}"):
                        events.event(OPERATOR, "x")
                for _ in range(2):
                    thread = threading.Thread(target=lambda: events.event(OPERATOR, "y"))
                    thread.start()
                    thread.join()
            assert len(profile.profile.nodes(name="x")) == 20

        def usage():
            gc.collect()
            status = Path("/proc/self/status").read_text()
            kb = int(status.partition("VmRSS:")[2].split()[0])
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), kb

        for _ in range(50):
            session()
        threads, files, kb = usage()
        for _ in range(550):
            session()
        threads_now, files_now, kb_now = usage()
        assert (threads_now, files_now) == (threads, files)
        assert kb_now - kb < 2048, kb_now - kb
        """,
    )


def test_a_child_of_fork_records_nothing_of_its_parents(built_events: Path) -> None:
    run_alone(
        built_events,
        """
        def child():
            assert not _core.recording() and _core.open_scopes() == 0
            events.event(OPERATOR, "in the child")
            events.end(open_event)
            outer.__exit__(None, None, None)
            with pellucid.region("r"), pellucid.step():
                events.event(OPERATOR, "x")
            profile.__exit__(None, None, None)

        with pellucid.profile() as profile:
            outer = pellucid.region("begun before").__enter__()
            open_event = events.begin(OPERATOR, "begun before")
            assert [in_child(child) for _ in range(3)] == [0] * 3
            events.end(open_event)
            outer.__exit__(None, None, None)
        losses = {loss.kind: loss.count for loss in profile.profile.losses}
        assert losses == {"forked_process": 3}, losses
        assert count(profile.profile, "begun before") == 2
        assert count(profile.profile, "in the child") == 0
        """,
    )


def test_a_child_may_record_itself(built_events: Path) -> None:
    run_alone(
        built_events,
        """
        def grandchild():
            with pellucid.profile() as mine:
                events.event(OPERATOR, "x")
            assert count(mine.profile, "x") == 1

        def child():
            for _ in range(3):
                with pellucid.profile() as mine:
                    thread = threading.Thread(target=lambda: events.event(OPERATOR, "x"), name="t")
                    thread.start()
                    thread.join()
                    with pellucid.step():
                        events.event(OPERATOR, "x")
                    assert in_child(grandchild) == 0
                assert count(mine.profile, "x") == 2
                assert len(mine.profile.steps) == 1
                assert mine.profile.nodes(kind="thread", name="t")
                assert [(l.kind, l.count) for l in mine.profile.losses] == [("forked_process", 1)]

        with pellucid.profile() as profile:
            events.event(OPERATOR, "x")
            assert in_child(child) == 0
            events.event(OPERATOR, "x")
        assert count(profile.profile, "x") == 2
        assert in_child(child) == 0
        """,
    )


def test_forking_while_other_threads_run_events(built_events: Path) -> None:
    run_alone(
        built_events,
        """
        def child():
            with pellucid.profile(modules=False) as mine:
                events.event(OPERATOR, "x")
            assert count(mine.profile, "x") == 1
            assert not count(mine.profile, "outer")

        events.start_storm(4)
        with pellucid.profile(modules=False) as profile:
            assert [in_child(child) for _ in range(30)] == [0] * 30
        told = events.stop_storm()
        losses = {loss.kind: loss.count for loss in profile.profile.losses}
        assert losses.pop("forked_process") == 30
        counted = count(profile.profile, "outer") + count(profile.profile, "inner")
        assert counted + losses.pop("scope_left_open", 0) == told
        assert not losses
        """,
    )


def test_forking_while_another_thread_starts_and_stops(built_events: Path) -> None:
    run_alone(
        built_events,
        """
        def child():
            with pellucid.profile(modules=False) as mine:
                events.event(OPERATOR, "x")
            assert count(mine.profile, "x") == 1

        def sessions():
            while not done:
                with pellucid.profile(modules=False):
                    pass

        child()
        done = []
        thread = threading.Thread(target=sessions)
        thread.start()
        statuses = [in_child(child) for _ in range(100)]
        done.append(True)
        thread.join()
        assert statuses == [0] * 100
        """,
    )


def test_a_child_may_record_many_times_where_its_parent_does(built_events: Path) -> None:
    """The interpreter has few places for those who watch code objects die."""
    run_alone(
        built_events,
        """
        def nest(levels):
            with pellucid.profile(modules=False) as mine:
                events.event(OPERATOR, "x")
                assert levels == 0 or in_child(lambda: nest(levels - 1)) == 0
            assert count(mine.profile, "x") == 1

        nest(12)
        """,
    )
