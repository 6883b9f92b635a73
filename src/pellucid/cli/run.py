"""``pellucid run``: record a whole program."""

import importlib
import json
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand

from pellucid.cli.report import check_report
from pellucid.errors import PellucidError, SessionError, UnsupportedPython, UsageError
from pellucid.launch.claim import claim
from pellucid.launch.launcher import Request, arguments
from pellucid.report import viewer

__all__ = ["RunCommand", "interpreter_flags", "output_name", "run"]

_SQLITE_HEADER_SIZE = 100
_APPLICATION_ID = slice(68, 72)
# In a process of its own, as this one finds us and out of the program's reach.
_CALL_CLI = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(1))
from pellucid.cli import main
main()
"""


class RunCommand(TyperCommand):
    """A command whose options end where the program begins, as the interpreter's do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse our options; the rest is the program's, whatever it looks like."""
        with_value = {
            name
            for option in self.params
            if option.param_type_name == "option" and not getattr(option, "is_flag", False)
            for name in option.opts
        }
        return super().parse_args(ctx, _end_options(args, with_value))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in the usage line."""
        del ctx
        return ["[OPTIONS]", "(SCRIPT | -m MODULE | -c CODE)", "[ARGS]..."]


def run(
    program: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    module: Annotated[
        str | None, typer.Option("-m", metavar="MODULE", help="Run a module, as python -m does.")
    ] = None,
    code: Annotated[
        str | None, typer.Option("-c", metavar="CODE", help="Run a command, as python -c does.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT.pellucid",
            help="The file to write, instead of one named after the program.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="OUT.html", help="Write the HTML report, too."),
    ] = None,
    modules: Annotated[
        bool, typer.Option("--modules/--no-modules", help="Show nn.Modules in the tree.")
    ] = True,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Do not say at the end what was written.")
    ] = False,
) -> None:
    """Run a program as python would and record where its time goes."""
    kind, target, rest = _program(program or [], module, code)
    path = _ranked(Path(output if output is not None else output_name(kind, target)))
    _check_core()
    _check_output(path)
    page = None if report is None else _ranked(report)
    if page is not None:
        _check_page(page, path)
    request = Request(
        kind=kind,
        output=os.path.abspath(path),  # noqa: PTH100, Path.absolute keeps the dots
        shown=str(path),
        claim=_claim(path),
        report="" if page is None else str(page),
        make_report=() if page is None else _make_report(path, page),
        quiet=quiet,
        modules=modules,
    )
    _exec([*interpreter_flags(sys.orig_argv), *arguments(request, target, rest)])


def interpreter_flags(words: Sequence[str]) -> list[str]:
    """The interpreter's own flags on a command line that starts with the interpreter.

    As they were typed: what ``subprocess`` rebuilds from ``sys.flags`` lacks ``-u`` and most of
    ``-X``, and repeats what comes from the environment.
    """
    flags: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word in ("-", "--"):
            break
        if word.startswith("--"):
            flags.append(word)
            if word == "--check-hash-based-pycs":
                flags.append(next(rest))
            continue
        # Letters may be joined (-Im), up to the first one that takes a value.
        end = next((i for i, letter in enumerate(word) if letter in "cmWX"), len(word))
        if word[end:].startswith(("c", "m")):
            return [*flags, word[:end]] if end > 1 else flags
        flags.append(word)
        if end == len(word) - 1:
            flags.append(next(rest))
    return flags


def output_name(kind: str, target: str) -> str:
    """The file that a program's profile goes to unless another is named."""
    if kind == "code":
        return "command.pellucid"
    if kind == "module":
        return f"{target}.pellucid"
    # Without following links: the name that was typed is the one to look for.
    return f"{Path(os.path.abspath(target)).stem}.pellucid"  # noqa: PTH100


def _end_options(words: list[str], with_value: Collection[str]) -> list[str]:
    """Mark the end of our options: right after ``-m X`` or ``-c X``, or before a script."""
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return words
        if word == "-" or not word.startswith("-"):
            break
        position += 2 if word in with_value else 1
        if word.startswith(("-m", "-c")):
            break
    return [*words[:position], "--", *words[position:]]


def _program(
    words: list[str], module: str | None, code: str | None
) -> tuple[Literal["script", "module", "code"], str, list[str]]:
    if module is not None:
        return "module", module, words
    if code is not None:
        return "code", code, words
    if not words:
        raise UsageError("nothing to run: name a script, -m MODULE or -c CODE")
    if words[0] == "-":
        raise UsageError("a program on standard input cannot be recorded: save it to a file")
    return "script", words[0], words[1:]


def _ranked(path: Path) -> Path:
    """The path with the rank in its name where the program is one of several."""
    rank = os.environ.get("RANK", "")
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}") if rank.isdigit() else path


def _check_core() -> None:
    try:
        importlib.import_module("pellucid._core")
    except ImportError as error:
        raise UnsupportedPython(f"cannot record with this Python: {error}") from None


def _check_output(path: Path) -> None:
    """Refuse a file that could not be written, before the program has run for hours."""
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}: the folder {folder} is not writable")
    if path.exists() and not _may_replace(path):
        raise UsageError(f"{path} is no pellucid profile and is not overwritten")


def _check_page(page: Path, profile: Path) -> None:
    """Refuse a report that could not be made."""
    viewer()
    check_report(page)
    if os.path.realpath(page) == os.path.realpath(profile):
        raise UsageError(f"{page} cannot be both the profile and the report")


def _make_report(profile: Path, page: Path) -> list[str]:
    """The command that makes the report, wherever the program will have gone by then."""
    files = [os.path.abspath(profile), "-o", os.path.abspath(page)]  # noqa: PTH100
    return [sys.executable, "-I", "-c", _CALL_CLI, json.dumps(sys.path), "report", *files]


def _may_replace(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            header = file.read(_SQLITE_HEADER_SIZE)
    except OSError:
        return False
    return not header or (
        header.startswith(b"SQLite format 3\0") and header[_APPLICATION_ID] == b"plcd"
    )


def _claim(path: Path) -> int:
    try:
        return claim(path)
    except SessionError as error:
        raise UsageError(f"{error}: name another with -o") from None
    except OSError as error:
        raise UsageError(f"cannot claim {path}: {error.strerror}") from None


def _exec(words: list[str]) -> NoReturn:
    sys.stdout.flush()
    try:
        os.execv(sys.executable, [sys.executable, *words])
    except OSError as error:
        raise PellucidError(f"cannot start {sys.executable}: {error.strerror}") from None
