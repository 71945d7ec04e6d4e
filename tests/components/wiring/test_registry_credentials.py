"""Rights of machines on the registries of their cloud, with and without `registry_credentials`."""

import base64
from functools import lru_cache
from typing import Any

import pytest

from components import releases
from components.catalogue import artifacts
from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, record
from tests.components.recorded_wiring import config, of, plan, recording

ASSIGNMENT, IDENTITY = (
    "azure-native:authorization:RoleAssignment",
    "azure-native:managedidentity:UserAssignedIdentity",
)
AZURE_MACHINE = "azure-native:compute:VirtualMachine"
PROJECT_RIGHT, BUCKET_RIGHT = "gcp:projects/iAMMember:IAMMember", "gcp:storage/bucketIAMMember:BucketIAMMember"
ACR_PULL = "7f951dda-4ed3-4680-a7ca-43fe172d538d"


@lru_cache
def pulling(stack: str) -> Recording:
    """Return the recording of a stack whose machines pull from the registries of its cloud."""
    [registry] = plan(stack).spec.cloud.facts.registries
    changed: dict[str, Any] = {**config(stack), CLUSTER: {**config(stack)[CLUSTER]}}
    acr = [artifacts.find("azure-acr-credential-provider", releases.ACR_PROVIDER, os) for os in ("linux", "windows")]
    pinned = [
        {"name": each.name, "version": each.version, "os": each.os, "url": each.url, "sha256": 64 * "0"} for each in acr
    ]  # as `mullion pin` writes them
    changed[CLUSTER] |= {"registry_credentials": [registry], "artifacts": {"entries": pinned}}
    found = record(stack, changed)
    assert found.errors == []
    return found


def more(stack: str, type_: str) -> dict[str, Any]:
    """Return the inputs of the resources that only the stack with the option registers."""
    there = of(recording(stack), type_)
    return {name: each.inputs for name, each in of(pulling(stack), type_).items() if name not in there}


def test_on_azure_one_identity_of_all_workers_may_pull_and_nothing_else() -> None:
    [(name, _)] = more("azure-dev", IDENTITY).items()
    [right] = more("azure-dev", ASSIGNMENT).values()
    assert right["roleDefinitionId"].rpartition("/")[2] == ACR_PULL
    assert right["scope"].startswith("/subscriptions/") and right["scope"].count("/") == 2, "registries have no group"
    machines = of(pulling("azure-dev"), AZURE_MACHINE)
    assert len(machines) > 1
    [plane] = [machines.pop(key) for key in list(machines) if "control-plane" in key]
    assert len(plane.inputs["identity"]["userAssignedIdentities"]) == 1, "its user-data may be older than the option"
    for each in machines.values():
        own, shared = each.inputs["identity"]["userAssignedIdentities"]
        assert shared.endswith(f"/{name}") and shared != own, "the first is the machine's own"
        document = base64.b64decode(each.inputs["osProfile"]["customData"]).decode()
        # the recorder gives an identity one id as client and principal
        assert f'"registry_identity":"{right["principalId"]}"' in document and '"tenant"' in document


def test_on_azure_no_machine_starts_before_it_may_pull() -> None:
    [right] = more("azure-dev", ASSIGNMENT)
    urn = of(pulling("azure-dev"), ASSIGNMENT)[right].urn
    for each in of(pulling("azure-dev"), AZURE_MACHINE).values():
        assert urn in each.dependencies


def test_on_gcp_each_service_account_may_read_the_projects_images() -> None:
    rights = more("gcp-dev", PROJECT_RIGHT)
    accounts = {each.inputs["member"] for each in of(pulling("gcp-dev"), BUCKET_RIGHT).values()}
    assert {each["role"] for each in rights.values()} == {"roles/artifactregistry.reader"}
    assert {each["project"] for each in rights.values()} == {"example-project"}
    assert {each["member"] for each in rights.values()} == accounts
    assert len(rights) == len(accounts) > 1


@pytest.mark.parametrize("stack", ["azure-dev", "gcp-dev"])
def test_without_the_option_no_machine_may_read_a_registry(stack: str) -> None:
    """Existing clusters keep their user-data: facts that they do not use would replace every machine."""
    for each in recording(stack).resources.values():
        if each.type in (ASSIGNMENT, PROJECT_RIGHT):
            assert ACR_PULL not in str(each.inputs) and "artifactregistry" not in str(each.inputs)
        if each.type == AZURE_MACHINE:
            document = base64.b64decode(each.inputs["osProfile"]["customData"]).decode()
            assert "registry_identity" not in document and "tenant" not in document
