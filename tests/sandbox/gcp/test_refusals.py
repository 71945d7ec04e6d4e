"""The rows of refusals.py, and refusals that need a second resource, a quota, an update or a deletion."""

from typing import Any

import pytest

from components.catalogue.instance_sizes import gcp_disk
from sandbox.cloud import Refusal
from sandbox.gcp.quotas import ALL_CPUS, CPUS, DISKS, QUOTAS
from sandbox.gcp.regions import IMAGES, REGIONS, has, image, vcpus, zones
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, filled, refusal_of, stopped

from .conftest import NEEDS, SCENES
from .refusals import BEFORE, ROWS


@pytest.mark.parametrize("case", ROWS)
def test_a_call_that_gcp_refuses_is_refused_with_its_reason(account: Account, scene: Scene, case: str) -> None:
    kind, _, code, words = ROWS[case]
    for name in (NEEDS.get(kind), BEFORE.get(case)):
        if name:
            scene(name)
    said = refusal_of(account, scene, SCENES, ROWS[case])
    assert said.startswith(f"{code}: "), said
    assert words in said


@pytest.mark.parametrize(
    ("size", "what"),
    [("g2-standard-4", "guest accelerators"), ("h3-standard-88", "H3 machine"), ("h4d-standard-192", "H4D machine")],
)
def test_a_machine_that_cannot_be_moved_live_has_to_stop_for_maintenance(
    account: Account, scene: Scene, size: str, what: str
) -> None:
    account.cloud_state.set_setting(f"quota/{CPUS}", "500")
    kind, given = SCENES["machine"]
    disk = {**given["bootDisk"]["initializeParams"], "type": gcp_disk(size)}
    wanted = {"machineType": size, "bootDisk": {"initializeParams": disk}}
    for more in ({"scheduling": {"onHostMaintenance": "MIGRATE"}}, dict[str, Any]()):
        assert what in refusal_of(account, scene, SCENES, ("machine", {**wanted, **more}, "", ""))
    scheduling = {"scheduling": {"onHostMaintenance": "TERMINATE"}}
    account.create(kind, "stops", **filled({**given, **wanted, **scheduling}, scene))


def test_at_least_fifty_kinds_of_refusals_are_listed() -> None:
    assert len({(code, words) for _, _, code, words in ROWS.values()}) >= 50


HELD = {
    "net": ("sub", "resourceInUseByAnotherResource", "network resource 'projects/mullion-sandbox/global/networks/net'"),
    "sub": ("machine", "resourceInUseByAnotherResource", "already being used by"),
    "check": ("service", "resourceInUseByAnotherResource", "health_check resource"),
    "group": ("service", "resourceInUseByAnotherResource", "instance_group resource"),
    "service": ("rule", "resourceInUseByAnotherResource", "region_backend_service resource"),
    "address": ("rule", "resourceInUseByAnotherResource", "forwardingRules/rule"),
    "zone": ("record", "containerNotEmpty", "contains one or more"),
    "bucket": ("object", "conflict", "not empty"),
}


@pytest.mark.parametrize("name", HELD)
def test_a_resource_in_use_is_not_deleted(account: Account, scene: Scene, name: str) -> None:
    holder, code, words = HELD[name]
    held = scene(name)
    last = scene(holder)
    refusal = account.refused(lambda: account.delete(held))
    assert (refusal.code, words in refusal.message) == (code, True), str(refusal)
    account.delete(last)
    account.delete(held)


CODES = {"bucket": "conflict", "member": "memberAlreadyExists"}
TWICE = ("net", "sub", "machine", "member", "check", "node", "role", "secret", "bucket", "zone", "record", "router")


@pytest.mark.parametrize("name", TWICE)
def test_a_name_is_free_again_once_its_resource_is_deleted(account: Account, scene: Scene, name: str) -> None:
    first = scene(name)
    short, inputs = SCENES[name]
    changes = {"networkInterfaces": [{"subnetwork": "$sub"}]} if name == "machine" else {}
    changes = {"ipCidrRange": "10.21.0.0/24"} if name == "sub" else changes
    changes = {"dnsName": "other.internal."} if name == "zone" else changes
    again = filled(inputs | changes, scene)
    refusal = account.refused(lambda: account.create(short, "again", **again))
    assert refusal.code == CODES.get(name, "alreadyExists")
    account.delete(first)
    account.create(short, "again", **again)


def test_subnetworks_of_one_network_do_not_overlap_and_those_of_two_may(account: Account, scene: Scene) -> None:
    scene("sub")
    again: dict[str, Any] = {"name": "b", "network": scene("net").id, "ipCidrRange": "10.20.0.128/25"}
    refusal = account.refused(lambda: account.create("Subnetwork", "b", **again))
    assert "10.20.0.128/25 conflicts with existing subnetwork 'sub' in region 'europe-west1'" in refusal.message
    scene("far-sub")


