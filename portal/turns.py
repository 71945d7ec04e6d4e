"""Turns of teams: whose job or inquiry comes next."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.utils import timezone


def due(rows: QuerySet[Any]) -> list[int]:
    """Return the numbers of the waiting rows among jobs or inquiries, the next one to run first.

    First come teams with fewer running rows, then those whose last row ran longer ago, so a team that asks for much at
    once does not make others wait for all of it. Within a team the oldest row comes first.
    """
    team = "cluster__team"
    running = dict(rows.filter(state="running").order_by().values_list(team).annotate(Count("pk")))
    served = dict(rows.exclude(beat=None).order_by().values_list(team).annotate(Max("beat")))
    never = timezone.now() - timedelta(days=36500)
    waiting = rows.filter(state="waiting").order_by("pk").values_list("pk", team)
    return [pk for _, _, pk in sorted((running.get(of, 0), served.get(of, never), pk) for pk, of in waiting)]
