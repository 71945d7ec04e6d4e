"""The AWS wiring on a recording monitor: machines, network and load balancers of every stack."""

import json
import re
from itertools import pairwise
from typing import Any

import pulumi_aws
import pytest

from components.naming import MAX_NODE_NAME
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.commands import spec_changes
from operations.recorder import cloud_answers
from operations.recorder.recorder import record
from tests.components.aws.samples import INSTANCE, STACKS, changed, instances
from tests.components.recorded_wiring import config, of, plan, recording

UNTAGGABLE = {
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:lb/targetGroupAttachment:TargetGroupAttachment",
    "aws:route53/record:Record",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:secretsmanager/secretVersion:SecretVersion",
}


@pytest.mark.parametrize("stack", STACKS)
def test_every_taggable_resource_has_tags_for_cluster_owner_expiry_and_urn(stack: str) -> None:
    spec = plan(stack).spec
    for resource in recording(stack).resources.values():
        if not resource.type.startswith("aws:") or resource.type in UNTAGGABLE:
            continue
        tags = resource.inputs.get("tags", {})
        assert tags.get("mullion:cluster") == stack, resource.urn
        assert tags.get("mullion:owner") == spec.owner, resource.urn
        assert tags.get("mullion:expires") == spec.expires, resource.urn
        assert tags.get("mullion:urn") == resource.urn.replace("$", "+"), resource.urn
        assert tags.get("Name") == resource.name
        assert all(len(value) <= 256 for value in tags.values())


def test_untagged_types_are_those_that_take_no_tags() -> None:
    """Checked against the SDK, so that a type that learns tags is noticed."""
    for token in UNTAGGABLE:
        module, name = token.split(":")[1].split("/")[0], token.split(":")[2]
        assert not hasattr(getattr(getattr(pulumi_aws, module), name), "tags"), token


def test_the_order_of_pools_does_not_matter() -> None:
    pools = config("aws-prod")[CLUSTER]["pools"]
    turned = record("aws-prod", changed("aws-prod", pools=dict(reversed(pools.items()))))
    before = recording("aws-prod")
    assert set(turned.resources) == set(before.resources)
    authority = re.compile(r"sha256:[0-9a-f]{64}")  # made anew by each recording
    for key, instance in instances(turned).items():
        then = instances(before)[key]
        mine, theirs = ({**r.inputs, "userData": authority.sub("", r.inputs["userData"])} for r in (instance, then))
        assert mine == theirs
        assert (instance.dependencies, instance.replacement_trigger) == (then.dependencies, then.replacement_trigger)


@pytest.mark.parametrize("stack", STACKS)
def test_roles_go_with_the_policies_that_somebody_attached_to_them(stack: str) -> None:
    roles = of(recording(stack), "aws:iam/role:Role").values()
    assert [each.inputs["forceDetachPolicies"] for each in roles] == [True, True]


@pytest.mark.parametrize("stack", STACKS)
def test_instances_are_as_planned_and_hardened(stack: str) -> None:
    """SRV-12, SEC-02: names, addresses; IMDSv2 with one hop, encrypted gp3, the source/destination check."""
    found = instances(recording(stack))
    planned = {machine.name: (group, machine) for group in plan(stack).machine_groups for machine in group.machines}
    assert set(found) == {f"{stack}-{name}" for name in planned}
    for name, (group, machine) in planned.items():
        inputs = found[f"{stack}-{name}"].inputs
        assert len(machine.name) <= MAX_NODE_NAME
        assert inputs["privateIp"] == str(machine.address)
        assert inputs["instanceType"] == group.size
        assert inputs["metadataOptions"] == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
            "instanceMetadataTags": "disabled",
        }
        disk = {"encrypted": True, "volumeType": "gp3", "volumeSize": group.disk_gb, "tags": inputs["tags"]}
        assert inputs["rootBlockDevice"] == disk
        assert "volumeTags" not in inputs, "they would be written over those of a CSI driver's volumes"
        assert inputs["sourceDestCheck"] is (machine.pods is None), "overlay pods never send from their own address"
        assert inputs["associatePublicIpAddress"] is (plan(stack).spec.network.egress.value == "public")
        assert inputs["tags"]["mullion:pool"] == group.name


@pytest.mark.parametrize("stack", STACKS)
def test_user_data_is_a_loader_with_bundle_machine_and_facts(stack: str) -> None:
    buckets = {each.inputs["key"]: each for each in recording(stack).resources.values() if "bucketObject" in each.type}
    for group in plan(stack).machine_groups:
        assert group.bundle.key in buckets
        for machine in group.machines:
            text = instances(recording(stack))[f"{stack}-{machine.name}"].inputs["userData"]
            assert len(text.encode()) <= group.longest_user_data, "the plan's size is an upper bound"
            line = next(each for each in text.splitlines() if each.strip().startswith('{"bundle"'))
            document = json.loads(line)
            assert document["bundle"]["sha256"] == group.bundle.sha256
            assert document["bundle"]["url"].endswith(f"/{group.bundle.key}")
            assert document["machine"]["name"] == machine.name
            assert ("pki_secret" in document["facts"]) == group.is_control_plane
            assert all(value != "" for value in document["facts"].values())


