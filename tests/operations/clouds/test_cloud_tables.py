"""What commands read out of a state, in each cloud by its own table."""

import json
from typing import Any

import pytest

from operations.clouds import cloud_tables
from operations.commands.plan_against import from_state
from operations.engine import state

STATES: dict[str, list[dict[str, Any]]] = {
    "aws": [
        {
            "type": "aws:ec2/instance:Instance",
            "urn": "urn:pulumi:small::mullion::aws:ec2/instance:Instance::small-web-0",
            "id": "i-1",
            "inputs": {
                "privateIp": "10.20.64.5",
                "tags": {"mullion:cluster": "small", "mullion:pool": "web", "mullion:digest": "0123"},
            },
            "outputs": {
                "availabilityZone": "eu-west-1a",
                "tags": {"mullion:cluster": "small", "mullion:pool": "web"},
            },
        },
    ],
    "gcp": [
        {
            "type": "gcp:compute/instance:Instance",
            "urn": "urn:pulumi:small::mullion::gcp:compute/instance:Instance::small-web-0",
            "id": "projects/p/zones/europe-west1-b/instances/small-web-0",
            "inputs": {
                "networkInterfaces": [{"networkIp": "10.20.64.5"}],
                "labels": {"mullion_cluster": "small", "mullion_pool": "web", "mullion_digest": "0123"},
            },
            "outputs": {
                "instanceId": "4318277345128394012",
                "zone": "europe-west1-b",
                "labels": {"mullion_cluster": "small", "mullion_pool": "web"},
            },
        },
    ],
}
STATES["azure"] = [
    {
        "type": "azure-native:compute:VirtualMachine",
        "urn": "urn:pulumi:small::mullion::azure-native:compute:VirtualMachine::small-web-0",
        "id": "/subscriptions/s/resourceGroups/small/providers/Microsoft.Compute/virtualMachines/web-0",
        "inputs": {
            "tags": {
                "mullion:address": "10.20.64.5",
                "mullion:cluster": "small",
                "mullion:pool": "web",
                "mullion:digest": "0123",
            },
        },
        "outputs": {
            "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
            "zones": ["1"],
            "tags": {"mullion:cluster": "small", "mullion:pool": "web"},
        },
    },
]
IDS = {"aws": "i-1", "gcp": "4318277345128394012", "azure": "02aab8a4-74ef-476e-8182-f6d2ba4166a6"}
ZONES = {"aws": "eu-west-1a", "gcp": "europe-west1-b", "azure": "1"}


@pytest.mark.parametrize("cloud", STATES)
def test_the_cloud_of_a_state_is_that_of_its_resources(cloud: str) -> None:
    assert cloud_tables.of(STATES[cloud]).name == cloud


@pytest.mark.parametrize("cloud", STATES)
def test_a_machine_is_found_by_its_name_with_the_id_that_it_calls_itself(cloud: str) -> None:
    found = state.instances(STATES[cloud])
    assert list(found) == ["web-0"]
    assert (found["web-0"]["id"], found["web-0"]["zone"], found["web-0"]["pool"]) == (IDS[cloud], ZONES[cloud], "web")


@pytest.mark.parametrize("cloud", STATES)
def test_a_machine_marked_for_deletion_is_not_a_machine(cloud: str) -> None:
    assert state.instances([{**each, "delete": True} for each in STATES[cloud]]) == {}


@pytest.mark.parametrize("cloud", STATES)
def test_a_machines_plan_is_read_from_its_tags(cloud: str) -> None:
    earlier = from_state(STATES[cloud], "state")
    assert earlier.cluster == "small"
    [(name, was)] = earlier.machines.items()
    assert (name, was.pool, was.address, was.digest) == ("web-0", "web", "10.20.64.5", "0123")


TEXT = '{"kubernetes": "1.35.8"}'
CONTENTS: dict[str, dict[str, Any]] = {
    "aws": {"key": "desired-state.json", "content": TEXT},
    "gcp": {"name": "desired-state.json", "content": {"4dabf18": "1b47061", "plaintext": json.dumps(TEXT)}},
    "azure": {"blobName": "desired-state.json", "source": {"4dabf18": "c44067f", "hash": "0", "text": TEXT}},
}


def test_an_object_without_text_in_the_state_has_no_version() -> None:
    inputs = {**CONTENTS["azure"], "source": {**CONTENTS["azure"]["source"], "text": "<contents elided>"}}
    assert from_state([{"type": cloud_tables.AZURE.stored, "inputs": inputs}], "state").kubernetes is None


@pytest.mark.parametrize("cloud", STATES)
def test_the_version_of_a_cluster_without_pools_is_read_from_the_pointer_of_its_state(cloud: str) -> None:
    digest = "0" * 64
    folder = "1f0c9a7e/" if cloud == "azure" else ""
    stored = [CONTENTS[cloud], {cloud_tables.CLOUDS[cloud].key: f"bundles/control-plane/{folder}{digest}.zip"}]
    rows = [{"type": cloud_tables.CLOUDS[cloud].stored, "inputs": each} for each in stored]
    earlier = from_state([*STATES[cloud], *rows], "state")
    assert (earlier.kubernetes, earlier.bundle) == ("1.35.8", digest)


def _gcp(type_: str, logical: str, **outputs: Any) -> dict[str, Any]:
    return {"type": type_, "urn": f"urn:pulumi:small::mullion::{type_}::small-{logical}", "outputs": outputs}


def test_stores_of_gcp_are_buckets_by_name_and_records_begin_with_the_account_that_a_machine_has() -> None:
    """After a change of `worker_identity` workers keep the pool's account until they are replaced."""
    rows = [_gcp("gcp:storage/bucket:Bucket", store, name=f"small-{store}-1") for store in ("bundles", "snapshots")]
    machines = {"control-plane-0": "control-plane", "web-0": "web-0", "web-1": "web"}
    for own in {*machines.values(), "web-1"}:
        rows.append(_gcp("gcp:serviceaccount/account:Account", own, email=f"{own}@example.com"))
    for name, own in machines.items():
        rows.append(_gcp(cloud_tables.GCP.machine, name, serviceAccount={"email": f"{own}@example.com"}))
    leaving = {**_gcp(cloud_tables.GCP.machine, "web-0", serviceAccount={"email": "web@example.com"}), "delete": True}
    found = state.stores("small", [*rows, leaving])
    assert found == state.Stores("small-bundles-1", "small-snapshots-1", "gcp", {}, machines)
    assert {name: found.prefix(name.rpartition("-")[0], name) for name in machines} == machines


def test_every_cloud_of_the_table_has_a_module_that_asks_its_provider() -> None:
    for name, cloud in cloud_tables.CLOUDS.items():
        module = cloud_tables.provider(name)
        assert all(callable(getattr(module, each)) for each in ("records", "put", "keys", "text"))
        assert hasattr(module, "newest_image") is not bool(cloud.versions), "or the command that a person runs"
