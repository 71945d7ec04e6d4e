"""Tests and logs of a cluster on demand, and what it has cost so far."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from operations.console.exits import Exit
from operations.verification.verdicts import Row, Verdict, as_json
from tests.portal.test_api import Api, made
from tests.portal.test_changes import SignIn, built
from tests.portal.test_kubeconfig import answer_inquiries, inquiry
from tests.portal.test_request import Run, portal_server, request_

__all__ = ["portal_server", "request_"]  # fixtures
Ran = Callable[[list[str], Any, Path], int]
GOOD = Row("SMK-02", "windows-0", "Ready", Verdict.PASSED)
BAD = Row("SMK-04", "windows-0", "<b>pod</b>", Verdict.FAILED, "no answer")


ARCHIVE = b"PK\x05\x06" + bytes(18)
"""An empty zip archive."""


@pytest.fixture
def mullion(monkeypatch: pytest.MonkeyPatch) -> Callable[[Ran], None]:
    """Let a function stand for the run of `mullion`."""
    from portal import processes

    return lambda ran: monkeypatch.setattr(processes, "run", ran)


def rows_of(*rows: Row) -> Ran:
    def ran(words: list[str], _seen: Any, output: Path) -> int:
        assert words == ["verify", "red-one", "--json"]
        output.write_text(as_json(list(rows)))
        return int(BAD in rows)

    return ran


def collected(content: bytes) -> Ran:
    def ran(words: list[str], _seen: Any, output: Path) -> int:
        output.write_text("an issue")
        Path(words[-1]).write_bytes(content)
        return 0

    return ran


def test_results_of_tests_are_on_the_page_and_in_the_api(sign_in: SignIn, mullion: Callable[[Ran], None]) -> None:
    mullion(rows_of(GOOD, BAD))
    client = sign_in("alice")
    built(client)
    page = client.post("/clusters/red-one/verify/", follow=True).content.decode()
    assert 'data-runs="yes"' in page, "the page looks for the result"
    assert "Cancel the job" not in page
    answer_inquiries()
    page = client.get("/clusters/red-one/").content.decode()
    assert ": failed</summary>" in page
    assert '<td>&lt;b&gt;pod&lt;/b&gt;</td><td class="problem">failed</td><td>no answer</td>' in page
    found = Api(made("alice")).call("GET", f"/clusters/red-one/inquiries/{inquiry().pk}")[1]
    assert (found["state"], found["verify"]["passed"]) == ("done", False)
    assert [each["verdict"] for each in found["verify"]["rows"]] == ["passed", "failed"]


def test_a_cluster_is_tested_once_at_a_time(sign_in: SignIn, mullion: Callable[[Ran], None]) -> None:
    mullion(rows_of(GOOD))
    built(sign_in("alice"))
    assert Api(made("alice")).call("POST", "/clusters/red-one/verify")[0] == 202
    again = Api(made("pat")).call("POST", "/clusters/red-one/verify")
    assert (again[0], "asked of red-one already" in again[1]["detail"]) == (409, True)
    answer_inquiries()
    assert Api(made("pat")).call("POST", "/clusters/red-one/verify")[0] == 202


def test_logs_of_a_machine_are_saved_by_page_and_api_and_not_by_another_team(
    sign_in: SignIn, mullion: Callable[[Ran], None]
) -> None:
    mullion(collected(ARCHIVE))
    client = sign_in("alice")
    built(client)
    said = client.post("/clusters/red-one/logs/", {"machine": "../x"}, follow=True).content.decode()
    assert "no such machine; choose one of control-plane-0, linux-0, windows-0" in said
    client.post("/clusters/red-one/logs/", {"machine": "windows-0"})
    answer_inquiries()
    path = f"/clusters/red-one/inquiries/{inquiry().pk}/archive"
    assert f'href="{path}/"' in client.get("/clusters/red-one/").content.decode()
    answer = client.get(f"{path}/")
    assert (answer.content, answer["Content-Type"]) == (ARCHIVE, "application/zip")
    assert answer["Content-Disposition"].startswith('attachment; filename="red-one-windows-0-')
    token = made("bob", "blue")
    assert sign_in("bob").get(f"{path}/").status_code == 404
    assert Api(token).call("GET", path)[0] == 404
    for kind, body in (("verify", None), ("logs", {"machine": "windows-0"})):
        assert Api(token).call("POST", f"/clusters/red-one/{kind}", body)[0] == 404
        assert sign_in("bob").post(f"/clusters/red-one/{kind}/").status_code == 404


def test_only_its_own_worker_takes_tests_and_logs(
    sign_in: SignIn, mullion: Callable[[Ran], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So tests, which take up to an hour, keep neither jobs nor kubeconfigs waiting."""
    from django_tasks_db.models import DBTaskResult

    from portal import __main__ as starting

    def take(*words: str) -> str:
        monkeypatch.setattr(
            starting,
            "call_command",
            lambda _, queue_name, **_rest: call_command(
                "db_worker", queue_name=queue_name, batch=True, interval=0, startup_delay=False, reload=False
            ),
        )
        starting.main(["worker", *words])
        return inquiry().state

    mullion(rows_of(GOOD))
    client = sign_in("alice")
    built(client)
    DBTaskResult.objects.all().delete()  # the job
    client.post("/clusters/red-one/verify/")
    assert [take(), take("inquiries"), take("reports")] == ["waiting", "waiting", "done"]


