"""What the cloud's compute service says of machines, asked with this machine's identity: the control plane's alone."""

from failure import Failure
from run import Run


def gone(run: Run, machine: str) -> bool:
    """The cloud has ended the machine for good, or has forgotten it. Failure store-failed when that is not to be told.

    machine: its id, or what of its providerID the cloud knows it by (clouds.Cloud.MACHINE). A service that was asked
    for a machine made a moment ago may not know it yet: who acts on this asks more than once.
    """
    try:
        return run.cloud.gone(run, machine)
    except (OSError, ValueError, LookupError) as error:
        about = f"{run.value('facts.compute_service')}: {type(error).__name__}: {error}"
        raise Failure("store-failed", about) from None
