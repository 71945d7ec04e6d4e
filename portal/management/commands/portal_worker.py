"""`python -m portal worker`: the queue's worker, with the watch over killed workers and expired clusters beside it."""

import threading
from typing import Any

from django_tasks_db.management.commands.db_worker import Command as Worker

from portal import folders, upkeep


class Command(Worker):
    """The worker of django-tasks-db; any number may run, each takes one job at a time."""

    help = "Run jobs until a signal ends it"

    def handle(self, *args: Any, **options: Any) -> None:
        """Run jobs. Also put jobs of killed workers back, and ask for the removal of expired clusters."""
        folders.clone()
        ended = threading.Event()
        for each in (upkeep.watch, upkeep.deliver):
            threading.Thread(target=each, args=(ended,), daemon=True).start()
        try:
            super().handle(**options)
        finally:
            ended.set()