def test_an_address_in_use_is_refused_and_a_reserved_one_only_used_by_name(account: Account, scene: Scene) -> None:
    scene("machine")
    short, inputs = SCENES["machine"]
    given = filled(inputs | {"name": "other"}, scene)
    refusal = account.refused(lambda: account.create(short, "other", **given))
    assert refusal.code == "IP_IN_USE_BY_ANOTHER_RESOURCE"
    assert "IP '10.20.0.9' is already being used" in refusal.message
    scene("address")
    taken = filled(SCENES["address"][1] | {"name": "twice"}, scene)
    assert account.refused(lambda: account.create("Address", "twice", **taken)).code == "IP_IN_USE_BY_ANOTHER_RESOURCE"
    assert scene("rule").outputs["ipAddress"] == "10.20.0.40"


def test_a_subnetwork_uses_one_nat_gateway(account: Account, scene: Scene) -> None:
    scene("nat")
    given = filled(SCENES["nat"][1] | {"name": "other"}, scene)
    assert account.refused(lambda: account.create("RouterNat", "other", **given)).code == "invalid"


def test_a_running_machine_changes_its_type_only_if_it_may_be_stopped(account: Account, scene: Scene) -> None:
    machine = scene("machine")
    refusal = account.refused(lambda: account.update(machine, machineType="n2-standard-4"))
    assert "allow_stopping_for_update = true" in refusal.message
    changed = account.update(machine, machineType="n2-standard-4", allowStoppingForUpdate=True)
    assert changed.outputs["machineType"] == "n2-standard-4"
    assert changed.outputs["networkInterfaces"] == machine.outputs["networkInterfaces"]


OVER: dict[str, tuple[str, dict[str, Any]]] = {
    CPUS: ("machine", {}),
    ALL_CPUS: ("machine", {}),
    "in-use external addresses per region": (
        "machine",
        {"networkInterfaces": [{"subnetwork": "$sub", "accessConfigs": [{}]}]},
    ),
    DISKS: ("machine", {}),
    "static addresses per region": ("Address", {"name": "public"}),
    "networks per project": ("Network", {"name": "more"}),
    "subnetworks per project": ("sub", {"name": "more"}),
    "firewall rules per project": (
        "Firewall",
        {"name": "a", "network": "$net", "allows": [{"protocol": "tcp"}], "sourceRanges": ["0.0.0.0/0"]},
    ),
    "routes per project": (
        "Route",
        {"name": "r", "network": "$net", "destRange": "0.0.0.0/0", "nextHopGateway": "default-internet-gateway"},
    ),
    "routers per project": ("router", {}),
    "forwarding rules per region": ("rule", {}),
    "service accounts per project": ("node", {}),
}


@pytest.mark.parametrize("name", QUOTAS.rows)
def test_one_more_than_the_quota_is_refused(account: Account, scene: Scene, name: str) -> None:
    kind, changes = OVER[name]
    short, inputs = SCENES.get(kind, (kind, {}))
    given = filled(inputs | changes, scene)
    if kind == "rule":
        scene("address")
    account.cloud_state.set_setting(f"quota/{name}", "0")
    refusal = account.refused(lambda: account.create(short, "more", **given))
    assert refusal.code == QUOTAS.rows[name].code
    account.cloud_state.set_setting(f"quota/{name}", "50" if name == DISKS else "8")
    account.create(short, "more", **given)


def test_a_bucket_has_at_most_100_conditional_bindings_and_grants_of_one_condition_are_one(
    account: Account, scene: Scene
) -> None:
    """IAM, "Overview of IAM Conditions"."""
    given: dict[str, Any] = {"bucket": scene("bucket").id, "role": "roles/storage.objectViewer"}

    def grant(name: str, prefix: str) -> None:
        expression = f'resource.name.startsWith("projects/_/buckets/b/objects/{prefix}")'
        condition = {"title": "read", "expression": expression}
        account.create(
            "BucketIAMMember", name, **given | {"member": f"user:{name}@example.com", "condition": condition}
        )

    for number in range(100):
        grant(f"u{number}", f"{number}/")
    grant("another", "0/")
    account.create("BucketIAMMember", "all", **given, member="user:all@example.com")
    refusal = account.refused(lambda: grant("more", "100/"))
    assert refusal.code == "badRequest" and "more than 100 conditional role bindings" in refusal.message


