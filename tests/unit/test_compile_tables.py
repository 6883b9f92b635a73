"""What a compiler did, in the model."""

import pytest
from handmade import handmade_profile

from pellucid.model import CompileKind, ProfileBuilder


def test_entries_form_a_tree_with_details() -> None:
    function, attempt, graph = handmade_profile().compiles

    assert (function.kind, function.name, function.parent) == ("function", "Net.forward", None)
    assert (attempt.kind, attempt.parent, attempt.details) == (
        "attempt",
        function.id,
        {"guards": 2},
    )
    assert (graph.kind, graph.parent, graph.details) == (CompileKind.GRAPH, attempt.id, {})


def test_artifacts_are_found_by_kind() -> None:
    profile = handmade_profile()

    (code,) = profile.artifacts("inductor_output_code")

    assert profile.artifacts() == [code]
    assert profile.artifacts("guards") == []
    assert code.compile == profile.compiles[2].id


def test_an_equal_link_is_kept_once() -> None:
    builder = ProfileBuilder()
    builder.run()
    for _ in range(2):
        builder.link(file="a.py", source_line=3)
    builder.link(file="a.py", source_line=4)

    assert [link.source_line for link in builder.finish().links] == [3, 4]


def test_what_is_not_there_cannot_be_referred_to() -> None:
    builder = ProfileBuilder()
    with pytest.raises(ValueError, match="no compile entry 0"):
        builder.compile_entry("graph", "forward", parent=0)
    with pytest.raises(ValueError, match="no compile entry 3"):
        builder.artifact("guards", "x", "", compile=3)
    with pytest.raises(ValueError, match="no artifact 0"):
        builder.link(artifact=0)
    with pytest.raises(ValueError, match="no node 0"):
        builder.link(node=0)
    builder.compile_entry("function", "f", run=2)
    with pytest.raises(ValueError, match="no run 2"):
        builder.finish()
