"""Whether a virtual machine runs, by the statuses of its instance view."""

import pytest

from components.azure.records import runs

RUNNING, FAILED = "PowerState/running", "ProvisioningState/failed/AllocationFailed"


@pytest.mark.parametrize(
    ("codes", "running"),
    [
        (["ProvisioningState/succeeded", RUNNING], True),
        (["ProvisioningState/creating"], True),
        (["ProvisioningState/succeeded", "PowerState/deallocated"], False),
        ([FAILED], False),
        ([FAILED, RUNNING], True),
        ([FAILED, "PowerState/stopped"], False),
    ],
)
def test_a_machine_that_azure_could_not_allocate_does_not_run(codes: list[str], running: bool) -> None:
    """Such a machine has no power state; after a failed update of a running machine the power state tells more."""
    assert runs({"instanceView": {"statuses": [{"code": code} for code in codes]}}) is running
