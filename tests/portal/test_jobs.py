"""Jobs: the real `mullion` on the real engine in the sandbox, and a worker that is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from operations.stacks.paths import REPOSITORY
from tests.portal.test_pages import ask, cluster

SignIn = Callable[[str], Client]


def work() -> None:
    """Run the jobs of the queue until it is empty."""
    call_command("db_worker", batch=True, interval=0, startup_delay=False, reload=False, verbosity=0)


def job():
    from portal.models import Job

    found = Job.objects.first()
    assert found
    return found


def _late() -> None:
    from portal.models import Job

    Job.objects.filter(state="running").update(beat=timezone.now() - timedelta(minutes=1))


def test_a_job_whose_worker_stopped_waits_again_and_ends_after_five_attempts(sign_in: SignIn) -> None:
    from portal import upkeep
    from portal.models import Job

    ask(sign_in("alice"))
    for attempt in range(1, upkeep.MOST_ATTEMPTS):
        Job.objects.update(state="running", attempt=attempt, beat=timezone.now())
        assert upkeep.recover() == [], "its worker lives"
        _late()
        assert len(upkeep.recover()) == 1
        assert job().state == "waiting"
    Job.objects.update(state="running", attempt=upkeep.MOST_ATTEMPTS)
    _late()
    upkeep.recover()
    assert (job().state, cluster().state) == ("failed", "failed")


def test_an_expired_cluster_gets_one_job_that_removes_it(sign_in: SignIn) -> None:
    from portal import upkeep
    from portal.models import Cluster, Job

    ask(sign_in("alice"))
    Cluster.objects.update(state="ready", expires=timezone.now() - timedelta(minutes=1))
    assert upkeep.reap() == [], "its job has not ended"
    Job.objects.update(state="done")
    assert len(upkeep.reap()) == 1
    assert upkeep.reap() == []
    assert (job().kind, cluster().state) == ("down", "removing")


@pytest.mark.engine
def test_a_cluster_is_built_after_its_worker_was_killed_then_extended_and_removed(sign_in: SignIn, data: Path) -> None:
    from portal import folders, upkeep

    client = sign_in("alice")
    ask(client)
    with subprocess.Popen([sys.executable, "-m", "portal", "worker"], cwd=REPOSITORY) as worker:
        limit = time.monotonic() + 120
        while "[10/" not in job().lines and time.monotonic() < limit:
            time.sleep(0.1)
        os.kill(worker.pid, signal.SIGKILL)
    assert job().state == "running", job().lines
    _late()
    upkeep.recover()
    work()
    built = cluster()
    assert (job().state, job().attempt, built.state) == ("done", 2, "ready"), job().lines
    assert built.endpoint == "https://api.red-one.mullion.internal:6443"
    _no_secret(data, folders.clone())

    client.post("/clusters/red-one/extend/", {"hours": "2"})
    work()
    assert built.expires
    assert cluster().expires == built.expires + timedelta(hours=2), job().lines
    assert (
        "live at most 72 hours"
        in client.post("/clusters/red-one/extend/", {"hours": "72"}, follow=True).content.decode()
    )

    client.post("/clusters/red-one/remove/", {"confirm": "red-one"})
    work()
    assert cluster().state == "removed", job().lines
    assert not list(folders.clone().glob("stacks/Pulumi.red-one.yaml"))
    assert not (folders.clone() / ".mullion" / "sandbox" / "red-one").exists()


def _no_secret(data: Path, clone: Path) -> None:
    """Search the database for the administrator's key and the passphrase of the state."""
    kubeconfig = yaml.safe_load((clone / ".mullion" / "red-one" / "kubeconfig").read_text("utf-8"))
    passphrase = (clone / ".mullion" / "sandbox" / "red-one" / "passphrase").read_bytes().strip()
    key = kubeconfig["users"][0]["user"]["client-key-data"].encode()
    for path in data.glob("portal.db*"):
        content = path.read_bytes()
        assert key not in content
        assert passphrase not in content
