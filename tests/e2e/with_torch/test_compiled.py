"""A compiled program: graphs, kernels and the lines they came from; the compiler apart."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pellucid.analysis import compile_summary, top
from pellucid.model import Node, Profile
from with_torch.recordings import line_of, lines, modules, origin, python, run, script

pytestmark = pytest.mark.slow

PROGRAM = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch._dynamo.utils import counters
    import pellucid

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up = nn.Linear(width, 2 * width)
            self.down = nn.Linear(2 * width, width)

        def forward(self, x):
            hidden = F.gelu(self.up(x))  # gelu
            return x + self.down(hidden).tanh()  # tanh

    class Net(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.blocks = nn.ModuleList(Block(width) for _ in range(2))
            self.head = nn.Linear(width, 4)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)  # block
            print(end="")  # break
            with torch.profiler.record_function("softly"):  # scope
                x = x.sin().mul(2)  # sin
            return self.head(x)  # head

    torch.manual_seed(0)
    net = Net()
    compiled = torch.compile(net)
    with pellucid.region("loop"):
        for _ in range(3):
            with pellucid.step():
                compiled(torch.randn(8, 16)).square().mean().backward()  # call
    inductor, aot = counters["inductor"], counters["aot_autograd"]
    print({name: count for name, count in sorted({**inductor, **aot}.items()) if "cache" in name})
    print(net.head.weight.grad.sum().item())
"""


class Runs(NamedTuple):
    """The program run without us and with us, with a cold and then a warm compiler's cache.

    ``moved`` is of another folder and has lines more, with the same warm cache.
    """

    file: str
    plain: list[str]
    recorded: list[str]
    cold: Profile
    warm: Profile
    moved: Profile


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("compiled")
    program = script(folder, PROGRAM)
    plain = [python(folder, str(program), env=environment(folder / "theirs")) for _ in range(2)]
    recorded, profiles = [], []
    for _ in range(2):
        ended, profile = run(folder, str(program), env=environment(folder / "ours"))
        recorded.append(ended)
        profiles.append(profile)
    elsewhere = tmp_path_factory.mktemp("moved")
    script(elsewhere, "\n\n" + PROGRAM.replace("    class Net", "\n\n    class Net"))
    moved, moved_profile = run(elsewhere, "x.py", env=environment(folder / "ours"))
    assert [ended.status for ended in [*plain, *recorded, moved]] == [0] * 5
    cold, warm = profiles
    outputs = [[ended.stdout for ended in ends] for ends in (plain, recorded)]
    yield Runs(str(program), outputs[0], outputs[1], cold, warm, moved_profile)


@pytest.fixture(params=["cold", "warm"])
def profile(runs: Runs, request: pytest.FixtureRequest) -> Profile:
    found: Profile = getattr(runs, request.param)
    return found


def kernel(profile: Profile, text: str, graph: str = "forward") -> Node:
    """The one kernel whose name has that text."""
    (node,) = [
        node
        for node in profile.nodes(kind="kernel")
        if text in node.frame.name and node.frame.attrs["graph"] == graph
    ]
    return node


def source_lines(node: Node) -> set[int]:
    links = [link for link in node.profile.links if link.node == node.id]
    return {link.source_line for link in links if link.source_line is not None}


def test_results_and_the_users_caches_are_the_same(runs: Runs) -> None:
    assert runs.recorded == runs.plain
    cold, warm = runs.plain
    assert "miss" in cold
    assert "hit" in warm
    assert "miss" not in warm.partition("\n")[0]


def test_each_fused_kernel_is_a_node_with_its_calls(profile: Profile) -> None:
    sine = kernel(profile, "sin")

    assert sine.frame.name.startswith("cpp_fused_")
    assert sine.stats["duration"].count == 3
    assert sine.total("time") > 0


def test_kernels_are_led_to_the_lines_they_came_from(profile: Profile, runs: Runs) -> None:
    sine = kernel(profile, "sin")

    assert source_lines(sine) == {line_of(runs.file, "sin")}
    assert lines(sine, runs.file)[-1] == line_of(runs.file, "sin")
    fused = [n for n in profile.nodes(kind="kernel") if "gelu" in n.frame.name]
    forward = [n for n in fused if n.frame.attrs["graph"] == "forward"]
    assert {line for node in forward for line in source_lines(node)} == {line_of(runs.file, "gelu")}


