"""Changes of clusters that are built: the rules of a request, and the job that does the change."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from tests.portal.test_api import Api, approver, made
from tests.portal.test_jobs import job, work
from tests.portal.test_pages import ask, cluster

SignIn = Callable[[str], Client]
COUNT = "pools.windows.count"


def built(client: Client, **values: str) -> None:
    """Ask for a cluster, and write what its job would leave."""
    from portal.models import Cluster, Job

    ask(client, **values)
    Job.objects.update(state="done", attempt=1)
    now = timezone.now()
    Cluster.objects.update(state="ready", built_at=now, expires=now + timedelta(hours=8))


def changed(client: Client, **values: str) -> str:
    return client.post("/clusters/red-one/change/", values, follow=True).content.decode()


def test_a_change_shows_its_plan_and_queues_one_job_with_the_new_values(sign_in: SignIn) -> None:
    from portal.models import Event

    client = sign_in("alice")
    built(client)
    before = cluster()
    assert f'name="{COUNT}" type="number" value="1"' in client.get("/clusters/red-one/change/").content.decode()
    plan = client.post("/clusters/red-one/change/plan/", {COUNT: "3"}).content.decode()
    assert "windows-2" in plan
    assert f"Now USD {before.month}" in plan
    changed(client, **{COUNT: "3"})
    after = cluster()
    assert (after.state, after.choices[COUNT], after.month > before.month) == ("building", "3", True)
    assert (job().kind, job().state, after.expires) == ("change", "waiting", before.expires)
    assert Event.objects.filter(action="cluster.change", actor="alice").count() == 1
    assert "is not built" in changed(client, **{COUNT: "2"}), "a job waits"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({COUNT: "1"}, "has these values already"),
        ({COUNT: "9"}, "is not a whole number from 1 to 4"),
        ({"pools.windows.size": "x1.32xlarge"}, "is not offered"),
    ],
)
def test_a_change_that_a_request_could_not_ask_for_is_refused(
    values: dict[str, str], said: str, sign_in: SignIn
) -> None:
    client = sign_in("alice")
    built(client)
    assert said in changed(client, **values)
    assert cluster().state == "ready"


def test_a_change_counts_against_the_quota_in_place_of_the_cluster_as_it_was(sign_in: SignIn) -> None:
    from portal.models import Team

    client = sign_in("alice")
    built(client)
    Team.objects.update(clusters_at_once=1, month=int(cluster().month) + 1)
    assert "may have" in changed(client, **{COUNT: "3"})
    Team.objects.update(month=1500)
    changed(client, **{COUNT: "3"})
    assert cluster().state == "building"


def test_a_cluster_that_shrinks_frees_the_quota_once_it_is_smaller(sign_in: SignIn) -> None:
    from portal.models import Cluster, Job, Team

    client = sign_in("alice")
    built(client, **{COUNT: "4"})
    Team.objects.update(month=int(cluster().month) + 100)
    changed(client, **{COUNT: "1"})
    assert "may have" in ask(client, name="two"), "its four workers run"
    Job.objects.update(state="failed")
    Cluster.objects.update(state="failed")
    assert "may have" in ask(client, name="two"), "they may run still"
    changed(client, **{COUNT: "4"})
    assert (cluster().state, cluster().claim) == ("building", cluster().month), "it may go back"


def test_a_form_that_was_shown_before_another_change_does_not_undo_it(sign_in: SignIn) -> None:
    from portal.models import Cluster, Job

    client = sign_in("alice")
    built(client)
    page = client.get("/clusters/red-one/change/").content.decode()
    [seen] = re.findall('name="seen" value="([0-9a-f]{64})"', page)
    changed(client, **{COUNT: "3"}, seen=seen)
    Job.objects.update(state="done")
    Cluster.objects.update(state="ready", before=None, counted=None)
    page = changed(client, **{COUNT: "1"}, seen=seen)
    assert "has changed since this page was shown" in page
    assert f'name="{COUNT}" type="number" value="3"' in page, "the form is shown anew"
    assert cluster().choices[COUNT] == "3"


def test_rules_of_approval_judge_the_life_with_its_extensions(sign_in: SignIn) -> None:
    from portal.models import Cluster

    client = sign_in("alice")
    built(client)
    Cluster.objects.update(expires=timezone.now() + timedelta(hours=60))
    assert "it lives longer than 24 hours" in changed(client, **{COUNT: "3"})
    assert cluster().state == "ready"


def test_a_second_attempt_that_is_refused_does_not_count_as_unchanged(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import jobs
    from portal.models import Job

    client = sign_in("alice")
    built(client)
    changed(client, **{COUNT: "3"})
    Job.objects.filter(kind="change").update(attempt=1)
    monkeypatch.setattr(jobs._Run, "_command", lambda self, words: 3)
    work()
    assert (cluster().state, cluster().choices[COUNT]) == ("failed", "3")


def test_a_removal_that_is_cancelled_leaves_a_cluster_failed_unless_its_last_job_ended_well(sign_in: SignIn) -> None:
    from portal.models import Cluster, Job

    client = sign_in("alice")
    built(client)
    changed(client, **{COUNT: "3"})
    Job.objects.filter(kind="change").update(state="failed", attempt=1)
    Cluster.objects.update(state="failed")
    client.post("/clusters/red-one/remove/", {"confirm": "red-one"})
    client.post("/clusters/red-one/cancel/")
    assert cluster().state == "failed"


def test_an_extension_that_is_cut_off_counts_as_far_as_the_stack_file_says(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import folders, jobs

    client = sign_in("alice")
    built(client)
    file = folders.clone() / "stacks" / "Pulumi.red-one.yaml"
    file.write_text("config: {'mullion:cluster': {expires: '2099-01-01T00:00:00Z'}}", "utf-8")
    client.post("/clusters/red-one/extend/", {"hours": "2"})
    monkeypatch.setattr(jobs._Run, "_command", lambda self, words: 130)
    work()
    file.unlink()
    assert job().state == "failed"
    assert str(cluster().expires).startswith("2099")


def test_an_unknown_kind_of_job_fails_and_removes_nothing(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal import jobs
    from portal.models import Job

    ask(sign_in("alice"))
    Job.objects.update(kind="later")
    monkeypatch.setattr(jobs._Run, "_command", lambda self, words: pytest.fail("it ran a command"))
    work()
    assert (job().state, "restart it" in job().lines) == ("failed", True)


def test_another_team_cannot_change_a_cluster(sign_in: SignIn) -> None:
    built(sign_in("alice"))
    assert sign_in("bob").post("/clusters/red-one/change/", {COUNT: "3"}).status_code == 404
    cache.clear()
    assert Api(made("bob", "blue")).call("POST", "/clusters/red-one/change", {"choices": {COUNT: 3}})[0] == 404
    assert cluster().state == "ready"


def test_a_cluster_that_grows_beyond_a_rule_needs_another_person_and_shrinks_without_one(sign_in: SignIn) -> None:
    from portal.models import Cluster, Job, Version

    for each in Version.objects.filter(template__name="windows-small"):
        each.document["approval"] = {"above_month": 1}
        each.save()
    client = sign_in("alice")
    built(client, **{COUNT: "2"})
    assert "Somebody else than the person who asked" in changed(client, **{COUNT: "3"})
    approver("bob")
    changed(sign_in("bob"), **{COUNT: "3"})
    assert cluster().state == "building"
    Job.objects.update(state="done")
    Cluster.objects.update(state="ready", before=None)
    changed(client, **{COUNT: "1"})
    assert cluster().state == "building"


def test_a_waiting_change_that_is_cancelled_leaves_the_values_from_before(sign_in: SignIn) -> None:
    client = sign_in("alice")
    built(client)
    month = cluster().month
    changed(client, **{COUNT: "3"})
    client.post("/clusters/red-one/cancel/")
    after = cluster()
    assert (after.state, after.choices.get(COUNT, "1"), after.month, after.before) == ("ready", "1", month, None)


@pytest.mark.parametrize(("code", "state", "count"), [(3, "ready", "1"), (2, "ready", "1"), (1, "failed", "3")])
def test_a_change_that_mullion_refuses_is_taken_back_and_one_that_fails_is_not(
    code: int, state: str, count: str, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import folders, jobs

    client = sign_in("alice")
    built(client)
    month, file = cluster().month, folders.clone() / "stacks" / "Pulumi.red-one.yaml"
    file.write_text("config: {'mullion:cluster': {pools: {windows: {count: 1}}}}", "utf-8")
    changed(client, **{COUNT: "3"})
    assert cluster().counted == cluster().month > month
    monkeypatch.setattr(jobs._Run, "_command", lambda self, words: code)
    work()
    after = cluster()
    assert (after.state, after.choices.get(COUNT, "1"), after.claim > month) == (state, count, count == "3")
    written = yaml.safe_load(file.read_text("utf-8"))["config"]["mullion:cluster"]
    assert str(written["pools"]["windows"]["count"]) == count
    file.unlink()


def test_the_api_changes_a_cluster_and_keeps_values_that_it_is_not_given(sign_in: SignIn) -> None:
    built(sign_in("alice"), **{"pools.windows.os": "windows-2019"})
    cache.clear()
    api = Api(made("alice"))
    status, plan = api.call("POST", "/clusters/red-one/change/plan", {"choices": {COUNT: 2}})
    systems = [each["os"] for each in plan["machines"] if each["pool"] == "windows"]
    assert (status, plan["problems"], systems) == (200, [], ["windows-2019"] * 2)
    status, found = api.call("POST", "/clusters/red-one/change", {"choices": {COUNT: 2}})
    assert (status, found["state"], Decimal(found["month"]) > 0) == (200, "building", True)
    assert found["choices"]["pools.windows.os"] == "windows-2019"
    assert api.call("POST", "/clusters/red-one/change", {"choices": {COUNT: 3}})[0] == 409


@pytest.mark.engine
def test_a_built_cluster_gets_another_worker_and_is_changed_back_after_a_change_that_fails(
    sign_in: SignIn, data: Path
) -> None:
    from portal import folders

    def machines() -> Any:
        file = folders.clone() / "stacks" / "Pulumi.red-one.yaml"
        return yaml.safe_load(file.read_text("utf-8"))["config"]["mullion:cluster"]["pools"]["windows"]["count"]

    client = sign_in("alice")
    ask(client)
    work()
    first = cluster()
    assert first.state == "ready", job().lines
    changed(client, **{COUNT: "2"})
    work()
    assert (cluster().state, job().kind, machines()) == ("ready", "change", 2), job().lines
    assert "windows-1" in job().lines
    assert (cluster().expires, cluster().before) == (first.expires, None)
    changed(client, **{"aws:region": "us-east-1"})
    work()
    assert (job().state, cluster().state) == ("failed", "failed"), job().lines
    assert "nothing was changed" in job().lines
    changed(client, **{"aws:region": "eu-west-1"})
    work()
    assert (cluster().state, cluster().choices["aws:region"]) == ("ready", "eu-west-1"), job().lines
    client.post("/clusters/red-one/remove/", {"confirm": "red-one"})
    work()
    assert cluster().state == "removed", job().lines
