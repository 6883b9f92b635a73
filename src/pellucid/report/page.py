"""The page: the built viewer, what it may do, and the blocks."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files

from pellucid.errors import PellucidError
from pellucid.model.text import visible

__all__ = ["GENERATOR", "pack", "policy", "served_page", "static_page", "viewer"]

GENERATOR = '<meta name="generator" content="pellucid">'
"""By which a page of ours is recognised, in its first bytes."""

_HEAD, _BLOCKS = "<!--pellucid:head-->", "<!--pellucid:blocks-->"
_SERVED = '<meta name="pellucid-blocks" content="blocks/">'
_SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def viewer() -> str:
    """The built viewer that comes with this installation."""
    try:
        return (files("pellucid.report") / "viewer.html").read_text("utf-8")
    except FileNotFoundError:
        raise PellucidError(
            "the viewer was not built into this installation: src/pellucid/report/viewer.html is "
            "missing. Install a released wheel, or build it in the folder viewer/."
        ) from None


def pack(block: bytes, level: int = 6) -> bytes:
    """A block as gzip; the same bytes for the same block."""
    return gzip.compress(block, level, mtime=0)


def static_page(viewer: str, title: str, blocks: Mapping[str, bytes]) -> bytes:
    """One HTML file that needs nothing else; ``blocks`` are not yet packed."""
    elements = (_element(name, pack(block)) for name, block in blocks.items())
    before, after = _split(viewer, title)
    return b"".join((before, *elements, after))


def served_page(viewer: str, title: str) -> bytes:
    """The page that fetches its blocks from beside it."""
    return b"".join(_split(viewer, title, served=True))


def policy(viewer: str, *, served: bool = False) -> str:
    """The Content-Security-Policy under which the viewer runs and nothing else does."""
    connect = "'self'" if served else "'none'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(_SCRIPT.findall(viewer))}",
            f"style-src {_hashes(_STYLE.findall(_SCRIPT.sub('', viewer)))}",
            "worker-src blob:",
            "img-src data: blob:",
            f"connect-src {connect}",
            "form-action 'none'",
            "base-uri 'none'",
        )
    )


def _split(viewer: str, title: str, *, served: bool = False) -> tuple[bytes, bytes]:
    """The page before and after its blocks."""
    allowed = policy(viewer, served=served)
    head = (
        f'{GENERATOR}<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        f"<title>{escape(visible(title))} · pellucid</title>{_SERVED if served else ''}"
    )
    # The script may hold these marks, too: the first is ours in the head, the last in the body.
    start, _, rest = viewer.partition(_HEAD)
    before, _, after = rest.rpartition(_BLOCKS)
    return f"{start}{head}{before}".encode(), after.encode()


def _element(name: str, packed: bytes) -> bytes:
    start = f'<script type="application/octet-stream" id="block:{name}">'.encode()
    return b"".join((start, b64encode(packed), b"</script>\n"))


def _hashes(texts: Iterable[str]) -> str:
    digests = (sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests) or "'none'"