def test_teams_take_turns_however_many_reports_one_team_requests(
    sign_in: SignIn, mullion: Callable[[Ran], None]
) -> None:
    """A worker answers one after another; tests take up to an hour."""
    from portal.models import Team

    Team.objects.update(month=100_000)
    red, blue, order = sign_in("alice"), sign_in("bob"), list[str]()
    for name in ("one", "two", "three"):
        built(red, name=name)
    built(blue, team="blue")

    def ran(words: list[str], seen: Any, output: Path) -> int:
        order.append(words[1])
        return rows_of(GOOD)(["verify", "red-one", "--json"], seen, output)

    mullion(ran)
    for each in ("red-one", "red-two", "red-three"):
        red.post(f"/clusters/{each}/verify/")
    blue.post("/clusters/blue-one/verify/")
    answer_inquiries()
    assert order == ["red-one", "blue-one", "red-two", "red-three"]


@pytest.mark.parametrize("kind", ["verify", "logs"])
def test_a_report_waits_while_the_longest_other_one_runs(kind: str, sign_in: SignIn) -> None:
    from operations.commands import request_inquiry
    from portal import inquiries
    from portal.models import Inquiry

    client = sign_in("alice")
    built(client)
    client.post(f"/clusters/red-one/{kind}/", {"machine": "windows-0"})
    longest = max(inquiries.RUN_SECONDS.values())
    assert inquiries.WAIT_SECONDS[Inquiry.Kind(kind)] + longest < request_inquiry.WAIT_SECONDS
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(seconds=longest + 60))
    inquiries.tidy()
    assert inquiry().state == "waiting"
    Inquiry.objects.update(asked_at=timezone.now() - timedelta(minutes=121))
    inquiries.tidy()
    assert (inquiry().state, inquiry().said) == ("failed", "No worker took it within 120 minutes. Ask again.")


def test_logs_of_a_cluster_are_fetched_once_at_a_time(sign_in: SignIn, mullion: Callable[[Ran], None]) -> None:
    mullion(collected(ARCHIVE))
    built(sign_in("alice"))
    codes = [
        Api(made(name)).call("POST", "/clusters/red-one/logs", {"machine": machine})[0]
        for name, machine in (("alice", "windows-0"), ("pat", "linux-0"))
    ]
    assert codes == [202, 409]