@pytest.mark.parametrize("stack", STACKS)
def test_the_control_plane_is_chained_and_ignores_image_size_and_user_data(stack: str) -> None:
    found = instances(recording(stack))
    members = [found[f"{stack}-{machine.name}"] for machine in plan(stack).control_plane.machines]
    for member in members:
        assert set(member.ignore_changes) == {
            "ami",
            "instanceType",
            "ebsBlockDevices",
            "userData",
            "userDataBase64",
            "associatePublicIpAddress",
            "rootBlockDevice.encrypted",
            "rootBlockDevice.volumeSize",
            "rootBlockDevice.volumeType",
        }
        assert member.replacement_trigger is None
        assert member.protect is plan(stack).spec.protect
    for before, each in pairwise(members):
        assert before.urn in each.dependencies


def test_net_05_each_machine_with_a_pod_range_has_a_route_to_its_interface_in_every_table_of_machines() -> None:
    network = {**config("aws-routed")[CLUSTER]["network"], "zones": 2, "nat_gateways": "zonal"}
    found = record("aws-routed", changed("aws-routed", network=network))

    def known(type_: str, output: str) -> dict[str, str]:
        """Names of resources by an output of theirs."""
        those = [each for each in found.resources.values() if each.type == type_]
        return {
            cloud_answers.computed(type_, each.name, each.urn, "eu-west-1", {})[output]: each.name for each in those
        }

    tables, interfaces = known("aws:ec2/routeTable:RouteTable", "id"), known(INSTANCE, "primaryNetworkInterfaceId")
    routes = {
        (tables[route.inputs["routeTableId"]], interfaces[interface]): route.inputs["destinationCidrBlock"]
        for route in found.resources.values()
        if route.type == "aws:ec2/route:Route" and (interface := route.inputs.get("networkInterfaceId"))
    }
    spec = read_stack("aws-routed", changed("aws-routed", network=network)).spec
    planned = plan_cluster("aws-routed", spec).machines
    assert routes == {
        (f"aws-routed-machines-{zone}", f"aws-routed-{machine.name}"): str(machine.pods)
        for zone in (0, 1)
        for machine in planned
    }
    overlay = [each for each in recording("aws-dev").resources.values() if "networkInterfaceId" in each.inputs]
    assert overlay == []


@pytest.mark.parametrize("unavailable", [2, "40%", "59%"])
def test_workers_wait_for_the_machine_max_unavailable_before_them(unavailable: int | str) -> None:
    pools = config("aws-prod")[CLUSTER]["pools"]
    web = {**pools["web"], "count": 5, "rollout": {"max_unavailable": unavailable}}
    found = instances(record("aws-prod", changed("aws-prod", pools={**pools, "web": web})))
    workers = [found[f"aws-prod-web-{index}"] for index in range(5)]
    for index, worker in enumerate(workers):
        chained = {other.urn for other in workers} & worker.dependencies
        assert chained == ({workers[index - 2].urn} if index >= 2 else set())
        assert worker.delete_before_replace
        assert set(worker.ignore_changes) == {"userData", "userDataBase64", "associatePublicIpAddress"}
    assert len({each.replacement_trigger for each in workers}) == 1


def test_machines_wait_for_the_gateway_endpoint_of_s3() -> None:
    [endpoint] = of(recording("aws-dev"), "aws:ec2/vpcEndpoint:VpcEndpoint").values()
    found = instances(recording("aws-dev"))
    assert endpoint.urn in found["aws-dev-control-plane-0"].dependencies


def test_workers_after_a_canary_wait_for_it_and_waves_are_shown_so() -> None:
    pools = config("aws-prod")[CLUSTER]["pools"]
    web = {**pools["web"], "count": 6, "rollout": {"max_unavailable": 3, "canary": "30m"}}
    found = instances(record("aws-prod", changed("aws-prod", pools={**pools, "web": web})))
    workers = [found[f"aws-prod-web-{index}"] for index in range(6)]
    urns = {other.urn: index for index, other in enumerate(workers)}
    chained = [[urns[urn] for urn in worker.dependencies if urn in urns] for worker in workers]
    assert chained == [[], [0], [0], [0], [1], [2]]
    names = [f"web-{index}" for index in range(6)]
    shown = spec_changes.waves({"max_unavailable": 3, "canary": True}, names, dict.fromkeys(names, "why"))
    assert shown == [["web-0"], ["web-1", "web-2", "web-3"], ["web-4", "web-5"]]


def test_every_ignored_path_exists() -> None:
    planes = {**config("aws-prod")[CLUSTER]["control_plane"], "etcd_disk": {}}
    for instance in instances(record("aws-prod", changed("aws-prod", control_plane=planes))).values():
        for path in set(instance.ignore_changes) - {"userDataBase64"}:
            holder: Any = instance.inputs
            for key in path.split("."):
                assert key in holder, path
                holder = holder[key]


