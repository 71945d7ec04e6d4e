"""Endpoints for machines: health, and metrics in the text format of Prometheus."""

from collections.abc import Iterator

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from portal import folders
from portal.models import Cluster, Job, Team

FILE = "metrics-token"
"""File of the data folder with the token that /metrics requires, because metrics name teams and costs."""


def live(_request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


def ready(_request: HttpRequest) -> HttpResponse:
    """Answer 200 if the database answers and has all migrations, else 503 with the reason."""
    try:
        executor = MigrationExecutor(connection)
        lacking = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return HttpResponse("the database does not answer\n", status=503, content_type="text/plain")
    if lacking:
        return HttpResponse("run: python -m portal migrate\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with metrics, to callers with the token of the data folder."""
    given = request.headers.get("Authorization", "")
    if not constant_time_compare(given, f"Bearer {folders.kept_secret(FILE)}"):
        return HttpResponse(
            "send Authorization: Bearer TOKEN; the token is in the file metrics-token of the data folder\n",
            status=401,
            content_type="text/plain",
        )
    registry = CollectorRegistry()
    registry.register(_Database())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Database(Collector):
    """Metrics read from the database, so that each web server answers the same."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        clusters = GaugeMetricFamily("mullion_portal_clusters", "Clusters by state.", labels=["team", "state"])
        rows = Cluster.objects.filter(state__in=Cluster.OPEN).order_by().values_list("team__name", "state")
        for team, state, count in rows.annotate(Count("pk")):
            clusters.add_metric([team, state], count)
        yield clusters
        cost = GaugeMetricFamily("mullion_portal_month_usd", "USD a month of open clusters by plan.", labels=["team"])
        spent = dict(
            Cluster.objects.filter(state__in=Cluster.OPEN).order_by().values_list("team__name").annotate(Sum("month"))
        )
        quota = GaugeMetricFamily("mullion_portal_quota_usd", "USD a month that a team may have.", labels=["team"])
        for team in Team.objects.order_by("name"):
            cost.add_metric([team.name], float(spent.get(team.name, 0)))
            quota.add_metric([team.name], team.month)
        yield from (cost, quota)
        yield from _jobs()


def _jobs() -> Iterator[Metric]:
    ended = CounterMetricFamily("mullion_portal_jobs", "Jobs that ended, by result.", labels=["kind", "state"])
    now = GaugeMetricFamily("mullion_portal_jobs_open", "Jobs that wait or run.", labels=["kind", "state"])
    for kind, state, count in Job.objects.order_by().values_list("kind", "state").annotate(Count("pk")):
        (now if state in Job.OPEN else ended).add_metric([kind, state], count)
    yield from (ended, now)
    oldest = Job.objects.filter(state=Job.State.WAITING).aggregate(at=Min("asked_at"))["at"]
    age = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    yield GaugeMetricFamily("mullion_portal_oldest_waiting_seconds", "Age of the oldest job that waits.", value=age)
