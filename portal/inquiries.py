"""Inquiries: people ask on the page or by the API, a worker runs `mullion`, and the row keeps the answer.

A web server reads no state of a cluster and has no key of one: it may run on another machine than the state.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Concat
from django.http import Http404, HttpResponse
from django.utils import timezone
from django_tasks import task

from components.machine import pki
from portal import access, audit, changes, outages, processes, tokens, turns
from portal.actions import refuse_stranger
from portal.kubeconfigs import public_parts
from portal.models import Cluster, Inquiry, User
from portal.refusals import NotPossible

REPORTS = (Inquiry.Kind.VERIFY, Inquiry.Kind.LOGS)
"""Kinds that have a queue of their own, because their runs are long."""
RUN_SECONDS = {Inquiry.Kind.KUBECONFIG: 300, Inquiry.Kind.VERIFY: 3600, Inquiry.Kind.LOGS: 1800}
"""Longest run."""
WAIT_SECONDS = {Inquiry.Kind.KUBECONFIG: 600, Inquiry.Kind.VERIFY: 7200, Inquiry.Kind.LOGS: 7200}
"""Longest wait for a worker: of reports as long as two others run."""
MOST_BYTES = 16 << 20
"""Longest archive of logs that the database keeps; machines send at most 12 Mi characters of text (docs/logs.md)."""
MOST_ARCHIVES = 20
"""Archives that the database keeps of a team's clusters: the newest, and of each machine one."""
ROW = ("check", "where", "what", "verdict", "said")
"""Fields of a test's row that people get."""
UNTESTED = "Nothing was tested: neither nodes nor pods, Services, DNS or traffic."
PREFIX = "mullion:"
"""Begins the names of people and teams in certificates, so that they are never those of somebody else."""
BUILT = (Cluster.State.READY, Cluster.State.FAILED, Cluster.State.BUILDING)
"""States of a cluster that was built once, in which its API may answer."""


def kubeconfig(user: User, cluster: Cluster, public: str) -> Inquiry:
    """Ask for a kubeconfig of the person for a public key (PEM). Raises NotPossible."""
    _refuse(user, cluster)
    if "PRIVATE KEY" in public:
        raise NotPossible(
            "public_key: the text has a private key, which must not leave your computer; make another key."
        )
    try:
        public = pki.normalized_key(public)  # nothing else of the text is stored
    except ValueError as error:
        raise NotPossible(f"public_key: {error}") from error
    named = _named(user, cluster)
    key = hashlib.sha256(public.encode()).hexdigest()
    detail = {"role": named["role"], "hours": named["hours"], "key": key}
    return _ask(user, cluster, Inquiry.Kind.KUBECONFIG, {"public_key": public}, detail)


def _named(user: User, cluster: Cluster) -> dict[str, Any]:
    """Return user, role, groups and hours of a person's certificate as of now. Raises NotPossible."""
    rights, team = cluster.version.offer.kubeconfig, cluster.team
    if rights is None:
        raise NotPossible(f"Template {cluster.version.template.name} gives nobody a kubeconfig; ask the platform team.")
    name = f"{PREFIX}{user.username}"
    if len(name.encode()) > pki.MOST_NAME_BYTES:
        most = pki.MOST_NAME_BYTES - len(PREFIX)
        raise NotPossible(f"Your name has more than {most} bytes in UTF-8, which no certificate takes.")
    groups = [f"{PREFIX}team:{team.name}"] if access.is_member(user, team) else [f"{PREFIX}platform"]
    role = rights.of(is_approver=access.is_approver(user, team))
    return {"user": name, "role": role, "groups": groups, "hours": rights.hours}


def verify(user: User, cluster: Cluster) -> Inquiry:
    """Ask for tests of the running cluster, which create pods and remove them. Raises NotPossible."""
    _refuse(user, cluster)
    return _ask(user, cluster, Inquiry.Kind.VERIFY, {}, {})


def logs(user: User, cluster: Cluster, machine: str) -> Inquiry:
    """Ask for the redacted logs of a machine. Raises NotPossible."""
    _refuse(user, cluster)
    names = [name for name, *_ in changes.proposed(cluster, {}).machines]
    if machine not in names:
        raise NotPossible(f"{cluster.name} has no such machine; choose one of {', '.join(names)}.")
    return _ask(user, cluster, Inquiry.Kind.LOGS, {"machine": machine}, {"machine": machine})


def _refuse(user: User, cluster: Cluster) -> None:
    refuse_stranger(user, cluster)
    if cluster.built_at is None or cluster.state not in BUILT:
        raise NotPossible(f"{cluster.name} is not built.")


