"""From another worker: what root on one worker may do with the objects of other machines in the bundle store.

The rights are those that the program assigns; the functions with which the sandbox's services enforce them judge.

Seen in: the cloud's audit log, as a refused request of the machine's identity for the object.
"""

from collections.abc import Callable
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.azure import boot_obstacles as azure_machines
from sandbox.azure import rights as azure
from sandbox.gcp import boot_obstacles as gcp_machines
from sandbox.gcp import rights as gcp
from sandbox.machines import Machines
from tests.components.recorded_wiring import of, plan, recording

MACHINES: dict[str, tuple[Machines, Callable[[str], tuple[str, str]]]] = {
    "azure-prod": (azure_machines.MACHINES, azure_machines.place),
    "gcp-prod": (gcp_machines.MACHINES, gcp_machines.place),
}
FOLDERS = ("requests", "status", "logs", "join")
"""Folders of the bundle store in which each machine has its own object."""
OWN = {"read": {"requests"}, "write": {"status", "logs", "join"}}
"""Folders in which a machine may do it to its own object."""


class Registered:
    """What the program registered, as a cloud state with these resources."""

    def __init__(self, stack: str) -> None:
        self.stack = stack

    def resources(self, type: str) -> list[Any]:
        """Return the resources of a type; the recorder's ids end with the resource's name."""
        found = of(recording(self.stack), type).items()
        ids = {str(each.inputs.get("roleDefinitionId")) for each in recording(self.stack).resources.values()}
        named = {name: next((id for id in ids if id.endswith(f"/{name}")), name) for name, _ in found}
        return [SimpleNamespace(inputs=each.inputs, outputs={}, id=named[name]) for name, each in found]


def paths(stack: str) -> dict[str, tuple[str, str]]:
    """Return bucket and key, without instance id, of each worker's status record, from its user-data."""
    machines, place = MACHINES[stack]
    found = of(recording(stack), machines.type)
    told = {each.name: machines.document(found[f"{stack}-{each.name}"].inputs) for each in plan(stack).workers}
    return {name: place(document["facts"]["status_url"]) for name, document in told.items() if document}


def on_azure(machine: str, action: str, path: tuple[str, str]) -> str:
    """Return why a worker of azure-prod may not act on a blob; empty if it may."""
    found = recording("azure-prod")
    [mine] = of(found, azure_machines.MACHINES.type)[f"azure-prod-{machine}"].inputs["identity"][
        "userAssignedIdentities"
    ]
    assigned, owner = of(found, azure.ASSIGNMENT), mine.rpartition("/")[2]
    [principal] = {each.inputs["principalId"] for name, each in assigned.items() if name.startswith(f"{owner}-")}
    scopes = {each.inputs["scope"] for each in assigned.values()}
    [container] = {scope for scope in scopes if scope.endswith("/containers/bundles")}
    state: Any = Registered("azure-prod")
    blob = f"{container}/blobs/{path[1]}"
    return azure.refused(state, principal, f"{azure.BLOBS}/{action}", blob, path=path[1])


def on_gcp(machine: str, action: str, path: tuple[str, str]) -> str:
    """Return why a worker of gcp-prod may not act on an object; empty if it may."""
    account = of(recording("gcp-prod"), gcp_machines.MACHINES.type)[f"gcp-prod-{machine}"].inputs["serviceAccount"]
    asked = gcp_machines.MACHINES.read if action == "read" else gcp_machines.MACHINES.write
    state: Any = Registered("gcp-prod")
    return gcp.refused(
        state, f"serviceAccount:{account['email']}", asked, f"projects/_/buckets/{path[0]}/objects/{path[1]}"
    )


ASKED = {"azure-prod": on_azure, "gcp-prod": on_gcp}


@pytest.mark.parametrize("stack", ASKED)
@pytest.mark.parametrize("action", OWN)
def test_a_worker_reaches_no_object_of_a_worker_with_another_identity(stack: str, action: str) -> None:
    """Write the record of another worker, announce it to join, answer for it, or read what operators ask it.

    Refused by: the cloud, by the condition of the identity's rights.
    """
    asked, places, reached = ASKED[stack], paths(stack), set[tuple[str, str, str]]()
    for machine, other in permutations(places, 2):
        for folder in FOLDERS:
            bucket, key = places[other]
            if not asked(machine, action, (bucket, f"{key.replace('status/', f'{folder}/', 1)}i-1.json")):
                reached.add((machine, other, folder))
    pools = {worker.name: pool.name for pool in plan(stack).pools for worker in pool.machines}
    # on GCP the workers of a pool share a service account
    together = {each for each in reached if stack == "gcp-prod" and pools[each[0]] == pools[each[1]]}
    assert {folder for _, _, folder in together} <= OWN[action]
    assert reached == together


@pytest.mark.parametrize("stack", ASKED)
def test_a_worker_reaches_its_own_objects(stack: str) -> None:
    """Not an attack: without these rights no machine would boot."""
    for machine, (bucket, key) in paths(stack).items():
        for action, folders in OWN.items():
            for folder in folders:
                assert not ASKED[stack](machine, action, (bucket, f"{key.replace('status/', f'{folder}/', 1)}i-1.json"))


@pytest.mark.parametrize("stack", ASKED)
def test_a_worker_cannot_write_what_other_machines_follow(stack: str) -> None:
    """Write a bundle, the authority's certificate, the pointer, the members list, the epoch of a restore, or
    the number of the last founding.

    Refused by: the cloud.
    """
    (machine, (bucket, _)), *_ = paths(stack).items()
    for key in (
        "bundles/web/1.zip",
        "ca.crt",
        "desired-state.json",
        "members.json",
        "epoch.json",
        "founded.json",
        "status/control-plane:i-1.json",
    ):
        assert ASKED[stack](machine, "write", (bucket, key)), key
