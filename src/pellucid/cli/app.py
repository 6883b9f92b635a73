"""The verbs put together: each lives in its own module and is registered here."""

import io
import sys
from typing import Annotated

import typer

from pellucid.cli import doctor, info, report, run, top, tree, view
from pellucid.cli.output import emit, safe
from pellucid.errors import PellucidError

__all__ = ["app", "main"]

app = typer.Typer(
    help="See where a deep-learning program spends its time, from the line to the kernel.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("run", cls=run.RunCommand)(run.run)
app.command("report")(report.report)
app.command("view")(view.view)
app.command("info")(info.info)
app.command("top")(top.top)
app.command("tree")(tree.tree)
app.command("doctor")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            emit(f"pellucid {version('pellucid')}\n")
        except PackageNotFoundError:
            emit("pellucid, not installed\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """See where a deep-learning program spends its time, from the line to the kernel."""
    del version


def main() -> None:
    """The entry point: what the user did wrong is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that is not UTF-8 must not stop us
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="pellucid")
    except PellucidError as error:
        sys.stderr.write(f"pellucid: {safe(str(error))}\n")
        raise SystemExit(error.exit_code) from None
