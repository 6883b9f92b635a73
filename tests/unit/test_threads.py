"""Noting the names of threads."""

from __future__ import annotations

import _thread
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from pellucid.capture.threads import ThreadNames, live_names


@contextmanager
def noted() -> Iterator[list[tuple[str, int]]]:
    notes: list[tuple[str, int]] = []
    names = ThreadNames(lambda name: notes.append((name, threading.get_ident())))
    names.install()
    yield notes
    names.uninstall()


def test_every_name_is_noted_in_its_own_thread() -> None:
    idents = {}

    def work() -> None:
        idents[threading.current_thread().name] = threading.get_ident()

    with noted() as notes:
        threads = [threading.Thread(target=work, name=f"worker <{i}>") for i in range(3)]
        for thread in threads:
            thread.start()
            thread.join()
        with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
            pool.submit(work).result()
    assert dict(notes) == idents
    assert list(idents) == ["worker <0>", "worker <1>", "worker <2>", "pool_0"]


def test_nothing_is_noted_after_uninstall() -> None:
    original = threading.Thread.__dict__["_set_ident"]
    with noted() as notes:
        pass
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert notes == []
    assert threading.Thread.__dict__["_set_ident"] is original


def test_uninstall_leaves_a_later_wrapper_in_place() -> None:
    original = threading.Thread.__dict__["_set_ident"]
    notes: list[str] = []
    names = ThreadNames(notes.append)
    names.install()
    ours = threading.Thread.__dict__["_set_ident"]

    def theirs(thread: threading.Thread) -> None:
        ours(thread)

    threading.Thread._set_ident = theirs  # type: ignore[attr-defined]
    try:
        names.uninstall()
        assert threading.Thread.__dict__["_set_ident"] is theirs
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        assert notes == []
    finally:
        threading.Thread._set_ident = original  # type: ignore[attr-defined]


def test_a_traceback_in_a_thread_shows_no_frame_of_ours() -> None:
    stacks: list[str] = []
    with noted():
        thread = threading.Thread(target=lambda: stacks.append("".join(traceback.format_stack())))
        thread.start()
        thread.join()
    assert "pellucid/capture" not in stacks[0]


def test_a_failing_note_does_not_stop_the_thread() -> None:
    def fail(name: str) -> None:
        raise RuntimeError(name)

    ran = threading.Event()
    names = ThreadNames(fail)
    names.install()
    thread = threading.Thread(target=ran.set)
    thread.start()
    thread.join()
    names.uninstall()
    assert ran.is_set()


def test_threads_from_c_keep_their_system_name() -> None:
    done = threading.Event()

    def work() -> None:
        threading.current_thread()
        done.set()

    with noted() as notes:
        _thread.start_new_thread(work, ())
        assert done.wait(10)
    assert notes == []


def test_live_names() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="waiting")
    thread.start()
    names = live_names()
    stop.set()
    thread.join()
    assert thread.ident is not None
    assert names[thread.ident] == "waiting"
    assert names[threading.get_ident()] == threading.current_thread().name
