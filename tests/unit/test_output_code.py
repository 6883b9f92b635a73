"""Generated code: its calls, and which values they read and write."""

from __future__ import annotations

import textwrap
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler.generated_module import _is_deep
from pellucid.compiler.kernels import cpp_kernel, triton_kernel
from pellucid.compiler.output_code import Flow, read_output_code

DATA = Path(__file__).with_name("data") / "compiled"

COPY = """
copy = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    auto tmp0 = in_ptr0[0];
    out_ptr0[0] = tmp0;
}
''')
grow = async_compile.cpp_pybinding(['float*'], r'''
extern "C"  void  kernel(float* in_out_ptr0)
{
    auto tmp0 = in_out_ptr0[0];
    in_out_ptr0[0] = tmp0;
}
''')
"""


def flow_of(body: str, more: str = "") -> Flow:
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    _, flows = read_output_code(f"{COPY}\n{textwrap.dedent(more)}\ndef call(args):\n{lines}\n")
    return next(flow for flow in flows if not flow.graph)


def writers(flow: Flow, value: int) -> list[int]:
    return [i for i, call in enumerate(flow.calls) if value in call.needs]


def test_the_calls_of_a_real_module() -> None:
    _, (flow,) = read_output_code((DATA / "mlp_forward_code.txt").read_text())
    kinds = [(call.kernel, call.kind) for call in flow.calls]
    assert kinds[:2] == [("extern_kernels.addmm", "extern"), ("cpp_fused_relu_0", "fused")]
    assert [call.remarks.sources for call in flow.calls[::2]] == [
        ("linear",),
        ("linear_1",),
        ("linear_2",),
        ("linear_3",),
    ]
    assert all(not call.remarks.sources for call in flow.calls[1::2])
    for before, after in zip(flow.calls, flow.calls[1:], strict=False):
        assert set(before.needs) & set(after.reads)  # each reads what the last one wrote
    assert flow.returned[0] is not None and writers(flow, flow.returned[0]) == [6]
    assert flow.renewed == {}


def test_memory_that_is_taken_over() -> None:
    flow = flow_of(
        """
        x, = args
        buf0 = empty_strided_cpu((2, ), (1, ), torch.float32)
        buf1 = buf0; del buf0  # reuse
        grow(buf1)
        buf2 = buf1; del buf1  # reuse
        grow(buf2)
        buf3 = x; del x  # reuse
        grow(buf3)
        return (buf2, buf3, )
        """
    )
    first, second, third = flow.calls
    assert first.reads == []  # nothing was in it
    assert second.reads == list(first.needs)
    assert flow.values[third.reads[0]].placeholder == "x"
    assert flow.returned == [*second.needs, *third.needs]
    assert flow.renewed == {}  # the input is gone, what is in its memory is something else


def test_an_input_that_is_changed() -> None:
    flow = flow_of(
        """
        x, = args
        grow(x)
        return ()
        """
    )
    assert flow.renewed == {"x": next(iter(flow.calls[0].needs))}


def test_parts_of_memory() -> None:
    flow = flow_of(
        """
        x, y = args
        buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
        buf1 = reinterpret_tensor(buf0, (2, ), (1, ), 0)  # alias
        buf2 = reinterpret_tensor(buf0, (2, ), (1, ), 2)  # alias
        copy(x, buf1)
        copy(y, buf2)
        extern_kernels.mm(buf0, x, out=x)
        """
    )
    first, second, product = flow.calls
    (whole,) = second.needs
    assert product.reads[0] == whole
    assert flow.values[whole].before == tuple(first.needs)


def test_results_that_consist_of_several() -> None:
    flow = flow_of(
        """
        x, = args
        buf0 = torch.ops.aten.sort.stable(x, stable=False, dim=0, descending=False)
        buf1 = buf0[0]
        buf2 = buf0[1]
        copy(buf1, buf2)
        """
    )
    sort, copy = flow.calls
    (result,) = sort.needs
    assert sort.kind == "fallback"
    assert flow.values[result].items == {0: copy.reads[0], 1: flow.values[result].items[1]}


def test_partitions_are_followed() -> None:
    flow = flow_of(
        """
        x, = args
        partition0_args = [x]
        (buf0, buf1) = self.partitions[0](partition0_args)
        copy(buf1, buf0)
        return (buf0, )
        """,
        """
        def partition_0(args):
            x, = args
            args.clear()
            buf0 = empty_strided_cpu((2, ), (1, ), torch.float32)
            copy(x, buf0)
            buf1 = empty_strided_cpu((2, ), (1, ), torch.float32)
            copy(buf0, buf1)
            return (buf0, buf1, )
        """,
    )
    inner, middle, outer = flow.calls
    assert flow.values[inner.reads[0]].placeholder == "x"
    assert middle.reads == list(inner.needs)
    assert outer.reads == list(middle.needs)


def test_code_of_other_graphs() -> None:
    _, flows = read_output_code(
        COPY
        + textwrap.dedent(
            """
            def true_graph_0(args):
                true_graph_0_x, = args
                grow(true_graph_0_x)
            def call(args):
                x, = args
                with torch.cuda._DeviceGuard(0):
                    if x.item():
                        true_graph_0_args = [x]
                        buf0 = true_graph_0(true_graph_0_args)
                    else:
                        grow(x)
            """
        )
    )
    inner, outer = flows
    assert inner.graph == "true_graph_0"
    assert inner.values[inner.calls[0].reads[0]].placeholder == "x"
    assert [call.kind for call in outer.calls] == ["graph", "fused"]


