"""Every error that pellucid raises.

PellucidError                what happened, where, and what to do
├── UsageError               the command line or a call was wrong
├── SessionError             a recording could not start or stop
├── BridgeError              the torch bridge could not be built or loaded
│   └── CompilerMissing      there is no C++ compiler to build it with
├── UnsupportedPython        this interpreter has no frame walker
└── FileError                a file could not be read or written
    ├── NotAProfile          it is no pellucid file, or a damaged one
    └── UnknownVersion       it was written by another version of the format
"""

__all__ = [
    "BridgeError",
    "CompilerMissing",
    "FileError",
    "NotAProfile",
    "PellucidError",
    "SessionError",
    "UnknownVersion",
    "UnsupportedPython",
    "UsageError",
]


class PellucidError(Exception):
    """The root of the tree; ``exit_code`` is what the command line ends with."""

    exit_code = 2


class UsageError(PellucidError):
    """The command line or a call was wrong."""


class SessionError(PellucidError):
    """A recording could not start or stop."""


class BridgeError(PellucidError):
    """The torch bridge could not be built or loaded."""


class CompilerMissing(BridgeError):
    """There is no C++ compiler to build the torch bridge with."""


class UnsupportedPython(PellucidError):
    """This interpreter has no frame walker."""


class FileError(PellucidError):
    """A file could not be read or written."""


class NotAProfile(FileError):
    """The file is no pellucid profile, or a damaged one."""


class UnknownVersion(FileError):
    """The file was written by another version of the format."""
