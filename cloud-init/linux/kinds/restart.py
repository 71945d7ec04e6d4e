"""Restarts of the machine that steps or packages asked for."""

from failure import Failure
from run import Run, Step

from kinds.system import text_of

REBOOTS = 5
"""Restarts in a row before a run gives up."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"
REQUIRED = "/run/reboot-required"
"""Debian's and Ubuntu's packages make it when they need a restart (Debian policy: reboot-notifier); a boot loses it."""


class Reboot(Exception):
    """The machine is to go down; the run goes on after the boot."""


def ask_for_reboot(run: Run) -> None:
    """Steps call it when what they set holds only after a restart."""
    run.remember(reboot_asked=text_of(run.path(BOOT_ID)))


def reboot_holds(run: Run, step: Step) -> bool:
    """Nothing asked for a restart since this boot."""
    asked = run.remember().get("reboot_asked")
    return asked != text_of(run.path(BOOT_ID)) and not run.path(REQUIRED).exists()


def make_reboot(run: Run, step: Step) -> None:
    """Counts; the restart itself comes after the result is written."""
    reboots = run.remember().get("reboots", 0) + 1
    if reboots > REBOOTS:
        raise Failure("reboot-limit", f"{REBOOTS} restarts in a row did not finish the plan")
    run.remember(reboots=reboots)
    raise Reboot
