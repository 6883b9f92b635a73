"""The torch bridge, loaded: compiled at first use against the installed torch."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

from pellucid.capture.bridge.build import Torch, build_folder, find_or_build
from pellucid.capture.native import core
from pellucid.errors import BridgeError

__all__ = ["Bridge"]


class Bridge:
    """A loaded bridge. Its callbacks are inert while nothing records."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    @classmethod
    def for_installed_torch(cls) -> Bridge:
        """Load the bridge for the torch that is imported, building it if need be.

        Raises :class:`BridgeError`; :class:`CompilerMissing` where only the compiler lacks.
        """
        torch = Torch.imported()
        try:
            with build_folder() as folder:
                path, key = find_or_build(torch, folder)
                return cls(_load(path, key))
        except OSError as error:
            raise BridgeError(f"the bridge to torch could not be built: {error}") from error

    def attach(self) -> None:
        """Have torch call the core."""
        if self._library.pellucid_bridge_attach(ctypes.c_void_p(core.api())) != 0:
            raise BridgeError("the bridge to torch is of another version of pellucid's core")

    def detach(self) -> None:
        """Have torch call it no more; events that are open may still end."""
        self._library.pellucid_bridge_detach()


def _load(path: Path, key: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise BridgeError(f"the bridge to torch could not be loaded: {error}") from error
    library.pellucid_bridge_key.restype = ctypes.c_char_p
    if library.pellucid_bridge_key() != key.encode():
        with suppress(OSError):
            path.unlink()
        raise BridgeError(f"{path} is not the bridge that it is named after; try again")
    return library
