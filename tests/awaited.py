"""What others do at their own pace (kubelets, controllers, agents, systemd) is awaited, and never looked at once."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

SECONDS = 400
"""Far above what anything takes: a machine may be slow and have other work. Who waits for nothing loses nothing."""
PAUSE = 0.2
NOT_YET = (RuntimeError, OSError, LookupError, ValueError, subprocess.SubprocessError)
"""What asking raises while an API does not answer, or a file, a field, or the rest of a document is not there."""


def until(
    what: Callable[[], Any], doing: str, seconds: float = SECONDS, log: Callable[[], str] = str, pause: float = PAUSE
) -> Any:
    """What it gives once that is true; the test fails where it never is, with what it raised last, and the log.

    An assertion in it fails the test at once.
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
