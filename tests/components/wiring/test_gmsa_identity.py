"""The identity by which the plug-in of gMSA reads its secret on Azure: one for all Windows workers, without rights."""

from typing import Any

import pytest

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, record
from tests.components.recorded_wiring import config, of, plan, recording
from tests.components.spec.gmsa_values import PLUGIN, PREINSTALLED

STACK = "azure-prod"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ASSIGNMENT, MACHINE = "azure-native:authorization:RoleAssignment", "azure-native:compute:VirtualMachine"


def recorded(used: dict[str, Any], stack: str = STACK) -> Recording:
    written = config(stack)
    found = record(stack, {**written, CLUSTER: {**written[CLUSTER], **used}})
    assert found.errors == []
    return found


@pytest.mark.parametrize("used", [PLUGIN, PREINSTALLED], ids=["downloaded", "preinstalled"])
def test_sec_03_all_windows_workers_and_no_other_machine_have_one_identity_for_the_plug_in(
    used: dict[str, Any],
) -> None:
    with_it, name = recorded(used), f"{STACK}-gmsa"
    assert of(with_it, IDENTITY).keys() - of(recording(STACK), IDENTITY).keys() == {name}
    assert of(with_it, ASSIGNMENT).keys() == of(recording(STACK), ASSIGNMENT).keys(), "the user gives it its right"
    windows = {
        f"{STACK}-{one.name}" for group in plan(STACK).machine_groups if group.os.is_windows for one in group.machines
    }
    machines = of(with_it, MACHINE)
    has = {
        key: [each.rpartition("/")[2] for each in one.inputs["identity"]["userAssignedIdentities"]]
        for key, one in machines.items()
    }
    assert windows and {key for key, names in has.items() if name in names} == windows
    assert all(names[0] == key or "control-plane" in key for key, names in has.items()), "the first is its own"


def test_sec_03_its_principal_id_is_an_output_only_with_a_plug_in() -> None:
    outputs = recorded(PLUGIN).outputs or {}
    assert outputs["gmsa_identity"]
    assert "gmsa_identity" not in (recording(STACK).outputs or {})


def test_sec_03_other_clouds_have_none() -> None:
    assert "gmsa_identity" not in (recorded(PREINSTALLED, "aws-prod").outputs or {})