@pytest.mark.parametrize("stack", STACKS)
def test_security_group_rules_equal_the_rule_table(stack: str) -> None:
    found = {each.name for each in recording(stack).resources.values() if each.type.startswith("aws:vpc/securityGroup")}
    assert found == {f"{stack}-{rule.name}" for rule in plan(stack).rules}


@pytest.mark.parametrize(("stack", "internal", "public"), [("aws-dev", 0, 0), ("aws-ci", 0, 1), ("aws-prod", 1, 0)])
def test_load_balancers_stand_where_planned_with_their_group_from_the_start(
    stack: str, internal: int, public: int
) -> None:
    found = [
        each.inputs for each in recording(stack).resources.values() if each.type == "aws:lb/loadBalancer:LoadBalancer"
    ]
    assert [sum(each["internal"] for each in found), sum(not each["internal"] for each in found)] == [internal, public]
    for each in found:
        assert len(each["securityGroups"]) == 1
        assert len(each["name"]) <= 32
    if stack == "aws-dev":
        record_ = next(each for each in recording(stack).resources.values() if each.type == "aws:route53/record:Record")
        assert record_.inputs["records"] == [str(plan(stack).control_plane.machines[0].address)]


def test_pinned_images_are_used_and_not_looked_up() -> None:
    pinned = record("aws-dev", changed("aws-dev", images={"windows-2022": "ami-0123456789abcdef0"}))
    assert instances(pinned)["aws-dev-web-0"].inputs["ami"] == "ami-0123456789abcdef0"
    assert "aws-dev-windows-2022" not in {each.name for each in pinned.resources.values()}


def test_named_zones_are_used_and_not_looked_up() -> None:
    network = {"zone_names": ["eu-west-1c"]}
    named = record("aws-dev", changed("aws-dev", network=network))
    zones = {
        each.inputs["availabilityZone"] for each in named.resources.values() if each.type == "aws:ec2/subnet:Subnet"
    }
    assert zones == {"eu-west-1c"}
    assert "aws-dev-zones" not in {each.name for each in named.resources.values()}


@pytest.mark.parametrize(
    ("fields", "replaced"),
    [
        ({"labels": {"team": "billing"}}, False),
        ({"taints": ["os=windows:NoSchedule", "gpu=yes:NoSchedule"]}, False),
        ({"count": 3}, False),
        ({"rollout": {"max_unavailable": 1}}, False),
        ({"kubelet": {"system_reserved": {"memory": "3Gi"}}}, True),
        ({"kubelet": {"priority_class": "HIGH_PRIORITY_CLASS"}}, True),
        ({"size": "m6i.2xlarge"}, True),
        ({"disk_gb": 200}, True),
        ({"max_pods": 50}, True),
    ],
    ids=lambda value: str(value),
)
def test_a_change_of_the_node_plan_replaces_a_worker_and_others_do_not(fields: dict[str, Any], replaced: bool) -> None:
    pools = config("aws-dev")[CLUSTER]["pools"]
    after = record("aws-dev", changed("aws-dev", pools={**pools, "web": {**pools["web"], **fields}}))
    assert after.errors == []
    before = instances(recording("aws-dev"))
    assert (
        instances(after)["aws-dev-web-0"].replacement_trigger != before["aws-dev-web-0"].replacement_trigger
    ) is replaced
    assert instances(after)["aws-dev-linux-0"].replacement_trigger == before["aws-dev-linux-0"].replacement_trigger


def test_an_invalid_spec_fails_before_any_resource_is_registered() -> None:
    found = record("aws-dev", changed("aws-dev", kubernetes="1.2.3"))
    assert found.errors and "kubernetes" in found.errors[0]
    assert not [each for each in found.resources.values() if each.custom]


def test_the_internal_load_balancer_has_planned_addresses_that_no_machine_has() -> None:
    balancer = next(each for each in recording("aws-prod").resources.values() if each.type.endswith(":LoadBalancer"))
    taken = {each["privateIpv4Address"] for each in balancer.inputs["subnetMappings"]}
    assert len(taken) == 3
    assert not taken & {str(machine.address) for machine in plan("aws-prod").machines}


def test_the_error_names_the_zones_of_a_region_with_too_few() -> None:
    network = {**config("aws-dev")[CLUSTER].get("network", {}), "zones": 3}
    few = {
        "aws:index/getAvailabilityZones:getAvailabilityZones": lambda region, _: {"names": [f"{region}a", f"{region}b"]}
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("operations.recorder.cloud_answers.INVOKES", {**cloud_answers.INVOKES, **few})
        refused = record("aws-dev", changed("aws-dev", network=network))
    told = "the region has 2 zones (eu-west-1a, eu-west-1b) and network.zones is 3"
    assert any(told in each for each in refused.errors)
