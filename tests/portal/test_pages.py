"""Pages: asking, limits, approval, and what another team gets to see."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test import Client

from tests.portal.conftest import PASSWORD

SignIn = Callable[[str], Client]
ACTIONS = ("approve", "refuse", "extend", "remove", "retry")


def ask(client: Client, template: str = "windows-small", **values: str) -> str:
    answer = client.post(f"/ask/{template}/", {"team": "red", "name": "one", "hours": "8", **values}, follow=True)
    return answer.content.decode()


def cluster(name: str = "red-one"):
    from portal.models import Cluster

    return Cluster.objects.get(name=name)


def test_a_page_without_a_person_leads_to_the_sign_in(data: Path) -> None:
    for path in ("/", "/ask/windows-small/", "/clusters/red-one/", "/audit.jsonl"):
        answer = Client().get(path)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/sign-in/")


def test_headers_forbid_frames_inline_scripts_and_caches(data: Path) -> None:
    answer = Client().get("/sign-in/")
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Cache-Control"].startswith(("no-store", "max-age=0"))


def test_a_post_without_the_token_of_the_page_is_refused(sign_in: SignIn) -> None:
    client = sign_in("alice")
    client.handler.enforce_csrf_checks = True
    assert client.post("/ask/windows-small/", {"team": "red", "name": "one", "hours": "8"}).status_code == 403


@pytest.mark.parametrize(("name", "address", "refused"), [("pat", "10.0.0.2", True), ("alice", "10.0.0.1", False)])
def test_a_name_that_is_tried_too_often_waits_and_others_sign_in(
    name: str, address: str, refused: bool, data: Path
) -> None:
    from django.conf import settings

    cache.clear()
    for number in range(settings.SIGN_INS_OF_A_NAME_A_MINUTE):
        form = {"username": ("pat", "PAT ")[number % 2], "password": "wrong"}
        assert Client().post("/sign-in/", form, REMOTE_ADDR="10.0.0.1").status_code == 200
    answer = Client().post("/sign-in/", {"username": name, "password": PASSWORD}, REMOTE_ADDR=address)
    assert answer.status_code == (429 if refused else 302)
    assert Client().get("/admin/login/")["Location"] == "/sign-in/", "there is no other way to sign in"


def test_the_plan_of_a_form_shows_machines_and_a_cost_that_grows_with_them(sign_in: SignIn) -> None:
    client = sign_in("alice")
    plans = [client.post("/ask/windows-small/plan/", {"pools.windows.count": str(count)}) for count in (1, 3)]
    assert "<td>windows-2</td>" not in plans[0].content.decode()
    assert "<td>windows-2</td>" in plans[1].content.decode()
    assert plans[0].context["plan"].month < plans[1].context["plan"].month


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"pools.windows.count": "5"}, "is not a whole number from 1 to 4"),
        ({"aws:region": "us-west-2"}, "us-west-2 is not offered"),
        ({"hours": "73"}, "is not a whole number from 1 to 72"),
        ({"name": "../x"}, "write 2 to 15 lower-case letters"),
        ({"pools.windows.count": "4", "pools.windows.size": "m6i.2xlarge"}, "this template allows 1,500"),
    ],
)
def test_a_choice_beyond_the_limits_is_refused_with_the_limit(
    values: dict[str, str], said: str, sign_in: SignIn
) -> None:
    from portal.models import Cluster, Job

    assert said in ask(sign_in("alice"), **values)
    assert not Cluster.objects.exists()
    assert not Job.objects.exists()


def test_the_quota_of_a_team_counts_all_its_clusters(sign_in: SignIn) -> None:
    client = sign_in("alice")
    assert "being built" in ask(client)
    assert "being built" in ask(client, name="two")
    assert "may have 1,000" in ask(client, name="three")


def test_a_person_cannot_ask_for_a_cluster_of_another_team(sign_in: SignIn) -> None:
    answer = sign_in("bob").post("/ask/windows-small/", {"team": "red", "name": "one", "hours": "8"})
    assert answer.status_code == 404


def test_another_team_finds_no_page_of_a_cluster(sign_in: SignIn) -> None:
    ask(sign_in("alice"))
    bob = sign_in("bob")
    assert "red-one" not in bob.get("/").content.decode()
    for path in ("", "progress/"):
        assert bob.get(f"/clusters/red-one/{path}").status_code == 404
    for action in ACTIONS:
        assert bob.post(f"/clusters/red-one/{action}/", {"confirm": "red-one", "hours": "1"}).status_code == 404
    assert bob.get("/audit.jsonl").status_code == 404
    assert cluster().state == "building"
    assert "red-one" in sign_in("pat").get("/").content.decode()


def test_a_request_above_the_rule_waits_for_another_person(sign_in: SignIn) -> None:
    from portal.models import Event, Job

    client = sign_in("alice")
    assert "waits for approval" in ask(client, hours="48")
    assert "decides" in client.post("/clusters/red-one/approve/", follow=True).content.decode()
    assert not Job.objects.exists()
    sign_in("pat").post("/clusters/red-one/approve/")
    assert cluster().state == "building"
    assert [each.kind for each in Job.objects.all()] == ["up"]
    rows = list(Event.objects.filter(subject="red-one").order_by("id").values_list("actor", "action"))
    assert rows == [("alice", "cluster.ask"), ("pat", "cluster.approve"), ("pat", "job.up")]


def built(hours: int) -> None:
    """Let the cluster red-one be built just now, to live so many hours."""
    from django.utils import timezone

    from portal.models import Cluster, Job

    Job.objects.update(state="done")
    now = timezone.now()
    Cluster.objects.update(state="ready", built_at=now, expires=now + timedelta(hours=hours))


@pytest.mark.parametrize("rule", [{"above_hours": 24}, {"always": True}], ids=["above hours", "always"])
def test_an_extension_beyond_the_rule_needs_another_person(sign_in: SignIn, rule: dict[str, Any]) -> None:
    """Ask for a short life, which needs no approval or is approved, and then extend the cluster alone."""
    from portal.models import Job
    from tests.portal.test_api import approver

    client = sign_in("alice")
    ask(client)
    approver("alice")
    built(8)
    version = cluster().version
    version.document |= {"approval": rule}
    version.save()
    refused = client.post("/clusters/red-one/extend/", {"hours": "17"}, follow=True).content.decode()
    assert "Somebody else than the person who asked for red-one has to decide" in refused
    assert "ask an approver of team red or the platform team to extend it" in refused
    assert not Job.objects.filter(kind="extend").exists()
    sign_in("pat").post("/clusters/red-one/extend/", {"hours": "17"})
    assert Job.objects.get(kind="extend").hours == 17


def test_an_extension_up_to_the_rule_needs_nobody(sign_in: SignIn) -> None:
    from portal.models import Job

    client = sign_in("alice")
    ask(client)
    built(8)
    client.post("/clusters/red-one/extend/", {"hours": "16"})
    assert Job.objects.get(kind="extend").hours == 16


def test_a_deleted_person_of_the_demo_does_not_come_back_with_the_known_password(data: Path) -> None:
    from portal import demo
    from portal.models import User

    User.objects.get(username="pat").delete()
    assert "first password" in demo.begin()
    assert not User.objects.filter(username="pat").exists()
    User.objects.all().delete()
    User.objects.create(username="carol")
    assert demo.begin() == "Sign in with your account"
    assert [each.username for each in User.objects.all()] == ["carol"]


def test_a_removal_needs_the_name_and_the_end_of_the_running_job(sign_in: SignIn) -> None:
    client = sign_in("alice")
    ask(client)
    for confirm, said in (("red-two", "write its name: red-one"), ("red-one", "has a job that has not ended")):
        answer = client.post("/clusters/red-one/remove/", {"confirm": confirm}, follow=True)
        assert said in answer.content.decode()
    assert cluster().state == "building"


def test_a_template_that_no_longer_plans_says_so_and_cannot_be_asked_for(sign_in: SignIn) -> None:
    from portal.models import Version

    version = Version.objects.get(template__name="windows-small")
    version.document["config"]["mullion:cluster"]["kubernetes"] = "1.99.0"
    version.save()
    client = sign_in("alice")
    page = client.get("/").content.decode()
    assert "no longer plans" in page
    assert 'href="/ask/windows-small/"' not in page
    assert "1.99.0" in ask(client)


def test_a_changed_file_is_a_new_version_of_its_template(data: Path, tmp_path: Path) -> None:
    from portal import catalogue_files

    text = (catalogue_files.SHIPPED / "windows-small.yaml").read_text("utf-8")
    (tmp_path / "windows-small.yaml").write_text(text)
    assert catalogue_files.load(tmp_path, "pat") == []
    (tmp_path / "windows-small.yaml").write_text(text.replace("most: 4", "most: 2"))
    (made,) = catalogue_files.load(tmp_path, "pat")
    assert str(made) == "windows-small 2"


@pytest.mark.parametrize("statement", ["UPDATE portal_event SET actor = 'x'", "DELETE FROM portal_event"])
def test_the_database_refuses_to_change_the_audit_trail(statement: str, data: Path) -> None:
    with connection.cursor() as cursor, pytest.raises(DatabaseError, match="append-only"):
        cursor.execute(statement)


def test_the_platform_team_downloads_the_audit_trail(sign_in: SignIn) -> None:
    ask(sign_in("alice"))
    lines = b"".join(sign_in("pat").get("/audit.jsonl")).decode().splitlines()
    assert '"actor": "alice"' in lines[-1]


def test_migrations_describe_the_models(data: Path) -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_a_request_that_is_withdrawn_twice_at_once_is_not_built(sign_in: SignIn) -> None:
    """Two removals that both read the request as waiting: the second must not queue a job, whose cancellation would
    leave a cluster that can be built without approval.
    """
    from portal import actions
    from portal.models import Job, User

    ask(sign_in("alice"), hours="48")
    alice = User.objects.get(username="alice")
    read, again = cluster(), cluster()
    assert read.state == again.state == "asked"
    actions.remove(alice, read, "red-one")
    with pytest.raises(actions.NotPossible, match="changed meanwhile"):
        actions.remove(alice, again, "red-one")
    with pytest.raises(actions.NotPossible, match="has not failed"):
        actions.retry(alice, again)
    assert (cluster().state, list(Job.objects.all())) == ("removed", [])


def test_a_removal_that_meets_a_refusal_removes_nothing(sign_in: SignIn) -> None:
    from portal import actions
    from portal.models import Cluster, Job, User

    ask(sign_in("alice"), hours="48")
    read = cluster()
    Cluster.objects.filter(pk=read.pk).update(state="refused")
    with pytest.raises(actions.NotPossible, match="changed meanwhile"):
        actions.remove(User.objects.get(username="alice"), read, "red-one")
    assert (cluster().state, list(Job.objects.all())) == ("refused", [])
