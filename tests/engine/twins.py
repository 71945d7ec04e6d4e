"""A second cluster beside one in a sandbox: the same resources under another name, without a run of the engine."""

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FOREVER = "2999-01-01T00:00:00Z"
_DIGITS = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
_OFFSET = 100_000


def add(database: Path, cluster: str, twin: str) -> None:
    """Copy all resources of a cluster's account under another cluster's name; the copy expires in the year 2999."""
    with closing(sqlite3.connect(database)) as connection, connection:
        ids = [row[0] for row in connection.execute("SELECT id FROM resources")]
        properties = "".join(row[0] for row in connection.execute("SELECT computed FROM resources"))
        ids += re.findall(r'"principalId": "([^"]+)"', properties)
        changed = {digits: _other(digits) for one in ids for digits in _DIGITS.findall(one) if set(digits) - {"0"}}

        def renamed(text: object) -> object:
            if not isinstance(text, str):
                return text
            for name, other in ((cluster, twin), (cluster.replace("-", ""), twin.replace("-", ""))):
                text = text.replace(name, other)
            text = text.replace(cluster.replace("-", "_"), twin.replace("-", "_"))
            text = re.sub(r"\b(?:203\.0\.113|198\.51\.100|192\.0\.2)\.", "233.252.0.", text)  # an address has one owner
            text = _DIGITS.sub(lambda match: changed.get(match[0], match[0]), text)
            text = re.sub(r'("mullion[:-]expires": )"[^"]+"', rf'\1"{FOREVER}"', text)
            return re.sub(r'("mullion_expires": )"[^"]+"', r'\1"2999-01-01t00_00_00z"', text)

        for table, owner in (("resources", 0), ("links", 0), ("claims", 2), ("objects", -1)):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                values: list[Any] = [renamed(value) for value in row]
                if owner >= 0:
                    values[owner] = values[owner] and values[owner] + _OFFSET
                else:
                    values[0] = None
                marks = ", ".join("?" * len(values))
                connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)


def _other(digits: str) -> str:
    other = hashlib.sha256(digits.encode()).hexdigest()[: len(digits)]
    return other.upper() if digits.isupper() else other


def resources(database: Path, name: str) -> set[tuple[str, ...]]:
    """Return the resources whose id or properties name a cluster."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT type, id, inputs, computed FROM resources").fetchall()
    return {row for row in rows if any(name in text for text in row)}


def count(database: Path) -> int:
    """Return the number of all resources, and of objects in buckets."""
    with closing(sqlite3.connect(database)) as connection:
        tables = ("resources", "objects")
        return sum(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables)
