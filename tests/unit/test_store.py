"""Saving and loading: nothing changes on the way, and a failure leaves the last good file."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from handmade import handmade_profile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_text import any_text

from pellucid.errors import FileError, NotAProfile, UnknownVersion
from pellucid.model import CompileKind, FrameKind, Profile, ProfileBuilder, Stat, load, save

whole = st.integers(-(2**63), 2**63 - 1)
positive = st.integers(0, 2**63 - 1)
# Attributes go through JSON, where the two halves of a surrogate pair become one character.
attr_text = st.text() | st.binary().map(lambda raw: os.fsdecode(raw))
attrs = st.dictionaries(attr_text, attr_text | st.integers() | st.lists(st.integers()), max_size=3)
stats = st.lists(st.integers(0, 2**40), max_size=4).map(Stat.of) | st.integers(0, 99).map(Stat)


def everything(profile: Profile) -> dict[str, Any]:
    """All that a profile holds, comparable."""
    return {
        "frames": list(profile.frames),
        "parents": list(profile.parents),
        "frame_ids": list(profile.frame_ids),
        "metrics": profile.metrics,
        "stats": {
            (metric, run, node): columns.get(node)
            for (metric, run), columns in profile.columns.items()
            for node in columns.node
        },
        "runs": profile.runs,
        "edges": profile.edges,
        "steps": profile.steps,
        "losses": profile.losses,
        "sources": profile.sources,
        "compiles": profile.compiles,
        "artifacts": profile.artifacts(),
        "links": profile.links,
        "meta": profile.meta,
    }


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    builder = ProfileBuilder()
    builder.meta.update(draw(st.dictionaries(any_text, any_text, max_size=3)))
    for _ in range(2):
        builder.run(
            rank=draw(st.none() | st.integers(0, 99)),
            host=draw(any_text),
            start_ns=draw(positive),
            complete=draw(st.booleans()),
            ended=draw(any_text),
        )
    nodes: list[int] = []
    for _ in range(draw(st.integers(1, 6))):
        frame = builder.frame(
            draw(st.sampled_from(FrameKind)),
            draw(any_text),
            file=draw(st.none() | any_text),
            line=draw(st.none() | whole),
            attrs=draw(attrs),
        )
        nodes.append(builder.node(draw(st.sampled_from([None, *nodes])), frame))
        metric = draw(st.sampled_from(["time", "duration"]))
        builder.stat(nodes[-1], metric, draw(stats), run=draw(st.sampled_from([1, 2])))
    builder.edge("backward_of", nodes[-1], nodes[0])
    builder.step(1, draw(whole), draw(any_text), draw(positive), draw(positive))
    builder.loss(draw(any_text), draw(st.integers(0, 99)), draw(any_text), run=2)
    builder.source(draw(any_text), draw(any_text))
    _add_compiler(draw, builder, nodes)
    return builder.finish()


def _add_compiler(draw: st.DrawFn, builder: ProfileBuilder, nodes: list[int]) -> None:
    entries: list[int | None] = [None]
    for _ in range(draw(st.integers(0, 3))):
        entry = builder.compile_entry(
            draw(st.sampled_from(CompileKind)),
            draw(any_text),
            parent=draw(st.sampled_from(entries)),
            run=draw(st.sampled_from([1, 2])),
            file=draw(st.none() | any_text),
            line=draw(st.none() | whole),
            status=draw(any_text),
            duration_ns=draw(st.none() | positive),
            detail=draw(attrs),
        )
        entries.append(entry)
    artifact = builder.artifact(
        draw(any_text),
        draw(any_text),
        draw(any_text),
        compile=draw(st.sampled_from(entries)),
        language=draw(any_text),
        origin=draw(any_text),
    )
    line = draw(st.none() | st.integers(1, 99))
    builder.link(
        artifact=draw(st.sampled_from([None, artifact])),
        compile=draw(st.sampled_from(entries)),
        line=line,
        end_line=draw(st.none() | st.integers(line or 1, 2**63 - 1)),
        file=draw(st.none() | any_text),
        source_line=draw(st.none() | whole),
        node=draw(st.sampled_from([None, *nodes])),
    )


@given(profiles())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_was_saved_is_loaded(tmp_path: Path, profile: Profile) -> None:
    save(profile, tmp_path / "x.pellucid")

    assert everything(load(tmp_path / "x.pellucid")) == everything(profile)


def test_a_large_text_comes_back(tmp_path: Path) -> None:
    builder = ProfileBuilder()
    text = "def call(args):\0\udc80 \\u0000\n" * 200_000
    builder.artifact("inductor_output_code", "forward", text)
    save(builder.finish(), tmp_path / "x.pellucid")

    (artifact,) = load(tmp_path / "x.pellucid").artifacts()

    assert artifact.text == text


def test_an_empty_profile_is_a_profile(tmp_path: Path) -> None:
    save(ProfileBuilder().finish(), tmp_path / "x.pellucid")

    assert len(load(tmp_path / "x.pellucid")) == 0


def test_whole_numbers_are_stored_as_integers(tmp_path: Path) -> None:
    save(handmade_profile(), tmp_path / "x.pellucid")
    connection = sqlite3.connect(tmp_path / "x.pellucid")

    kinds = connection.execute("SELECT DISTINCT typeof(sum), typeof(m2) FROM stat").fetchall()
    ids = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id",)]
    connection.close()

    assert kinds == [("integer", "integer")]
    assert ids == [int.from_bytes(b"plcd", "big")]


def test_attributes_are_plain_json(tmp_path: Path) -> None:
    builder = ProfileBuilder()
    attributes = {"class": "na\udcefve\0", "path": "C:\\udc80"}
    builder.frame("module", "x", attrs=attributes)
    save(builder.finish(), tmp_path / "x.pellucid")
    connection = sqlite3.connect(tmp_path / "x.pellucid")

    ((stored,),) = connection.execute("SELECT attrs FROM frame")
    connection.close()

    assert json.loads(stored) == attributes
    assert load(tmp_path / "x.pellucid").frames[0].attrs == attributes


@pytest.mark.parametrize("name", ["a b?c#d%20.pellucid", "'\"`;.pellucid", "na\udcefve.pellucid"])
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    save(handmade_profile(), tmp_path / name)

    assert len(load(tmp_path / name)) == 17
    assert names_in(tmp_path) == [name]


def test_only_the_target_is_left_in_the_folder(tmp_path: Path) -> None:
    for _ in range(2):
        save(handmade_profile(), tmp_path / "x.pellucid")

    assert names_in(tmp_path) == ["x.pellucid"]


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path: Path) -> None:
    plain, target = tmp_path / "plain", tmp_path / "x.pellucid"
    plain.touch()
    save(handmade_profile(), target)
    assert target.stat().st_mode == plain.stat().st_mode

    target.chmod(0o600)
    save(handmade_profile(), target)

    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x.pellucid")

    save(handmade_profile(), tmp_path / "link")

    assert (tmp_path / "link").is_symlink()
    assert len(load(tmp_path / "x.pellucid")) == 17


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*: No such file or directory"):
        save(handmade_profile(), tmp_path / "missing" / "x.pellucid")
    with pytest.raises(FileError, match="it is no regular file"):
        save(handmade_profile(), tmp_path)
    assert names_in(tmp_path) == []


FULL_DISK = """
import resource, sys
sys.path.insert(0, {here!r})
from handmade import handmade_profile
from pellucid.errors import FileError
from pellucid.model import save
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    save(handmade_profile(), {target!r})
except FileError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_last_good_file(tmp_path: Path) -> None:
    target = tmp_path / "x.pellucid"
    save(ProfileBuilder().finish(), target)
    script = FULL_DISK.format(here=str(Path(__file__).parent), target=str(target))

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout.startswith(f"cannot write {target}: ")
    assert "What was there before is unchanged" in ran.stdout
    assert names_in(tmp_path) == ["x.pellucid"]
    assert len(load(target)) == 0