def _ask(user: User, cluster: Cluster, kind: Inquiry.Kind, wish: dict[str, Any], detail: dict[str, Any]) -> Inquiry:
    try:
        with transaction.atomic():
            token = user.token and user.token.pk
            made = Inquiry.objects.create(cluster=cluster, kind=kind, asked_by=user, wish={**wish, "token": token})
            audit.record(user.actor, f"{kind}.ask", cluster.name, team=cluster.team, detail=detail)
            queue = settings.REPORTS if kind in REPORTS else settings.INQUIRIES
            run.using(queue_name=queue).enqueue(made.pk)
    except IntegrityError:
        raise NotPossible(f"This is asked of {cluster.name} already; wait for the answer.") from None
    return made


@task(queue_name=settings.INQUIRIES)
def run(number: int) -> str:
    """Answer the inquiry of a queue that is due (portal/turns.py). An entry of the queue only says that one waits: its
    number does not choose the inquiry. Return the inquiry's state, or that none waits.
    """
    reports = Inquiry.objects.filter(pk=number, kind__in=REPORTS).exists()
    kinds = REPORTS if reports else [Inquiry.Kind.KUBECONFIG]
    found = next((each for each in turns.due(Inquiry.objects.filter(kind__in=kinds)) if _take(each)), None)
    if found is None:
        return "no inquiry waits"
    inquiry = Inquiry.objects.select_related("asked_by", "cluster__team", "cluster__version__template").get(pk=found)
    with TemporaryDirectory() as scratch:
        try:
            outages.repeated(lambda: _judge(inquiry))
            answer = RUNS[inquiry.kind](inquiry, Path(scratch))
        except NotPossible as error:
            refusal = f"Refused when a worker took it: {error}"
            return outages.repeated(lambda: end(inquiry, None, refusal, refused=True))
        except Exception as error:  # an inquiry that cannot begin must say so on its page
            answer, said = None, f"It could not run: {type(error).__name__}: {error}"
            outages.repeated(lambda: Inquiry.objects.filter(pk=inquiry.pk).update(said=said))
    return outages.repeated(lambda: end(inquiry, answer))


def _take(number: int) -> bool:
    """Take an inquiry. Return False if another worker took it first."""
    values = {"state": Inquiry.State.RUNNING, "beat": timezone.now()}
    return bool(Inquiry.objects.filter(pk=number, state=Inquiry.State.WAITING).update(**values))


def _judge(inquiry: Inquiry) -> None:
    """Judge again whether the person may ask, who may have lost a role, the account or the token since. Raises
    NotPossible.
    """
    number = inquiry.wish.get("token")
    user = inquiry.asked_by if number is None else tokens.owner(number)
    if user is None:
        raise NotPossible("The token is revoked or has expired, or its owner may not sign in any more.")
    if not user.is_active:
        raise NotPossible(f"{user.username} may not sign in any more.")
    _refuse(user, inquiry.cluster)


def end(inquiry: Inquiry, answer: Mapping[str, Any] | None, said: str = "", *, refused: bool = False) -> str:
    """Write the answer of an inquiry that has not ended; None: it failed. refused: for lack of a right."""
    state = Inquiry.State.FAILED if answer is None else Inquiry.State.DONE
    values: dict[str, Any] = {"state": state, "ended_at": timezone.now(), "answer": answer}
    if said:
        values["said"] = said
    with transaction.atomic():
        if Inquiry.objects.filter(pk=inquiry.pk, state__in=Inquiry.OPEN).update(**values):
            issued = {key: answer[key] for key in ("credential", "role") if answer and key in answer}
            what, cluster = "refuse" if refused else state, inquiry.cluster
            detail = {"inquiry": inquiry.pk, **issued}
            audit.record(audit.SYSTEM, f"{inquiry.kind}.{what}", cluster.name, team=cluster.team, detail=detail)
    return str(state)


def archive(inquiry: Inquiry) -> HttpResponse:
    """Return the archive of an inquiry for logs as a download. Raises Http404 without one."""
    if inquiry.archive is None:
        raise Http404
    answer = HttpResponse(bytes(inquiry.archive), content_type="application/zip")
    name = f"{inquiry.cluster.name}-{inquiry.wish['machine']}-{inquiry.asked_at:%Y%m%dT%H%M%SZ}.zip"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def tidy() -> None:
    """End the inquiries of killed workers, and those that no worker took. Delete old ones with their answers."""
    now = timezone.now()
    open_ = Inquiry.objects.select_related("cluster__team")
    for each in open_.filter(state=Inquiry.State.RUNNING, beat__lt=now - timedelta(seconds=processes.LOST_SECONDS)):
        end(each, None, "Its worker was stopped. Ask again.")
    for kind, seconds in WAIT_SECONDS.items():
        for each in open_.filter(kind=kind, state=Inquiry.State.WAITING, asked_at__lt=now - timedelta(seconds=seconds)):
            end(each, None, f"No worker took it within {seconds // 60} minutes. Ask again.")
    Inquiry.outdated().delete()


