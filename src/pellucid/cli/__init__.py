"""The command line."""

from pellucid.cli.app import main

__all__ = ["main"]
