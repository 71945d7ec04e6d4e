"""Requests to the cloud's compute service about machines; only control planes have the permission."""

from failure import Failure
from run import Run


def gone(run: Run, machine: str) -> bool:
    """Return whether the cloud has deleted the machine for good. Raise Failure store-failed if the service fails.

    machine: its id, or the group of clouds.Cloud.MACHINE in its providerID. The service may not know a machine created
    a moment ago, so callers ask several times before they act.
    """
    try:
        return run.cloud.gone(run, machine)
    except (OSError, ValueError, LookupError) as error:
        about = f"{run.value('facts.compute_service')}: {type(error).__name__}: {error}"
        raise Failure("store-failed", about) from None
