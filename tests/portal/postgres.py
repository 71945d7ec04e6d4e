"""A PostgreSQL server of Debian's package on loopback, for tests of the portal.

The server refuses to run as root, so root runs it as `nobody`.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.operations.strange_servers import closed_port


def programs() -> Path:
    """Return the folder of the programs of the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


@contextmanager
def server() -> Iterator[str]:
    """Yield the address of a new server's user, such as postgres://portal@127.0.0.1:5432; a database's name follows."""
    with stoppable() as (address, _):
        yield address


@contextmanager
def stoppable() -> Iterator[tuple[str, Callable[[bool], None]]]:
    """Yield the address of a new server, and a function that starts it (True) or stops it (False)."""
    at, folder, port = programs(), Path(tempfile.mkdtemp(prefix="portal-pg-")), closed_port()
    as_user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    if as_user:
        shutil.chown(folder, "nobody", "nogroup")

    def run(program: str, *words: str) -> None:
        where = ["-D", str(folder / "data")]
        subprocess.run([at / program, *where, *words], check=True, capture_output=True, cwd=folder, **as_user)

    try:
        run("initdb", "-U", "portal", "--auth=trust", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"

        def turn(on: bool) -> None:
            more = ["start", "-w", "-l", str(folder / "log"), "-o", options] if on else ["stop", "-m", "fast"]
            run("pg_ctl", *more)

        turn(True)
        try:
            yield f"postgres://portal@127.0.0.1:{port}", turn
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder)


def again(address: str, name: str, *, template: str) -> None:
    """Make a database again as a copy of another one; connections to both are ended."""
    with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        connection.execute(ended, [template])
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