def test_modules_inside_a_graph_have_the_names_that_they_have_outside(profile: Profile) -> None:
    forward = [
        node
        for node in profile.nodes(kind="kernel")
        if "gelu" in node.frame.name and node.frame.attrs["graph"] == "forward"
    ]
    assert {tuple(modules(node)) for node in forward} == {
        ("Net", "blocks.0"),
        ("Net", "blocks.1"),
    }
    heads = profile.nodes(kind="module", name="head")
    assert {node.frame.attrs["root"] for node in heads} == {"Net"}


def test_a_library_kernel_stands_above_its_operator(profile: Profile) -> None:
    library = profile.nodes(kind="kernel", name="extern_kernels.addmm")

    assert library
    for node in library:
        (operator,) = node.children
        assert operator.frame.name == "aten::addmm"
        assert node.stats["duration"].count == operator.stats["duration"].count == 3
        assert source_lines(node)


def test_backward_kernels_lead_to_the_forward_graph_and_line(profile: Profile, runs: Runs) -> None:
    cosine = kernel(profile, "cos", "backward")

    target = origin(cosine)

    graphs = [frame.name for frame in target.path if frame.kind == "graph"]
    assert graphs[-1] == "Net.forward (resumed at 27) [1/0]"
    assert line_of(runs.file, "call") in lines(target, runs.file)
    assert line_of(runs.file, "sin") in source_lines(cosine)
    rows = {row.name: row for row in top(profile, "module", limit=None).rows}
    assert rows["blocks.0"].backward > 0
    assert rows["blocks.0"].forward > 0


def test_a_transformed_frame_shows_as_the_users_function(profile: Profile, runs: Runs) -> None:
    names = {node.frame.name for node in profile.nodes(kind="python", file=runs.file)}

    assert "Net.forward" in names
    assert not any("torch_dynamo_resume" in name for name in names)
    first = {n.frame.first_line for n in profile.nodes(kind="python", name="Net.forward")}
    assert len(first) == 1


def test_graphs_and_named_costs(profile: Profile) -> None:
    graphs = {node.frame.name: node for node in profile.nodes(kind="graph")}

    assert set(graphs) == {
        "Net.forward [0/0]",
        "Net.forward [0/0] backward",
        "Net.forward (resumed at 27) [1/0]",
        "Net.forward (resumed at 27) [1/0] backward",
    }
    assert graphs["Net.forward [0/0]"].stats["duration"].count == 3
    costs = {node.frame.attrs.get("cost") for node in profile.nodes(kind="operator")}
    assert {"guard evaluation", "AOT wrapper"} <= costs
    assert not profile.nodes(name="Torch-Compiled Region: 0/0")


def test_the_compiler_has_a_branch_of_its_own(profile: Profile) -> None:
    compiler = profile.nodes(kind="compile")
    tops = [node for node in compiler if node.parent and node.parent.frame.kind == "thread"]

    assert {node.frame.name for node in tops} == {"torch.compile"}
    assert len(compiler) < 500
    assert all(node.frame.kind == "compile" for top in tops for node in top.children)
    main = profile.nodes(kind="thread", name="MainThread")[0]
    assert 0 < sum(node.total("compile_time") for node in tops) <= main.profile.runs[0].wall_ns * 10
    assert main.total("time") == pytest.approx(profile.runs[0].wall_ns, rel=0.05)
    files = {node.frame.file for node in profile.nodes(kind="python")}
    assert not any("_dynamo/symbolic_convert" in (file or "") for file in files)


def test_regions_and_steps_around_compiled_code(profile: Profile) -> None:
    names = [frame.name for frame in kernel(profile, "sin").path if frame.kind == "region"]

    assert names == ["loop", "step"]
    assert len(profile.steps) == 3


