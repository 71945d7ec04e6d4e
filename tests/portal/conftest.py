"""Django with a database of its own for each test: a copy of a database that was migrated once.

SQLite; with MULLION_TEST_POSTGRES=1 PostgreSQL, which the tests start.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip("django_tasks_db", reason="the extra `portal` is not installed: make venv")

import django
from django.core.management import call_command
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment

from tests.portal import postgres

PASSWORD = "a-password-of-tests"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Return the address of a PostgreSQL server; nothing for SQLite."""
    with postgres.server() if os.environ.get("MULLION_TEST_POSTGRES") else nullcontext("") as address:
        if address:
            os.environ["MULLION_PORTAL_DATABASE"] = f"{address}/portal"
            postgres.again(address, "portal", template="template1")
        yield address


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[Path]:
    """Return the data folder, with the database of a first start."""
    folder = tmp_path_factory.mktemp("portal")
    os.environ.update(MULLION_PORTAL_DATA=str(folder), DJANGO_SETTINGS_MODULE="portal.settings")
    django.setup()
    setup_test_environment()
    from django.conf import settings
    from django.db import connection

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    call_command("migrate", verbosity=0)
    from portal import demo
    from portal.models import User

    demo.begin()
    for user in User.objects.all():
        user.set_password(PASSWORD)
        user.save()
    connection.close()
    if server:
        postgres.again(server, "first", template="portal")
    else:
        shutil.copy(folder / "portal.db", folder / "first.db")
    yield folder
    teardown_test_environment()


@pytest.fixture
def data(migrated: Path, server: str) -> Iterator[Path]:
    """Return the data folder; its database is that of a first start again."""
    from django.core.cache import cache
    from django.db import connection

    cache.clear()  # counters of limits
    if server:
        connection.close()
        postgres.again(server, "portal", template="first")
    else:
        for rest in migrated.glob("portal.db*"):
            rest.unlink()
        shutil.copy(migrated / "first.db", migrated / "portal.db")
    yield migrated
    connection.close()


@pytest.fixture
def sign_in(data: Path) -> Callable[[str], Client]:
    def signed_in(name: str) -> Client:
        client = Client()
        assert client.login(username=name, password=PASSWORD)
        return client

    return signed_in
