"""Restarts of the machine, requested by steps or Debian packages."""

from failure import Failure
from run import Run, Step

from kinds.system import text_of

REBOOTS = 5
"""Restarts in a row after which a run fails."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"
REQUIRED = "/run/reboot-required"
"""File that Debian and Ubuntu packages create when they need a restart (reboot-notifier); a boot removes it."""


class Reboot(Exception):
    """Ends the run with a restart; the next boot runs the plan again."""


def ask_for_reboot(run: Run) -> None:
    """Record that a setting takes effect only after a restart."""
    run.remember(reboot_asked=text_of(run.path(BOOT_ID)))


def reboot_holds(run: Run, step: Step) -> bool:
    """Return whether neither a step nor a package has requested a restart since this boot."""
    asked = run.remember().get("reboot_asked")
    return asked != text_of(run.path(BOOT_ID)) and not run.path(REQUIRED).exists()


def make_reboot(run: Run, step: Step) -> None:
    """Count the restart and raise Reboot; the machine restarts after the result is written."""
    reboots = run.remember().get("reboots", 0) + 1
    if reboots > REBOOTS:
        raise Failure("reboot-limit", f"{REBOOTS} restarts in a row did not finish the plan")
    run.remember(reboots=reboots)
    raise Reboot
