"""Quotas of teams: how many clusters they have at once, and what all of them may cost a month."""

from decimal import Decimal

from django.db.models import Sum
from django.db.models.functions import Coalesce

from portal.models import Cluster, Team
from portal.refusals import NotPossible


def refuse_above(team: Team, month: Decimal, instead_of: Cluster | None = None) -> None:
    """Raise NotPossible if the team cannot have one more cluster of this cost, in USD a month.

    instead_of: the cluster that changes to this cost; a change to no more than the cluster takes is within every quota.
    The team's row must be locked, so that two requests at once are judged one after the other.
    """
    if instead_of is not None and month <= instead_of.claim:
        return
    others = Cluster.objects.filter(team=team, state__in=Cluster.OPEN)
    if instead_of is not None:
        others = others.exclude(pk=instead_of.pk)
    elif others.count() >= team.clusters_at_once:
        raise NotPossible(f"Team {team.name} has {team.clusters_at_once} clusters, its limit; remove one first.")
    spent = others.aggregate(sum=Sum(Coalesce("counted", "month")))["sum"] or Decimal(0)
    if spent + month > team.month:
        more = "has other clusters" if instead_of else "has clusters"
        raise NotPossible(
            f"Team {team.name} {more} for USD {spent:,.2f} a month and may have {team.month:,}; this one costs"
            f" {month:,.2f}. Remove one first, or choose less."
        )