def test_what_the_compiler_did_is_in_the_tables(profile: Profile, runs: Runs) -> None:
    summary = compile_summary(profile)

    assert summary is not None
    assert (summary.functions, dict(summary.attempts), summary.graphs) == (
        2,
        {"ok": 2, "restarted": 1},
        4,
    )
    assert summary.guards > 10
    events = {event.kind: event for event in summary.events}
    assert events["break"].line == line_of(runs.file, "break")
    assert events["break"].file == runs.file
    scope = events["scope left out"]
    assert (scope.what, scope.line) == ("softly", line_of(runs.file, "scope"))
    (start,) = [loss for loss in profile.losses if loss.kind == "scope_dropped"]
    assert start.count == 1
    phases = {entry.name for entry in profile.compiles if entry.kind == "phase"}
    assert {"bytecode_tracing", "backend_compile"} <= phases


def test_the_texts_are_kept(profile: Profile) -> None:
    kinds = {artifact.kind for artifact in profile.artifacts()}

    assert {
        "dynamo_output_graph",
        "inductor_post_grad_graph",
        "inductor_output_code",
        "dynamo_cpp_guards_str",
        "dynamo_graph_break_reason",
        "original_bytecode",
        "transformed_bytecode",
    } <= kinds
    code = profile.artifacts("inductor_output_code")
    assert len(code) == 4
    assert all("def call(" in artifact.text for artifact in code)
    transformed = profile.artifacts("transformed_bytecode")
    assert len(transformed) == 2
    assert all("__compiled_fn" in artifact.text for artifact in transformed)


def test_cold_and_warm_are_the_same(runs: Runs) -> None:
    def shape(profile: Profile) -> object:
        return {
            (node.frame.name, *map(str, sorted(source_lines(node))), *modules(node))
            for node in profile.nodes(kind="kernel")
        }

    assert shape(runs.cold) == shape(runs.warm)
    cold, warm = compile_summary(runs.cold), compile_summary(runs.warm)
    assert cold is not None
    assert warm is not None
    assert set(cold.caches["fx_graph_cache"]) == {"miss"}
    assert set(warm.caches["fx_graph_cache"]) == {"hit"}


def test_a_cached_graph_is_led_to_where_its_source_is_now(runs: Runs) -> None:
    def marks(profile: Profile) -> object:
        """Each kernel with the ends of its lines, which are comments."""
        return {
            (node.frame.name, node.frame.attrs["graph"], *sorted(ends(node)), *modules(node))
            for node in profile.nodes(kind="kernel")
        }

    def ends(node: Node) -> Iterator[str]:
        for link in node.profile.links:
            if link.node == node.id and link.file and link.source_line:
                text = Path(link.file).read_text().splitlines()
                yield text[link.source_line - 1].rpartition("# ")[2]

    summary = compile_summary(runs.moved)
    assert summary is not None
    assert set(summary.caches["fx_graph_cache"]) == {"hit"}
    assert marks(runs.moved) == marks(runs.warm)
    assert {loss.kind for loss in runs.moved.losses} == {"scope_dropped"}


def test_only_what_was_left_out_is_lost(profile: Profile) -> None:
    assert {loss.kind for loss in profile.losses} == {"scope_dropped"}


def test_the_command_line_shows_it(runs: Runs, tmp_path: Path) -> None:
    from pellucid.model import save

    save(runs.cold, tmp_path / "x.pellucid")
    rows = python(tmp_path, "-m", "pellucid", "top", "x.pellucid", "--by", "kernel", "--json")
    info = python(tmp_path, "-m", "pellucid", "info", "x.pellucid")
    tree = python(tmp_path, "-m", "pellucid", "tree", "x.pellucid", "--min-percent", "0")

    (sine,) = [
        row
        for row in json.loads(rows.stdout)["rows"]
        if "sin" in row["name"] and row["graph"].endswith("forward")
    ]
    assert sine["sources"] == [[runs.file, line_of(runs.file, "sin")]]
    assert "softly" in info.stdout
    assert "compiled" in info.stdout
    assert "Net.forward [0/0]" in tree.stdout
    assert "(guard evaluation)" in tree.stdout
    assert "Runner.call" not in tree.stdout
