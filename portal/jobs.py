"""Jobs: the queue, the run of `mullion` in a process, and what a killed worker left.

django-tasks keeps the queue in the database. It does not notice that a worker was killed, so a running job writes the
time every BEAT_SECONDS, and `recover` puts a job that stopped doing so back into the queue. A second run of
`mullion up` then continues the first (docs/recovery.md).
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import yaml
from django.db import close_old_connections, connection, transaction
from django.db.models import Count, F, Max
from django.utils import timezone
from django_tasks import task

from components.rollout.plain_text import plain
from operations.engine.workspace import REMOVED
from portal import audit, folders, planning
from portal.models import Cluster, Job

BEAT_SECONDS = 5
LOST_SECONDS = 30
"""Seconds without a beat after which a job's worker counts as killed."""
MOST_ATTEMPTS = 5
LOCKED_SECONDS = 120
"""Longest wait for the lock of an engine that outlived its worker."""
MOST_CHARACTERS = 40_000
"""Length of the kept output: its end."""


def enqueue(cluster: Cluster, kind: str, actor: str, hours: int = 0) -> Job:
    """Add a job of a cluster to the queue. Raises IntegrityError if the cluster has one that has not ended."""
    job = Job.objects.create(cluster=cluster, kind=kind, hours=hours)
    audit.record(actor, f"job.{kind}", cluster.name, team=cluster.team, detail={"job": job.pk})
    transaction.on_commit(lambda: run.enqueue(job.pk) and None)
    return job


@task()
def run(number: int) -> str:
    """Run the first job of `due`. An entry of the queue only says that a job waits: its number does not choose the job.

    Return the job's state, or that no job waits.
    """
    found = next((each for each in due() if _take(each)), None)
    if found is None:
        return "no job waits"
    job = Job.objects.select_related("cluster__team", "cluster__version").get(pk=found)
    try:
        code = _Run(job).code()
    except Exception as error:  # a job that cannot begin must say so on its page
        code = 1
        _ours(job).update(lines=f"The job could not run: {type(error).__name__}: {error}")
    return _ended(job, code)


def due() -> list[int]:
    """Return the numbers of the waiting jobs, the next one to run first.

    First come teams with fewer running jobs, then those whose last job ran longer ago, so a team that asks for many
    clusters at once does not make others wait for all of them. Within a team the oldest job comes first.
    """
    team = "cluster__team"
    running = dict(Job.objects.filter(state=Job.State.RUNNING).order_by().values_list(team).annotate(Count("pk")))
    served = dict(Job.objects.exclude(beat=None).order_by().values_list(team).annotate(Max("beat")))
    never = timezone.now() - timedelta(days=36500)
    waiting = Job.objects.filter(state=Job.State.WAITING).order_by("pk").values_list("pk", team)
    return [pk for _, _, pk in sorted((running.get(of, 0), served.get(of, never), pk) for pk, of in waiting)]


def _take(number: int) -> bool:
    """Take a job. Return False if another worker took it first."""
    values = {"state": Job.State.RUNNING, "attempt": F("attempt") + 1, "beat": timezone.now()}
    return bool(Job.objects.filter(pk=number, state=Job.State.WAITING).update(**values))


def cancel(job: Job) -> bool:
    """End a waiting job, or ask the worker of a running one to interrupt it. Return False if it has ended already."""
    detail = {"job": job.pk}
    with transaction.atomic():
        if Job.objects.filter(pk=job.pk, state=Job.State.WAITING).update(
            state=Job.State.CANCELLED, cancel=True, ended_at=timezone.now()
        ):
            began = Job.objects.filter(cluster=job.cluster, attempt__gt=0).exists()
            state = _after_cancel(job, began=began)
            Cluster.objects.filter(pk=job.cluster.pk).update(state=state)
            audit.record(audit.SYSTEM, "job.cancelled", job.cluster.name, team=job.cluster.team, detail=detail)
            return True
    return bool(Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel=True))


def _after_cancel(job: Job, *, began: bool) -> str:
    """Return the state of a cluster whose waiting job was cancelled. began: whether an earlier job ran."""
    if job.kind == Job.Kind.UP:
        return Cluster.State.FAILED if began else Cluster.State.REMOVED
    return Cluster.State.READY if job.cluster.built_at else Cluster.State.FAILED


def _ours(job: Job):  # noqa: ANN202 - a query set of the same attempt: a later attempt's row stays untouched
    return Job.objects.filter(pk=job.pk, attempt=job.attempt, state=Job.State.RUNNING)