def test_a_failure_inside_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)

    with pytest.raises(KeyboardInterrupt):
        save(handmade_profile(), tmp_path / "x.pellucid")
    assert names_in(tmp_path) == []


def rewritten(path: Path, *statements: str) -> Path:
    """The handmade profile's file after somebody ran SQL on it."""
    save(handmade_profile(), path)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_file_that_is_no_profile_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "x"
    with pytest.raises(FileError, match=r"cannot read .*x: No such file.*Check the path"):
        load(file)
    with pytest.raises(FileError, match="Is a directory"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is no regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(FileError, match="null"):
        load("a\0b")
    file.touch()
    with pytest.raises(NotAProfile, match="is empty"):
        load(file)
    file.write_text("once upon a time")
    with pytest.raises(NotAProfile, match="is no pellucid profile"):
        load(file)
    file.write_bytes(b"SQLite format 3\0" + bytes(30))
    with pytest.raises(NotAProfile, match="cut off after 46 bytes"):
        load(file)
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t(x)")
    connection.close()
    with pytest.raises(NotAProfile, match="database of another program"):
        load(file)


@pytest.mark.parametrize(("version", "advice"), [(2, "Upgrade pellucid"), (0, "Record it again")])
def test_another_version_is_refused(tmp_path: Path, version: int, advice: str) -> None:
    file = rewritten(tmp_path / "x", f"PRAGMA user_version = {version}")

    with pytest.raises(UnknownVersion, match=f"has format version {version}.*{advice}"):
        load(file)


def test_additional_tables_and_views_do_no_harm(tmp_path: Path) -> None:
    file = rewritten(
        tmp_path / "x",
        "CREATE TABLE finding(id INTEGER PRIMARY KEY, rule TEXT)",
        "CREATE VIEW costs AS SELECT * FROM stat",
        "CREATE INDEX by_frame ON node(frame)",
    )

    assert len(load(file)) == 17


def test_a_file_from_before_compilers_were_recorded_is_read(tmp_path: Path) -> None:
    file = rewritten(tmp_path / "x", "DROP TABLE compile", "DROP TABLE artifact", "DROP TABLE link")

    old = load(file)

    assert len(old) == 17
    assert (old.compiles, old.artifacts(), old.links) == ([], [], [])
