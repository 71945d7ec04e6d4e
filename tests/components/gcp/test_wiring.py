"""The GCP wiring: inputs and options of every registered resource, recorded without an engine."""

import json
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest

from components.checks import worker_identity
from components.gcp.images import ordinary
from components.plan import plan_cluster
from components.spec.models import Cloud
from components.stack_files.stack import CLUSTER, read_stack
from components.wiring.tags import urn_digest
from operations.recorder.recorder import Recording, record
from sandbox import clouds
from sandbox.cloud import Place
from sandbox.gcp.functions import FUNCTIONS
from sandbox.values import Secret
from tests.components.recorded_wiring import config, of, plan, recording

STACKS = ("gcp-dev", "gcp-ci", "gcp-prod")
INSTANCE, FIREWALL = "gcp:compute/instance:Instance", "gcp:compute/firewall:Firewall"
MEMBERSHIP = "gcp:compute/instanceGroupMembership:InstanceGroupMembership"
ROLE = "gcp:projects/iAMCustomRole:IAMCustomRole"
BUCKET_RIGHT, SECRET_RIGHT = (
    "gcp:storage/bucketIAMMember:BucketIAMMember",
    "gcp:secretmanager/secretIamMember:SecretIamMember",
)
NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1035, as Compute Engine wants names."""


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_with_labels_has_cluster_owner_expiry_and_urn(stack: str) -> None:
    shapes, spec = clouds.of("gcp").shapes, plan(stack).spec
    labelled = [resource for resource in recording(stack).resources.values() if resource.type.startswith("gcp:")]
    for resource in (each for each in labelled if "labels" in shapes.inputs(each.type)):
        labels = resource.inputs["labels"]
        assert labels["mullion_cluster"] == stack and labels["mullion_owner"] == spec.owner
        assert labels.get("mullion_expires") == spec.expires
        assert labels["mullion_urn"] == urn_digest(resource.urn)
        assert all(re.fullmatch(r"[a-z0-9_-]{1,63}", word) for pair in labels.items() for word in pair)


@pytest.mark.parametrize("stack", STACKS)
def test_names_are_valid_for_compute_engine(stack: str) -> None:
    for resource in recording(stack).resources.values():
        if resource.type.startswith("gcp:compute/") and resource.type != MEMBERSHIP:  # which has no name
            assert NAME.fullmatch(resource.inputs["name"]), resource.inputs["name"]


@pytest.mark.parametrize("stack", STACKS)
def test_secrets_are_only_in_the_secret_store_and_the_kubeconfig(stack: str) -> None:
    for resource in recording(stack).resources.values():
        marked = [name for name, value in resource.inputs.items() if isinstance(value, Secret)]
        if resource.type == "gcp:secretmanager/secretVersion:SecretVersion":
            assert marked == ["secretData"]
        elif resource.type == "gcp:storage/bucketObject:BucketObject":
            assert marked in ([], ["content"]), "the SDK marks every content as secret"
        elif resource.type != "pulumi:index:Stash":
            assert marked == [], f"{resource.urn} holds a secret"
    assert [name for name, value in recording(stack).outputs.items() if isinstance(value, Secret)] == ["kubeconfig"]


@pytest.mark.parametrize("stack", STACKS)
def test_machines_are_as_planned_and_hardened(stack: str) -> None:
    """SRV-12, SEC-02, NET-05: names, addresses, disks, Shielded VM, one service account for each worker."""
    instances = of(recording(stack), INSTANCE)
    planned = {f"{stack}-{one.name}": (group, one) for group in plan(stack).machine_groups for one in group.machines}
    assert set(instances) == set(planned)
    for name, (group, machine) in planned.items():
        inputs = instances[name].inputs
        [interface] = inputs["networkInterfaces"]
        assert inputs["name"] == name and interface["networkIp"] == str(machine.address)
        assert bool(interface["accessConfigs"]) is (plan(stack).spec.network.egress.value == "public")
        assert inputs["machineType"] == group.size and inputs["bootDisk"]["initializeParams"]["size"] == group.disk_gb
        assert inputs["canIpForward"] is (machine.pods is not None)
        assert set(inputs["shieldedInstanceConfig"].values()) == {True}
        account = inputs["serviceAccount"]["email"]
        own = group.name if group.is_control_plane else machine.name
        assert re.fullmatch(rf"{stack}-{own}-[a-z]{{6}}", account.partition("@")[0])
        assert inputs["tags"] == [f"{stack}-{group.group.value}"]
        key = "windows-startup-script-ps1" if group.os.is_windows else "user-data"
        assert group.bundle.sha256 in inputs["metadata"][key]
        assert "<powershell>" not in inputs["metadata"][key], "Google's agent runs the script without that tag"
        for manager in ("disable-address-manager", "disable-account-manager"):
            assert (inputs["metadata"].get(manager) == "true") is group.os.is_windows
        assert "enable-oslogin" not in inputs["metadata"], "FALSE is refused under compute.requireOsLogin"
        assert instances[name].ignore_changes[:1] == ["metadata"] and instances[name].delete_before_replace


def test_control_planes_are_chained_and_ignore_changes_of_the_stack() -> None:
    instances = of(recording("gcp-prod"), INSTANCE)
    members = [instances[f"gcp-prod-{machine.name}"] for machine in plan("gcp-prod").control_plane.machines]
    ignored = ["metadata", "machineType", "bootDisk", "attachedDisks"]
    assert all(each.ignore_changes == ignored and each.protect for each in members)
    assert all(each.replacement_trigger is None for each in members)
    stopped = {name: each.inputs["allowStoppingForUpdate"] for name, each in instances.items()}
    planes = {each.name for each in members}
    assert planes and stopped == {name: name not in planes for name in stopped}, "etcd would lose its majority"
    assert all(before.urn in each.dependencies for before, each in pairwise(members))


def test_a_replaced_control_plane_leaves_and_joins_its_instance_group() -> None:
    """The load balancer refers to the group, so the group stays; only memberships depend on machines."""
    recorded = recording("gcp-prod")
    machines = {each.urn: each.name for each in of(recorded, INSTANCE).values() if "control-plane" in each.name}
    memberships = of(recorded, MEMBERSHIP)
    assert {each.removeprefix("gcp-prod-api-") for each in memberships} == {
        each.removeprefix("gcp-prod-") for each in machines.values()
    }
    for each in memberships.values():
        assert each.delete_before_replace and each.property_dependencies["instance"] & machines.keys()
        assert each.replacement_trigger is not None
    for group in of(recorded, "gcp:compute/instanceGroup:InstanceGroup").values():
        assert not group.dependencies & machines.keys() and "instances" not in group.inputs


def test_ai_zones_are_not_among_a_regions_zones() -> None:
    place = Place("our-project", "us-central1")
    listed = FUNCTIONS["gcp:compute/getZones:getZones"](place, {"status": "UP"})["names"]
    assert "us-central1-ai1a" in listed
    assert ordinary("us-central1", listed) == [f"us-central1-{letter}" for letter in "abcf"]


@pytest.mark.parametrize("stack", STACKS)
def test_the_firewall_equals_the_rule_table_and_matches_network_tags(stack: str) -> None:
    firewalls = of(recording(stack), FIREWALL)
    assert set(firewalls) == {f"{stack}-{rule.name}" for rule in plan(stack).rules}
    for rule in plan(stack).rules:
        inputs = firewalls[f"{stack}-{rule.name}"].inputs
        assert inputs["targetTags"] == [f"{stack}-{rule.group.value}"] and inputs["description"] == rule.why
        assert inputs.get("sourceTags") == ([f"{stack}-{rule.peer.value}"] if isinstance(rule.peer, str) else None)
        ranges = inputs.get("sourceRanges" if rule.ingress else "destinationRanges")
        assert ranges == (None if isinstance(rule.peer, str) else [str(rule.peer)])


def test_firewall_rules_admit_people_and_probes_to_the_control_plane() -> None:
    rules = plan("gcp-ci").rules
    sources = {str(each.peer) for each in rules if each.ports == (6443, 6443) and not isinstance(each.peer, str)}
    assert sources == {"203.0.113.0/24", *map(str, Cloud.GCP.facts.probe_ranges)}
    assert not any(each.group.value.startswith("api") for each in rules)


@lru_cache
def shared(stack: str, **pools: int) -> Recording:
    """Return the recording of a stack whose workers share their pool's service account. pools: numbers of machines."""
    return _recorded(stack, "pool", pools)


