"""What a compiler did, put together from its records."""

from __future__ import annotations

import pytest
from compile_log import (
    LOG,
    MODEL,
    OLDER_CACHES,
    OLDER_FAILED,
    attempt,
    event,
    read_story,
    say,
)
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler import CompileId, Record, Scope, Story, read_log, record_of, resumed
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


def test_a_refusal_by_an_older_torch() -> None:
    story = read_story(OLDER_FAILED)
    failed = attempt(story, "0/0")

    assert (story.functions[0].label, story.functions[0].file) == ("fn", "/w/test_misc.py")
    assert (failed.status, failed.failure["type"]) == ("failed", "BackendCompilerFailed")
    assert failed.captured is not None
    assert "dynamo_error" in [text.kind for text in failed.texts]
    assert failed.graphs == {}


def test_what_came_from_the_cache() -> None:
    story = read_story(OLDER_CACHES)

    assert [
        (function.name, graph.direction, graph.details["fx_graph_cache"]["state"])
        for function, _, graph in story.graphs()
    ] == [("fn", "inference", "miss"), ("fn", "inference", "hit"), ("fn2", "inference", "miss")]
    bypassed = [attempt.details["aotautograd_cache"] for _, attempt, _ in story.graphs()]
    assert {cache["state"] for cache in bypassed} == {"bypass"}
    assert all(cache["reason"].startswith("Unsupported call_function") for cache in bypassed)


def test_a_log_goes_on_after_a_reset() -> None:
    story = read_story(OLDER_CACHES)

    assert [(f.name, [(a.id.name, a.status) for a in f.attempts]) for f in story.functions] == [
        ("_flex_attention_hop_wrapper", [("0/0", "ok")] * 3),
        ("fn", [("1/0", "ok")] * 2),
        ("fn2", [("1/0", "ok")]),
    ]
    for _, each in story.attempts():
        assert each.phases["dynamo"].calls == 1


def test_a_log_twice_is_everything_twice() -> None:
    once, twice = read_story(), Story()
    for record in 2 * list(read_log(LOG.read_text().splitlines(keepends=True))):
        twice.add(record)
    twice.finish()

    assert [f.label for f in twice.functions] == [f.label for f in once.functions]
    for function, doubled in zip(once.functions, twice.functions, strict=True):
        names = [(a.id.name, a.status, len(a.breaks)) for a in function.attempts]
        assert [(a.id.name, a.status, len(a.breaks)) for a in doubled.attempts] == names * 2
    assert twice.lost == {}


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
    say(story, "recompile_reasons", payload='"one"', artifact=True)
    say(story, "recompile_reasons", payload="0/0: [not, JSON", artifact=True)
    assert attempt(story, "0/0").recompiled == ["0/1: size", "0/0: dtype", "one", "0/0: [not, JSON"]


def test_reasons_after_a_reset_are_not_those_of_before() -> None:
    story = Story()
    for _ in range(2):
        for number in (0, 1):
            if number:
                say(story, "recompile_reasons", payload="why", compile=1, artifact=True)
            story.begin(CompileId(0, number), "f", "a.py", 3)
            say(story, "compilation_metrics", {"has_guarded_code": True}, compile=number)

    (function,) = story.functions
    assert [(a.id.compile, a.recompiled) for a in function.attempts] == [(0, []), (1, ["why"])] * 2


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (
            "Graph break in user code at /a b/c.py:7\nReason: Unsupported: print",
            "Unsupported: print",
            7,
        ),
        ("Graph break in user code at x:y.py:7\nReason: while calling:\n\n  why\n", "why", 7),
        ("Graph break: something new", "Graph break: something new", None),
        ("Graph break in user code at c.py:" + "9" * 30, "Graph break", None),
        ("", "", None),
    ],
)
def test_breaks_in_other_words(text: str, reason: str, line: int | None) -> None:
    story = Story()
    say(story, "dynamo_graph_break_reason", payload=text, artifact=True)

    (broken,) = attempt(story, "0/0").breaks
    assert broken.reason.startswith(reason)
    assert broken.line == line


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