def test_a_policy_of_a_bucket_has_at_most_64_kib(account: Account, scene: Scene) -> None:
    """Google says "a few 10s of KB" (SetIamPolicyRequest)."""
    given: dict[str, Any] = {"bucket": scene("bucket").id, "role": "roles/storage.objectViewer"}

    def grant(number: int) -> None:
        expression = f'resource.name.startsWith("{number}/{"x" * 980}")'
        member = f"user:u{number}@example.com"
        condition = {"title": "read", "expression": expression}
        account.create("BucketIAMMember", f"u{number}", **given, member=member, condition=condition)

    def all_of_them() -> None:
        for number in range(100):
            grant(number)

    with pytest.raises(Refusal, match="it cannot have more than 65536") as refused:
        all_of_them()
    assert refused.value.code == "badRequest"
    assert 50 < len([each for each in account.cloud_state.resources() if "IAMMember" in each.type]) < 65


VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "upper case": ("net", {"name": "Net"}, "name"),
    "long name": ("net", {"name": "x" * 64}, "name"),
    "hyphen last": ("machine", {"name": "web-"}, "name"),
    "account of five letters": ("node", {"accountId": "short"}, "accountId"),
    "account of 31 letters": ("node", {"accountId": "x" * 31}, "accountId"),
    "role with a hyphen": ("role", {"roleId": "mullion-reader"}, "roleId"),
    "google in a bucket's name": ("bucket", {"name": "my-google-bucket"}, "name"),
    "DNS name without a dot": ("zone", {"dnsName": "c.internal"}, "dnsName"),
    "direction": ("Firewall", {"network": "n", "direction": "IN", "allows": [{"protocol": "tcp"}]}, "direction"),
    "priority": ("Firewall", {"network": "n", "priority": 70000, "allows": [{"protocol": "tcp"}]}, "priority"),
    "allow and deny": (
        "Firewall",
        {"network": "n", "allows": [{"protocol": "tcp"}], "denies": [{"protocol": "udp"}]},
        "denies",
    ),
    "two hops": ("Route", {"network": "n", "destRange": "0.0.0.0/0", "nextHopIp": "1", "nextHopIlb": "2"}, "nextHopIp"),
    "no check at all": ("check", {"httpsHealthCheck": None}, "httpHealthCheck"),
    "label key": ("bucket", {"labels": {"mullion:cluster": "x"}}, "labels.mullion:cluster"),
    "label value": ("bucket", {"labels": {"owner": "Me"}}, "labels.owner"),
    "unknown property": ("net", {"mtuu": 1500}, "mtuu"),
    "missing property": ("sub", {"network": None}, "network"),
    "mistyped property": ("net", {"mtu": "1500"}, "mtu"),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_the_provider_refuses_fails_the_preview(account: Account, case: str) -> None:
    kind, changes, path = VALUES[case]
    assert stopped(account, SCENES, kind, changes) == [path]


REPLACING = {
    "sub": ({"ipCidrRange": "10.30.0.0/24"}, True),
    "machine": ({"bootDisk": {"initializeParams": {"image": "debian-cloud/debian-12"}}}, True),
    "secret": ({"labels": {"a": "b"}}, False),
    "rule": ({"ports": ["443"]}, True),
    "node": ({"accountId": "another"}, True),
    "bucket": ({"location": "US"}, True),
    "object": ({"content": "y"}, False),
}


@pytest.mark.parametrize("name", REPLACING)
def test_changes_that_gcp_cannot_apply_in_place_replace(account: Account, scene: Scene, name: str) -> None:
    changes, replaced = REPLACING[name]
    thing = scene(name)
    difference = account.provider.diff(thing.urn, thing.inputs, thing.inputs | changes)
    assert bool(difference.replaces) == replaced
    assert set(difference.changes) >= set(difference.replaces)


def test_a_subnetwork_grows_in_place_and_metadata_changes_in_place(account: Account, scene: Scene) -> None:
    for name, changes in (("sub", {"ipCidrRange": "10.20.0.0/23"}), ("machine", {"metadata": {"user-data": "x"}})):
        thing = scene(name)
        difference = account.provider.diff(thing.urn, thing.inputs, thing.inputs | changes)
        assert difference.changes
        assert not difference.replaces


@pytest.mark.parametrize("region", REGIONS)
def test_a_common_machine_type_is_in_every_zone(region: str) -> None:
    assert len(zones(region)) >= 3
    assert all(has(zone, "n2-standard-4") for zone in zones(region))


def test_vcpus_and_architecture_follow_from_names() -> None:
    assert [vcpus(name) for name in ("n2-standard-4", "e2-medium", "n2-standard-5", "m6i.large")] == [4, 2, None, None]
    for name, (stem, _) in IMAGES.items():
        project, family = name.split("/")
        for form in (name, f"projects/{project}/global/images/{stem}-v20260101"):
            assert image(form) == name
        assert image(f"https://www.googleapis.com/compute/v1/projects/{project}/global/images/family/{family}") == name
