"""Guards, from the text that torch prints."""

from __future__ import annotations

import pytest
from compile_log import MODEL, attempt, read_story
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


def test_a_reason_to_recompile_is_read_the_same_way() -> None:
    check = parse_check("0/0: factor == 1.5    # y = x * factor  # w/model.py:10 in scale", {MODEL})

    assert (check.text, check.file, check.line) == ("0/0: factor == 1.5", MODEL, 10)


@pytest.mark.timeout(60)  # it would take days, were it quadratic
def test_long_lines_take_no_longer_than_their_length() -> None:
    for filling in ("# ", " #", "| +- A: ", " " * 3 + "# a.py:1 ", "#"):
        parse_guards("+- A: " + filling * 20_000)


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    parse_guards(text)
    parse_guards(f"+- GUARD: {text}")