def test_which_result_needs_what() -> None:
    kernel = cpp_kernel(
        """
        extern "C"  void  kernel(float* in_out_ptr0, const float* in_ptr0, const int64_t* in_ptr1,
                               float* out_ptr0, float* out_ptr1, const int64_t ks0)
        {
            auto out_ptr2 = in_out_ptr0;
            {
                float tmp_acc0 = 0;
                for(int64_t x0=0; x0<16L; x0+=1L)
                {
                    auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
                    tmp_acc0 = tmp_acc0 + tmp0;
                }
                in_out_ptr0[static_cast<int64_t>(0L)] = tmp_acc0;
            }
            {
                auto tmp0 = in_ptr1[static_cast<int64_t>(0L)];
                auto tmp1 =
                [&]
                {
                    auto tmp2 = tmp0 + 1;
                    return tmp2;
                }
                ;
                tmp1.store(out_ptr0 + static_cast<int64_t>(0L), static_cast<int64_t>(16));
            }
            alignas(16) float tmp3[16*16];
            transpose_mxn<float,16,16,false>(out_ptr2 + 0L, 16L, tmp3, 16L);
            out_ptr1[static_cast<int64_t>(0L)] = tmp3[0];
        }
        """
    )
    assert kernel.parameters == ("rw", "r", "r", "w", "w", "")
    assert kernel.needs == {0: (1,), 3: (2,), 4: (1,)}


def test_triton_kernels() -> None:
    text = """
@triton_heuristics.pointwise(
    inductor_meta={'kernel_name': 'k', 'mutated_arg_names': ['in_out_ptr0', 'ours'], 'x': 1},
)
@triton.jit
def k(in_out_ptr0, in_ptr0, ours, out_ptr1, ks0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_out_ptr0 + (x0), xmask)
    tmp1 = tl.load(in_ptr0 + (x0), xmask)
    tmp2 = tmp0 + tmp1
    tl.store(in_out_ptr0 + (x0), tmp2, xmask)
    tl.store(out_ptr1 + (x0), tmp1, xmask)
"""
    kernel = triton_kernel(text)
    assert kernel.parameters == ("rw", "r", "rw", "w", "", "", "")
    assert kernel.needs == {0: (0, 1), 3: (1,)}


def test_what_is_no_python() -> None:
    for text in (
        "",
        "#include <torch/all.h>\nint main() {}",
        "def call(args):\n  (",
        "\0",
        "\ud800",
    ):
        assert read_output_code(text)[1] == []


def test_depth_and_length_do_no_harm() -> None:
    for right in ("x" + "[0]" * 20_000, "(" * 3000 + ")" * 3000, "x" + ".view()" * 2000):
        read_output_code(f"def call(args):\n    x, = args\n    y = {right}\n")
    text = "".join(f"auto tmp{i} =\n" for i in range(3000))
    cpp_kernel(f"kernel(float* out_ptr0) {{\n{text}}}")
    cpp_kernel("kernel(" * 100_000)
    triton_kernel("def k(\n" * 100_000)


def test_what_is_too_deep_for_python_3_10() -> None:
    for name in ("mlp_forward_code", "mlp_backward_code", "triton_code"):
        assert not _is_deep((DATA / f"{name}.txt").read_text())
    quoted = repr("[0]" * 5000)
    assert not _is_deep("f(" + "x, " * 5000 + ")\n" + "a[0]\n" * 5000 + quoted)
    for deep in ("x" + "[0]" * 3000, "x" + ".y" * 3000, "x" + "\\\n+ x" * 3000, "(" * 3000):
        assert _is_deep(deep)
    assert _is_deep("if x: y\n" + "elif x: y\n" * 3000)


LINES = st.sampled_from(
    [
        "x, y = args",
        "buf0 = empty_strided_cpu((2, ), (1, ), torch.float32)",
        "buf1 = buf0; del buf0  # reuse",
        "buf0 = reinterpret_tensor(x, (2, ), (1, ), 0)",
        "copy(x, buf0)",
        "copy(buf0, buf1)",
        "copy(*args)",
        "grow(buf0)",
        "grow()",
        "extern_kernels.mm(x, buf0, out=buf1)",
        "x = torch.ops.aten.sort.stable(x, [y, buf1])",
        "buf0 = x[0]",
        "(buf0, x) = self.partitions[0](args)",
        "buf1 = call(args)",
        "if x.item(): grow(x)",
        "return (buf0, x[1], None, )",
    ]
)


@given(st.lists(LINES, max_size=15))
def test_any_order_of_statements(lines: list[str]) -> None:
    flow = flow_of("\n".join(["pass", *lines]), "def partition_0(args):\n    return args")
    for i, call in enumerate(flow.calls):
        written = [v for earlier in flow.calls[:i] for v in earlier.needs]
        for value in call.reads:
            known = flow.values[value]
            is_item = any(value in v.items.values() for v in flow.values)
            assert known.placeholder or value in written or is_item
