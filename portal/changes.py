"""Change what a team chose for a cluster that is built: more or fewer workers, another size, another version.

The plan, the limits, the quota and the rules of approval are those of a request. `mullion up` does the change, in the
order and with the drains that docs/rolling.md describes.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from math import ceil
from typing import Any

from django.utils import timezone

from portal import access, audit, jobs, quotas
from portal.actions import queueing, refuse_stranger, write_row
from portal.models import Cluster, Job, Team, User
from portal.planning import Proposal, propose
from portal.refusals import NotPossible

CHANGEABLE = (Cluster.State.READY, Cluster.State.FAILED)


def proposed(cluster: Cluster, choices: Mapping[str, Any]) -> Proposal:
    """Return the plan of a cluster with these values; fields that are missing keep theirs. Rules of approval judge the
    life that the cluster has by now, with its extensions.
    """
    hours, offer = cluster.hours, cluster.version.offer
    if cluster.built_at and cluster.expires:
        hours = max(hours, ceil((cluster.expires - cluster.built_at) / timedelta(hours=1)))
    return propose(offer, {**cluster.choices, **choices}, min(hours, offer.limits.hours), cluster.name)


def seen(cluster: Cluster) -> str:
    """Return a digest of what a form shows: a change must not undo one that its page did not know."""
    text = json.dumps([cluster.version.pk, cluster.choices, cluster.state], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def change(user: User, cluster: Cluster, choices: Mapping[str, Any]) -> None:
    """Change values of a cluster that is built. Raises NotPossible.

    A change that grows a cluster beyond a rule of approval can be made only by somebody who may decide about it.
    """
    refuse_stranger(user, cluster)
    if cluster.state not in CHANGEABLE or cluster.built_at is None or cluster.expires is None:
        raise NotPossible(f"{cluster.name} is not built, so it cannot be changed.")
    if cluster.expires <= timezone.now():
        raise NotPossible(f"{cluster.name} has expired; it is being removed.")
    found = proposed(cluster, choices)
    if found.problems:
        raise NotPossible("\n".join(found.problems))
    before, month = proposed(cluster, {}), Decimal(str(found.month))
    if found.config == before.config and cluster.state == Cluster.State.READY:
        raise NotPossible(f"{cluster.name} has these values already.")
    rules = cluster.version.offer.approval
    grows = month > cluster.claim or (found.unknown and found.machines != before.machines)
    if found.approval and (rules.always or grows) and not access.may_decide(user, cluster):
        raise NotPossible(
            f"Somebody else than the person who asked for {cluster.name} has to decide, because"
            f" {'; '.join(found.approval)}: ask an approver of team {cluster.team.name} or the platform team to change"
            " it."
        )
    _enqueue(user, cluster, {**cluster.choices, **choices}, month)


def _enqueue(user: User, cluster: Cluster, choices: dict[str, Any], month: Decimal) -> None:
    """Write the values and put the job into the queue, unless the cluster has changed since it was read."""
    counted = None if cluster.counted is None else str(cluster.counted)
    before = {"choices": cluster.choices, "month": str(cluster.month), "counted": counted, "state": cluster.state}
    values = {"state": Cluster.State.BUILDING, "choices": choices, "month": month, "before": before}
    values["counted"] = max(cluster.claim, month)
    same = Cluster.objects.filter(pk=cluster.pk, state=cluster.state, choices=cluster.choices, expires=cluster.expires)
    with queueing(cluster):
        team = Team.objects.select_for_update().get(pk=cluster.team.pk)
        quotas.refuse_above(team, month, instead_of=cluster)
        write_row(same, cluster, **values)
        audit.record(user.actor, "cluster.change", cluster.name, team=team, detail={"choices": choices})
        jobs.enqueue(cluster, Job.Kind.CHANGE, user.actor)
