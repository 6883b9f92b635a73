"""Graphs as torch prints them: real ones, odd ones, broken ones."""

import textwrap
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import FxGraph, parse_graph

DATA = Path(__file__).with_name("data") / "compiled"


def parsed(body: str, inputs: str = 'a: "f32[2][1]cpu", b: "Sym(s7)"') -> FxGraph:
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "        ")
    return parse_graph(f"class <lambda>(Module):\n    def forward(self, {inputs}):\n{lines}\n")


def test_what_dynamo_captured() -> None:
    graph = parse_graph((DATA / "mlp_dynamo.txt").read_text())
    names = ["linear", "x", "linear_1", "x_1", "linear_2", "x_2", "linear_3"]
    assert [node.name for node in graph.nodes] == names
    assert "l_x_" in graph.inputs and "L_x_" not in graph.inputs
    assert graph.outputs == ["linear_3"]
    first = graph.nodes[0]
    assert first.target == "torch._C._nn.linear"
    assert first.inputs[0] == "l_x_"
    assert (first.file, first.line, first.function) == ("/app/model.py", 46, "forward")
    assert first.code == "x=torch.relu(l(x))"
    assert first.value == "f32[8, 16][16, 1]cpu"
    assert graph.nodes[-1].line == 47


def test_a_backward_graph() -> None:
    graph = parse_graph((DATA / "mlp_backward_graph.txt").read_text())
    assert graph.inputs[-1] == "tangents_1"
    assert graph.outputs.count("") == 1  # the input needs no gradient
    assert len(graph.outputs) == 9
    by_name = {node.name: node for node in graph.nodes}
    assert by_name["where"].inputs == ("le", "full_default", "mm")
    assert by_name["where"].target == "torch.ops.aten.where.self"


def test_items_methods_and_signs() -> None:
    graph = parsed(
        """
        split = torch.ops.aten.split.Tensor(a, b, 2)
        second: "f32[1][1]cpu" = split[1];  split = None
        moved = second.transpose(1, 2)
        product = moved * 2
        both = moved + product
        less = 0 < both
        part = self.part_0
        """
    )
    assert [n.target for n in graph.nodes[1:]] == ["[1]", "transpose", "*", "+", "<", "self.part_0"]
    assert [n.inputs for n in graph.nodes[1:4]] == [("split",), ("second",), ("moved",)]
    assert graph.nodes[4].inputs == ("moved", "product")


def test_keywords_and_texts_are_no_inputs() -> None:
    graph = parsed("x = torch.ops.aten.f.default(a, 'b a', b = \"a\", other = b);  a = b = None")
    assert graph.nodes[0].inputs == ("a", "b")


def test_places_hold_until_the_next_one() -> None:
    graph = parsed(
        """
        # File: /a b/x.py:3 in f, code: return g(x), code: 1
        c = torch.relu(a)
        d = torch.relu(c)

        # No stacktrace found for following nodes
        e = torch.relu(d)

        # Annotation: {'k': 1} File: <eval>:12 in <lambda>, code:
        f = torch.relu(e)
        """
    )
    first, second, third, fourth = graph.nodes
    assert first[3:7] == second[3:7] == ("/a b/x.py", 3, "f", "return g(x), code: 1")
    assert third[3:7] == (None, None, None, None)
    assert fourth[3:7] == ("<eval>", 12, "<lambda>", "")


def test_graphs_within_graphs() -> None:
    graph = parse_graph(
        textwrap.dedent(
            """\
            class <lambda>(torch.nn.Module):
                def forward(self, x: "f32[]cpu"):
                    yes = self.yes
                    cond = torch.ops.higher_order.cond(x, yes, yes, (x,))
                    return (cond,)

                class yes(torch.nn.Module):
                    def forward(self, x: "f32[]cpu"):
                        sin: "f32[]cpu" = torch.ops.aten.sin.default(x);  x = None
                        return (sin,)
            """
        )
    )
    assert [node.name for node in graph.nodes] == ["yes", "cond"]
    assert graph.nodes[1].inputs == ("x", "yes", "yes", "x")
    assert [node.name for node in graph.subgraphs["yes"].nodes] == ["sin"]
    assert [node.name for node in graph.operations()] == ["sin", "cond"]


def test_a_graph_that_is_within_itself() -> None:
    graph = parse_graph("class g(x):\n a = self.b\n c = a(a)\nclass b(x):\n a = self.b\n d = a(a)")
    assert [node.name for node in graph.operations()] == ["d", "c"]


def test_signatures_and_returns_over_several_lines() -> None:
    graph = parse_graph(
        textwrap.dedent(
            """\
            class inner_f(torch.nn.Module):
                def forward(
                    self,
                    primals,
                    tangents,
                ):
                    primals_1: "f32[2]cpu"  # PlainAOTInput(idx=0)
                    tangents_1: "f32[2]cpu"  # TangentAOTInput(output=0)
                    primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], x)
                    mul: "f32[2]cpu" = torch.ops.aten.mul.Tensor(primals_1, tangents_1)
                    return pytree.tree_unflatten([
                        mul,  # PlainAOTOutput(idx=0)
                        None,  # None
                        primals_1,  # x
                    ], self._out_spec)
            """
        )
    )
    assert graph.inputs == ["primals_1", "tangents_1"]
    assert graph.outputs[:3] == ["mul", "", "primals_1"]
    assert graph.nodes[0].inputs == ("primals_1", "tangents_1")


def test_a_text_that_ends_early() -> None:
    text = (DATA / "mlp_forward_graph.txt").read_text()
    whole = parse_graph(text).nodes
    for end in range(len(text)):
        nodes = parse_graph(text[:end]).nodes
        assert [n.name for n in nodes] == [n.name for n in whole[: len(nodes)]]


@given(st.text(alphabet="ab =:;()[]{}'\"#,.\n \\1"), st.booleans())
def test_any_text(text: str, as_body: bool) -> None:
    graph = parsed(text) if as_body else parse_graph(text)
    known = {*graph.inputs, *(node.name for node in graph.nodes)}
    assert all(name in known for node in graph.nodes for name in node.inputs)
