"""The commands of docs/portal-production.md for backup and restore, on PostgreSQL."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from operations.stacks.paths import REPOSITORY
from tests.portal import postgres

pytestmark = pytest.mark.subprocess
DOCUMENT = (REPOSITORY / "docs" / "portal-production.md").read_text("utf-8")
FOLDER = "/var/lib/mullion-portal"


def commands(program: str) -> str:
    """Return the document's command line of a program, for the user postgres without sudo."""
    blocks = re.findall(r"^```bash\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    [line] = [line for block in blocks for line in block.splitlines() if f"{program} " in line]
    return line.removeprefix("sudo -u postgres ")


def test_a_restored_portal_has_its_rows_its_folder_and_an_audit_trail_that_nobody_changes(tmp_path: Path) -> None:
    data, fresh = tmp_path / "data", tmp_path / "fresh"
    fresh.mkdir()
    with postgres.server() as address:
        postgres.again(address, "portal", template="template0")
        environment = {**os.environ, "MULLION_PORTAL_DATA": str(data), "MULLION_PORTAL_DATABASE": f"{address}/portal"}
        with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
            connection.execute("CREATE ROLE postgres SUPERUSER LOGIN")
        host, port = address.rpartition("@")[2].split(":")
        environment |= {"PGHOST": host, "PGPORT": port, "PGUSER": "postgres"}
        environment |= {"PATH": f"{postgres.programs()}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}

        def ran(*words: str) -> str:
            return subprocess.run(
                words, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
            ).stdout

        def portal(*words: str) -> str:
            return ran(sys.executable, "-m", "portal", *words)

        portal("migrate", "--no-input")
        portal("load_catalogue", str(REPOSITORY / "portal" / "catalogue"))
        for program in ("pg_dump", "tar --create"):
            ran("bash", "-c", commands(program).replace(FOLDER, str(data)))
        postgres.again(address, "other", template="template0")
        environment |= {"MULLION_PORTAL_DATABASE": f"{address}/other", "MULLION_PORTAL_DATA": str(fresh)}
        for program in ("pg_restore", "tar --extract"):
            line = commands(program).replace("--dbname=portal", "--dbname=other")
            ran("bash", "-c", line.replace(FOLDER, str(fresh)))
        assert "No planned migration operations" in portal("migrate", "--plan")
        assert portal("load_catalogue", str(REPOSITORY / "portal" / "catalogue")).strip() == "nothing changed"
        assert (fresh / "secret-key").read_text() == (data / "secret-key").read_text()
        with psycopg.connect(f"{address}/other") as connection:
            assert connection.execute("SELECT count(*) FROM portal_event").fetchone() == (2,)
            owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
            assert connection.execute(owners).fetchall() == [("portal",)]
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="append-only"):
                connection.execute("DELETE FROM portal_event")
