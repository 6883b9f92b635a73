"""Modules are called by their qualified names, however they are made, shared, called or dropped."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import gc
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from pellucid.capture import module_names
from pellucid.model import Profile
from with_torch.recordings import calls, modules, python, record, run, script


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Layer() for _ in range(2))
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Sequential(nn.Linear(4, 2))})

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x) + self.heads["b"](x)


def paths(profile: Profile, operator: str = "aten::addmm") -> dict[tuple[str, ...], int]:
    """The modules around an operator, with its calls."""
    found: Counter[tuple[str, ...]] = Counter()
    for node in profile.nodes(kind="operator", name=operator):
        found[tuple(modules(node))] += node.stats["duration"].count
    return dict(found)


def losses(profile: Profile) -> list[str]:
    return [loss.kind for loss in profile.losses]


def test_names_are_qualified_within_the_root() -> None:
    model = Model()

    profile = record(lambda: [model(torch.ones(3, 4)) for _ in range(5)])

    assert paths(profile) == {
        ("Model", "blocks.0", "blocks.0.up"): 5,
        ("Model", "blocks.0", "blocks.0.down"): 5,
        ("Model", "blocks.1", "blocks.1.up"): 5,
        ("Model", "blocks.1", "blocks.1.down"): 5,
        ("Model", "heads.a"): 5,
        ("Model", "heads.b", "heads.b.0"): 5,
    }
    assert losses(profile) == []
    (node,) = profile.nodes(kind="module", name="blocks.1.up")
    assert dict(node.frame.attrs) == {"class": "torch.nn.modules.linear.Linear", "root": "Model"}


def test_two_instances_of_a_class_are_told_apart() -> None:
    class Twin(Layer):
        pass

    one, two = Twin(), Twin()

    profile = record(lambda: (one(torch.ones(3, 4)), two(two(torch.ones(3, 4)))))

    ups = profile.nodes(kind="module", name="up")
    assert Counter(str(node.frame.attrs["root"]) for node in ups) == {"Twin": 1, "Twin#2": 1}
    totals = {
        str(up.frame.attrs["root"]): sum(
            node.stats["duration"].count
            for node in profile.nodes(kind="operator", name="aten::linear")
            if up.frame in node.path
        )
        for up in ups
    }
    assert sorted(totals.values()) == [1, 2]


def test_a_shared_module_is_named_by_where_it_is_called_and_has_its_aliases() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Sequential(nn.Linear(4, 4))
            self.b = nn.Sequential(self.a[0])

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.a(x))

    model = Tied()

    profile = record(lambda: model(torch.ones(1, 4)))

    assert paths(profile) == {("Tied", "a", "a.0"): 1, ("Tied", "b", "b.0"): 1}
    (node,) = profile.nodes(kind="module", name="b.0")
    assert node.frame.attrs["aliases"] == ["a.0"]


def test_a_module_called_twice_is_one_node_a_line() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(self.inner(x))

    model = Twice()

    profile = record(lambda: model(torch.ones(1, 4)))

    assert paths(profile) == {("Twice", "inner"): 2}


def test_modules_made_in_a_loop_do_not_grow_the_tree() -> None:
    def work(rounds: int) -> None:
        for _ in range(rounds):
            Layer()(torch.ones(3, 4))

    few, many = record(lambda: work(3)), record(lambda: work(100))

    # Twice: those that lived too short to be named go by their class, and are counted.
    assert len(many) < 2 * len(few)
    assert sum(paths(many).values()) == 200
    names = {node.frame.name for node in many.nodes(kind="module")}
    assert names <= {"Layer", "up", "down", "Linear"}
    assert ("Linear" in names) == ("module_unnamed" in losses(many))


def test_the_name_of_a_dead_model_does_not_go_to_its_successor() -> None:
    class First(Layer):
        pass

    class Second(Layer):
        pass

    def work() -> None:
        for cls in (First, Second) * 20:
            model = cls()
            model(torch.ones(3, 4))
            del model

    profile = record(work)

    for node in profile.nodes(kind="operator", name="aten::addmm"):
        roots = [f for f in node.path if f.name.rpartition(".")[2] in ("First", "Second")]
        methods = {frame.name.split(".")[0] for frame in node.path if "forward" in frame.name}
        assert len(roots) == 1
        assert methods == {"Layer", "Linear"}
    assert sum(paths(profile).values()) == 80
    assert len(profile.nodes(kind="module")) <= 12


def test_a_wrapper_is_the_root_of_what_it_wraps() -> None:
    model = nn.DataParallel(Layer())

    profile = record(lambda: model(torch.ones(3, 4)))

    assert paths(profile) == {
        ("DataParallel", "module", "module.up"): 1,
        ("DataParallel", "module", "module.down"): 1,
    }


def test_a_module_without_operators_of_its_own_and_one_with_its_own_call() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def __call__(self, x: Tensor) -> Tensor:
            return super().__call__(x)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)

    model = nn.Sequential(nn.Identity(), Odd())

    assert paths(record(lambda: model(torch.ones(1, 4)))) == {("Sequential", "1", "1.inner"): 1}


def test_without_modules_there_are_none() -> None:
    import pellucid

    with pellucid.profile(modules=False) as prof:
        Layer()(torch.ones(3, 4))

    assert prof.profile.nodes(kind="module") == []
    assert calls(prof.profile)["aten::addmm"] == 2


def test_a_model_that_is_gone_at_the_end_of_a_short_program_has_its_names(tmp_path: Path) -> None:
    body = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x

        def main():
            net = Net()
            for _ in range(300):  # some 20 ms
                net(torch.ones(1, 4))

        main()
    """
    script(tmp_path, body)

    ended, profile = run(tmp_path, "x.py")

    assert ended == (0, "", "")
    assert paths(profile) == {("Net", "blocks.0"): 300, ("Net", "blocks.1"): 300}


def test_looking_for_modules_keeps_nothing_of_the_programs_alive(tmp_path: Path) -> None:
    body = """
        import threading, time, weakref
        import torch
        from pellucid.capture.module_names import _live_modules

        class Thing:
            pass

        def look():
            while not stop:
                _live_modules(torch.nn.Module)

        stop = False
        looking = threading.Thread(target=look)
        looking.start()
        late = 0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            thing = Thing()
            ref = weakref.ref(thing)
            del thing
            late += ref() is not None
        stop = True
        looking.join()
        print(late)
    """
    assert python(tmp_path, str(script(tmp_path, body))) == (0, "0\n", "")


def test_a_model_that_outlives_our_own_modules_dies_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = [Model()]
    record(lambda: models[0](torch.ones(1, 4)))

    with monkeypatch.context() as patch:  # as the interpreter does at its end
        for name in list(vars(module_names)):
            if not name.startswith("__"):
                patch.setattr(module_names, name, None)
        errors: list[object] = []
        patch.setattr(sys, "unraisablehook", errors.append)
        models.clear()
        gc.collect()

    assert errors == []
