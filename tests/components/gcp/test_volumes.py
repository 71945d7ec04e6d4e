"""What the driver of persistent disks may do: with disks, snapshots and machines of its own cluster alone."""

import re
from typing import Any

import pytest

from components.gcp.volumes import ROLES, attached, condition
from components.naming import volume_prefix
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.recorder.recorder import Recording, record
from sandbox.gcp.rights import holds
from tests.components.recorded_wiring import config, of

ROLE, ON_PROJECT = "gcp:projects/iAMCustomRole:IAMCustomRole", "gcp:projects/iAMMember:IAMMember"
ON_ACCOUNT = "gcp:serviceaccount/iAMMember:IAMMember"
ZONES = ("europe-west1-b", "europe-west1-c")
UID = "0123456789abcdef" * 2
PROJECT, ZONE = "projects/example", "zones/europe-west1-b"


def may(name: str, cluster: str = "dev") -> bool:
    """Return whether the role's condition is true for a resource of the project."""
    return holds(condition(cluster, "example", ZONES)["expression"], f"{PROJECT}/{name}")


def made(**spec: Any) -> Recording:
    whole = {**config("gcp-prod")[CLUSTER], **spec}
    found = record("gcp-prod", {**config("gcp-prod"), CLUSTER: whole})
    assert found.errors == []
    return found


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return made(csi=["pd"])


@pytest.mark.parametrize("kind", [f"{ZONE}/disks", "zones/europe-west1-c/disks", "global/snapshots"])
def test_sto_03_the_driver_reaches_disks_and_snapshots_of_its_cluster_only(kind: str) -> None:
    assert may(f"{kind}/{volume_prefix('dev')}-{UID}")
    for other in ("dev-2", "de", "dev2", "prod"):
        assert not may(f"{kind}/{volume_prefix(other)}-{UID}"), "another cluster's"
    assert not may(f"{kind}/pvc-{UID}"), "of another installation of the driver"


def test_sto_03_the_driver_reaches_no_disk_of_a_machine_and_no_machine_of_another_cluster() -> None:
    assert not may(f"{ZONE}/disks/dev-linux-0") and not may(f"{ZONE}/disks/dev-control-plane-0")
    assert may(f"{ZONE}/instances/dev-linux-0") and not may(f"{ZONE}/instances/prod-linux-0")
    assert not may(f"zones/europe-west1-d/disks/{volume_prefix('dev')}-{UID}"), "a zone without machines"


def test_sto_03_a_machine_of_a_cluster_with_a_longer_name_gets_no_disk_because_of_its_service_account(
    recorded: Recording,
) -> None:
    """The condition alone allows dev-2-linux-0 to a cluster dev; to attach, Compute Engine asks for the account too.

    docs/gcp.md says what that leaves: detaching.
    """
    assert may(f"{ZONE}/instances/dev-2-linux-0") and not may(f"{ZONE}/instances/dev2-linux-0")
    accounts = {each.inputs["serviceAccountId"] for each in of(recorded, ON_ACCOUNT).values()}
    assert accounts and all(re.search(r"/serviceAccounts/gcp-prod-", str(each)) for each in accounts)


def test_sto_03_the_longest_name_of_a_cluster_leaves_room_for_a_whole_uid() -> None:
    name = f"{volume_prefix('a' * 26)}-{UID}"
    assert len(name) == 63 and re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name)


def test_sto_03_a_condition_has_at_most_twelve_operators() -> None:
    """IAM, "Quotas and limits": logical operators in a condition expression."""
    zones = [f"us-central1-{each}" for each in "abcdef"]
    assert condition("dev", "example", zones)["expression"].count("||") == 12


def test_sto_03_only_control_planes_get_the_drivers_rights_and_all_changes_are_conditional(recorded: Recording) -> None:
    roles = {each.inputs["roleId"]: each.inputs["permissions"] for each in of(recorded, ROLE).values()}
    given = [
        (roles[each.inputs["role"].rpartition("/")[2]], each.inputs)
        for each in (*of(recorded, ON_PROJECT).values(), *of(recorded, ON_ACCOUNT).values())
    ]
    disks = [(set(listed), inputs) for listed, inputs in given if any("disks" in each for each in listed)]
    (account,) = {inputs["member"] for _, inputs in disks}
    assert account.startswith("serviceAccount:gcp-prod-control-plane-")
    without = {each for listed, inputs in given if not inputs.get("condition") for each in listed}
    assert without & set(ROLES["volumes"]) == set(), "each right that names a disk, snapshot or machine"
    assert set(ROLES["attach"]) <= without, "on the accounts of workers alone, which have no conditions"
    assert all(each.inputs["member"] == account for each in of(recorded, ON_ACCOUNT).values())


@pytest.mark.parametrize("identity", ["machine", "pool"])
def test_sto_03_disks_go_to_linux_workers_alone(identity: str) -> None:
    spec = {**config("gcp-prod")[CLUSTER], "csi": ["pd"], "worker_identity": identity}
    plan = plan_cluster("gcp-prod", read_stack("gcp-prod", {**config("gcp-prod"), CLUSTER: spec}).spec)
    linux = {pool.name for pool in plan.pools if not pool.os.is_windows}
    assert linux and {each if identity == "pool" else each.rpartition("-")[0] for each in attached(plan)} == linux


def test_sto_03_a_worker_that_is_removed_keeps_the_right_on_its_account_until_its_machine_is_gone(
    recorded: Recording,
) -> None:
    """Otherwise nothing could detach its disks while it is drained."""
    bound = {each.urn: str(each.inputs["serviceAccountId"]) for each in of(recorded, ON_ACCOUNT).values()}
    for each in of(recorded, "gcp:compute/instance:Instance").values():
        linux = each.inputs["name"].removeprefix("gcp-prod-").startswith("linux")
        own = [urn for urn in each.dependencies if f"/{each.inputs['name']}" in bound.get(urn, "")]
        assert bool(own) == linux, each.inputs["name"]


def test_sto_03_without_the_driver_nothing_of_it_is_registered() -> None:
    found = made()
    assert not of(found, ON_ACCOUNT)
    assert not [name for name in of(found, ROLE) if "volume" in name or "attach" in name]
