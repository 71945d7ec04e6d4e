"""The audit trail. The database itself refuses to change or delete its rows (triggers of the first migration)."""

from typing import Any

from django.db import models


class Event(models.Model):
    """Who did what to which object, and when. Names are copied, so that a row outlives what it names."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=150)
    team = models.CharField(max_length=10, blank=True, db_index=True)
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=150, db_index=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.action} {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert the row. Raises ValueError for a row that exists."""
        if self.pk is not None:
            raise ValueError("rows of the audit trail do not change")
        super().save(*args, **kwargs)

    def document(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        fields = ("actor", "team", "action", "subject", "detail")
        return {"id": self.pk, "at": self.at.isoformat(), **{name: getattr(self, name) for name in fields}}
