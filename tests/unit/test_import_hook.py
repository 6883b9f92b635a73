"""Being called right after an import, without anybody noticing."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from pellucid.capture.import_hook import when_imported

NAME = "pellucid_probe_module"


def ignore(_: ModuleType) -> None:
    pass


@pytest.fixture
def module_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield tmp_path / f"{NAME}.py"
    sys.modules.pop(NAME, None)
    assert sys.meta_path == finders


def test_calls_back_after_the_whole_module_ran(module_file: Path) -> None:
    module_file.write_text("early = 1\nlate = 2\n")
    seen: list[int] = []
    when_imported(NAME, lambda module: seen.append(module.late))
    module = importlib.import_module(NAME)
    assert seen == [2]
    assert type(module.__spec__) is ModuleSpec
    assert type(module.__loader__) is SourceFileLoader
    assert module.__spec__.loader is module.__loader__


def test_calls_back_at_once_when_already_imported(module_file: Path) -> None:
    module_file.write_text("")
    module = importlib.import_module(NAME)
    seen: list[ModuleType] = []
    when_imported(NAME, seen.append)
    assert seen == [module]


def test_calls_back_once_over_reloads_and_new_imports(module_file: Path) -> None:
    module_file.write_text("")
    seen: list[ModuleType] = []
    when_imported(NAME, seen.append)
    importlib.reload(importlib.import_module(NAME))
    del sys.modules[NAME]
    importlib.import_module(NAME)
    assert len(seen) == 1


def test_installed_during_the_import_waits_for_its_end(module_file: Path) -> None:
    module_file.write_text(
        "from pellucid.capture.import_hook import when_imported\n"
        "seen = []\n"
        "when_imported(__name__, lambda module: seen.append(module.late))\n"
        "before = list(seen)\n"
        "late = 2\n"
    )
    module = importlib.import_module(NAME)
    assert module.before == []
    assert module.seen == [2]
    assert type(module.__spec__) is ModuleSpec


def test_a_failing_import_calls_nothing_and_the_next_one_counts(module_file: Path) -> None:
    module_file.write_text("raise RuntimeError('broken')\n")
    seen: list[ModuleType] = []
    when_imported(NAME, seen.append)
    with pytest.raises(RuntimeError):
        importlib.import_module(NAME)
    assert seen == []
    module_file.write_text("repaired = True\n")
    importlib.invalidate_caches()
    importlib.import_module(NAME)
    assert len(seen) == 1


@pytest.mark.parametrize("text", ["1 / 0\n", "import pellucid_no_such_module\n", "def (\n"])
def test_the_traceback_of_a_failing_import_is_untouched(module_file: Path, text: str) -> None:
    module_file.write_text(text)

    def failure() -> str:
        try:
            __import__(NAME)
        except Exception:
            return traceback.format_exc()
        raise AssertionError("the import did not fail")

    expected = failure()
    hook = when_imported(NAME, ignore)
    assert failure() == expected
    hook.cancel()


def test_an_error_of_another_finder_comes_without_our_frame(module_file: Path) -> None:
    module_file.write_text("")

    class Blocker:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == NAME:
                raise ImportError("blocked")

    sys.meta_path.insert(0, Blocker)
    hook = when_imported(NAME, ignore)
    try:
        with pytest.raises(ImportError, match="blocked") as caught:
            importlib.import_module(NAME)
    finally:
        hook.cancel()
        sys.meta_path.remove(Blocker)
    assert "capture/import_hook" not in "".join(traceback.format_tb(caught.value.__traceback__))


def test_find_spec_without_import_keeps_the_hook(module_file: Path) -> None:
    module_file.write_text("")
    plain = importlib.util.find_spec(NAME)
    seen: list[ModuleType] = []
    when_imported(NAME, seen.append)
    spec = importlib.util.find_spec(NAME)
    assert isinstance(spec, ModuleSpec)
    assert repr(spec).split(" object at")[0] == repr(plain).split(" object at")[0]
    assert type(spec.loader) is SourceFileLoader
    assert seen == []
    importlib.import_module(NAME)
    assert len(seen) == 1


def test_a_missing_module_is_still_missing() -> None:
    hook = when_imported("pellucid_no_such_module", ignore)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pellucid_no_such_module")
    assert importlib.util.find_spec("pellucid_no_such_module") is None
    hook.cancel()


def test_errors_of_the_callback_do_not_reach_the_program(module_file: Path) -> None:
    module_file.write_text("value = 1\n")
    errors: list[Exception] = []

    def fail(_: ModuleType) -> None:
        raise RuntimeError("ours")

    when_imported(NAME, fail, errors.append)
    assert importlib.import_module(NAME).value == 1
    assert [str(error) for error in errors] == ["ours"]


def test_a_cancelled_hook_calls_nothing(module_file: Path) -> None:
    module_file.write_text("")
    seen: list[ModuleType] = []
    hook = when_imported(NAME, seen.append)
    hook.cancel()
    hook.cancel()
    importlib.import_module(NAME)
    assert seen == []


def test_every_importing_thread_waits_for_the_callback(module_file: Path) -> None:
    module_file.write_text("import time\ntime.sleep(0.05)\n")
    events: list[str] = []

    def attach(_: ModuleType) -> None:
        time.sleep(0.05)
        events.append("attached")

    def work() -> None:
        importlib.import_module(NAME)
        events.append("imported")

    when_imported(NAME, attach)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events == ["attached"] + ["imported"] * 4
