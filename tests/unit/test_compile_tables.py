"""What a compiler did, in the model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from handmade import handmade_profile

from pellucid.model import CompileKind, ProfileBuilder, load, save


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


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b: b.compile_entry("spell", "x"),
        lambda b: b.compile_entry("phase", "x", duration_ns=-1),
        lambda b: b.compile_entry("phase", "x", duration_ns=1.5),
        lambda b: b.compile_entry("phase", "x", line=2**63),
        lambda b: b.compile_entry("phase", "x", detail={"a": float("nan")}),
        lambda b: b.compile_entry("phase", "x", detail={"a": object()}),
        lambda b: b.compile_entry("phase", "x", detail=nested(17)),
        lambda b: b.compile_entry("phase", "x", detail=nested(100_000)),
        lambda b: b.link(line=0),
        lambda b: b.link(line=9, end_line=8),
        lambda b: b.link(source_line=2**63),
    ],
)
def test_what_no_file_could_give_back_is_refused(wrong: Callable[[ProfileBuilder], object]) -> None:
    with pytest.raises(ValueError):
        wrong(ProfileBuilder())


def test_details_may_be_as_deep_as_attributes(tmp_path: Path) -> None:
    builder = ProfileBuilder()
    builder.run()
    builder.compile_entry("phase", "x", detail=nested(16))
    save(builder.finish(), tmp_path / "x")

    assert load(tmp_path / "x").compiles[0].details == nested(16)


def nested(levels: int) -> dict[str, Any]:
    """Objects within objects."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


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
