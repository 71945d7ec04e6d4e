"""The queue: turns of teams, cancelled jobs, several workers; health and metrics."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from operations.stacks.paths import REPOSITORY
from tests.portal.test_jobs import work
from tests.portal.test_pages import ask, cluster

SignIn = Callable[[str], Client]


def jobs_of(name: str) -> str:
    from portal.models import Job

    return str(Job.objects.filter(cluster__name=name).values_list("state", flat=True)[0])


def _asked(sign_in: SignIn) -> None:
    """Three clusters of red, then one of blue."""
    from portal.models import Team

    Team.objects.update(month=100_000)
    for name in ("one", "two", "three"):
        ask(sign_in("alice"), name=name)
    ask(sign_in("bob"), team="blue", name="one")


def _names(numbers: list[int]) -> list[str]:
    from portal.models import Job

    return [Job.objects.get(pk=number).cluster.name for number in numbers]


def test_teams_take_turns_however_many_clusters_one_team_requests(sign_in: SignIn) -> None:
    from portal import turns
    from portal.models import Job

    _asked(sign_in)
    assert _names(turns.due(Job.objects.all())) == ["red-one", "red-two", "red-three", "blue-one"]
    first = Job.objects.filter(cluster__name="red-one")
    first.update(state="running", beat=timezone.now())
    assert _names(turns.due(Job.objects.all()))[0] == "blue-one", "red has a running job"
    first.update(state="done")
    assert _names(turns.due(Job.objects.all()))[0] == "blue-one", "red's job ran last"
    Job.objects.filter(cluster__name="blue-one").update(state="done", beat=timezone.now() + timedelta(seconds=1))
    assert _names(turns.due(Job.objects.all())) == ["red-two", "red-three"]


def test_a_job_that_waits_is_cancelled_at_once_and_never_runs(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal import jobs
    from portal.models import Cluster, Event, Job

    client = sign_in("alice")
    ask(client)
    assert sign_in("bob").post("/clusters/red-one/cancel/").status_code == 404
    client.post("/clusters/red-one/cancel/")
    assert (jobs_of("red-one"), cluster().state) == ("cancelled", "removed"), "nothing was ever built"
    assert "no job to cancel" in client.post("/clusters/red-one/cancel/", follow=True).content.decode()
    monkeypatch.setattr(jobs, "_Run", None)
    work()
    assert jobs_of("red-one") == "cancelled"

    ask(client)
    Job.objects.filter(state="waiting").update(state="done", attempt=1)
    Cluster.objects.filter(name="red-one").update(state="ready", built_at=timezone.now())
    client.post("/clusters/red-one/remove/", {"confirm": "red-one"})
    client.post("/clusters/red-one/cancel/")
    assert (jobs_of("red-one"), cluster().state) == ("cancelled", "ready")
    assert Event.objects.filter(action="job.cancel", actor="alice").count() == 2


def test_the_removal_of_an_expired_cluster_cannot_be_cancelled(sign_in: SignIn) -> None:
    from portal import upkeep
    from portal.models import Cluster, Job

    client = sign_in("alice")
    ask(client)
    Job.objects.update(state="done", attempt=1)
    Cluster.objects.update(state="ready", built_at=timezone.now(), expires=timezone.now() - timedelta(minutes=1))
    upkeep.reap()
    assert "cannot be cancelled" in client.post("/clusters/red-one/cancel/", follow=True).content.decode()
    assert (jobs_of("red-one"), cluster().state) == ("waiting", "removing")


def test_a_removal_that_fails_is_tried_again_after_a_while_and_told_once(sign_in: SignIn) -> None:
    from portal import jobs, upkeep
    from portal.models import Cluster, Job

    client = sign_in("alice")
    ask(client)
    Job.objects.update(state="done", attempt=1)
    Cluster.objects.update(state="ready", built_at=timezone.now(), expires=timezone.now() - timedelta(minutes=1))
    for number in range(2):
        assert len(upkeep.reap()) == 1
        job = Job.objects.all()[0]
        Job.objects.filter(pk=job.pk).update(state="running", attempt=1, beat=timezone.now())
        assert jobs.end(Job.objects.get(pk=job.pk), 4) == "failed"
        assert (cluster().state, upkeep.reap()) == ("failed", []), "not at once"
        assert "has expired" in client.post("/clusters/red-one/retry/", follow=True).content.decode()
        assert jobs._failed_before(Job.objects.get(pk=job.pk)) is bool(number)
        Job.objects.filter(pk=job.pk).update(ended_at=timezone.now() - timedelta(minutes=11))


def test_a_job_that_waits_without_an_entry_in_the_queue_gets_one(sign_in: SignIn) -> None:
    from django_tasks_db.models import DBTaskResult

    from portal import upkeep

    ask(sign_in("alice"))
    upkeep.recover()
    assert DBTaskResult.objects.filter(status="READY").count() == 1
    DBTaskResult.objects.all().delete()
    upkeep.recover()
    assert DBTaskResult.objects.filter(status="READY").count() == 1


def test_a_session_ends_at_a_fixed_time_after_its_sign_in(sign_in: SignIn) -> None:
    client = sign_in("alice")
    end = client.session.get_expiry_date()
    session = client.session
    session["changed"] = True
    session.save()
    assert client.session.get_expiry_date() == end


def test_a_cancelled_job_whose_worker_was_killed_does_not_run_again(sign_in: SignIn) -> None:
    from portal import upkeep
    from portal.models import Job

    client = sign_in("alice")
    ask(client)
    Job.objects.update(state="running", attempt=1, beat=timezone.now() - timedelta(minutes=1))
    client.post("/clusters/red-one/cancel/")
    upkeep.recover()
    assert (jobs_of("red-one"), cluster().state) == ("cancelled", "failed")


@contextmanager
def workers(count: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-m", "portal", "worker"], cwd=REPOSITORY) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.terminate()
        for each in running:
            with suppress(subprocess.TimeoutExpired):
                each.wait(60)
            each.kill()
            each.wait()


def _until(holds: Callable[[], bool], seconds: float = 300) -> None:
    from portal.models import Job

    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, [each.lines for each in Job.objects.all()]
        time.sleep(0.2)


@pytest.mark.engine
def test_two_workers_build_two_clusters_at_once_and_one_is_cancelled_while_it_is_built(sign_in: SignIn) -> None:
    from portal.models import Job

    red, blue = sign_in("alice"), sign_in("bob")
    ask(red)
    ask(blue, team="blue")

    def lines(name: str) -> str:
        return Job.objects.filter(cluster__name=name)[0].lines

    with workers(2):
        _until(lambda: jobs_of("red-one") == jobs_of("blue-one") == "running")
        _until(lambda: "[10/" in lines("red-one"))
        red.post("/clusters/red-one/cancel/")
        _until(lambda: jobs_of("red-one") == "cancelled")
        assert cluster("red-one").state == "failed"
        _until(lambda: jobs_of("blue-one") == "done")
        assert cluster("blue-one").state == "ready", lines("blue-one")
        red.post("/clusters/red-one/remove/", {"confirm": "red-one"})
        _until(lambda: jobs_of("red-one") in ("done", "failed"))
    assert cluster("red-one").state == "removed", lines("red-one")
    assert Job.objects.get(cluster__name="red-one", kind="down").attempt == 1, "the cancelled run left no lock"


def test_metrics_count_clusters_and_jobs_and_want_the_token(sign_in: SignIn, data: Path) -> None:
    from portal.models import Job

    _asked(sign_in)
    Job.objects.filter(cluster__name="blue-one").update(state="failed")
    assert Client().get("/metrics").status_code == 401
    assert Client().get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
    token = (data / "metrics-token").read_text().strip()
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {token}"})
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    assert found[("mullion_portal_clusters", "building", "red")] == 3
    assert found[("mullion_portal_jobs_open", "up", "waiting")] == 3
    assert found[("mullion_portal_jobs_total", "failed", "up")] == 1
    assert found[("mullion_portal_month_usd", "red")] == pytest.approx(3 * found[("mullion_portal_month_usd", "blue")])
    assert found[("mullion_portal_oldest_waiting_seconds",)] > 0


def test_health_names_a_missing_migration(data: Path) -> None:
    assert [Client().get(path).status_code for path in ("/health", "/health/live")] == [200, 200]
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(id) FROM django_migrations WHERE app = 'portal'")
        cursor.execute("DELETE FROM django_migrations WHERE id = %s", cursor.fetchone())
    answer = Client().get("/health")
    assert (answer.status_code, b"migrate" in answer.content) == (503, True)
    assert Client().get("/health/live").status_code == 200