@pytest.mark.parametrize(
    ("line", "direction"),
    [
        ("# AOT ID: ['0_forward']", "forward"),
        ("# AOT ID: ['12_backward']", "backward"),
        ("# AOT ID: ['model__3_inference']", "inference"),
        ("# no line of that kind", "inference"),
    ],
)
def test_code_says_its_direction(line: str, direction: str) -> None:
    story = Story()
    say(story, "inductor_output_code", {"filename": "/cache/a.py"}, f"{line}\nimport torch\n")

    (graph,) = attempt(story, "0/0").graphs.values()
    assert (graph.direction, graph.origin) == (direction, "/cache/a.py")


def test_texts_go_to_the_graph_whose_code_comes_next() -> None:
    story = Story()
    for direction in ("forward", "backward"):
        say(story, "inductor_post_grad_graph", payload=f"graph of {direction}")
        say(story, "inductor_output_code", {}, f"# AOT ID: ['0_{direction}']")
    say(story, "inductor_post_grad_graph", payload="never generated")
    story.finish()

    graphs = attempt(story, "0/0").graphs
    assert {name: graph.post_grad for name, graph in graphs.items()} == {
        "forward": "graph of forward",
        "backward": "graph of backward",
    }
    assert [text.text for text in attempt(story, "0/0").texts] == ["never generated"]


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
    event(story, "E", "before", 120)
    event(story, "E", "outer", 150)

    assert {name: phase.ns for name, phase in attempt(story, "0/0").phases.items()} == {
        "outer": 50_000
    }


def test_phases_inside_their_own_kind_count_each() -> None:
    story = Story()
    for sign, at in (("B", 0), ("B", 10), ("E", 30), ("E", 100)):
        event(story, sign, "lower", at)

    phase = attempt(story, "0/0").phases["lower"]
    assert (phase.calls, phase.ns) == (2, 120_000)


@pytest.mark.parametrize("time", ["NaN", "Infinity", "1e999", "1e300", "1" + "0" * 400, '"1"'])
def test_a_time_that_is_none_is_counted(time: str) -> None:
    story = Story()
    event(story, "B", "lower", 0)
    say(story, "chromium_event", {}, f'{{"name": "lower", "ph": "E", "ts": {time}}}')

    assert [each.phases for _, each in story.attempts()] in ([], [{}])
    assert story.lost == {"trace_record_unreadable": 1}


def test_phases_without_end_are_not_kept_for_ever() -> None:
    story = Story()
    for _ in range(100_000):
        event(story, "B", "lower", 0)

    assert story.lost["trace_record_unreadable"] > 99_000


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


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300, 2**70, -1, "1", None, [1]])
def test_a_duration_that_is_none_is_left_out(seconds: object) -> None:
    story = Story()
    say(story, "compilation_metrics", {"entire_frame_compile_time_s": seconds})

    assert (attempt(story, "0/0").status, attempt(story, "0/0").duration_ns) == ("ok", None)
    assert story.lost == {}


def test_only_tries_at_the_same_compilation_are_restarts() -> None:
    story = Story()
    for compile, number in (
        (0, 0),
        (1, 0),
        (1, 1),
        (2, 0),
        (3, 1),
    ):  # the last one's first: unheard
        say(story, "compilation_metrics", {}, compile=compile, attempt=number)
    story.finish()

    assert [(each.id.name, each.status) for _, each in story.attempts()] == [
        ("0/0", "ok"),
        ("0/1", "restarted"),
        ("0/1_1", "ok"),
        ("0/2", "ok"),
        ("0/3_1", "ok"),
    ]


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


def test_guards_beyond_the_limit_are_not_kept_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TEXT", 10)
    story = Story()
    say(story, "dynamo_cpp_guards_str", payload="+- GUARD: long")

    assert attempt(story, "0/0").guards == ""
    assert story.lost == {"artifact_left_out": 1}