def _recorded(stack: str, worker_identity: str, counts: dict[str, int]) -> Recording:
    cluster = config(stack)[CLUSTER]
    pools = {
        name: {**pool, **({"count": counts[name]} if name in counts else {})} for name, pool in cluster["pools"].items()
    }
    changed = {**cluster, "worker_identity": worker_identity, "pools": pools}
    found = record(stack, {**config(stack), CLUSTER: changed})
    assert found.errors == []
    return found


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("shares", [False, True])
def test_service_accounts_have_the_least_rights(stack: str, shares: bool) -> None:
    recorded = shared(stack) if shares else recording(stack)
    rights = [each.inputs for each in of(recorded, BUCKET_RIGHT).values()]
    workers_of = {pool.name: [machine.name for machine in pool.machines] for pool in plan(stack).pools}
    # the requests for logs that an account may read
    requests = {pool: f"{pool}:" for pool in workers_of}
    if not shares:
        requests = {worker: f"{pool}-" for pool, workers in workers_of.items() for worker in workers}
    workers = [each for each in rights if "-control-plane-" not in each["member"]]
    assert len(workers) == 2 * len(requests), "one for what it reads, one for what it writes"
    roles = {each.inputs["roleId"]: each.inputs["permissions"] for each in of(recorded, ROLE).values()}
    named = {each.rpartition("_")[0].removeprefix(f"{stack.replace('-', '_')}_"): each for each in roles}
    reading, records = (f"projects/example-project/roles/{named[each]}" for each in ("read", "records"))
    assert {each["role"] for each in workers} == {reading, records}
    assert not [each["role"] for each in rights if each.get("condition") and "legacy" in each["role"]]
    for binding in workers:
        paths = re.findall(r'objects/([^"]*)"', binding["condition"]["expression"])
        written = binding["role"] == records
        [own] = [
            each for each in requests if re.match(rf"serviceAccount:{stack}-{each}-[a-z]{{6}}@", binding["member"])
        ]
        read = {"bundles/", "ca.crt", "epoch.json", f"requests/{requests[own]}"}
        assert set(paths) == ({f"status/{own}:", f"logs/{own}:", f"join/{own}:"} if written else read)
    secrets = {name: each.inputs for name, each in of(recorded, SECRET_RIGHT).items()}
    of_workers = {name.removeprefix(f"{stack}-") for name in secrets if "-control-plane-" not in name}
    assert of_workers == {f"{own}-join-read" for own in requests}
    assert {each: set(roles[named[each]]) for each in named} == {
        "machines": {"compute.instances.get", "compute.instances.list"},
        "records": {"storage.objects.create", "storage.objects.delete"},
        "read": {"storage.objects.get"},
    }


