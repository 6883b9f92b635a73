"""From a story to the tables of a profile."""

from __future__ import annotations

from collections import Counter

from compile_log import MODEL, attempt, read_story, say

from pellucid.analysis import compile_summary
from pellucid.compiler import Compiled, Story, add_entries
from pellucid.model import Profile, ProfileBuilder


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


def test_numbers_that_json_cannot_hold_are_words() -> None:
    story = Story()
    say(story, "compilation_metrics", {"guard_count": float("inf"), "cache_size": [float("nan")]})

    profile, _ = tables(story)

    assert profile.compiles[1].details == {"guard_count": "Infinity", "cache_size": ["NaN"]}
