"""Inquiries: what workers find out about a built cluster, or issue for a person, without changing its stack."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from portal.models.clusters import Cluster

KEPT_DAYS = 1
"""Days for which an answer can be read."""


class Inquiry(models.Model):
    """One run of `mullion` for an answer. wish: what the person chose. said: messages for people.

    answer: of a kubeconfig its public parts; the private key never reaches the portal. archive: of logs.
    """

    class Kind(models.TextChoices):
        """Commands of `mullion`."""

        KUBECONFIG = "kubeconfig"
        VERIFY = "verify"
        LOGS = "logs"

    class State(models.TextChoices):
        """waiting: in the queue."""

        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OPEN = (State.WAITING, State.RUNNING)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="inquiries")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    wish = models.JSONField(default=dict)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    beat = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    said = models.TextField(blank=True)
    answer: Any = models.JSONField(null=True)
    archive = models.BinaryField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "asked_by"],
                condition=Q(state__in=("waiting", "running")),
                name="one_inquiry_of_a_kind",
            ),
            models.UniqueConstraint(
                fields=["cluster", "kind"],
                condition=Q(state__in=("waiting", "running"), kind__in=("verify", "logs")),
                name="one_report_of_a_cluster",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cluster}"

    @classmethod
    def outdated(cls) -> "models.QuerySet[Inquiry]":
        """Return the inquiries that ended so long ago that nobody can read their answers any more."""
        return Inquiry.objects.filter(ended_at__lt=timezone.now() - timedelta(days=KEPT_DAYS))
