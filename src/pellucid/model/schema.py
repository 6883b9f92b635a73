"""The tables of a ``.pellucid`` file; docs/format.md explains them."""

__all__ = [
    "ADDED_TABLES",
    "APPLICATION_ID",
    "FORMAT_VERSION",
    "TABLES",
    "create_statement",
    "insert_statement",
]

APPLICATION_ID = int.from_bytes(b"plcd", "big")
FORMAT_VERSION = 1

# Numbers of a stat are NUMERIC, so that whole ones are stored as integers. The reader accepts
# exactly these tables: another column is another format version.
TABLES = {
    "meta": ("key TEXT PRIMARY KEY", "value TEXT"),
    "run": (
        "id INTEGER PRIMARY KEY",
        "rank INTEGER",
        "world INTEGER",
        "host TEXT",
        "pid INTEGER",
        "start_ns INTEGER",
        "wall_ns INTEGER",
        "threads INTEGER",
        "complete INTEGER",
        "ended TEXT",
    ),
    "frame": (
        "id INTEGER PRIMARY KEY",
        "kind TEXT",
        "name TEXT",
        "file TEXT",
        "line INTEGER",
        "first_line INTEGER",
        "attrs TEXT",
    ),
    "node": ("id INTEGER PRIMARY KEY", "parent INTEGER", "frame INTEGER"),
    "metric": ("id INTEGER PRIMARY KEY", "name TEXT", "unit TEXT", "help TEXT"),
    "stat": (
        "node INTEGER",
        "metric INTEGER",
        "run INTEGER",
        "count INTEGER",
        "sum NUMERIC",
        "min NUMERIC",
        "max NUMERIC",
        "m2 NUMERIC",
    ),
    "edge": ("kind TEXT", "src INTEGER", "dst INTEGER"),
    "step": ("run INTEGER", "idx INTEGER", "name TEXT", "start_ns INTEGER", "duration_ns INTEGER"),
    "source": ("path TEXT PRIMARY KEY", "sha256 TEXT", "text TEXT"),
    "compile": (
        "id INTEGER PRIMARY KEY",
        "run INTEGER",
        "parent INTEGER",
        "kind TEXT",
        "name TEXT",
        "file TEXT",
        "line INTEGER",
        "status TEXT",
        "duration_ns INTEGER",
        "detail TEXT",
    ),
    "artifact": (
        "id INTEGER PRIMARY KEY",
        "compile INTEGER",
        "kind TEXT",
        "name TEXT",
        "language TEXT",
        "text TEXT",
        "origin TEXT",
    ),
    "link": (
        "artifact INTEGER",
        "compile INTEGER",
        "line INTEGER",
        "end_line INTEGER",
        "file TEXT",
        "source_line INTEGER",
        "node INTEGER",
    ),
    "loss": ("run INTEGER", "kind TEXT", "count INTEGER", "detail TEXT"),
}

# Those that files of this version did not always have: without them nothing was compiled.
ADDED_TABLES = ("compile", "artifact", "link")


def create_statement(table: str) -> str:
    """The statement that makes the table."""
    columns = ", ".join(TABLES[table])
    if table == "stat":  # clustered by its key: half the size of a table with an index
        return f"CREATE TABLE stat({columns}, PRIMARY KEY (node, metric, run)) WITHOUT ROWID"
    return f"CREATE TABLE {table}({columns})"


def insert_statement(table: str) -> str:
    """The statement that adds a row of all columns."""
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(TABLES[table]))})"
