"""The verbs: what they print, and how they fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from handmade import MS, handmade_profile
from typer.testing import CliRunner

from pellucid.cli import doctor
from pellucid.cli.app import app
from pellucid.model import ProfileBuilder, Stat, save

HOSTILE = "[red]evil[/red]\x1b]0;title\x07\u202e\n</script>\udcff"
SHOWN = r"[red]evil[/red]\x1b]0;title\x07\u202e\n</script>\udcff"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save(handmade_profile(), tmp_path / "x.pellucid")
    return tmp_path / "x.pellucid"


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def pellucid(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pellucid", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def test_top_by_operator(file: Path) -> None:
    lines = lines_of(invoke("top", file, "-n", 2))

    assert lines[0] == "share self ms total ms forward ms backward ms calls operator"
    assert lines[1] == "28.6 % 30.0 30.0 0 30.0 8 aten::mm"
    assert lines[2] == "19.0 % 20.0 59.0 20.0 39.0 4 aten::addmm"
    assert lines[3] == ""
    assert "4 more rows: -n shows more." in lines
    assert "19.8 % of 116 ms recorded is outside operators." in lines
    assert lines[-1] == f"⚠ 1 loss: late_end. See: pellucid info {file}"


def test_top_by_module(file: Path) -> None:
    lines = lines_of(invoke("top", file, "--by", "module"))

    assert lines[1] == "90.5 % 25.0 105 55.0 50.0 ~4 Net Net"
    assert lines[2] == "70.5 % 74.0 74.0 35.0 39.0 ~4 fc1 Linear"
    assert "~ estimated from the first operator inside." in lines


def test_top_by_line_shows_the_source(file: Path) -> None:
    lines = lines_of(invoke("top", file, "--by", "line"))

    assert lines[2] == "92.2 % 5.00 107 57.0 50.0 — train.py:10 train loss = net(x)"
    assert lines[4] == "7.6 % 8.00 8.00 8.00 0 — train.py:11 train loss.backward()"


@pytest.mark.parametrize("by", ["operator", "module", "kernel", "function", "line", "thread"])
def test_top_as_json(file: Path, by: str) -> None:
    document = json.loads(invoke("top", file, "--by", by, "--json"))

    assert document["by"] == by
    assert document["unit"] == "ns"
    assert document["recorded"] == 116 * MS
    assert document["losses"][0]["kind"] == "late_end"
    for row in document["rows"]:
        assert row["total"] == row["forward"] + row["backward"]


def test_tree(file: Path) -> None:
    text = invoke("tree", file, "--min-percent", 20)

    assert "100.0 %       105        0      —  thread Main\n" in text
    assert " 33.3 %      35.0     5.00      —    │     ├ fc1 (Linear)\n" in text
    assert "  9.5 %      11.0                  … 1 small\n" in text
    assert "small: branches below --min-percent, summed up." in text
    assert "nodes in code of torch and the standard library are left out" in text


def test_tree_inverted(file: Path) -> None:
    lines = lines_of(invoke("tree", file, "--invert", "--depth", 1))

    assert lines[1] == "25.9 % 30.0 aten::mm"
    assert lines[2] == "25.9 % 30.0 └ AddmmBackward0"
    assert lines[3] == "25.9 % 30.0 └ … 1 deeper"


def test_info(file: Path) -> None:
    lines = lines_of(invoke("info", file))

    assert f"file {file}" in lines
    assert "command train.py --epochs 1" in lines
    assert "wall time 200 ms in 2 threads" in lines
    assert "ended exit 0" in lines
    assert "nodes 17 (operator 7, python 5, module 3, thread 2)" in lines
    assert "steps 4 of step: median 25.0 ms, p95 40.0 ms" in lines
    assert "3 1 late_end 3 operators ended after the recording" in lines


def test_info_survives_nonsense_and_nothing(tmp_path: Path) -> None:
    builder = ProfileBuilder()
    builder.run(start_ns=2**62, complete=False)
    save(builder.finish(), tmp_path / "x")

    text = invoke("info", tmp_path / "x")

    assert "Nothing was lost." in text
    assert "— (incomplete)" in text


def test_a_profile_without_time_is_told(tmp_path: Path) -> None:
    save(ProfileBuilder().finish(), tmp_path / "x")

    for verb in ("top", "tree"):
        ran = pellucid(verb, tmp_path / "x")
        assert ran.returncode == 2
        assert ran.stderr == (
            "pellucid: this profile has no metric 'time'; choose one of: none was recorded.\n"
        )


def hostile_profile(path: Path) -> Path:
    builder = ProfileBuilder()
    builder.run(host=HOSTILE, ended=HOSTILE)
    builder.meta[HOSTILE] = HOSTILE
    node = builder.node(None, builder.frame("thread", HOSTILE))
    for kind in ("python", "module", "operator", "kernel"):
        frame = builder.frame(kind, HOSTILE, file=HOSTILE, line=1, attrs={"class": HOSTILE})
        node = builder.node(node, frame)
        builder.stat(node, "time", Stat.of([MS]))
    builder.step(1, 0, HOSTILE, 0, MS)
    builder.loss(HOSTILE, 1, HOSTILE)
    builder.source(HOSTILE, HOSTILE)
    save(builder.finish(), path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [("info",), ("tree",), ("tree", "--invert")]
    + [("top", "--by", by) for by in ("operator", "module", "kernel", "function", "line")],
)
def test_names_cannot_steer_the_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    verb, *options = arguments

    text = invoke(verb, hostile_profile(tmp_path / "x"), *options)

    assert SHOWN in text
    assert text.replace("\n", "").isprintable()


def test_json_holds_any_name(tmp_path: Path) -> None:
    document = json.loads(invoke("top", hostile_profile(tmp_path / "x"), "--json"))

    assert document["rows"][0]["name"] == HOSTILE


def test_piped_output_is_neither_cut_nor_coloured(tmp_path: Path) -> None:
    builder = ProfileBuilder()
    builder.run()
    name = ".".join(["very_long_name_of_a_block"] * 12)
    node = builder.node(None, builder.frame("module", name))
    builder.stat(node, "time", Stat.of([MS]))
    save(builder.finish(), tmp_path / "x")

    for arguments in (["top", "--by", "module"], ["tree"]):
        ran = pellucid(arguments[0], tmp_path / "x", *arguments[1:], COLUMNS="80")
        assert name in ran.stdout
        assert "\x1b" not in ran.stdout


def test_on_a_terminal_names_lose_their_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = ProfileBuilder()
    builder.run()
    node = builder.node(None, builder.frame("module", "model." * 40 + "mlp.fc1"))
    builder.stat(node, "time", Stat.of([MS]))
    save(builder.finish(), tmp_path / "x")
    for module in ("output", "top", "tree"):
        monkeypatch.setattr(f"pellucid.cli.{module}.terminal_width", lambda: 100)

    for arguments in (["top", "--by", "module"], ["tree"]):
        text = invoke(arguments[0], tmp_path / "x", *arguments[1:])
        assert any("…" in line and line.endswith(".model.mlp.fc1") for line in text.splitlines())
        assert max(map(len, text.splitlines())) <= 100


def test_a_narrow_tree_keeps_the_function_and_the_end_of_its_place(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pellucid.cli.tree.terminal_width", lambda: 60)

    assert "│ └ _call_impl  …module.py:1\n" in invoke("tree", file, "--all")


@pytest.mark.parametrize(
    ("width", "ends"),
    [
        (70, ["train.py:10"]),
        (100, ["train.py:10", "train"]),
        (140, ["train.py:10", "train", "loss = net(x)"]),
    ],
)
def test_a_narrow_terminal_drops_columns_never_digits(
    file: Path, monkeypatch: pytest.MonkeyPatch, width: int, ends: list[str]
) -> None:
    for module in ("output", "top", "tree"):
        monkeypatch.setattr(f"pellucid.cli.{module}.terminal_width", lambda: width)

    lines = lines_of(invoke("top", file, "--by", "line"))

    assert lines[2] == " ".join(["92.2 % 5.00 107 57.0 50.0 —", *ends])


@pytest.mark.parametrize("verb", ["info", "top", "tree"])
def test_what_is_no_profile_is_one_line_and_exit_code_2(tmp_path: Path, verb: str) -> None:
    (tmp_path / "x\x1b[31m\n").write_text("nonsense")

    ran = pellucid(verb, tmp_path / "x\x1b[31m\n")

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr == (
        rf"pellucid: {tmp_path}/x\x1b[31m\n is no pellucid profile. `pellucid run` makes one."
        "\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [[], ["frobnicate"], ["top"], ["top", "--frobnicate"], ["tree", "x", "--depth", "a"]],
)
def test_wrong_use_is_exit_code_2_without_a_traceback(arguments: list[str]) -> None:
    ran = pellucid(*arguments)

    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version(option: str) -> None:
    ran = pellucid(option)

    assert ran.returncode == 0
    assert "pellucid" in ran.stdout.lower()


def test_a_reader_that_goes_away_is_no_error(file: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [sys.executable, "-m", "pellucid", "tree", str(file)],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)

    assert ran.stderr == ""
    assert ran.returncode == 141


def test_a_terminal_without_unicode_still_gets_its_answer(file: Path) -> None:
    ran = pellucid("top", file, "--by", "line", PYTHONIOENCODING="ascii")

    assert ran.returncode == 0
    assert r"\u2014" in ran.stdout


def test_looking_at_a_profile_imports_neither_torch_nor_the_recorder(file: Path) -> None:
    script = (
        "import sys; from pellucid.cli.app import app; "
        f"app(['info', {str(file)!r}], standalone_mode=False); "
        "print(sorted(m for m in ('torch', 'networkx', 'numpy') if m in sys.modules))"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout.endswith("[]\n")


def test_doctor_has_a_line_for_each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")

    lines = lines_of(invoke("doctor"))

    assert "no compiler $CXX is 'no-such-compiler', not found → correct or unset CXX" in lines
    assert [name for name in ("python", "core", "torch", "cache") if name in " ".join(lines)]
    assert all(line.startswith(("ok ", "no ")) for line in lines if line)


def test_doctor_checks_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "pellucid"
    assert doctor.check_cache() == doctor.Check("cache", True, str(folder))

    folder.chmod(0o770)
    assert f"{folder} is open to others" in doctor.check_cache().found

    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert f"{folder} is not a folder" in doctor.check_cache().found


def test_doctor_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pellucid._core", None)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    assert "pip install" in doctor.check_core().advice
    assert "install g++" in doctor.check_compiler().advice
    assert doctor.check_python().ok
