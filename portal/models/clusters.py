"""Clusters that teams asked for, and the jobs that build and remove them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from portal.models.accounts import Team
from portal.models.catalogue import Version


class Cluster(models.Model):
    """A cluster, from the request to its removal. name: of its stack. month: USD by the plan."""

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
    reason = models.CharField(max_length=200, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.ASKED)
    built_at = models.DateTimeField(null=True, blank=True)
    expires = models.DateTimeField(null=True, blank=True)
    endpoint = models.CharField(max_length=200, blank=True)

    jobs: "models.Manager[Job]"

    class Meta:
        ordering = ["-asked_at"]

    def __str__(self) -> str:
        return self.name


class Job(models.Model):
    """One run of `mullion`. attempt: how often workers took it; only the last of them writes, and renews `beat`."""

    class Kind(models.TextChoices):
        """Commands of `mullion`."""

        UP = "up"
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
