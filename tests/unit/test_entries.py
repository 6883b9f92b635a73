"""From a story to the tables of a profile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from compile_log import MODEL, OLDER_CACHES, OLDER_FAILED, attempt, event, read_story, say
from hypothesis import given
from test_story import RECORDS

from pellucid.analysis import compile_summary
from pellucid.compiler import Compiled, Record, SourceNode, Story, add_entries
from pellucid.model import CompileEntry, Profile, ProfileBuilder, load, save


def tables(story: Story) -> tuple[Profile, Compiled]:
    builder = ProfileBuilder()
    run = builder.run()
    compiled = add_entries(story, builder, run)
    return builder.finish(), compiled


def test_entries_form_a_tree() -> None:
    profile, _ = tables(read_story())
    kinds = Counter(str(entry.kind) for entry in profile.compiles)

    assert (kinds["function"], kinds["attempt"], kinds["failure"]) == (4, 7, 1)
    assert kinds["graph"] == 6  # one of them captured, for the backend that refused
    assert kinds["break"] == kinds["recompile"] * 2 == 2
    above = {"attempt": "function", "graph": "attempt", "kernel": "graph", "guard": "attempt"}
    for entry in profile.compiles:
        if str(entry.kind) in above:
            assert entry.parent is not None
            assert profile.compiles[entry.parent].kind == above[entry.kind]


def of_kind(profile: Profile, kind: str) -> list[CompileEntry]:
    return [entry for entry in profile.compiles if entry.kind == kind]


def test_breaks_and_failures_have_their_places() -> None:
    profile, _ = tables(read_story())

    assert {(broken.file, broken.line) for broken in of_kind(profile, "break")} == {(MODEL, 11)}
    assert all("explanation" in broken.details for broken in of_kind(profile, "break"))
    (failure,) = of_kind(profile, "failure")
    assert (failure.name, failure.parent is not None) == ("BackendCompilerFailed", True)
    assert "not today" in failure.details["reason"]


def test_guards_have_their_lines_and_code() -> None:
    profile, _ = tables(read_story())
    guards = [guard for guard in of_kind(profile, "guard") if guard.status == "TENSOR_MATCH"]

    lines = {(guard.file, guard.line, guard.details.get("code")) for guard in guards}
    assert (MODEL, 17, "return torch.tanh(x @ w)") in lines


def test_phases_have_their_time_and_calls() -> None:
    story = Story()
    event(story, "B", "dynamo", 100)
    event(story, "E", "dynamo", 101.5)
    for name in ("first", "second"):
        event(story, "B", "lower", 0)
        event(story, "E", "lower", 2**63 if name == "second" else 1)
    profile, _ = tables(story)

    phases = [(phase.name, phase.duration_ns, phase.details) for phase in of_kind(profile, "phase")]
    assert phases == [("dynamo", 1_500, {"calls": 1}), ("lower", 1_000, {"calls": 1})]
    assert story.lost == {"trace_record_unreadable": 1}


@pytest.mark.parametrize(
    ("log", "graphs"), [(OLDER_CACHES, ["miss", "hit", "miss"]), (OLDER_FAILED, [""])]
)
def test_an_older_log_becomes_entries_too(log: Path, graphs: list[str]) -> None:
    profile, _ = tables(read_story(log))

    assert [graph.status for graph in of_kind(profile, "graph")] == graphs


def test_kernels_from_a_log_have_their_lines() -> None:
    story = read_story()
    _, compiled = tables(story)
    graphs = attempt(story, "2/0").graphs

    for direction in ("forward", "backward"):
        graph = graphs[direction]
        number = next(
            n
            for n, line in enumerate(graph.code.splitlines(), 1)
            if line.strip().startswith("cpp_fused_tanh") and "= async" not in line
        )
        site = compiled.site(graph.origin, number)
        assert site is not None
        assert site.call is not None
        assert site.call.kernel.startswith("cpp_fused_tanh")
        assert site.lines == [(MODEL, 17)]
        assert site.graph.direction == direction


def test_lines_without_a_call_belong_to_the_graph_and_other_files_to_nothing() -> None:
    story = read_story()
    _, compiled = tables(story)
    origin = attempt(story, "1/0").graphs["inference"].origin

    site = compiled.site(origin, 1)

    assert site is not None
    assert (site.call, site.lines, site.function.label) == (None, [], "scale (resumed at 11)")
    assert compiled.site("/elsewhere.py", 1) is None
    assert compiled.function("2/0") == "train"
    assert compiled.function("9/9") is None
    assert compiled.first_line(MODEL, "scale") == 8
    assert origin in compiled.files


def test_only_the_lines_of_a_call_are_its_own() -> None:
    _, compiled = tables(read_story())

    calls = 0
    for file in compiled.files:
        sites = [compiled.site(file, line) for line in range(-1, 1_000)]
        for site in sites:
            assert site is not None
        found = {site.call for site in sites if site and site.call}
        for call in found:
            mine = [i - 1 for i, site in enumerate(sites) if site and site.call == call]
            assert mine == list(range(call.line, call.end_line + 1))
        calls += len(found)
    assert calls >= 5


def test_why_and_where_it_was_compiled_again() -> None:
    profile, _ = tables(read_story())
    (again,) = [entry for entry in profile.compiles if entry.kind == "recompile"]

    assert (again.name, again.file, again.line) == ("0/0: factor == 1.5", MODEL, 10)
    assert again.details == {"code": "y = x.sin() * factor"}


def test_texts_belong_to_their_entries() -> None:
    profile, _ = tables(read_story())

    code = profile.artifacts("inductor_output_code")
    assert len(code) == 5
    for artifact in code:
        assert artifact.compile is not None
        assert profile.compiles[artifact.compile].kind == "graph"
        assert artifact.language == "python"
        assert artifact.origin.startswith("/cache/")
    assert code[-1].name == "train [2/0] backward"
    for text in profile.artifacts():
        assert text.compile is not None
        above = str(profile.compiles[text.compile].kind)
        of_graph = text.kind in ("inductor_output_code", "inductor_post_grad_graph")
        assert above == ("graph" if of_graph else "attempt")


def test_the_summary() -> None:
    profile, _ = tables(read_story())
    summary = compile_summary(profile)

    assert summary is not None
    assert dict(summary.attempts) == {"restarted": 2, "ok": 4, "failed": 1}
    assert dict(summary.caches["fx_graph_cache"]) == {"miss": 5}
    assert [event.kind for event in summary.events].count("break") == 2
    assert "not today" in next(e.what for e in summary.events if e.kind == "failure")
    assert compile_summary(ProfileBuilder().finish()) is None


def test_guards_beyond_the_limit_are_counted() -> None:
    story = Story()
    guards = "\n".join(f"+- GUARD: {number} == x" for number in range(1_200))
    say(story, "dynamo_cpp_guards_str", payload=guards)

    profile, _ = tables(story)

    assert sum(entry.kind == "guard" for entry in profile.compiles) == 1_000
    assert story.lost == {"guard_left_out": 200}


@pytest.mark.parametrize("line", [2**31, 2**70, -1, 1.5, float("inf"), "7", None, [7], True])
def test_lines_that_are_none(line: object) -> None:
    story = Story(lambda number: f"{number}.py")
    place = {"co_filename": "a.py", "co_name": "f", "co_firstlineno": line}
    say(story, "dynamo_start", {"stack": [{"name": "g", "filename": 1, "line": line}]}, frame=1)
    say(story, "compilation_metrics", {**place, "fail_type": "E", "fail_user_frame_lineno": line})

    profile, _ = tables(story)

    assert {(entry.name, entry.line) for entry in profile.compiles if entry.kind != "attempt"} == {
        ("f", None),
        ("E", None),
        ("g", None),
    }


def test_details_as_deep_as_one_likes() -> None:
    deep: object = 1
    for _ in range(30):
        deep = [deep]
    story = Story()
    say(story, "compilation_metrics", {"guard_count": deep, "restart_reasons": [{"a": deep}]})

    profile, _ = tables(story)

    assert set(profile.compiles[1].details) == {"guard_count", "restart_reasons"}


@given(RECORDS)
def test_whatever_was_said_can_be_saved(records: list[Record | None]) -> None:
    story = Story(lambda number: f"{number}.py")
    for record in records:
        story.add(record)
    story.finish()
    profile, _ = tables(story)
    with TemporaryDirectory() as folder:
        save(profile, Path(folder) / "x")
        assert load(Path(folder) / "x").compiles == profile.compiles


def test_numbers_that_json_cannot_hold_are_words() -> None:
    story = Story()
    say(story, "compilation_metrics", {"guard_count": float("inf"), "cache_size": [float("nan")]})

    profile, _ = tables(story)

    assert profile.compiles[1].details == {"guard_count": "Infinity", "cache_size": ["NaN"]}


def moved_to(function: str, code: str) -> tuple[Story, Profile, Compiled]:
    """The training function's cached graphs, its source being in another place now."""
    story = read_story()
    attempt(story, "2/0").sources = [
        SourceNode("matmul", "/elsewhere.py", 27, function, code),
        SourceNode("tanh", "/elsewhere.py", 27, function, code),
    ]
    return story, *tables(story)


