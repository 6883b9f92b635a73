"""``pellucid report``: the profile as one HTML file that needs nothing else."""

import os
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.output import Scale, count, emit, safe
from pellucid.errors import FileError, UsageError
from pellucid.model import load
from pellucid.model.files import replacing
from pellucid.report import GENERATOR, SOURCES, Blocks, static_page, viewer

__all__ = ["check_report", "report"]

_MOST_NODES = 250_000
_FIRST_BYTES = 1024


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pellucid file.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT.html",
            help="The file to write, instead of FILE's name with .html in this folder.",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            metavar="|".join(SOURCES),
            help="Whose source texts to put in; none leaves out generated code as well.",
        ),
    ] = "project",
) -> None:
    """Write one HTML file to look at the profile with; it needs no network."""
    if source not in SOURCES:
        raise UsageError(f"there is no source {source!r}; choose one of: {', '.join(SOURCES)}.")
    target = output if output is not None else Path(f"{file.stem}.html")
    check_report(target)
    profile = load(file)
    blocks = Blocks(profile, title=file.stem, source=source, most_nodes=_MOST_NODES)
    document = static_page(viewer(), file.stem, blocks)
    _write(target, document)
    size = Scale.fit("B", [len(document)]).label(len(document))
    nodes = f"{count(len(profile))} nodes"
    if blocks.merged:
        nodes += f", {count(blocks.merged)} small ones merged; pellucid view shows all"
    emit(f"wrote {safe(str(target))} ({size}, {nodes})\n")


def check_report(path: Path) -> None:
    """Refuse a place that cannot be written, or where something else is."""
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}: the folder {folder} is not writable")
    if path.exists() and not _is_ours(path):
        raise UsageError(f"{path} is no report of pellucid and is not overwritten")


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            first = file.read(_FIRST_BYTES)
    except OSError:
        return False
    return not first or GENERATOR.encode() in first


def _write(path: Path, document: bytes) -> None:
    try:
        with replacing(Path(os.path.realpath(path))) as temporary:
            temporary.write_bytes(document)
    except OSError as error:
        raise FileError(
            f"cannot write {path}: {error.strerror}. What was there before is unchanged; "
            "make room, or choose another place with -o."
        ) from error
