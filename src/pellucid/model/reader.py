"""Reading a profile that anybody may have written.

The file is opened read-only and without locks, SQLite is told to trust nothing in it, only our
own tables are read, and every value is checked before a profile is made of it.
"""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pellucid.errors import FileError, NotAProfile, UnknownVersion
from pellucid.model.decode import Damaged, decode_profile
from pellucid.model.profile import Profile
from pellucid.model.schema import (
    ADDED_TABLES,
    APPLICATION_ID,
    FORMAT_VERSION,
    TABLES,
    create_statement,
)

__all__ = ["load"]

MAX_FILE_BYTES = 4 << 30
"""Nothing in a file is bigger than the file, so this bounds everything."""

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_LONGEST_REASON = 300
_STEPS_PER_ASK = 1_000_000


def load(path: str | os.PathLike[str]) -> Profile:
    """Read a ``.pellucid`` file.

    Raises :class:`FileError` if it cannot be read, :class:`NotAProfile` if it is something else or
    damaged, :class:`UnknownVersion` if another version of the format wrote it.
    """
    file = Path(path)
    size = _check_header(file)
    try:
        with closing(_connect(file, size)) as connection:
            return decode_profile(connection, missing=_check_tables(connection))
    except (Damaged, sqlite3.Error, UnicodeDecodeError) as error:  # sqlite3 raises the last one
        reason = " ".join(str(error).split())[:_LONGEST_REASON]  # it may quote the file
        raise NotAProfile(
            f"{file} is a damaged profile: {reason}. Record it again or take another copy."
        ) from error


def _check_header(file: Path) -> int:
    """Refuse what is no profile by its first bytes; gives the file's size in bytes."""
    try:
        if not stat.S_ISREG(mode := file.stat().st_mode) and not stat.S_ISDIR(mode):
            raise FileError(f"cannot read {file}: it is no regular file. Save it as one first.")
        with file.open("rb") as stream:
            header = stream.read(_HEADER_BYTES)
            size = os.fstat(stream.fileno()).st_size
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"cannot read {file}: {reason}. Check the path.") from error
    if not header:
        raise NotAProfile(f"{file} is empty: nothing was recorded into it.")
    if not header.startswith(_MAGIC):
        raise NotAProfile(f"{file} is no pellucid profile. `pellucid run` makes one.")
    if len(header) < _HEADER_BYTES:
        raise NotAProfile(f"{file} is cut off after {len(header)} bytes. Take another copy.")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise NotAProfile(f"{file} is an SQLite database of another program, not a profile.")
    version = int.from_bytes(header[60:64], "big")
    if version != FORMAT_VERSION:
        raise UnknownVersion(
            f"{file} has format version {version}, this pellucid reads version {FORMAT_VERSION}. "
            f"{'Upgrade pellucid' if version > FORMAT_VERSION else 'Record it again'}."
        )
    if size > MAX_FILE_BYTES:
        raise FileError(f"{file} has {size} bytes; at most {MAX_FILE_BYTES} are read.")
    return size


def _connect(file: Path, size: int) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(_work_limit(size), _STEPS_PER_ASK)
    return connection


def _authorize(
    action: int, first: str | None, _second: str | None, _database: str | None, _by: str | None
) -> int:
    """Allow reading and the integrity check, nothing else: no functions, ATTACH or writes."""
    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    checks = action == sqlite3.SQLITE_PRAGMA and first == "quick_check"
    return sqlite3.SQLITE_OK if reads or checks else sqlite3.SQLITE_DENY


def _work_limit(size: int) -> Callable[[], bool]:
    """Whether to interrupt, asked every million steps: far more than a sound file needs."""
    remaining = 100 + size // 10_000

    def exhausted() -> bool:
        nonlocal remaining
        remaining -= 1
        return remaining < 0

    return exhausted


def _check_tables(connection: sqlite3.Connection) -> list[str]:
    """All tables are there as we create them (no view, no virtual table) and sound inside.

    Gives those that are not there and need not be.
    """
    found: dict[str, tuple[int, str]] = {}
    rows = connection.execute("SELECT name, rootpage, sql FROM sqlite_master WHERE type = 'table'")
    for name, root, sql in rows:
        found[str(name)] = (root, " ".join(str(sql).split()))
    missing = [table for table in TABLES if table not in found]
    for table in TABLES:
        if table in missing:
            if table in ADDED_TABLES:
                continue
            raise Damaged(f"it has no table {table}")
        root, sql = found[table]
        if not root or sql != create_statement(table):
            raise Damaged(f"its {table} is not the table that this format version has")
        for (message,) in connection.execute(f"PRAGMA quick_check({table})"):
            if message != "ok":
                raise Damaged(f"table {table}: {message}")
    return missing