def training_lines(story: Story, compiled: Compiled) -> set[tuple[str, int]]:
    found = set()
    for graph in attempt(story, "2/0").graphs.values():
        for line in range(graph.code.count("\n")):
            if graph.origin and (site := compiled.site(graph.origin, line)) is not None:
                found.update(site.lines)
    return found


def test_a_cached_graph_whose_source_has_moved_is_led_to_where_it_is_now() -> None:
    story, _, compiled = moved_to("train", "return torch.tanh(x @ w)")

    assert "graph_stale" not in story.lost
    assert training_lines(story, compiled) == {("/elsewhere.py", 27)}


def test_a_line_that_was_edited_is_known_if_its_function_has_no_other() -> None:
    story, _, compiled = moved_to("train", "return torch.tanh(x @ w)  # new")

    assert "graph_stale" not in story.lost
    assert training_lines(story, compiled) == {("/elsewhere.py", 27)}


def test_lines_of_a_cached_graph_that_are_nowhere_now_are_not_believed() -> None:
    story, profile, compiled = moved_to("renamed", "return torch.tanh(x @ w)  # new")

    assert story.lost["graph_stale"] == 2
    assert training_lines(story, compiled) == set()
    fused = [e for e in profile.compiles if e.kind == "kernel" and e.name.startswith("cpp_fused_t")]
    assert all(entry.details["nodes"] for entry in fused)
