"""Guards, from the text that torch prints."""

from __future__ import annotations

import pytest
from compile_log import DYNAMIC_GUARDS, MODEL, attempt, read_story
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import parse_guards
from pellucid.compiler.guards import parse_check

TREE = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None   # _dynamo/output_graph.py:1122 in init
| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n')
| | +- TYPE_MATCH: ___check_type_id(L['n'], 14035), type=<class 'int'>  # return x*n  # a.py:6 in f
+- LAMBDA_GUARD: 2 <= L['x'].size()[0]  # return x*n  # mp/x/a.py:6 in f (user code is first use)
+- LAMBDA_GUARD: not math.isnan(L['n'])  # implicit guard for float input
"""


def test_each_check_with_the_users_line() -> None:
    guards = parse_guards(TREE, {"/tmp/x/a.py", "/tmp/b.py"})

    assert [(g.kind, g.text, g.file, g.line, g.code) for g in guards[1:]] == [
        (
            "TYPE_MATCH",
            "___check_type_id(L['n'], 14035), type=<class 'int'>",
            "/tmp/x/a.py",
            6,
            "return x*n",
        ),
        ("LAMBDA_GUARD", "2 <= L['x'].size()[0]", "/tmp/x/a.py", 6, "return x*n"),
        ("LAMBDA_GUARD", "not math.isnan(L['n'])", None, None, None),
    ]
    assert guards[0].file == "_dynamo/output_graph.py"


def test_the_guards_of_a_real_compilation() -> None:
    guards = parse_guards(attempt(read_story(), "2/0").guards, {MODEL})

    assert len(guards) >= 8
    tensors = [guard for guard in guards if guard.kind == "TENSOR_MATCH"]
    assert {(guard.file, guard.line) for guard in tensors} == {(MODEL, 17)}
    assert {guard.code for guard in tensors} == {"return torch.tanh(x @ w)"}


def test_the_guards_of_dynamic_shapes() -> None:
    guards = parse_guards(DYNAMIC_GUARDS.read_text(), {MODEL, "/w/other.py"})

    assert len(guards) == 13
    assert [
        guard.text for guard in guards if guard.line == 42 and guard.kind == "LAMBDA_GUARD"
    ] == [
        "2 <= L['x'].size()[0]",
        "2 <= L['x'].size()[1]",
    ]
    assert {guard.code for guard in guards if guard.file == MODEL} == {
        "def dyn(x): return (x@x.t()).relu()"
    }
    (related,) = [guard for guard in guards if "stride()[0] ==" in guard.text]
    assert (related.text, related.file, related.code) == (
        "L['x'].stride()[0] == L['x'].size()[1]",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("shown", "file"),
    [
        ("w/model.py", "/w/model.py"),
        ("ata/my project/a b.py", "/data/my project/a b.py"),
        ("<ipython-input-1>", "<ipython-input-1>"),
        ("elsewhere/c.py", "elsewhere/c.py"),
    ],
)
def test_places_are_of_whole_file_names(shown: str, file: str) -> None:
    files = {"/w/model.py", "/data/my project/a b.py"}

    check = parse_check(f"x > 1  # return x # twice  # {shown}:6 in f (a hint)", files)

    assert (check.text, check.file, check.line) == ("x > 1", file, 6)
    assert check.code == "return x # twice"


def test_a_place_stands_behind_its_mark() -> None:
    assert parse_check("L['a.py:3 in b'] == 1").file is None


def test_a_reason_to_recompile_is_read_the_same_way() -> None:
    check = parse_check("0/0: factor == 1.5    # y = x * factor  # w/model.py:10 in scale", {MODEL})

    assert (check.text, check.file, check.line) == ("0/0: factor == 1.5", MODEL, 10)


@pytest.mark.timeout(60)  # it would take days, were it quadratic
def test_long_lines_take_no_longer_than_their_length() -> None:
    for filling in (
        "# ",
        " #",
        "| +- A: ",
        " " * 3 + "# a.py:1 ",
        "#",
        "| ",
        ".py:",
        "<a",
        "\n+- ",
    ):
        for before in ("", "+- A: ", "+- A: x # "):
            parse_guards(before + filling * 200_000)


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    parse_guards(text)
    parse_guards(f"+- GUARD: {text}")
