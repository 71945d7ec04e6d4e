"""`mullion portal`: start the self-service portal in a process of its own, so that no other command imports Django."""

import importlib.util
import os
import sys

from operations.console.exits import Exit, Stop
from operations.stacks.paths import REPOSITORY

PACKAGE = "portal"
"""Package of the portal; it imports `operations`, never the reverse."""
NEEDED = ("django", "django_tasks_db", "waitress", "whitenoise", "dj_database_url")


def portal(port: int) -> None:
    """Replace this process with the portal: web server on loopback, one worker. Raises Stop without its packages."""
    if lacking := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise Stop(
            Exit.USAGE,
            f"the portal needs packages that are not installed ({', '.join(lacking)}); run: make venv, or in an"
            " environment of your own: pip install -e '.[portal]'",
        )
    sys.stdout.flush()
    os.chdir(REPOSITORY)
    os.execv(sys.executable, [sys.executable, "-m", PACKAGE, "all", str(port)])  # noqa: S606 - an argument list
