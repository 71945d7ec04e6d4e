"""Clusters that teams asked for, and the jobs that build and remove them."""

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from portal.models.accounts import Team
from portal.models.catalogue import Version


class Cluster(models.Model):
    """A cluster, from the request to its removal. name: of its stack. month: USD by the plan.

    counted: USD a month that count against the quota while a change is not done, as the machines of both may run.
    """

    class State(models.TextChoices):
        """State on pages and in the API."""

        ASKED = "asked", "waits for approval"
        REFUSED = "refused", "refused"
        BUILDING = "building", "being built"
        READY = "ready", "built"
        FAILED = "failed", "failed"
        REMOVING = "removing", "being removed"
        REMOVED = "removed", "removed"

    OPEN = (State.ASKED, State.BUILDING, State.READY, State.FAILED, State.REMOVING)
    """States that count against the quotas of a team."""

    name = models.CharField(max_length=26, unique=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="clusters")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="clusters")
    choices = models.JSONField(default=dict)
    hours = models.PositiveIntegerField()
    month = models.DecimalField(max_digits=10, decimal_places=2)
    counted = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.ASKED)
    built_at = models.DateTimeField(null=True, blank=True)
    expires = models.DateTimeField(null=True, blank=True)
    told_expiry = models.DateTimeField(null=True, blank=True, help_text="The expiry that people were told is near.")
    endpoint = models.CharField(max_length=200, blank=True)
    before = models.JSONField(
        null=True, help_text="Of a change that is not yet done: choices, month, counted and state from before it."
    )

    jobs: "models.Manager[Job]"

    class Meta:
        ordering = ["-asked_at"]

    def __str__(self) -> str:
        return self.name

    def unchanged(self) -> dict[str, Any]:
        """Return the values from before the change that is not done, to be written back; empty without one."""
        if self.before is None:
            return {}
        counted = self.before["counted"]
        amounts = {"month": Decimal(self.before["month"]), "counted": None if counted is None else Decimal(counted)}
        return {**self.before, **amounts, "before": None}

    @property
    def claim(self) -> Decimal:
        """USD a month that the cluster takes of the quota."""
        return self.month if self.counted is None else self.counted


class Job(models.Model):
    """One run of `mullion`. attempt: how often workers took it; only the last of them writes, and renews `beat`."""

    class Kind(models.TextChoices):
        """Commands of `mullion`."""

        UP = "up"
        CHANGE = "change"
        EXTEND = "extend"
        DOWN = "down"

    class State(models.TextChoices):
        """waiting: in the queue, also again after its worker ended."""

        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN = (State.WAITING, State.RUNNING)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=6, choices=Kind.choices)
    hours = models.PositiveIntegerField(default=0, help_text="Of extend: hours to add.")
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    cancel = models.BooleanField(default=False, help_text="Somebody asked to end it; its worker interrupts it.")
    attempt = models.PositiveIntegerField(default=0)
    beat = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    lines = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state__in=("waiting", "running")), name="one_job_of_a_cluster"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cluster}"
