"""`python -m portal wait_for_database`: for what starts at boot, maybe before the database."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from portal import outages


class Command(BaseCommand):
    """Ends once the database accepts a connection."""

    help = f"Wait until the database answers, {outages.AWAY_SECONDS // 60} minutes at most"

    def handle(self, *args: Any, **options: Any) -> None:
        """Wait. Raises CommandError with the database's message if it does not answer in time."""
        try:
            outages.repeated(connection.ensure_connection)
        except outages.LOST as error:
            raise CommandError(f"the database does not answer: {error}") from error