def _mullion(inquiry: Inquiry, words: list[str], output: Path) -> int:
    """Run `mullion` with its standard output in a file. Return its exit code."""
    row, outage = Inquiry.objects.filter(pk=inquiry.pk, state=Inquiry.State.RUNNING), outages.Outage()
    limit, unwritten = timezone.now() + timedelta(seconds=RUN_SECONDS[Inquiry.Kind(inquiry.kind)]), ""

    def write_beat(process: processes.Process, text: str) -> None:
        if not row.update(beat=timezone.now(), said=text):
            process.terminate()

    def seen(process: processes.Process, text: str) -> None:
        nonlocal unwritten
        unwritten = "" if outage.answered(lambda: write_beat(process, text)) else text
        if timezone.now() > limit:
            process.terminate()

    code = processes.run(words, seen, output)
    if unwritten:
        outages.repeated(lambda: row.update(said=unwritten))
    return code


def _kubeconfig(inquiry: Inquiry, scratch: Path) -> dict[str, Any] | None:
    named, key, made = _named(inquiry.asked_by, inquiry.cluster), scratch / "public.pem", scratch / "kubeconfig"
    key.write_text(inquiry.wish["public_key"], "utf-8")
    words = ["kubeconfig", inquiry.cluster.name, "--user", named["user"], "--role", named["role"]]
    words += [word for group in named["groups"] for word in ("--group", group)]
    words += ["--hours", str(named["hours"]), "--public-key", str(key), "-o", "-"]
    if _mullion(inquiry, words, made):
        return None
    return {**public_parts(made.read_text("utf-8")), "user": named["user"], "role": named["role"]}


def _verify(inquiry: Inquiry, scratch: Path) -> dict[str, Any] | None:
    """Return the rows, also if some failed; None if `mullion` could test nothing."""
    made = scratch / "rows.json"
    code = _mullion(inquiry, ["verify", inquiry.cluster.name, "--json"], made)
    text = made.read_text("utf-8")
    if not text:
        _add(inquiry, UNTESTED)
        return None
    rows = json.loads(text)["rows"]
    return {"rows": [{key: row[key] for key in ROW} for row in rows], "passed": code == 0}


def _logs(inquiry: Inquiry, scratch: Path) -> dict[str, Any] | None:
    archive, machine = scratch / "logs.zip", inquiry.wish["machine"]
    words = ["logs", inquiry.cluster.name, machine, "-o", str(archive)]
    if _mullion(inquiry, words, scratch / "issue"):
        return None
    if archive.stat().st_size > MOST_BYTES:
        _add(inquiry, f"The archive has more than {MOST_BYTES >> 20} MiB, which the portal does not keep.")
        return None
    outages.repeated(lambda: _keep(inquiry, archive.read_bytes()))
    return {"machine": machine, "bytes": archive.stat().st_size}


def _keep(inquiry: Inquiry, content: bytes) -> None:
    """Keep an archive instead of older ones of the machine, and delete the oldest of too many of the team."""
    Inquiry.objects.filter(pk=inquiry.pk).update(archive=content)
    kept = Inquiry.objects.filter(cluster__team=inquiry.cluster.team, archive__isnull=False)
    older = kept.filter(cluster=inquiry.cluster, wish__machine=inquiry.wish["machine"], pk__lt=inquiry.pk)
    older.update(archive=None)
    late = list(kept.order_by("-pk").values_list("pk", flat=True)[MOST_ARCHIVES:])
    Inquiry.objects.filter(pk__in=late).update(archive=None)


def _add(inquiry: Inquiry, text: str) -> None:
    """Add a line to the messages."""
    row, line = Inquiry.objects.filter(pk=inquiry.pk), Value(f"\n{text}")
    outages.repeated(lambda: row.update(said=Concat("said", line)))


RUNS: dict[str, Callable[[Inquiry, Path], dict[str, Any] | None]] = {
    Inquiry.Kind.KUBECONFIG: _kubeconfig,
    Inquiry.Kind.VERIFY: _verify,
    Inquiry.Kind.LOGS: _logs,
}
"""What answers an inquiry of a kind: a function that returns the answer, or None if `mullion` failed."""