def conditional(recorded: Recording) -> dict[str, int]:
    """Return the number of conditional role bindings by bucket: grants with the same role and condition are one."""
    rights = [each.inputs for each in of(recorded, BUCKET_RIGHT).values() if each.inputs.get("condition")]
    found = {(each["bucket"], each["role"], json.dumps(each["condition"], sort_keys=True)) for each in rights}
    return dict(Counter(bucket for bucket, _, _ in found))


def test_as_many_conditional_bindings_are_registered_as_the_check_counts() -> None:
    counts = {"linux": 3, "web": 5}
    limit = Cloud.GCP.facts.bindings_limit
    assert limit == 100
    [(bucket, needed)] = conditional(_recorded("gcp-dev", "machine", counts)).items()
    assert "bundles" in bucket and needed == worker_identity.OF_CONTROL_PLANE + worker_identity.READING * len(
        counts
    ) + sum(counts.values())
    [needed] = conditional(shared("gcp-dev", **counts)).values()
    assert needed == worker_identity.OF_CONTROL_PLANE + worker_identity.OF_POOL * len(counts)


def without_letters(inputs: Any) -> str:
    """Return inputs as text without the random letters of the cluster, which differ between recordings."""
    return re.sub(r"[-_][a-z]{6}(?=[@\"])", "", json.dumps(inputs, sort_keys=True))


def test_a_worker_more_adds_its_own_resources_and_changes_no_other_worker() -> None:
    before, after = (_recorded("gcp-dev", "machine", {"web": count}).resources for count in (2, 3))
    added = {key.name.removeprefix("gcp-dev-") for key in after.keys() - before.keys()}
    assert added == {"web-2", "web-2-read", "web-2-written", "web-2-join-read"} and before.keys() <= after.keys()
    for key, each in before.items():
        assert key.type != INSTANCE or after[key].replacement_trigger == each.replacement_trigger
        if key.type in (BUCKET_RIGHT, SECRET_RIGHT, "gcp:serviceaccount/account:Account"):
            assert without_letters(after[key].inputs) == without_letters(each.inputs)


