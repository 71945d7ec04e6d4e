"""Calls of the database by runs that must go on while it is restarted.

None of them may be inside a transaction: it is lost with its connection, and has to be repeated as a whole.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections

T = TypeVar("T")
LOST = (OperationalError, InterfaceError)
"""Errors of a call whose connection was lost, or that the server does not accept while it starts."""
AWAY_SECONDS = 600
"""Seconds without an answer of the database after which a run ends, or a start fails."""
_log = logging.getLogger(__name__)


class Outage:
    """Counts how long the database has not answered the calls of one run."""

    def __init__(self) -> None:
        self._began: float | None = None

    def answered(self, call: Callable[[], object]) -> bool:
        """Call a function that uses the database. Return whether the database answered.

        Raises the error of the database after AWAY_SECONDS without an answer.
        """
        try:
            call()
        except LOST as error:
            close_old_connections()
            if self._began is None:
                self._began = time.monotonic()
                _log.warning("The database does not answer; it is asked again for %s s: %s", AWAY_SECONDS, error)
            if time.monotonic() - self._began > AWAY_SECONDS:
                raise
            return False
        self._began = None
        return True


def repeated(call: Callable[[], T]) -> T:
    """Return what a function returns that uses the database; call it each second until the database answers.

    Raises the error of the database after AWAY_SECONDS.
    """
    found: list[T] = []
    outage = Outage()
    while not outage.answered(lambda: found.append(call())):
        time.sleep(1)
    return found[0]
