"""Notices that wait to be sent. A row is written in the transaction of what it tells, and deleted once it is sent."""

from django.db import models


class Notice(models.Model):
    """One message by one way. way: `mail` or `webhook`. to: a mail address. due: when it may be tried (again)."""

    way = models.CharField(max_length=7)
    to = models.CharField(max_length=254, blank=True)
    subject = models.CharField(max_length=120)
    text = models.TextField()
    tries = models.PositiveIntegerField(default=0)
    due = models.DateTimeField()
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.way}: {self.subject}"
