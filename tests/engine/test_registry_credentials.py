"""registry_credentials added to a cluster of Azure that exists: which machines change, and which get credentials."""

import base64
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from components import releases
from components.catalogue import artifacts

from .conftest import Stack

pytestmark = pytest.mark.engine

MACHINE = "azure-native:compute:VirtualMachine"
FACTS = ('"registry_identity":"', '"tenant":"')


def pinned() -> list[dict[str, str]]:
    """Return the provider's downloads as `mullion pin` writes them."""
    found = [artifacts.find("azure-acr-credential-provider", releases.ACR_PROVIDER, os) for os in ("linux", "windows")]
    return [
        {"name": each.name, "version": each.version, "os": each.os, "url": each.url, "sha256": 64 * "0"}
        for each in found
    ]


def machines(stack: Stack) -> dict[str, dict[str, Any]]:
    """Return the inputs of the machines in the embedded cloud, with their number as `vmId`, by name."""
    with closing(stack.cloud_state) as cloud_state:
        rows = {each.name: {**each.inputs, "vmId": each.outputs["vmId"]} for each in cloud_state.resources(MACHINE)}
    return {name.removeprefix(f"{stack.name}-"): row for name, row in rows.items()}


def has_facts(machine: dict[str, Any]) -> bool:
    """Return whether a machine's user-data names the identity that pulls and its directory."""
    document = base64.b64decode(machine["osProfile"]["customData"]).decode()
    found = [fact in document for fact in FACTS]
    assert all(found) or not any(found)
    return all(found)


def test_workers_are_replaced_with_credentials_and_control_planes_stay_without(
    new_stack: Callable[[str], Stack],
) -> None:
    stack = new_stack("azure-ci")
    stack.up()
    before = machines(stack)
    assert not any(map(has_facts, before.values()))

    stack.edit(registry_credentials=["acr"], artifacts={"entries": pinned()})
    up, after = stack.up(), machines(stack)
    planes = {name for name in before if name.startswith("control-plane")}
    assert {name for name in before if before[name]["vmId"] != after[name]["vmId"]} == before.keys() - planes
    for name, machine in after.items():
        assert has_facts(machine) is (name not in planes)
        shared = [each for each in machine["identity"]["userAssignedIdentities"] if each.endswith("-registries")]
        assert len(shared) == (name not in planes)
    assert not [name for name in up.of(MACHINE) if "control-plane" in name], "its turn has nothing to do"
    assert not stack.preview().steps, "the next run changes nothing"
