"""A restart of PostgreSQL while workers run `mullion`, in whose place a program of this test runs."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from operations.stacks.paths import REPOSITORY
from tests.awaited import until
from tests.portal import postgres

pytestmark = pytest.mark.subprocess
SETUP = "import sys, django; from pathlib import Path; django.setup(); "
ASKED = f"""{SETUP}
from django.core.management import call_command
from django.utils import timezone
from portal import actions, demo, inquiries
from portal.models import Cluster, Team, Template, User
call_command("migrate", verbosity=0)
demo.begin()
template = Template.objects.get(name="windows-small")
for name, team in (("alice", "red"), ("bob", "blue")):
    actions.ask(User.objects.get(username=name), Team.objects.get(name=team), template, "one", {{}}, 8)
pat = User.objects.get(username="pat")
Cluster.objects.create(name="red-two", team=Team.objects.get(name="red"), version=template.newest, hours=8, month=1,
                       asked_by=pat, state="ready", built_at=timezone.now())
inquiries.verify(pat, Cluster.objects.get(name="red-two"))
"""
REQUESTS = f"""{SETUP}
from django.core.signals import request_finished, request_started
from django.db import connection
for _ in range(2):
    request_started.send(None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    request_finished.send(None)
    print("answered", flush=True)
    sys.stdin.readline()
"""
"""Two requests in one thread of the web server, which keeps its connection between them."""
WORKER = f"""{SETUP}
from portal import __main__, folders, jobs, processes
folders.clone = lambda: Path(sys.argv[1])
processes.LOST_SECONDS, jobs.BEAT_SECONDS = 3, 0.5
__main__.main(["worker", *sys.argv[2:]])
"""
PROGRAM = """
import sys, time
from pathlib import Path
with Path("runs").open("a") as file:
    file.write(" ".join(sys.argv[1:3]) + "\\n")
print("begun", file=sys.stderr)
while not Path(sys.argv[2] + ".end").exists():
    time.sleep(0.1)
print('{"rows": []}' if sys.argv[1] == "verify" else "Endpoint https://" + sys.argv[2])
"""
"""Stands for `mullion`: ends once the test writes a file."""
OPEN = "SELECT count(*) FROM {} WHERE state IN ('waiting', 'running')"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder in which workers run the program."""
    (tmp_path / "operations").mkdir()
    (tmp_path / "operations" / "__init__.py").touch()
    (tmp_path / "operations" / "__main__.py").write_text(PROGRAM)
    (tmp_path / "stacks").mkdir()
    return tmp_path


@contextmanager
def workers(place: Path, environment: dict[str, str]) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Run two workers for jobs, and one for tests."""
    with ExitStack() as stack:
        words = [sys.executable, "-c", WORKER, str(place)]
        started = [
            stack.enter_context(subprocess.Popen([*words, *more], env=environment, cwd=REPOSITORY))
            for more in ([], [], ["reports"])
        ]
        try:
            yield started
        finally:
            for each in started:
                each.kill()


def test_the_start_of_the_portal_waits_for_the_database(tmp_path: Path) -> None:
    with postgres.stoppable() as (address, turn):
        turn(False)
        environment = {
            **os.environ,
            "MULLION_PORTAL_DATABASE": f"{address}/postgres",
            "MULLION_PORTAL_DATA": str(tmp_path),
        }
        line = [sys.executable, "-m", "portal", "wait_for_database"]
        with subprocess.Popen(line, env=environment, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stderr
            assert "does not answer" in waiting.stderr.readline()
            assert waiting.poll() is None
            turn(True)
            assert waiting.wait(60) == 0


def test_a_request_after_a_restart_gets_a_connection_that_works(tmp_path: Path) -> None:
    with postgres.stoppable() as (address, turn):
        own = {"MULLION_PORTAL_DATABASE": f"{address}/postgres", "MULLION_PORTAL_DATA": str(tmp_path)}
        environment = {**os.environ, **own, "DJANGO_SETTINGS_MODULE": "portal.settings", "PYTHONPATH": str(REPOSITORY)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, "-c", REQUESTS], env=environment, cwd=REPOSITORY, **pipes) as server:
            assert server.stdin
            assert server.stdout
            assert server.stdout.readline() == "answered\n"
            turn(False)
            turn(True)
            answered, _ = server.communicate("\n\n", timeout=60)
        assert (answered, server.returncode) == ("answered\n", 0)


def test_a_restart_of_the_database_ends_no_run_and_starts_none_again(place: Path) -> None:
    """One program ends while the database is away, the others after it. All workers look for killed workers."""
    with postgres.stoppable() as (address, turn):
        postgres.again(address, "portal", template="template0")
        own = {"MULLION_PORTAL_DATABASE": f"{address}/portal", "MULLION_PORTAL_DATA": str(place / "data")}
        environment = {**os.environ, **own, "DJANGO_SETTINGS_MODULE": "portal.settings", "PYTHONPATH": str(REPOSITORY)}
        subprocess.run([sys.executable, "-c", ASKED], env=environment, cwd=REPOSITORY, check=True)

        def rows(query: str) -> list[tuple[Any, ...]]:
            with psycopg.connect(f"{address}/portal") as connection:
                return connection.execute(query.encode()).fetchall()

        def runs() -> list[str]:
            return sorted((place / "runs").read_text().splitlines()) if (place / "runs").exists() else []

        begun = ["up blue-one", "up red-one", "verify red-two"]
        with workers(place, environment) as started:
            until(lambda: runs() == begun, "three runs have begun", 120)
            turn(False)
            (place / "red-one.end").touch()
            time.sleep(6)  # beats are then older than LOST_SECONDS
            turn(True)
            time.sleep(5)  # upkeep has judged the beats again
            for name in ("blue-one", "red-two"):
                (place / f"{name}.end").touch()
            counted = [OPEN.format(table) for table in ("portal_job", "portal_inquiry")]
            until(lambda: [rows(each) for each in counted] == [[(0,)]] * 2, "all have ended", 60)
            assert [each.poll() for each in started] == [None] * 3, "a worker has ended"
        jobs = rows("SELECT state, attempt, lines FROM portal_job ORDER BY lines")
        assert jobs == [("done", 1, f"begun\nEndpoint https://{name}") for name in ("blue-one", "red-one")]
        assert (rows("SELECT state, said FROM portal_inquiry"), runs()) == ([("done", "begun")], begun)
