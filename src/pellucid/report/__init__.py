"""The HTML report: a profile in blocks, and the page that holds them.

Pure, and standard library only.
"""

from pellucid.report.blocks import Blocks
from pellucid.report.page import GENERATOR, pack, page, served_page, viewer
from pellucid.report.texts import SOURCES

__all__ = ["GENERATOR", "SOURCES", "Blocks", "pack", "page", "served_page", "viewer"]