class _Run:
    """One attempt of a job."""

    def __init__(self, job: Job) -> None:
        self.job, self.cluster, self.folder, self.cancelled = job, job.cluster, folders.clone(), False
        self.file = self.folder / "stacks" / f"Pulumi.{self.cluster.name}.yaml"

    def code(self) -> int:
        """Run the command, and return its exit code. Wait while an engine that outlived its worker has the lock."""
        words = self._words()
        limit = time.monotonic() + LOCKED_SECONDS
        while True:
            code, output = self._command(words)
            if code != 3 or " is locked by " not in output or time.monotonic() > limit:
                return code
            time.sleep(BEAT_SECONDS)

    def _words(self) -> list[str]:
        name, kind = self.cluster.name, self.job.kind
        if kind == Job.Kind.UP:
            self._write()
            return ["up", name, "--sandbox", "--yes"]
        if kind == Job.Kind.EXTEND:
            if self.job.attempt > 1:  # an earlier attempt may have written the new expiry: apply the file
                return ["up", name, "--sandbox", "--yes"]
            return ["extend", name, f"{self.job.hours}h", "--sandbox", "--yes"]
        if not self.file.exists():
            self._write()
        return ["down", name, "--sandbox", "--yes"]

    def _write(self) -> None:
        """Write the stack file, unless an earlier attempt did: its expiry stays."""
        if self.file.exists():
            return
        offer = self.cluster.version.offer
        found = planning.propose(offer, self.cluster.choices, self.cluster.hours, self.cluster.name)
        if found.problems:
            raise ValueError("; ".join(found.problems))
        config = planning.expiring(found.config, timezone.now() + timedelta(hours=self.cluster.hours))
        self.file.write_text(yaml.safe_dump({"config": config}, sort_keys=False), "utf-8")

    def _command(self, words: list[str]) -> tuple[int, str]:
        """Run `mullion` in the portal's clone. Its environment lacks clouds' credentials and the portal's secrets."""
        kept = {key: each for key, each in os.environ.items() if not key.startswith((*REMOVED, "MULLION_PORTAL_"))}
        if "MULLION_PULUMI" in os.environ:
            kept["MULLION_PULUMI"] = os.environ["MULLION_PULUMI"]
        with subprocess.Popen(
            [sys.executable, "-m", "operations", *words],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(self.folder), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            output = self._followed(process)
            return process.wait(), output

    def _interrupt(self, process: "subprocess.Popen[str]") -> None:
        """Send Ctrl-C once somebody cancels the job: the engine finishes its calls, and leaves no lock."""
        if not self.cancelled and _ours(self.job).filter(cancel=True).exists():
            self.cancelled = True
            process.send_signal(signal.SIGINT)

    def _followed(self, process: "subprocess.Popen[str]") -> str:
        """Keep the output and the beat in the database while a command runs. Return the output."""
        lines: list[str] = []
        reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(1)
            self._interrupt(process)
            text = "\n".join(lines)[-MOST_CHARACTERS:]
            if not _ours(self.job).update(beat=timezone.now(), lines=text):
                process.terminate()  # another worker has the job
        return "\n".join(lines)


def _read(process: "subprocess.Popen[str]", lines: list[str]) -> None:
    for line in process.stdout or ():
        lines.append(plain(line.rstrip()))  # noqa: PERF401 - the other thread reads them as they come


def _ended(job: Job, code: int) -> str:
    """Write the result of an attempt into job and cluster."""
    state = Job.State.FAILED if code else Job.State.DONE
    if code and Job.objects.filter(pk=job.pk, cancel=True).exists():
        state = Job.State.CANCELLED
    with transaction.atomic():
        if not _ours(job).update(state=state, ended_at=timezone.now()):
            return "another worker has it"
        detail = {"job": job.pk, "attempt": job.attempt, "exit": code}
        audit.record(audit.SYSTEM, f"job.{state}", job.cluster.name, team=job.cluster.team, detail=detail)
        _of_cluster(job, code)
    return str(state)


def _of_cluster(job: Job, code: int) -> None:
    cluster, file = job.cluster, folders.clone() / "stacks" / f"Pulumi.{job.cluster.name}.yaml"
    values: dict[str, object] = {}
    if job.kind == Job.Kind.DOWN and not code:
        _forget(cluster.name, file)
        values = {"state": Cluster.State.REMOVED, "endpoint": "", "expires": None}
    elif code and job.kind != Job.Kind.EXTEND:
        values = {"state": Cluster.State.FAILED}
    elif not code:
        lines = Job.objects.get(pk=job.pk).lines.splitlines()
        endpoint = next((line.split()[1] for line in lines if line.startswith("Endpoint ")), cluster.endpoint)
        written = yaml.safe_load(file.read_text("utf-8"))["config"]["mullion:cluster"]["expires"]
        values = {"state": Cluster.State.READY, "endpoint": endpoint, "built_at": cluster.built_at or timezone.now()}
        values["expires"] = planning.expiry.moment(str(written))
    Cluster.objects.filter(pk=cluster.pk).update(**values)


def _forget(name: str, file: Path) -> None:
    """Delete the stack file and the sandbox of a removed cluster."""
    file.unlink(missing_ok=True)
    for folder in (folders.clone() / ".mullion" / name, folders.clone() / ".mullion" / "sandbox" / name):
        shutil.rmtree(folder, ignore_errors=True)


def recover() -> list[Job]:
    """Put the jobs of killed workers back into the queue; end those that were tried too often. Return them."""
    late = timezone.now() - timedelta(seconds=LOST_SECONDS)
    found = list(Job.objects.select_related("cluster__team").filter(state=Job.State.RUNNING, beat__lt=late))
    for job in found:
        if job.cancel or job.attempt >= MOST_ATTEMPTS:
            _ended(job, 1)
            continue
        with transaction.atomic():
            if _ours(job).update(state=Job.State.WAITING):
                audit.record(audit.SYSTEM, "job.again", job.cluster.name, team=job.cluster.team, detail={"job": job.pk})
                transaction.on_commit(lambda number=job.pk: run.enqueue(number) and None)
    return found


def reap() -> list[Cluster]:
    """Ask for the removal of each expired cluster that has no job. Return them."""
    late = Cluster.objects.select_related("team").filter(
        state__in=(Cluster.State.READY, Cluster.State.FAILED), expires__lt=timezone.now()
    )
    found = list(late.exclude(jobs__state__in=Job.OPEN))
    for cluster in found:
        with transaction.atomic():
            Cluster.objects.filter(pk=cluster.pk).update(state=Cluster.State.REMOVING)
            enqueue(cluster, Job.Kind.DOWN, audit.SYSTEM)
    return found


def watch(ended: threading.Event) -> None:
    """Call `recover` and `reap` every BEAT_SECONDS until the event is set."""
    while not ended.wait(BEAT_SECONDS):
        close_old_connections()
        recover()
        reap()
    connection.close()