def test_of_a_machine_and_of_a_team_the_newest_archives_are_kept(
    sign_in: SignIn, mullion: Callable[[Ran], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import inquiries
    from portal.models import Inquiry

    monkeypatch.setattr(inquiries, "MOST_ARCHIVES", 2)
    mullion(collected(ARCHIVE))
    client = sign_in("alice")
    built(client)

    def kept(*machines: str) -> list[str]:
        for each in machines:
            client.post("/clusters/red-one/logs/", {"machine": each})
            answer_inquiries()
        return [each.wish["machine"] for each in Inquiry.objects.filter(archive__isnull=False)]

    assert kept("windows-0", "windows-0") == ["windows-0"]
    assert kept("linux-0", "control-plane-0") == ["control-plane-0", "linux-0"]
    oldest = Inquiry.objects.earliest("pk").pk
    assert client.get(f"/clusters/red-one/inquiries/{oldest}/archive/").status_code == 404


def test_the_admin_reads_neither_archives_nor_answers_nor_wishes(
    sign_in: SignIn, mullion: Callable[[Ran], None]
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from portal.models import User

    mullion(collected(ARCHIVE))
    client = sign_in("alice")
    built(client)
    client.post("/clusters/red-one/logs/", {"machine": "windows-0"})
    answer_inquiries()
    User.objects.filter(username="pat").update(is_staff=True, is_superuser=True)
    admin, number = sign_in("pat"), inquiry().pk
    with CaptureQueriesContext(connection) as asked:
        for path in ("", f"{number}/change/"):
            assert admin.get(f"/admin/portal/inquiry/{path}").status_code == 200
    text = " ".join(each["sql"] for each in asked.captured_queries)
    assert "portal_inquiry" in text
    assert not [field for field in ("wish", "answer", "archive") if f'"{field}"' in text]


def test_an_archive_that_is_too_long_is_not_kept(
    sign_in: SignIn, mullion: Callable[[Ran], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal import inquiries

    monkeypatch.setattr(inquiries, "MOST_BYTES", 1 << 20)
    mullion(collected(b"x" * ((1 << 20) + 1)))
    client = sign_in("alice")
    built(client)
    client.post("/clusters/red-one/logs/", {"machine": "windows-0"})
    answer_inquiries()
    assert (inquiry().state, inquiry().archive) == ("failed", None)
    assert "more than 1 MiB" in inquiry().said


def test_request_prints_tests_and_saves_logs(
    request_: Run, sign_in: SignIn, mullion: Callable[[Ran], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from operations.commands import request_inquiry

    monkeypatch.setattr(request_inquiry.time, "sleep", lambda _: answer_inquiries())
    built(sign_in("alice"))
    mullion(rows_of(GOOD))
    good = request_("verify", "red-one")
    assert (good.exit_code, "SMK-02  windows-0  Ready  passed" in good.stdout) == (0, True), good.output
    mullion(rows_of(GOOD, BAD))
    bad = request_("verify", "red-one", "--json")
    assert (bad.exit_code, json.loads(bad.stdout)["passed"]) == (Exit.FAILED, False)
    assert "1 rows failed" in bad.stderr
    mullion(collected(ARCHIVE))
    file = tmp_path / "logs.zip"
    assert request_("logs", "red-one", "windows-0", "-o", str(file)).exit_code == 0
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (ARCHIVE, 0o600)
    assert "no such machine" in request_("logs", "red-one", "windows-9").stderr


def test_the_cost_so_far_is_that_of_the_hours_since_the_first_job(sign_in: SignIn) -> None:
    """The price of an hour is a 730th of the month's, as clouds' own calculators count it."""
    from portal.models import Cluster, Job

    client = sign_in("alice")
    built(client)
    Job.objects.update(asked_at=timezone.now() - timedelta(hours=73))
    month = float(Cluster.objects.get().month)
    found = Api(made("alice")).call("GET", "/clusters/red-one")[1]["cost_so_far"]
    assert float(found.removeprefix("USD ")) == pytest.approx(month / 10, rel=0.01)
    assert f"Cost so far: {found}" in client.get("/clusters/red-one/").content.decode()
    Job.objects.update(attempt=0)
    assert Api(made("alice")).call("GET", "/clusters/red-one")[1]["cost_so_far"] == "", "no job has begun"


def test_only_the_platform_team_reads_where_to_connect(sign_in: SignIn) -> None:
    from portal.models import Version

    for each in Version.objects.filter(template__name="windows-small"):
        each.document["config"]["mullion:cluster"]["access"] = "session"
        each.save()
    built(sign_in("alice"))
    shown = [
        "mullion connect red-one" in sign_in(name).get("/clusters/red-one/").content.decode()
        for name in ("alice", "pat")
    ]
    assert shown == [False, True]
