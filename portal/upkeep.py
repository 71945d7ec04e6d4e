"""What workers do beside jobs: put back what killed workers left, remove expired clusters, send notices."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, close_old_connections, connection, transaction
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from portal import audit, inquiries, jobs, notices, outages, processes
from portal.models import Cluster, Job

MOST_ATTEMPTS = 5
AGAIN_SECONDS = 600
"""Seconds from a removal that failed to the next one."""
_log = logging.getLogger(__name__)


def recover() -> list[Job]:
    """Put the jobs of killed workers back into the queue; end those that were tried too often. Return them."""
    late = timezone.now() - timedelta(seconds=processes.LOST_SECONDS)
    found = list(Job.objects.select_related("cluster__team").filter(state=Job.State.RUNNING, beat__lt=late))
    for job in found:
        if job.cancel or job.attempt >= MOST_ATTEMPTS:
            jobs.end(job, 1)
            continue
        with transaction.atomic():
            if jobs.ours(job).update(state=Job.State.WAITING):
                audit.record(audit.SYSTEM, "job.again", job.cluster.name, team=job.cluster.team, detail={"job": job.pk})
                jobs.run.enqueue(job.pk)
    if (
        Job.objects.filter(state=Job.State.WAITING).exists()
        and not DBTaskResult.objects.filter(status="READY", queue_name=settings.JOBS).exists()
    ):
        jobs.run.enqueue(0)  # a worker was killed between taking an entry of the queue and taking a job
    return found


def reap() -> list[Cluster]:
    """Ask for the removal of each expired cluster that has no job, and whose last removal did not fail just now."""
    late = Cluster.objects.filter(state__in=(Cluster.State.READY, Cluster.State.FAILED), expires__lt=timezone.now())
    found = list[Cluster]()
    recently = timezone.now() - timedelta(seconds=AGAIN_SECONDS)
    failed = Job.objects.filter(kind=Job.Kind.DOWN, state=Job.State.FAILED, ended_at__gt=recently).values("cluster")
    for cluster in late.select_related("team").exclude(jobs__state__in=Job.OPEN).exclude(pk__in=failed):
        with suppress(IntegrityError), transaction.atomic():  # somebody else may ask for its removal at this moment
            if late.filter(pk=cluster.pk).update(state=Cluster.State.REMOVING):
                jobs.enqueue(cluster, Job.Kind.DOWN, audit.SYSTEM)
                found.append(cluster)
    return found


def watch(ended: threading.Event) -> None:
    """Do what no request does, every BEAT_SECONDS, until the event is set."""
    _repeat(ended, (recover, reap, inquiries.tidy, notices.expiring))


def deliver(ended: threading.Event) -> None:
    """Send notices until the event is set. It has a thread of its own: a mail server may not answer for long."""
    _repeat(ended, (notices.send,))


def _repeat(ended: threading.Event, steps: Sequence[Callable[[], object]]) -> None:
    while not ended.wait(jobs.BEAT_SECONDS):
        close_old_connections()
        for each in steps:
            try:
                each()
            except outages.LOST as error:
                _log.warning("%s: the database does not answer: %s", each.__name__, error)
                _wait(ended)
                break
            except Exception:  # the others, and the next turn, must go on
                _log.exception("%s failed; it is tried again in %s s", each.__name__, jobs.BEAT_SECONDS)
    connection.close()


def _wait(ended: threading.Event) -> None:
    """Wait until the database answers, and then until workers that live have written their beats again."""
    while not ended.wait(1):
        close_old_connections()
        with suppress(*outages.LOST), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            ended.wait(processes.LOST_SECONDS)
            return
