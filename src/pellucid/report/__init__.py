"""The HTML report: a profile in blocks, and the page that holds them.

Pure, and standard library only.
"""

from pellucid.report.blocks import Blocks
from pellucid.report.page import GENERATOR, pack, policy, served_page, static_page, viewer
from pellucid.report.texts import SOURCES

__all__ = [
    "GENERATOR",
    "SOURCES",
    "Blocks",
    "pack",
    "policy",
    "served_page",
    "static_page",
    "viewer",
]
