"""Requests to the cloud's compute service about machines; only control planes have the permission."""

from collections.abc import Iterator
from contextlib import contextmanager

from failure import Failure
from run import Run


def gone(run: Run, machine: str) -> bool:
    """Return whether the cloud has deleted the machine for good. Raise Failure store-failed if the service fails.

    machine: its id, or the group of clouds.Cloud.MACHINE in its providerID. The service may not know a machine created
    a moment ago, so callers ask several times before they act.
    """
    with asking(run):
        return run.cloud.gone(run, machine)


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return ids of the cluster's machines by planned name; names that no machine has are missing.

    addresses: private address by planned name. Raise Failure store-failed if the service fails.
    """
    with asking(run):
        return run.cloud.machines(run, addresses)


def names(run: Run, machine: str) -> frozenset[str]:
    """Return the further names and addresses of a machine that a cloud controller adds to its Node.

    machine: its id. Raise Failure store-failed if the service fails.
    """
    with asking(run):
        return run.cloud.names(run, machine)


@contextmanager
def asking(run: Run) -> Iterator[None]:
    """Turn errors inside the block into Failure store-failed."""
    try:
        yield
    except (OSError, ValueError, LookupError) as error:
        about = f"{run.value('facts.compute_service')}: {type(error).__name__}: {error}"
        raise Failure("store-failed", about) from None
