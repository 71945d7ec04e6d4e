"""What people can do with clusters: the same functions for pages and the API. Each records an event."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from portal import access, audit, jobs, notices, quotas
from portal.models import Cluster, Job, Team, Template, User
from portal.planning import propose
from portal.refusals import NotPossible

NAME = re.compile(r"[a-z][a-z0-9-]{0,13}[a-z0-9]")
"""Part of a cluster's name after the team's: 2 to 15 characters."""


_S = Cluster.State
_STATES = {
    Job.Kind.UP: ((_S.FAILED,), _S.BUILDING),
    Job.Kind.EXTEND: ((_S.READY,), _S.READY),
    Job.Kind.DOWN: ((_S.BUILDING, _S.READY, _S.FAILED, _S.REMOVING), _S.REMOVING),
}
"""By kind of job: the states of a cluster for which a person can ask for it, and the state while it waits and runs."""


def ask(user: User, team: Team, template: Template, name: str, values: Mapping[str, Any], hours: Any) -> Cluster:
    """Ask for a cluster; build it at once unless a rule requires approval. Raises NotPossible."""
    if not access.teams(user).filter(pk=team.pk).exists():
        raise NotPossible(f"You are not in team {team.name}.")
    if template.withdrawn:
        raise NotPossible(f"Template {template.name} is withdrawn; choose another one.")
    if not NAME.fullmatch(name):
        raise NotPossible("Name: write 2 to 15 lower-case letters, digits and hyphens, starting with a letter.")
    version, whole = template.newest, f"{team.name}-{name}"
    found = propose(version.offer, values, hours, whole)
    if found.problems:
        raise NotPossible("\n".join(found.problems))
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=team.pk)
        quotas.refuse_above(team, Decimal(str(found.month)))
        # the name of a removed cluster is free again; its row stays under another name
        for old in Cluster.objects.filter(name=whole, state__in=(Cluster.State.REMOVED, Cluster.State.REFUSED)):
            Cluster.objects.filter(pk=old.pk).update(name=f"#{old.pk}")
        try:
            with transaction.atomic():
                cluster = Cluster.objects.create(
                    name=whole,
                    team=team,
                    version=version,
                    choices=dict(values),
                    hours=int(hours),
                    month=Decimal(str(found.month)),
                    reason="; ".join(found.approval)[:200],
                    asked_by=user,
                )
        except IntegrityError:
            raise NotPossible(f"Your team has a cluster {whole}; choose another name.") from None
        detail = {"template": template.name, "version": version.number, "choices": dict(values), "hours": int(hours)}
        audit.record(user.actor, "cluster.ask", whole, team=team, detail=detail)
        if found.approval:
            notices.waits(cluster)
        else:
            _build(cluster, user.actor)
    return cluster


def _build(cluster: Cluster, actor: str) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(state=Cluster.State.BUILDING)
    jobs.enqueue(cluster, Job.Kind.UP, actor)


def decide(user: User, cluster: Cluster, *, approve: bool) -> None:
    """Approve or refuse a request. Raises NotPossible."""
    if not access.may_decide(user, cluster):
        raise NotPossible("An approver of the team or the platform team decides, never about their own request.")
    with transaction.atomic():
        state = Cluster.State.BUILDING if approve else Cluster.State.REFUSED
        if not Cluster.objects.filter(pk=cluster.pk, state=Cluster.State.ASKED).update(state=state):
            raise NotPossible(f"The request for {cluster.name} is decided already.")
        action = "cluster.approve" if approve else "cluster.refuse"
        audit.record(user.actor, action, cluster.name, team=cluster.team)
        notices.decided(cluster, user.username, approved=approve)
        if approve:
            _build(cluster, user.actor)


def extend(user: User, cluster: Cluster, hours: Any) -> None:
    """Let a cluster live longer, up to the longest life of its template. Raises NotPossible.

    A request for the longer life would wait for approval by a rule: then only who may decide about it may extend it.
    """
    refuse_stranger(user, cluster)
    most = cluster.version.offer.limits.hours
    if not str(hours).isdecimal() or not 1 <= int(str(hours)) <= most:
        raise NotPossible(f"Hours: write a whole number from 1 to {most}.")
    if cluster.state != Cluster.State.READY or cluster.expires is None or cluster.built_at is None:
        raise NotPossible(f"{cluster.name} is not built, so it has no expiry to extend.")
    longest = cluster.built_at + timedelta(hours=most)
    if cluster.expires + timedelta(hours=int(hours)) > longest:
        raise NotPossible(f"Clusters of this template live at most {most} hours: until {longest:%Y-%m-%d %H:%M} UTC.")
    life, rules = cluster.expires + timedelta(hours=int(hours)) - cluster.built_at, cluster.version.offer.approval
    if (why := rules.of_life(life / timedelta(hours=1))) and not access.may_decide(user, cluster):
        raise NotPossible(
            f"Somebody else than the person who asked for {cluster.name} has to decide, because {why}: ask an"
            f" approver of team {cluster.team.name} or the platform team to extend it."
        )
    _enqueue(user, cluster, Job.Kind.EXTEND, "cluster.extend", int(hours))


def remove(user: User, cluster: Cluster, confirmed: str) -> None:
    """Remove a cluster, or take back a request. confirmed: the cluster's name. Raises NotPossible."""
    refuse_stranger(user, cluster)
    if confirmed != cluster.name:
        raise NotPossible(f"To remove the cluster, write its name: {cluster.name}")
    asked = Cluster.objects.filter(pk=cluster.pk, state=Cluster.State.ASKED)
    with transaction.atomic():
        if asked.update(state=Cluster.State.REMOVED):
            audit.record(user.actor, "cluster.withdraw", cluster.name, team=cluster.team)
            return
    if cluster.state in (Cluster.State.REMOVED, Cluster.State.REFUSED):
        raise NotPossible(f"{cluster.name} does not exist any more.")
    _enqueue(user, cluster, Job.Kind.DOWN, "cluster.remove")