@pytest.mark.parametrize("stack", STACKS)
def test_a_machine_depends_on_its_own_rights_and_on_no_other_machines(stack: str) -> None:
    """So a removed machine goes before its rights, and the number of dependencies does not grow with the workers."""
    recorded = recording(stack)
    rights = {
        each.urn: each.inputs["member"]
        for type_ in (BUCKET_RIGHT, SECRET_RIGHT)
        for each in of(recorded, type_).values()
    }
    for each in of(recorded, INSTANCE).values():
        member = f"serviceAccount:{each.inputs['serviceAccount']['email']}"
        assert each.dependencies & rights.keys() == {urn for urn, other in rights.items() if other == member}


def test_a_change_of_worker_identity_replaces_every_worker() -> None:
    own, together = (of(each, INSTANCE) for each in (recording("gcp-dev"), shared("gcp-dev")))
    for name, each in own.items():
        is_worker, other = "-control-plane-" not in name, together[name]
        assert (each.replacement_trigger != other.replacement_trigger) is is_worker
        accounts = {without_letters(one.inputs["serviceAccount"]) for one in (each, other)}
        assert len(accounts) == 1 + is_worker


@pytest.mark.parametrize("stack", STACKS)
def test_stores_are_private_and_snapshots_have_versions(stack: str) -> None:
    for name, bucket in of(recording(stack), "gcp:storage/bucket:Bucket").items():
        assert bucket.inputs["uniformBucketLevelAccess"] is True
        assert bucket.inputs["publicAccessPrevention"] == "enforced"
        assert bucket.inputs["versioning"] == {"enabled": name.endswith("-snapshots")}
        kept = name.endswith("-snapshots") and plan(stack).spec.expires is None
        assert (bucket.retain_on_delete, bucket.inputs["forceDestroy"]) == (kept, not kept)


def test_net_05_each_machine_with_a_pod_range_has_a_route_to_its_address() -> None:
    network = {"mode": "l2bridge", "pods": "10.244.0.0/14", "services": "10.96.0.0/12", "nodes": "10.20.0.0/22"}
    changed = {**config("gcp-dev"), CLUSTER: {**config("gcp-dev")[CLUSTER], "network": network}}
    recorded = record("gcp-dev", changed)
    assert recorded.errors == []
    routes = {
        route.inputs["destRange"]: route.inputs.get("nextHopIp")
        for route in of(recorded, "gcp:compute/route:Route").values()
    }
    routed = plan_cluster("gcp-dev", read_stack("gcp-dev", changed).spec)
    assert routes == {"0.0.0.0/0": None, **{str(each.pods): str(each.address) for each in routed.machines}}
    assert all(each.inputs["canIpForward"] for each in of(recorded, INSTANCE).values())


@pytest.mark.parametrize("stack", STACKS)
def test_a_bundle_is_created_before_its_predecessor_is_deleted(stack: str) -> None:
    """Else a run that fails half-way would leave the cluster without the bundle that the pointer names."""
    for name, each in of(recording(stack), "gcp:storage/bucketObject:BucketObject").items():
        assert each.delete_before_replace is not name.startswith(f"{stack}-bundle-"), name


@pytest.mark.parametrize(
    ("size", "stops"), [("g2-standard-4", True), ("h3-standard-88", True), ("n2-standard-4", False)]
)
def test_machines_that_cannot_be_moved_live_stop_for_maintenance(size: str, stops: bool) -> None:
    cluster = config("gcp-dev")[CLUSTER]
    pools = {**cluster["pools"], "web": {**cluster["pools"]["web"], "size": size}}
    found = record("gcp-dev", {**config("gcp-dev"), CLUSTER: {**cluster, "pools": pools}})
    assert found.errors == []
    told = {name: each.inputs.get("scheduling") for name, each in of(found, INSTANCE).items()}
    assert told["gcp-dev-web-0"] == ({"onHostMaintenance": "TERMINATE"} if stops else None)
    assert told["gcp-dev-linux-0"] is None
