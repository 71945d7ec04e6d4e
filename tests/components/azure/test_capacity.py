"""Licences of the machines on Azure, recorded without an engine."""

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import record
from tests.components.recorded_wiring import of

MACHINE = "azure-native:compute:VirtualMachine"


def test_only_machines_with_the_users_licence_say_so() -> None:
    pools = {
        "linux": {"os": "ubuntu-24.04"},
        "web": {"os": "windows-2022"},
        "own": {"os": "windows-2022", "licence": "own"},
    }
    cluster = {"cloud": "azure", "kubernetes": "1.36.4", "pools": pools}
    made = record("small", {"azure-native:location": "westeurope", CLUSTER: cluster}, preview=True)
    types = {each.name: each.inputs.get("licenseType") for each in of(made, MACHINE).values()}
    wanted = dict.fromkeys(("small-control-plane-0", "small-linux-0", "small-web-0"))
    assert types == {**wanted, "small-own-0": "Windows_Server"}