@pytest.mark.timeout(60)  # it would take days, were it quadratic
def test_long_texts_take_no_longer_than_their_length() -> None:
    story = Story()
    for filling in (
        "Graph break in user code at ",
        "Reason: ",
        "Reason: :\n",
        "\n",
        ":1",
        "  Expl",
    ):
        for before in ("", "Graph break in user code at ", "Reason: a:", "  Explanation: "):
            say(story, "dynamo_graph_break_reason", payload=before + filling * 100_000)
    for filling in ("# AOT ID: ['", "_forward", "_"):
        say(story, "inductor_output_code", {}, "# AOT ID: ['" + filling * 100_000)
    resumed("torch_dynamo_resume_in_" + "_at_1" * 100_000)

    assert len(attempt(story, "0/0").breaks) == 24


def test_names_that_dynamo_makes() -> None:
    assert resumed("Net.torch_dynamo_resume_in_forward_at_19") == ("Net.forward", 19)
    assert resumed("torch_dynamo_resume_in_<lambda>_at_7") == ("<lambda>", 7)
    assert resumed("f.<locals>.g") == ("f.<locals>.g", None)
    assert resumed("torch_dynamo_resume_in_f_at_" + "9" * 5_000)[1] is None


KINDS = [
    "dynamo_start",
    "dynamo_graph_break_reason",
    "recompile_reasons",
    "dynamo_cpp_guards_str",
    "dynamo_output_graph",
    "dynamo_error",
    "compilation_metrics",
    "bwd_compilation_metrics",
    "inductor_post_grad_graph",
    "inductor_output_code",
    "inductor_provenance_tracking_node_mappings",
    "fx_graph_cache_hit",
    "chromium_event",
    "str",
    "anything",
]
# What records have inside, of the kinds above.
KEYS = [
    "stack",
    "name",
    "filename",
    "line",
    "co_filename",
    "co_name",
    "co_firstlineno",
    "fail_type",
    "fail_reason",
    "ph",
    "ts",
    "fail_user_frame_filename",
    "fail_user_frame_lineno",
    "has_guarded_code",
    "entire_frame_compile_time_s",
    "inductor_compile_time_s",
    "guard_count",
    "restart_reasons",
    "file_path",
    "encoding",
    "key",
    "cache_bypass_reason",
    "cppCodeToPost",
    "postToPreGrad",
    "preToPost",
]
WORDS = st.sampled_from(
    [
        "B",
        "E",
        "a.py",
        "torch_dynamo_resume_in_f_at_7",
        "# AOT ID: ['0_forward']",
        "# AOT ID: ['0_backward']\ndef call(args):\n    extern_kernels.mm(a, b, out=c)\n",
        'class f(torch.nn.Module):\n    def forward(self, a):\n        b: "f32[2]" = a + 1',
        "Graph break in user code at a.py:7\nReason: x",
        "+- GUARD: x  # y  # a.py:7 in f",
        "\ud800\0",
    ]
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**31, 2**63, 10**400, 1e300])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text() | WORDS,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.sampled_from(KEYS), inner)
    ),
)
SMALL = st.integers(0, 1)
RECORDS = st.lists(
    st.builds(
        lambda kind, content, payload, as_artifact, frame, compile, attempt: record_of(
            {
                "artifact" if as_artifact else kind: (
                    {"name": kind, "encoding": content} if as_artifact else content
                ),
                "frame_id": frame,
                "frame_compile_id": compile,
                "attempt": attempt,
            },
            payload,
            frame,
        ),
        st.sampled_from(KINDS),
        JSON,
        JSON | WORDS,
        st.booleans(),
        SMALL,
        SMALL,
        SMALL,
    )
)


@given(RECORDS)
def test_no_record_is_an_error(records: list[Record | None]) -> None:
    story = Story(lambda number: f"{number}.py")
    for record in records:
        story.add(record)
    story.finish()


def test_content_may_be_deeper_than_python_can_go() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    story = Story()
    for kind in ("str", "compilation_metrics", "dynamo_start", "artifact"):
        content = [deep, 0] if kind == "str" else {"name": deep, "guard_count": deep, "stack": deep}
        story.add(record_of({kind: content, "frame_id": 0, "frame_compile_id": 0}, ""))

    assert story.lost == {"trace_record_unreadable": 4}
