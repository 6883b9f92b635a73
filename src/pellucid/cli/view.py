"""``pellucid view``: the report in the browser, with every node and text made when it is wanted."""

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.output import emit
from pellucid.cli.serving import ReportServer
from pellucid.errors import PellucidError
from pellucid.model import load
from pellucid.report import Blocks, viewer

__all__ = ["view"]


def view(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pellucid file.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to serve; 0: any free port.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
) -> None:
    """Serve the report to this machine's browser until Ctrl-C; nothing is written."""
    document = viewer()
    blocks = Blocks(load(file), title=file.stem, source="all", most_nodes=None)
    try:
        server = ReportServer(document, file.stem, blocks, port)
    except OSError as error:
        raise PellucidError(
            f"cannot serve at port {port}: {error.strerror}. Choose another with --port."
        ) from None
    with server, suppress(KeyboardInterrupt):
        emit(f"{server.url}\nCtrl-C ends it.\n")
        if browser:
            webbrowser.open(server.url)
        server.serve_forever()