def retry(user: User, cluster: Cluster) -> None:
    """Run the job of a failed cluster again. Raises NotPossible."""
    refuse_stranger(user, cluster)
    if cluster.state != Cluster.State.FAILED:
        raise NotPossible(f"{cluster.name} has not failed.")
    if cluster.expires and cluster.expires <= timezone.now():
        raise NotPossible(f"{cluster.name} has expired; it is being removed.")
    _enqueue(user, cluster, Job.Kind.UP, "cluster.retry")


def cancel(user: User, cluster: Cluster) -> None:
    """End the job of a cluster: at once if it waits, else once the calls in progress end. Raises NotPossible."""
    refuse_stranger(user, cluster)
    job = cluster.jobs.filter(state__in=Job.OPEN, cancel=False).first()
    if job and job.kind == Job.Kind.DOWN and cluster.expires and cluster.expires <= timezone.now():
        raise NotPossible(f"{cluster.name} has expired, so its removal cannot be cancelled.")
    with transaction.atomic():
        if job is None or not jobs.cancel(job):
            raise NotPossible(f"{cluster.name} has no job to cancel.")
        audit.record(user.actor, "job.cancel", cluster.name, team=cluster.team, detail={"job": job.pk})


def refuse_stranger(user: User, cluster: Cluster) -> None:
    """Raise NotPossible for a person who may not change the cluster."""
    if not access.may_change(user, cluster):
        raise NotPossible(f"You are not in team {cluster.team.name}.")


def _enqueue(user: User, cluster: Cluster, kind: Job.Kind, action: str, hours: int = 0) -> None:
    """Put a job into the queue, unless the cluster's state in the database does not allow it: another request may have
    changed it since it was read, such as a withdrawal before the approval.
    """
    before, after = _STATES[kind]
    with queueing(cluster):
        write_row(Cluster.objects.filter(pk=cluster.pk, state__in=before), cluster, state=after)
        audit.record(user.actor, action, cluster.name, team=cluster.team, detail={"hours": hours} if hours else {})
        jobs.enqueue(cluster, kind, user.actor, hours)


@contextmanager
def queueing(cluster: Cluster) -> Iterator[None]:
    """Run what puts a job of a cluster into the queue in one transaction. Raises NotPossible if one has not ended."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise NotPossible(f"{cluster.name} has a job that has not ended; wait for it.") from None


def write_row(same: QuerySet[Cluster], cluster: Cluster, **values: Any) -> None:
    """Write values into the row of a cluster. Raises NotPossible if `same` no longer has the row."""
    if not same.update(**values):
        raise NotPossible(f"{cluster.name} has changed meanwhile; look at its page, and try again.")
