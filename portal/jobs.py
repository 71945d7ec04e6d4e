"""Jobs: the queue, the run of `mullion` in a process, and what its result means for the cluster.

django-tasks keeps the queue in the database. It does not notice that a worker was killed, so a running job writes the
time every BEAT_SECONDS, and portal/upkeep.py puts a job that stopped doing so back into the queue. A second run of
`mullion up` then continues the first (docs/recovery.md).
"""

import shutil
import signal
import time
from datetime import datetime, timedelta
from typing import Any

import yaml
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django_tasks import task

from operations.console.exits import Exit
from operations.stacks import target
from portal import audit, folders, notices, outages, planning, processes, turns
from portal.models import Cluster, Job

BEAT_SECONDS = 5
LOCKED_SECONDS = 120
"""Longest wait for the lock of an engine that outlived its worker."""
NOTHING_CHANGED = (Exit.USAGE, Exit.REFUSED)
"""Exit codes of `mullion up` after which the cluster is as it was."""


def enqueue(cluster: Cluster, kind: str, actor: str, hours: int = 0) -> Job:
    """Add a job of a cluster to the queue. Raises IntegrityError if the cluster has one that has not ended."""
    job = Job.objects.create(cluster=cluster, kind=kind, hours=hours)
    audit.record(actor, f"job.{kind}", cluster.name, team=cluster.team, detail={"job": job.pk})
    run.enqueue(job.pk)
    return job


@task()
def run(number: int) -> str:
    """Run the job that is due (portal/turns.py). An entry of the queue only says that one waits: its number does not
    choose the job. Return the job's state, or that none waits.
    """
    found = next((each for each in turns.due(Job.objects.all()) if _take(each)), None)
    if found is None:
        return "no job waits"
    job = Job.objects.select_related("cluster__team", "cluster__version").get(pk=found)
    try:
        code = _Run(job).code()
    except outages.LOST:
        raise  # upkeep puts the job back into the queue once the database answers
    except Exception as error:  # a job that cannot begin must say so on its page
        code, said = 1, f"The job could not run: {type(error).__name__}: {error}"
        outages.repeated(lambda: ours(job).update(lines=said))
    return outages.repeated(lambda: end(job, code))


def _take(number: int) -> bool:
    """Take a job. Return False if another worker took it first."""
    values = {"state": Job.State.RUNNING, "attempt": F("attempt") + 1, "beat": timezone.now()}
    return bool(Job.objects.filter(pk=number, state=Job.State.WAITING).update(**values))


def cancel(job: Job) -> bool:
    """End a waiting job, or ask the worker of a running one to interrupt it. Return False if it has ended already."""
    detail = {"job": job.pk}
    with transaction.atomic():
        cluster = _locked(job)
        if Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.CANCELLED, cancel=True, ended_at=timezone.now()
        ):
            began = Job.objects.filter(cluster=cluster, attempt__gt=0).exists()
            Cluster.objects.filter(pk=cluster.pk).update(**_after_cancel(job, cluster, began=began))
            audit.record(audit.SYSTEM, "job.cancelled", cluster.name, team=cluster.team, detail=detail)
            return True
    return bool(Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel=True))


def _locked(job: Job) -> Cluster:
    """Return the cluster of a job as it is now, locked: actions lock it first too, so that none waits for the other."""
    return Cluster.objects.select_for_update(of=("self",)).select_related("team", "version").get(pk=job.cluster.pk)


def _after_cancel(job: Job, cluster: Cluster, *, began: bool) -> dict[str, Any]:
    """Return the values of a cluster whose waiting job was cancelled. began: whether an earlier job ran."""
    if job.kind == Job.Kind.CHANGE and not job.attempt:
        return cluster.unchanged()
    if job.kind == Job.Kind.UP:
        return {"state": Cluster.State.FAILED if began else Cluster.State.REMOVED}
    touched = cluster.jobs.filter(attempt__gt=0).exclude(kind=Job.Kind.EXTEND).first()
    whole = touched and touched.pk != job.pk and touched.state == Job.State.DONE and cluster.before is None
    return {"state": Cluster.State.READY if cluster.built_at and whole else Cluster.State.FAILED}


def ours(job: Job) -> QuerySet[Job]:
    """Return the row of this attempt of a running job; nothing once a later attempt has it, or it has ended."""
    return Job.objects.filter(pk=job.pk, attempt=job.attempt, state=Job.State.RUNNING)


