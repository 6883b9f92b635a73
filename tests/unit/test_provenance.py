"""Kernel calls and what they came from, for real texts and for made ones."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import KernelCall, SourceNode, kernel_calls, parse_graph, source_nodes

DATA = Path(__file__).with_name("data") / "compiled"


def text(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def captured(name: str) -> list[SourceNode]:
    return source_nodes(parse_graph(text(name)))


MLP = captured("mlp_dynamo")


def nodes(calls: list[KernelCall]) -> list[list[str]]:
    return [[origin.node for origin in call.origins] for call in calls]


def test_a_forward_graph() -> None:
    code = text("mlp_forward_code")
    calls = kernel_calls(code, text("mlp_forward_graph"), MLP)
    relus = [["relu"], ["relu_1"], ["relu_2"]]
    assert nodes(calls)[1::2] == relus
    assert nodes(calls)[0::2] == [["addmm"], ["addmm_1"], ["addmm_2"], ["addmm_3"]]
    for call in calls:
        assert call.line == call.end_line
        assert code.split("\n")[call.line - 1].strip().startswith(f"{call.kernel}(")
    last = calls[-1].origins[0]
    assert (last.file, last.line, last.function) == ("/app/model.py", 47, "forward")
    assert last.code == "return s.head(x)"


def test_dynamo_nodes_of_a_loop() -> None:
    """All layers have the same line: comments tell the linear ones apart, the others are near."""
    calls = kernel_calls(text("mlp_forward_code"), text("mlp_forward_graph"), MLP)
    sources = [call.origins[0].sources for call in calls]
    assert sources[0::2] == [(0,), (2,), (4,), (6,)]
    assert sources[1::2] == [(0, 1, 2), (2, 3, 4), (4, 5)]


def test_a_backward_graph() -> None:
    calls = kernel_calls(
        text("mlp_backward_code"),
        text("mlp_backward_graph"),
        MLP,
        backward=True,
        forward_graph=text("mlp_forward_graph"),
    )
    fused = [names for call, names in zip(calls, nodes(calls), strict=True) if call.kind == "fused"]
    assert fused == [
        ["sum_1", "le", "full_default", "where"],
        ["full_default", "sum_2", "le_1", "where_1"],
        ["full_default", "sum_3", "le_2", "where_2"],
        ["sum_4"],
    ]
    products = [n for call, n in zip(calls, nodes(calls), strict=True) if call.kind == "extern"]
    assert products == [[n] for n in ("mm", "mm_1", "mm_2", "mm_3", "mm_4", "mm_5", "mm_6")]
    by_node = {origin.node: origin.sources for call in calls for origin in call.origins}
    assert by_node["mm"] == by_node["mm_1"] == by_node["sum_1"] == (6,)
    assert {4, 5} <= set(by_node["where"])
    assert 6 not in by_node["where"]


def test_triton() -> None:
    sources = captured("triton_dynamo")
    calls = kernel_calls(text("triton_code"), text("triton_graph"), sources)
    assert [call.kind for call in calls] == ["fallback", "triton", "triton", "fallback"]
    assert nodes(calls)[0] == ["inductor_seeds_default"]
    assert {"gt", "erf", "mul_4"} <= set(nodes(calls)[2])
    by_node = {origin.node: origin.sources for call in calls for origin in call.origins}
    assert by_node["erf"] == (0,)
    assert by_node["gt"] == (1,)
    assert by_node["baz"] == (2,)


def test_without_a_graph_comments_remain() -> None:
    calls = kernel_calls(text("mlp_forward_code"), None, MLP)
    assert [[o.sources for o in call.origins] for call in calls] == [
        [(0,)], [], [(2,)], [], [(4,)], [], [(6,)]
    ]  # fmt: skip
    assert calls[0].origins[0].line == 46
    assert calls[0].origins[0].node == ""


def test_without_dynamo_nodes_lines_remain() -> None:
    calls = kernel_calls(text("mlp_forward_code"), text("mlp_forward_graph"), [])
    assert all(o.line in (46, 47) and o.sources == () for c in calls for o in c.origins)
    assert all(call.origins for call in calls)


def test_what_torch_recorded_comes_first() -> None:
    recorded = {"cppCodeToPost": {"cpp_fused_relu_0:2": ["relu_2", "no_such_node", 7]}}
    line = "cpp_fused_relu_0(buf1)"
    code = text("mlp_forward_code").replace(
        f"        {line}",
        f"        # [Provenance debug handles] cpp_fused_relu_0:2\n        {line}",
    )
    calls = kernel_calls(code, text("mlp_forward_graph"), MLP, mappings=recorded)
    assert nodes(calls)[1] == ["relu_2"]
    assert nodes(calls)[3] == ["relu_1"]


def test_old_records_do_not_number_the_calls() -> None:
    recorded = {
        "cppCodeToPost": {"cpp_fused_relu_0": ["relu", "relu_1"], "cpp_fused_sum_2": ["le"]}
    }
    calls = kernel_calls(text("mlp_forward_code"), text("mlp_forward_graph"), [], mappings=recorded)
    assert nodes(calls)[1] == ["relu"]  # there are three calls, that record does not tell which
    calls = kernel_calls(
        text("mlp_backward_code"), text("mlp_backward_graph"), [], mappings=recorded
    )
    assert nodes(calls)[-1] == ["le"]


@pytest.mark.parametrize("mappings", [{}, {"cppCodeToPost": 3}, {"cppCodeToPost": {"x": None}}])
def test_records_of_another_kind(mappings: dict[str, object]) -> None:
    calls = kernel_calls(text("mlp_forward_code"), text("mlp_forward_graph"), [], mappings=mappings)
    assert nodes(calls)[1] == ["relu"]


UNARY = """
step = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    auto tmp0 = in_ptr0[0];
    out_ptr0[0] = tmp0;
}
''')
"""


def chain(operations: list[str], steps: int) -> list[list[str]]:
    """The nodes of kernels that together compute some operations one after the other."""
    graph = ["class g(torch.nn.Module):", '    def forward(self, x: "f32[2][1]cpu"):']
    value = "x"
    for i, operation in enumerate(operations):
        graph.append(f'        n{i}: "f32[2][1]cpu" = torch.ops.aten.{operation}.default({value})')
        value = f"n{i}"
    graph.append(f"        return ({value},)")
    body = ["x, = args", "buf0 = x"]
    for i in range(steps):
        body += [f"buf{i + 1} = empty_strided_cpu((2, ))", f"step(buf{i}, buf{i + 1})"]
    body.append(f"return (buf{steps}, )")
    code = f"{UNARY}\ndef call(args):\n" + textwrap.indent("\n".join(body), "    ")
    return nodes(kernel_calls(code, "\n".join(graph), []))


def test_one_kernel_has_all() -> None:
    assert chain(["sin", "cos", "exp"], 1) == [["n0", "n1", "n2"]]


def test_what_cannot_be_told_is_not_guessed() -> None:
    """Either of two kernels may have computed what lies between."""
    for count in range(2, 6):
        first, second = chain(["sin"] * count, 2)
        assert first == ["n0"]
        assert second in ([], [f"n{count - 1}"])
    assert not any(len(names) > 1 for names in chain(["sin"] * 6, 3))


def test_code_of_another_graph() -> None:
    calls = kernel_calls(text("mlp_backward_code"), text("mlp_forward_graph"), MLP)
    assert len(calls) == 11
    assert sum(len(call.origins) for call in calls) <= 4  # coincidences at most


def damaged(whole: str, chance: random.Random) -> str:
    lines = whole.split("\n")
    for _ in range(chance.choice((0, 1, 5))):
        i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines[i] = ""
            case 1:
                lines[i], lines[j] = lines[j], lines[i]
            case 2:
                lines.insert(i, lines[j])
            case _:
                at = chance.randrange(len(lines[i]) + 1)
                lines[i] = lines[i][:at] + chance.choice("()[]{},'\"\\#=x0") + lines[i][at + 1 :]
    return "\n".join(lines)[: chance.choice((None, None, None, chance.randrange(len(whole))))]


def test_damaged_texts() -> None:
    chance = random.Random(0)
    found = 0
    for _ in range(300):
        kind = chance.choice(("mlp_forward", "mlp_backward", "triton"))
        calls = kernel_calls(
            damaged(text(f"{kind}_code"), chance),
            damaged(text(f"{kind}_graph"), chance),
            MLP,
            backward=chance.random() < 0.5,
            forward_graph=damaged(text("mlp_forward_graph"), chance),
        )
        found += bool(calls)
        sources = [i for call in calls for o in call.origins for i in o.sources]
        assert all(0 <= i < len(MLP) for i in sources)
    assert found > 100


@given(st.text(max_size=200), st.text(max_size=200), st.booleans())
def test_any_texts(code: str, graph: str, backward: bool) -> None:
    kernel_calls(code, graph, MLP, backward=backward, forward_graph=graph)
    kernel_calls(f"def call(args):\n    {code}", f"class g(x):\n    {graph}", MLP)


def test_a_large_graph_takes_no_long_time() -> None:
    """Twenty thousand operations one after the other; squared it would take hours."""
    count = 20_000
    graph = ["class g(torch.nn.Module):", '    def forward(self, x: "f32[]cpu", w: "f32[]cpu"):']
    body = ["    x, w = args", "    b = x"]
    value = "x"
    for i in range(count):
        graph.append("        # File: m.py:1 in f, code: x")
        graph.append(f'        n{i}: "f32[]cpu" = torch.ops.aten.mm.default({value}, w)')
        body.append("    b = torch.ops.aten.mm.default(b, w)")
        value = f"n{i}"
    sources = [SourceNode(f"s{i}", "m.py", 1, "f") for i in range(count)]
    code = "def call(args):\n" + "\n".join(body)
    calls = kernel_calls(code, "\n".join(graph), sources)
    assert nodes(calls) == [[f"n{i}"] for i in range(count)]
    assert calls[0].origins[0].sources == ()  # so many are as good as unknown
