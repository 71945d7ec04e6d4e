"""Failed runs of machines: which of them the machine repairs by itself, and how long a gate waits for that.

A machine repeats a failed run after a minute, without end (cloud-init/linux/user-data.yaml, cloud-init/windows/
loader.ps1), so most failures are over once their cause is: an archive or a secret store that did not answer.
"""

import time
from collections.abc import Mapping
from typing import Any

FINAL = frozenset(
    {
        *("plan-format", "kind-not-implemented", "other-system", "not-privileged", "step-invalid", "probe-failed"),
        *("archive-unsafe", "redirect-refused", "disk-used"),
        *("build-refused", "reboot-limit", "image-refused", "code-blocked", "founding-refused"),
    }
)
"""Names (cloud-init/errors.json) of failures that recur in every run of the same bundle on the same machine."""

REPEAT_SECONDS = 300.0
"""Time for a machine that was not launched recently to repair a failure: a minute of pause and a second run, which
finds most steps done."""


class FailedRuns:
    """When this run of the program first saw each instance fail."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}

    def may_recover(self, instance: str, record: Mapping[str, Any], *, booting: bool) -> bool:
        """Return whether an instance that is not ready may still become ready by itself.

        booting: whether it was launched recently. Otherwise its first failure counts for REPEAT_SECONDS, also while its
        record says that the next run is in progress.
        """
        if record["state"] == "failed":
            if record.get("name") in FINAL:
                return False
            self._seen.setdefault(instance, time.monotonic())
        return booting or time.monotonic() - self._seen.get(instance, -REPEAT_SECONDS) < REPEAT_SECONDS

    def forget(self, instance: str) -> None:
        """Forget the failure of an instance that is ready."""
        self._seen.pop(instance, None)
