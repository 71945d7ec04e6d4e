"""From another worker: what root on one worker may do with the objects of other machines in the bundle store.

The rights are those that the program assigns; the functions with which the sandbox's services enforce them judge.

Seen in: the cloud's audit log, as a refused request of the machine's identity for the object.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from components.stack_files.stack import CLUSTER
from operations.recorder.recorder import Recording, record
from sandbox.azure import boot_obstacles as azure_machines
from sandbox.azure import rights as azure
from sandbox.gcp import boot_obstacles as gcp_machines
from sandbox.gcp import rights as gcp
from sandbox.machines import Machines
from tests.components.recorded_wiring import config, of, plan, recording

MACHINES: dict[str, tuple[Machines, Callable[[str], tuple[str, str]]]] = {
    "azure-prod": (azure_machines.MACHINES, azure_machines.place),
    "gcp-prod": (gcp_machines.MACHINES, gcp_machines.place),
}
POOL = "gcp-prod, worker_identity: pool"
FOLDERS = ("requests", "status", "logs", "join")
"""Folders of the bundle store in which each machine has its own object."""
OWN = {"read": {"requests"}, "write": {"status", "logs", "join"}}
"""Folders in which a machine may do it to its own object."""


@lru_cache
def recorded(case: str) -> Recording:
    """Return what the program registers: for a stack, or for gcp-prod with a service account for each pool."""
    if case != POOL:
        return recording(case)
    found = record(
        "gcp-prod", {**config("gcp-prod"), CLUSTER: {**config("gcp-prod")[CLUSTER], "worker_identity": "pool"}}
    )
    assert found.errors == []
    return found


def stack_of(case: str) -> str:
    """Return the name of a case's stack."""
    return case.partition(",")[0]


class Registered:
    """What the program registered, as a cloud state with these resources."""

    def __init__(self, case: str) -> None:
        self.case = case

    def resources(self, type: str) -> list[Any]:
        """Return the resources of a type; the recorder's ids end with the resource's name."""
        found = of(recorded(self.case), type).items()
        ids = {str(each.inputs.get("roleDefinitionId")) for each in recorded(self.case).resources.values()}
        named = {name: next((id for id in ids if id.endswith(f"/{name}")), name) for name, _ in found}
        return [SimpleNamespace(inputs=each.inputs, outputs={}, id=named[name]) for name, each in found]


def paths(case: str) -> dict[str, tuple[str, str]]:
    """Return bucket and key, without instance id, of each worker's status record, from its user-data."""
    stack = stack_of(case)
    machines, place = MACHINES[stack]
    found = of(recorded(case), machines.type)
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


def on_gcp(machine: str, action: str, path: tuple[str, str], case: str = "gcp-prod") -> str:
    """Return why a worker of gcp-prod may not act on an object; empty if it may."""
    account = of(recorded(case), gcp_machines.MACHINES.type)[f"gcp-prod-{machine}"].inputs["serviceAccount"]
    asked = gcp_machines.MACHINES.read if action == "read" else gcp_machines.MACHINES.write
    state: Any = Registered(case)
    return gcp.refused(
        state, f"serviceAccount:{account['email']}", asked, f"projects/_/buckets/{path[0]}/objects/{path[1]}"
    )


ASKED = {"azure-prod": on_azure, "gcp-prod": on_gcp, POOL: partial(on_gcp, case=POOL)}


def reached(case: str, action: str) -> set[tuple[str, str, str]]:
    """Return each worker, other worker and folder where the first one may act on the object of the other one."""
    asked, places = ASKED[case], paths(case)
    return {
        (machine, other, folder)
        for machine, other in permutations(places, 2)
        for folder in FOLDERS
        if not asked(
            machine, action, (places[other][0], f"{places[other][1].replace('status/', f'{folder}/', 1)}i-1.json")
        )
    }


def of_one_pool(case: str) -> set[tuple[str, str]]:
    """Return all pairs of workers of one pool."""
    pools = [[worker.name for worker in pool.machines] for pool in plan(stack_of(case)).pools]
    return {pair for workers in pools for pair in permutations(workers, 2)}


@pytest.mark.parametrize("case", ASKED)
def test_a_worker_writes_no_object_of_a_worker_with_another_identity(case: str) -> None:
    """Write the record of another worker, answer for it, or announce it to join: on GCP with `worker_identity: pool` of
    another pool, else of any worker.

    Refused by: the cloud, by the condition of the identity's rights.
    """
    together = of_one_pool(case)
    assert len(together) > 1
    expected = {(*pair, folder) for pair in together for folder in OWN["write"]} if case == POOL else set()
    assert reached(case, "write") == expected


@pytest.mark.parametrize("case", ASKED)
def test_a_worker_reads_no_object_of_another_worker(case: str) -> None:
    """Read the status record, the logs or the announcement of another worker, or what operators ask it: on GCP, where
    the requests to a pool are one right, of a worker of another pool.

    Refused by: the cloud, by the condition of the identity's rights.
    """
    pairs = of_one_pool(case) if stack_of(case) == "gcp-prod" else set()
    assert reached(case, "read") == {(*pair, "requests") for pair in pairs}


@pytest.mark.parametrize("case", ASKED)
def test_a_worker_reaches_its_own_objects(case: str) -> None:
    """Not an attack: without these rights no machine would boot."""
    for machine, (bucket, key) in paths(case).items():
        for action, folders in OWN.items():
            for folder in folders:
                assert not ASKED[case](machine, action, (bucket, f"{key.replace('status/', f'{folder}/', 1)}i-1.json"))


@pytest.mark.parametrize("case", ASKED)
def test_a_worker_cannot_write_what_other_machines_follow(case: str) -> None:
    """Write a bundle, the authority's certificate, the pointer, the members list, the epoch of a restore, or
    the number of the last founding.

    Refused by: the cloud.
    """
    (machine, (bucket, _)), *_ = paths(case).items()
    for key in (
        "bundles/web/1.zip",
        "ca.crt",
        "desired-state.json",
        "members.json",
        "epoch.json",
        "founded.json",
        "status/control-plane:i-1.json",
    ):
        assert ASKED[case](machine, "write", (bucket, key)), key
