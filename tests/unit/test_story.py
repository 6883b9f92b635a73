"""What a compiler did, put together from its records."""

from __future__ import annotations

import pytest
from compile_log import MODEL, attempt, event, read_story, say
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import CompileId, Scope, Story, record_of, resumed
from pellucid.compiler import story as module


def test_functions_and_their_attempts() -> None:
    story = read_story()

    assert [(f.label, f.first_line, [a.id.name for a in f.attempts]) for f in story.functions] == [
        ("scale", 8, ["0/0", "0/0_1", "0/1", "0/1_1"]),
        ("scale (resumed at 11)", 11, ["1/0"]),
        ("train", 15, ["2/0"]),
        ("<lambda>", 29, ["3/0"]),
    ]
    assert {f.file for f in story.functions} == {MODEL}
    assert story.lost == {}


def test_how_attempts_ended() -> None:
    story = read_story()

    statuses = {a.id.name: a.status for _, a in story.attempts()}
    assert statuses == {
        "0/0": "restarted",
        "0/0_1": "ok",
        "0/1": "restarted",
        "0/1_1": "ok",
        "1/0": "ok",
        "2/0": "ok",
        "3/0": "failed",
    }
    assert attempt(story, "0/0_1").duration_ns == 9_279_413_000
    assert attempt(story, "3/0").failure["type"] == "BackendCompilerFailed"
    assert "not today" in attempt(story, "3/0").failure["reason"]


def test_a_graph_break_has_its_reason_and_place() -> None:
    (broken,) = attempt(read_story(), "0/0").breaks

    assert (broken.reason, broken.file, broken.line) == (
        "Failed to trace builtin operator",
        MODEL,
        11,
    )
    assert broken.explanation.startswith("Dynamo does not know how to trace builtin operator")


def test_why_it_was_compiled_again() -> None:
    (reason,) = attempt(read_story(), "0/1").recompiled
    assert reason.startswith("0/0: factor == 1.5")

    story = Story()
    say(story, "recompile_reasons", payload='["0/1: size", "0/0: dtype"]', artifact=True)
    assert attempt(story, "0/0").recompiled == ["0/1: size", "0/0: dtype"]


def test_graphs_by_direction_with_their_own_texts() -> None:
    story = read_story()

    assert set(attempt(story, "0/0_1").graphs) == {"inference"}
    graphs = attempt(story, "2/0").graphs
    assert set(graphs) == {"forward", "backward"}
    for graph in graphs.values():
        assert "def call(" in graph.code
        assert graph.origin.startswith("/cache/")
        assert graph.post_grad is not None
        assert [text.kind for text in graph.texts] == [
            "inductor_post_grad_graph",
            "inductor_output_code",
        ]
        assert graph.details["fx_graph_cache"]["state"] == "miss"
    assert "tanh" in (graphs["forward"].post_grad or "")
    assert graphs["backward"].details["compile_time_s"] > 0


def test_texts_of_the_whole_attempt() -> None:
    texts = {text.kind: text for text in attempt(read_story(), "2/0").texts}

    assert {"dynamo_output_graph", "aot_joint_graph", "dynamo_cpp_guards_str"} <= set(texts)
    assert texts["dynamo_output_graph"].language == "python"
    assert "GUARD" in texts["dynamo_cpp_guards_str"].text


def test_phases_add_up_over_their_calls() -> None:
    phases = attempt(read_story(), "2/0").phases

    assert phases["inductor_compile"].calls == 2  # forward and backward
    assert phases["dynamo"].ns > phases["backend_compile"].ns > 0


def test_phases_of_threads_do_not_mix() -> None:
    story = Story()
    event(story, "B", "lower", 100, thread=1)
    event(story, "B", "lower", 200, frame=1, thread=2)
    event(story, "E", "lower", 250, thread=1)
    event(story, "E", "lower", 900, frame=1, thread=2)

    assert attempt(story, "0/0").phases["lower"].ns == 150_000
    assert attempt(story, "1/0").phases["lower"].ns == 700_000


def test_an_end_closes_what_was_left_open_inside_and_one_without_begin_nothing() -> None:
    story = Story()
    event(story, "E", "before", 50)
    event(story, "B", "outer", 100)
    event(story, "B", "never ends", 110)
    event(story, "E", "outer", 150)

    assert {name: phase.ns for name, phase in attempt(story, "0/0").phases.items()} == {
        "outer": 50_000
    }


def test_numbers_given_anew_after_a_reset() -> None:
    story = Story()
    for name in ("first", "second", "second"):
        story.begin(CompileId(0, 0), name, "a.py", 3)
        say(story, "compilation_metrics", {"has_guarded_code": True})

    functions = [(function.name, len(function.attempts)) for function in story.functions]
    assert functions == [("first", 1), ("second", 2)]


def test_a_frame_without_code_was_skipped() -> None:
    story = Story()
    say(story, "compilation_metrics", {"has_guarded_code": False, "co_name": "f"})

    assert attempt(story, "0/0").status == "skipped"


def test_scopes_behind_a_graph_break_are_not_of_that_graph() -> None:
    story = read_story()

    assert story.breaks_before(CompileId(0, 0, 1), Scope("x", MODEL, 12))
    assert not story.breaks_before(CompileId(0, 0, 1), Scope("x", MODEL, 10))
    assert not story.breaks_before(CompileId(2, 0), Scope("x", MODEL, 12))


def test_texts_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TEXT", 10)
    story = Story()
    for text in ("12345", "123456", "12345"):
        say(story, "fx", payload=text, artifact=True)

    assert [text.text for text in attempt(story, "0/0").texts] == ["12345", "", "12345"]
    assert story.lost == {"artifact_left_out": 1}


def test_names_that_dynamo_makes() -> None:
    assert resumed("Net.torch_dynamo_resume_in_forward_at_19") == ("Net.forward", 19)
    assert resumed("torch_dynamo_resume_in_<lambda>_at_7") == ("<lambda>", 7)
    assert resumed("f.<locals>.g") == ("f.<locals>.g", None)


KINDS = [
    "dynamo_start",
    "dynamo_graph_break_reason",
    "recompile_reasons",
    "dynamo_cpp_guards_str",
    "dynamo_error",
    "compilation_metrics",
    "bwd_compilation_metrics",
    "inductor_output_code",
    "inductor_provenance_tracking_node_mappings",
    "fx_graph_cache_hit",
    "chromium_event",
    "str",
    "anything",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(KINDS), inner),
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), JSON, JSON, st.text())))
def test_no_record_is_an_error(records: list[tuple[str, object, object, str]]) -> None:
    story = Story()
    for kind, content, payload, text in records:
        for said in (payload, text):
            for metadata in ({kind: content}, {"artifact": {"name": kind, "encoding": content}}):
                story.add(record_of({**metadata, "frame_id": 0, "frame_compile_id": 0}, said))
    story.finish()
