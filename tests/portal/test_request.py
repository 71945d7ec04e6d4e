"""`mullion request` against the portal's own web server on loopback."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from typer.testing import CliRunner, Result
from waitress.server import create_server

from operations.__main__ import app
from operations.console.exits import Exit
from tests.portal.test_api import approver, made
from tests.portal.test_changes import SignIn, built

Run = Callable[..., Result]
ASK = ("ask", "windows-small", "one", "--team", "red")


@pytest.fixture
def portal_server(data: Path) -> Iterator[str]:
    """Return the address of the portal's web server, which runs in threads of this process."""
    from django.core.wsgi import get_wsgi_application

    cache.clear()
    serving: Any = create_server(get_wsgi_application(), listen="127.0.0.1:0", threads=2)

    def serve() -> None:
        with contextlib.suppress(OSError):  # close() takes the sockets away while the loop polls them
            serving.run()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{serving.effective_port}"
    serving.close()
    thread.join(10)


@pytest.fixture
def request_(portal_server: str, tmp_path: Path) -> Run:
    """`mullion request` with alice's token in a file."""
    (tmp_path / "token").write_text(made("alice"))
    words = ("--server", portal_server, "--token-file", str(tmp_path / "token"))
    return lambda *line: CliRunner().invoke(app, ["request", *line, *words])


def test_request_shows_the_catalogue_and_plans_a_choice(request_: Run) -> None:
    assert "pools.windows.count" in request_("catalogue").stdout
    plan = request_(*ASK, "--set", "pools.windows.count=3", "--plan")
    assert (plan.exit_code, "windows-2" in plan.stdout, "built at once" in plan.stdout) == (0, True, True)
    too_many = request_(*ASK, "--set", "pools.windows.count=9", "--plan")
    assert (too_many.exit_code, "from 1 to 4" in too_many.stderr) == (Exit.REFUSED, True)
    assert request_("list").stdout == "there are no clusters\n"


def test_request_asks_lists_shows_extends_and_removes(request_: Run) -> None:
    from django.utils import timezone

    from portal.models import Cluster, Job

    assert request_(*ASK, "--hours", "8").stdout.startswith("red-one: building; USD ")
    again = request_(*ASK)
    assert (again.exit_code, "choose another name" in again.stderr) == (Exit.REFUSED, True)
    assert json.loads(request_("show", "red-one", "--json").stdout)["job"]["state"] == "waiting"
    now = timezone.now()
    Job.objects.update(state="done", lines="Endpoint https://x\n\x1b[31mred")
    Cluster.objects.update(state="ready", built_at=now, expires=now)
    shown = request_("show", "red-one", "--wait").stdout
    assert "alice (token ci)  cluster.ask" in shown
    assert "\x1b" not in shown, "output of a job does not move the terminal"
    assert "job extend: waiting" in request_("extend", "red-one", "2").stdout
    Job.objects.update(state="failed")
    assert request_("show", "red-one", "--wait").exit_code == Exit.FAILED
    assert request_("remove", "red-one", "--confirm", "red-one").stdout.startswith("red-one: removing")
    assert "red-one" in request_("list").stdout


def test_request_changes_a_built_cluster_after_it_has_shown_the_plan(request_: Run, sign_in: SignIn) -> None:
    built(sign_in("alice"))
    words = ("change", "red-one", "--set", "pools.windows.count=3")
    plan = request_(*words, "--plan")
    assert (plan.exit_code, "windows-2" in plan.stdout, "changed at once" in plan.stdout) == (0, True, True)
    changed = request_(*words)
    assert (changed.exit_code, "red-one: building" in changed.stdout) == (0, True), changed.stderr
    again = request_("change", "red-one", "--set", "pools.windows.count=2")
    assert (again.exit_code, "is not built" in again.stderr) == (Exit.REFUSED, True)


def test_request_approves_and_refuses_what_others_asked_for(request_: Run) -> None:
    from portal import actions
    from portal.models import Team, Template, User

    approver("alice")
    pat, team = User.objects.get(username="pat"), Team.objects.get(name="red")
    team.members.add(pat)
    for name in ("one", "two"):
        actions.ask(pat, team, Template.objects.get(name="windows-small"), name, {}, 48)
    assert "red-two" in request_("list", "--to-decide").stdout
    assert request_("approve", "red-one").stdout.startswith("red-one: building")
    assert request_("refuse", "red-two").stdout.startswith("red-two: refused")
    assert request_("approve", "red-two").exit_code == Exit.REFUSED
    assert "red-two" not in request_("list").stdout
    assert "red-two" in request_("list", "--all").stdout


def test_request_says_what_a_revoked_token_and_an_unknown_cluster_mean(request_: Run) -> None:
    from portal.models import Token

    unknown = request_("show", "blue-one")
    assert (unknown.exit_code, "no such cluster" in unknown.stderr) == (Exit.USAGE, True)
    Token.objects.all().delete()
    revoked = request_("list")
    assert (revoked.exit_code, "revoked or expired" in revoked.stderr) == (Exit.USAGE, True)
