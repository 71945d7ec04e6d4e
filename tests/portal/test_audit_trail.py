"""Rows of the audit trail on both databases: names of any length that Django accepts, and no row that changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operations.stacks.paths import REPOSITORY
from tests.portal import postgres

pytestmark = pytest.mark.subprocess
RECORDED = """
import django
django.setup()
from django.core.management import call_command
from django.db import IntegrityError
from portal import audit
from portal.models import Event
call_command("migrate", "portal", "0009", verbosity=0)
audit.record("first", "person.new", "first")
call_command("migrate", verbosity=0)
audit.record("a" * 200, "person.new", "n" * 150)
assert [(len(each.actor), len(each.subject)) for each in Event.objects.all()] == [(150, 150), (5, 5)]
for change in (lambda: Event.objects.all().delete(), lambda: Event.objects.update(subject="x")):
    try:
        change()
    except IntegrityError as error:
        assert "append-only" in str(error)
    else:
        raise AssertionError("a row was changed")
"""


def recorded(data: Path, database: str) -> None:
    own = {"MULLION_PORTAL_DATA": str(data), "MULLION_PORTAL_DATABASE": database}
    environment = {**os.environ, **own, "DJANGO_SETTINGS_MODULE": "portal.settings", "PYTHONPATH": str(REPOSITORY)}
    line = [sys.executable, "-c", RECORDED]
    done = subprocess.run(line, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_row_has_the_longest_name_and_stays_after_an_upgrade_on_postgresql(tmp_path: Path) -> None:
    with postgres.server() as address:
        postgres.again(address, "portal", template="template0")
        recorded(tmp_path, f"{address}/portal")


def test_a_row_has_the_longest_name_and_stays_after_an_upgrade_on_sqlite(tmp_path: Path) -> None:
    recorded(tmp_path, "")
