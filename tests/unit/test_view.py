"""The shown tree: folded, pruned, inverted; nothing left out in silence."""

import pytest
from handmade import MS, handmade_profile
from hypothesis import given
from hypothesis import strategies as st
from test_tables import mixed_profiles

from pellucid.analysis import Outline, callers, is_internal, outline
from pellucid.model import Frame, Profile, ProfileBuilder, Stat


def drawn(shown: Outline) -> list[str]:
    """The lines as text: name total/self xcalls."""
    lines = []
    for line in shown.lines:
        if line.frame is None:
            name = f"({line.left_out} {'deeper' if line.too_deep else 'small'})"
        else:
            name = line.frame.name
        numbers = f"{line.total / MS:g}/{line.self / MS:g}"
        lines.append(
            f"{'  ' * line.depth}{name} {numbers}" + (f" x{line.calls}" * bool(line.calls))
        )
    return lines


def test_the_whole_tree() -> None:
    assert drawn(outline(handmade_profile(), min_percent=0)) == [
        "Main 105/0",
        "  <module> 105/1",
        "    train 57/2",
        "      Net 55/3",
        "        forward 52/4",
        "          fc1 35/5",
        "            aten::linear 30/10 x4",
        "              aten::addmm 20/20 x4",
        "          aten::relu 7/7 x4",
        "          fc2 6/0",
        "            aten::linear 6/6 x4",
        "    train 47/8",
        "      AddmmBackward0 39/9 x4",
        "        aten::mm 30/30 x8",
        "pt_autograd_0 11/0",
        "  ReluBackward0 11/11 x4",
    ]


def test_small_branches_are_summed_up() -> None:
    shown = outline(handmade_profile(), min_percent=20)

    assert drawn(shown) == [
        "Main 105/0",
        "  <module> 105/1",
        "    train 57/2",
        "      Net 55/3",
        "        forward 52/4",
        "          fc1 35/5",
        "            aten::linear 30/10 x4",
        "              (1 small) 20/0",
        "          (2 small) 13/0",
        "    train 47/8",
        "      AddmmBackward0 39/9 x4",
        "        aten::mm 30/30 x8",
        "(1 small) 11/0",
    ]
    assert shown.lines[8].share == 13 / 105


def test_deep_branches_are_summed_up() -> None:
    assert drawn(outline(handmade_profile(), depth=1)) == [
        "Main 105/0",
        "  <module> 105/1",
        "    (2 deeper) 104/0",
        "pt_autograd_0 11/0",
        "  ReluBackward0 11/11 x4",
    ]


def test_folded_frames_are_counted_and_can_be_shown() -> None:
    assert outline(handmade_profile()).folded == 1

    shown = outline(handmade_profile(), fold=False)

    assert shown.folded == 0
    assert "            _call_impl 35/5" in drawn(shown)


def test_inverted() -> None:
    shown = callers(handmade_profile(), min_percent=13, depth=2)

    assert drawn(shown) == [
        "aten::mm 30/0",
        "  AddmmBackward0 30/0",
        "    train 30/0",
        "      (1 deeper) 30/0",
        "aten::addmm 20/0",
        "  aten::linear 20/0",
        "    fc1 20/0",
        "      (1 deeper) 20/0",
        "aten::linear 16/0",
        "  (2 small) 16/0",
        "(9 small) 50/0",
    ]
    assert shown.recorded == 116 * MS


def test_equal_siblings_are_one_line() -> None:
    builder = ProfileBuilder()
    builder.run()
    root = builder.node(None, builder.frame("thread", "Main"))
    frame = builder.frame("operator", "AddBackward0")
    for _ in range(3):
        node = builder.node(root, frame)
        builder.stat(node, "time", Stat.of([MS]))
        builder.stat(node, "duration", Stat.of([MS]))

    assert drawn(outline(builder.finish())) == ["Main 3/0", "  AddBackward0 3/3 x3"]


def test_a_thread_of_internal_frames_alone_is_still_shown() -> None:
    builder = ProfileBuilder()
    builder.run()
    frame = builder.frame("python", "run", file="/usr/lib/python3.11/threading.py", line=1)
    root = builder.node(None, frame)
    builder.stat(builder.node(root, frame), "time", Stat.of([MS]))

    assert drawn(outline(builder.finish())) == ["run 1/1"]
    assert drawn(callers(builder.finish())) == ["run 1/1"]


def test_deep_recursion_is_no_problem() -> None:
    builder = ProfileBuilder()
    builder.run()
    frames = [
        builder.frame("python", "f", file="/usr/lib/python3.12/re.py", line=1),
        builder.frame("python", "g", file="/w/a.py", line=1),
    ]
    node = None
    for level in range(20_000):
        node = builder.node(node, frames[level > 10_000])
    assert node is not None
    builder.stat(node, "time", Stat.of([MS]))

    assert len(outline(builder.finish()).lines) == 10_000
    assert len(callers(builder.finish()).lines) == 10_000


@given(mixed_profiles(), st.booleans())
def test_the_lines_hold_all_of_the_time(profile: Profile, invert: bool) -> None:
    shown = (callers if invert else outline)(profile, min_percent=0)

    assert sum(line.total for line in shown.lines if line.depth == 0) == shown.recorded
    assert shown.recorded == sum(profile.selfs("time"))
    assert sum(line.self for line in shown.lines) == shown.recorded


@given(mixed_profiles(), st.integers(0, 100), st.integers(0, 5))
def test_what_is_pruned_is_on_a_line(profile: Profile, percent: int, depth: int) -> None:
    shown = outline(profile, min_percent=percent, depth=depth)

    left_out = sum(line.total for line in shown.lines if line.frame is None)
    assert sum(line.self for line in shown.lines) + left_out == shown.recorded


@pytest.mark.parametrize(
    ("file", "internal"),
    [
        ("/usr/lib/python3.11/threading.py", True),
        ("/opt/py/lib/python3.13t/contextlib.py", True),
        ("<frozen runpy>", True),
        ("<frozen importlib._bootstrap>", True),
        ("/v/lib/python3.11/site-packages/torch/nn/modules/module.py", True),
        ("/usr/lib/python3/dist-packages/torch/optim/adam.py", True),
        ("/src/pytorch/torch/nn/modules/module.py", True),
        ("C:\\py\\Lib\\site-packages\\torch\\autograd\\graph.py", True),
        ("/v/lib/python3.11/site-packages/pellucid/launch/launcher.py", True),
        ("/v/lib/python3.11/site-packages/transformers/trainer.py", False),
        ("/home/me/torch/train.py", False),
        ("/home/me/pellucid/examples/train.py", False),
        ("train.py", False),
        ("<string>", False),
        (None, False),
    ],
)
def test_whose_code_a_file_is(file: str | None, internal: bool) -> None:
    assert is_internal(Frame.of("python", "f", file=file)) is internal
    assert not is_internal(Frame.of("module", "f", file=file))
