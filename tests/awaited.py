"""Waiting for other programs (kubelets, controllers, agents, systemd): tests poll for a result and never check it only
once.
"""

import subprocess
import time
from collections.abc import Callable
from typing import Any

SECONDS = 400
"""Timeout in seconds, far above the need: a machine may be slow or busy. A test that finds its result at once does not
wait."""
PAUSE = 0.2
NOT_YET = (RuntimeError, OSError, LookupError, ValueError, subprocess.SubprocessError)
"""Exceptions of a question while an API does not answer, or a file, a field, or the rest of a document is missing."""


def until(
    what: Callable[[], Any], doing: str, seconds: float = SECONDS, log: Callable[[], str] = str, pause: float = PAUSE
) -> Any:
    """Return the first true result. The test fails at the timeout, with the last exception and the log; an assertion in
    the question fails it at once.
    """
    end = time.monotonic() + seconds
    while True:
        raised = None
        try:
            if found := what():
                return found
        except NOT_YET as error:
            raised = error
        assert time.monotonic() < end, f"{doing}: not within {seconds} s; {raised!r} {log()}"
        time.sleep(pause)
