"""Contents of the embedded cloud, in one SQLite file of mode 0600 (world.db).

Secret values are in a second file, `world.db.secrets`, so tests can search all other files for them.
Providers write in short transactions; commands may read at the same time.
"""

import errno
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sandbox.records import Boot, ObjectRecord, Operation, Record

SERVICES = "services"
"""The setting for the scheme of service URLs: `http` in a lab network, where it counts as TLS."""
TABLES = Path(__file__).with_name("cloud_state.sql").read_text(encoding="utf-8")


class CloudState:
    """One embedded cloud. Opens its file, or creates it with a random seed."""

    def __init__(self, path: Path, *, seed: str | None = None) -> None:
        self.path = Path(path)
        self.secrets_path = self.path.with_name(self.path.name + ".secrets")
        for file in (self.path, self.secrets_path):
            # This process must not open and close the file while SQLite has it open: close drops all locks of the
            # process, also those of other connections (sqlite.org/howtocorrupt.html, 2.2).
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            file.chmod(0o600)
        try:
            self._open(seed)
        except sqlite3.Error as error:
            reason = f"it is no sandbox's database ({error}); to begin anew, remove the folder {self.path.parent}"
            raise OSError(errno.EIO, reason, str(self.path)) from error

    def _open(self, seed: str | None) -> None:
        self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        execute = self.connection.execute
        execute("ATTACH DATABASE ? AS secrets", (str(self.secrets_path),))
        execute("PRAGMA main.journal_mode = WAL")
        # No journal file and no stale pages: secret values are in this one file only, and erased when deleted.
        execute("PRAGMA secrets.journal_mode = MEMORY")
        execute("PRAGMA secrets.secure_delete = ON")
        execute("PRAGMA synchronous = OFF")  # a power cut may lose the last second
        self.connection.executescript(TABLES)
        execute("INSERT OR IGNORE INTO meta VALUES ('seed', ?)", (seed or secrets.token_hex(8),))
        execute("INSERT OR IGNORE INTO meta VALUES ('sequence', '0')")
        self.seed: str = execute("SELECT value FROM meta WHERE key = 'seed'").fetchone()[0]

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all statements or none; other processes wait."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    # Reads, which need no transaction.

    def resources(self, type: str | None = None) -> list[Record]:
        """Return all resources, or those of one type, in order of creation."""
        statement = "SELECT * FROM resources WHERE type = coalesce(?, type) ORDER BY sequence"
        return self._records(statement, (type,))

    def oldest(self) -> Record | None:
        """Return the oldest resource, or None."""
        return next(iter(self._records("SELECT * FROM resources ORDER BY sequence LIMIT 1", ())), None)

    def find(self, type: str, id: str) -> Record | None:
        """Return the resource with this id, or None."""
        records = self._records("SELECT * FROM resources WHERE type = ? AND id = ? ORDER BY sequence", (type, id))
        return records[0] if records else None

    def operations(self) -> list[Operation]:
        """Return all calls, oldest first."""
        return [Operation(*row) for row in self.connection.execute("SELECT * FROM operations ORDER BY sequence")]

    def count(self, type: str, region: str) -> int:
        """Return the number of resources of a type in a region."""
        statement = "SELECT COUNT(*) FROM resources WHERE type = ? AND region = ?"
        return self.connection.execute(statement, (type, region)).fetchone()[0]

    def counts(self, type: str, region: str | None, property: str, *, without: int = -1) -> dict[str, int]:
        """Count resources of a type by an input's value, without that of one sequence. region: None for all regions."""
        rows = self.connection.execute(
            "SELECT json_extract(inputs, ?), COUNT(*) FROM resources"
            " WHERE type = ? AND region = coalesce(?, region) AND sequence != ? GROUP BY 1",
            (f"$.{property}", type, region, without),
        )
        return dict(rows.fetchall())

    def setting(self, name: str) -> str | None:
        """Return a setting of this cloud state, or None if the default applies."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (f"setting/{name}",)).fetchone()
        return row[0] if row else None

    def settings(self, start: str) -> list[str]:
        """Return the names of the settings that begin with `start`, in alphabetical order."""
        rows = self.connection.execute("SELECT key FROM meta WHERE key GLOB ? ORDER BY key", (f"setting/{start}*",))
        return [name.removeprefix("setting/") for (name,) in rows]

    def boots(self, state: str | None = None) -> list[Boot]:
        """Return the simulated boots of all machines that ever existed, or those in one state."""
        statement = "SELECT * FROM boots WHERE state = coalesce(?, state) ORDER BY at, instance"
        return [Boot(*row) for row in self.connection.execute(statement, (state,))]

    def buckets(self) -> list[str]:
        """Return the names of buckets that hold objects."""
        return [row[0] for row in self.connection.execute("SELECT DISTINCT bucket FROM objects ORDER BY bucket")]

    def objects(self, bucket: str) -> dict[str, ObjectRecord]:
        """Return a bucket's objects by key, without those whose newest version is a delete marker."""
        rows = self.connection.execute(
            "SELECT bucket, key, content, etag, content_type, modified, COUNT(*), MAX(version) FROM objects"
            " WHERE bucket = ? GROUP BY key ORDER BY key",
            (bucket,),
        )
        return {row[1]: ObjectRecord(*row[:7]) for row in rows if row[3]}

    def object(self, bucket: str, key: str) -> ObjectRecord | None:
        """Return the newest version of an object; None if there is none, or if it is a delete marker."""
        rows = self.connection.execute(
            "SELECT bucket, key, content, etag, content_type, modified, COUNT(*), MAX(version) FROM objects"
            " WHERE bucket = ? AND key = ? GROUP BY key",
            (bucket, key),
        )
        return next((ObjectRecord(*row[:7]) for row in rows if row[3]), None)

    def is_empty(self, bucket: str) -> bool:
        """Return whether a bucket holds no version of any object, and no delete marker."""
        statement = "SELECT COUNT(*) FROM objects WHERE bucket = ?"
        return self.connection.execute(statement, (bucket,)).fetchone()[0] == 0

    def secret_values(self, secret: str) -> dict[str, str]:
        """Return the values of a secret by version id, oldest first. secret: its ARN."""
        rows = self.connection.execute(
            "SELECT version, value FROM secrets.versions WHERE secret = ? ORDER BY created, version", (secret,)
        )
        return dict(rows.fetchall())

    def secret_age(self, secret: str, version: str) -> float:
        """Return the seconds since a version of a secret was written."""
        row = (secret, version)
        found = self.connection.execute("SELECT created FROM secrets.versions WHERE (secret, version) = (?, ?)", row)
        return (datetime.now(timezone.utc) - datetime.fromisoformat(found.fetchone()[0])).total_seconds()

    # Writes of providers and services, inside a transaction.

    def next_sequence(self) -> int:
        """Return the next unused number; ids are derived from it."""
        self.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'sequence'")
        return int(self.connection.execute("SELECT value FROM meta WHERE key = 'sequence'").fetchone()[0])

    def digits(self, sequence: int, salt: str) -> str:
        """Return 64 hexadecimal digits that depend on seed, sequence and salt alone."""
        return hashlib.sha256(f"{self.seed}/{sequence}/{salt}".encode()).hexdigest()

    def put(self, record: Record) -> None:
        """Add a resource, or replace it."""
        inputs = record.inputs
        computed = {
            name: value for name, value in record.outputs.items() if name not in inputs or value != inputs[name]
        }
        row = (record.sequence, record.type, record.id, record.urn, record.region)
        row += (json.dumps(record.inputs), json.dumps(computed), record.created)
        self.connection.execute("INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def remove(self, sequence: int) -> None:
        """Delete a resource with its links and claims."""
        for statement in (
            "DELETE FROM resources WHERE sequence = ?",
            "DELETE FROM links WHERE owner = ?",
            "DELETE FROM claims WHERE owner = ?",
        ):
            self.connection.execute(statement, (sequence,))

    def link(self, owner: int, links: list[tuple[str, str, str, str]]) -> None:
        """Set a resource's references: rows of path, target type, target id, and effect of deleting the target."""
        self.connection.execute("DELETE FROM links WHERE owner = ?", (owner,))
        self.connection.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?)", [(owner, *row) for row in links])

    def referrers(self, type: str, id: str, holds: str = "%") -> list[Record]:
        """Return the resources that refer to this one. holds: effect of deleting the target (Reference.holds)."""
        return self._records(
            "SELECT DISTINCT resources.* FROM resources JOIN links ON links.owner = resources.sequence"
            " WHERE links.target_type = ? AND links.target_id = ? AND links.holds LIKE ? ORDER BY resources.sequence",
            (type, id, holds),
        )

    def claim(self, kind: str, key: str) -> tuple[int | None, str | None] | None:
        """Return the claim of a name: (owner's sequence or None, kept until or None); None if the name is free."""
        statement = "SELECT owner, until FROM claims WHERE kind = ? AND key = ?"
        return self.connection.execute(statement, (kind, key)).fetchone()

    def set_claims(self, owner: int, claims: list[tuple[str, str]]) -> None:
        """Set a resource's names: rows of kind, key. Raises sqlite3.IntegrityError if another resource has a key."""
        self.connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        rows = [(kind, key, owner) for kind, key in claims]
        self.connection.executemany("INSERT INTO claims VALUES (?, ?, ?, NULL)", rows)

    def keep_claim(self, kind: str, key: str, until: str) -> None:
        """Keep a name taken until a time after its owner is deleted."""
        self.connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, NULL, ?)", (kind, key, until))

    def put_object(
        self, bucket: str, key: str, content: bytes, content_type: str, *, versioned: bool, etag: str = ""
    ) -> str:
        """Write an object and return its ETag, by default S3's; without versioning, it replaces all versions."""
        if not versioned:
            self.remove_object(bucket, key)
        etag = etag or object_etag(content)
        self.connection.execute(
            "INSERT INTO objects (bucket, key, content, etag, content_type, modified) VALUES (?, ?, ?, ?, ?, ?)",
            (bucket, key, content, etag, content_type, now()),
        )
        return etag

    def remove_object(self, bucket: str, key: str) -> None:
        """Take away an object with all its versions."""
        self.connection.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket, key))

    def put_delete_marker(self, bucket: str, key: str) -> None:
        """Hide an object, and keep its versions; a marker is a version without an ETag."""
        self.connection.execute(
            "INSERT INTO objects (bucket, key, content, etag, content_type, modified) VALUES (?, ?, x'', '', '', ?)",
            (bucket, key, now()),
        )

    def empty_bucket(self, bucket: str) -> None:
        """Delete all objects of a bucket."""
        self.connection.execute("DELETE FROM objects WHERE bucket = ?", (bucket,))

    def put_secret(self, secret: str, version: str, value: str) -> None:
        """Write a version of a secret."""
        statement = "INSERT OR REPLACE INTO secrets.versions VALUES (?, ?, ?, ?)"
        moment = datetime.now(timezone.utc).isoformat()  # orders versions of the same second
        self.connection.execute(statement, (secret, version, value, moment))

    def blank_secret(self, secret: str, version: str) -> None:
        """Erase the value of one version and keep its number; an empty value marks that, as no cloud accepts one."""
        self.connection.execute(
            "UPDATE secrets.versions SET value = '' WHERE (secret, version) = (?, ?)", (secret, version)
        )

    def remove_secret(self, secret: str, version: str | None = None) -> None:
        """Delete one version of a secret, or all versions."""
        statement = "DELETE FROM secrets.versions WHERE secret = ? AND version = coalesce(?, version)"
        self.connection.execute(statement, (secret, version))

    def set_setting(self, name: str, value: str) -> None:
        """Set a setting of this cloud state."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"setting/{name}", value))

    def put_boot(self, boot: Boot) -> None:
        """Write how far a machine's simulated boot got."""
        row = (boot.instance, boot.machine, boot.bundle, boot.state, boot.reason, boot.at)
        self.connection.execute("INSERT OR REPLACE INTO boots VALUES (?, ?, ?, ?, ?, ?)", row)

    def log(self, kind: str, type: str, urn: str, id: str, seconds: float, error: str | None = None) -> None:
        """Log a call."""
        self.connection.execute(
            "INSERT INTO operations (kind, type, urn, id, simulated_seconds, error, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (kind, type, urn, id, seconds, error, now()),
        )

    def _records(self, statement: str, values: tuple[Any, ...]) -> list[Record]:
        return [_record(*row) for row in self.connection.execute(statement, values)]


def object_etag(content: bytes) -> str:
    """Return the ETag of S3 for an object written in one piece."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def now() -> str:
    """Return the time as the clouds write it: UTC, seconds, Z."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _record(
    sequence: int, type: str, id: str, urn: str, region: str, inputs: str, computed: str, created: str
) -> Record:
    properties = json.loads(inputs)
    outputs = properties | json.loads(computed)
    return Record(sequence, type, id, urn.rsplit("::", 1)[-1], urn, region, properties, outputs, created)