class _Run:
    """One attempt of a job."""

    def __init__(self, job: Job) -> None:
        self.job, self.cluster, self.folder, self.cancelled = job, job.cluster, folders.clone(), False
        self.file = self.folder / "stacks" / f"Pulumi.{self.cluster.name}.yaml"
        self.kept = self.file.with_suffix(".before")
        self.outage, self.unwritten = outages.Outage(), ""

    def code(self) -> int:
        """Run the command, and return its exit code. Wait while an engine that outlived its worker has the lock."""
        words = self._words()
        limit = time.monotonic() + LOCKED_SECONDS
        while True:
            code = self._command(words)
            if code != Exit.LOCKED or time.monotonic() > limit:
                return code
            time.sleep(BEAT_SECONDS)

    def _words(self) -> list[str]:
        name, kind = self.cluster.name, self.job.kind
        if kind in (Job.Kind.UP, Job.Kind.CHANGE):
            self._write(again=self.cluster.before is not None)
            return ["up", name, "--sandbox", "--yes"]
        if kind == Job.Kind.EXTEND:
            if self.job.attempt > 1:  # an earlier attempt may have written the new expiry: apply the file
                return ["up", name, "--sandbox", "--yes"]
            return ["extend", name, f"{self.job.hours}h", "--sandbox", "--yes"]
        if kind != Job.Kind.DOWN:
            raise ValueError(f"this worker knows no jobs of kind {kind}; restart it with the portal's present version")
        if not self.file.exists():
            self._write()
        return ["down", name, "--sandbox", "--yes"]

    def _write(self, *, again: bool = False) -> None:
        """Write the stack file; `again`: also if there is one, whose text is kept for `take_back`. An expiry stays."""
        if self.file.exists():
            if not again:
                if self.cluster.expires is None:  # a worker of a former version wrote the file
                    self._expire(self.expires())
                return
            target.write(self.kept, self.file.read_text("utf-8"))
        offer = self.cluster.version.offer
        found = planning.propose(offer, self.cluster.choices, self.cluster.hours, self.cluster.name)
        if found.problems:
            raise ValueError("; ".join(found.problems))
        expires = self.cluster.expires or timezone.now() + timedelta(hours=self.cluster.hours)
        config = planning.expiring(found.config, expires)
        self._expire(expires)  # before there is anything that could cost something
        target.write(self.file, yaml.safe_dump({"config": config}, sort_keys=False))

    def _expire(self, at: datetime | None) -> None:
        outages.repeated(lambda: Cluster.objects.filter(pk=self.cluster.pk).update(expires=at))

    def expires(self) -> datetime | None:
        """Return the expiry in the stack file."""
        written = yaml.safe_load(self.file.read_text("utf-8"))["config"]["mullion:cluster"]["expires"]
        return planning.expiry.moment(str(written))

    def forget(self) -> None:
        """Delete the stack file and the sandbox of a removed cluster."""
        for each in (self.file, self.kept):
            each.unlink(missing_ok=True)
        for folder in (self.folder / ".mullion", self.folder / ".mullion" / "sandbox"):
            shutil.rmtree(folder / self.cluster.name, ignore_errors=True)

    def take_back(self) -> None:
        """Give the stack file the text from before a change that changed nothing."""
        if self.kept.exists():
            self.kept.replace(self.file)

    def _command(self, words: list[str]) -> int:
        code = processes.run(words, self._seen)
        if self.unwritten:
            outages.repeated(lambda: ours(self.job).update(lines=self.unwritten))
        return code

    def _seen(self, process: processes.Process, text: str) -> None:
        """Keep the output and the beat in the database; let the command go on while the database is restarted."""
        self.unwritten = "" if self.outage.answered(lambda: self._write_beat(process, text)) else text

    def _write_beat(self, process: processes.Process, text: str) -> None:
        """Send Ctrl-C once somebody cancels the job: the engine finishes its calls, and leaves no lock."""
        if not self.cancelled and ours(self.job).filter(cancel=True).exists():
            self.cancelled = True
            process.send_signal(signal.SIGINT)
        if not ours(self.job).update(beat=timezone.now(), lines=text):
            process.terminate()  # another worker has the job


def end(job: Job, code: int) -> str:
    """Write the result of an attempt into job and cluster."""
    state = Job.State.FAILED if code else Job.State.DONE
    if code and Job.objects.filter(pk=job.pk, cancel=True).exists():
        state = Job.State.CANCELLED
    ran = _Run(job)
    if job.kind == Job.Kind.DOWN and not code and ours(job).exists():
        ran.forget()  # before the transaction, which others wait for, and before the name is free for another cluster
    with transaction.atomic():
        cluster = _locked(job)
        if not ours(job).update(state=state, ended_at=timezone.now()):
            return "another worker has it"
        detail = {"job": job.pk, "attempt": job.attempt, "exit": code}
        audit.record(audit.SYSTEM, f"job.{state}", cluster.name, team=cluster.team, detail=detail)
        _of_cluster(job, cluster, code, ran)
        if state == Job.State.FAILED and not _failed_before(job):
            notices.failed(cluster, job.kind)
    return str(state)


def _failed_before(job: Job) -> bool:
    """Return whether the cluster's job before this one was of the same kind and failed: people know it already."""
    before = Job.objects.filter(cluster=job.cluster, pk__lt=job.pk).first()
    return bool(before and before.kind == job.kind and before.state == Job.State.FAILED)


def _of_cluster(job: Job, cluster: Cluster, code: int, ran: _Run) -> None:
    values: dict[str, object] = {}
    if job.kind == Job.Kind.DOWN and not code:
        values = {"state": Cluster.State.REMOVED, "endpoint": "", "expires": None}
    elif code in NOTHING_CHANGED and job.kind == Job.Kind.CHANGE and job.attempt == 1:
        values = cluster.unchanged()
        ran.take_back()
    elif code and job.kind == Job.Kind.EXTEND:  # the engine may have begun: the file says how far it came
        values = {"expires": ran.expires()} if ran.file.exists() else {}
    elif code:
        values = {"state": Cluster.State.FAILED}
    else:
        lines = Job.objects.get(pk=job.pk).lines.splitlines()
        endpoint = next((line.split()[1] for line in lines if line.startswith("Endpoint ")), cluster.endpoint)
        values = {"state": Cluster.State.READY, "endpoint": endpoint, "built_at": cluster.built_at or timezone.now()}
        values |= {"expires": ran.expires(), "before": None, "counted": None}
    Cluster.objects.filter(pk=cluster.pk).update(**values)
