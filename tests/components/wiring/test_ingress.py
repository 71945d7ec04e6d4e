"""Load balancers of `ingress` on the recording monitor, in every cloud."""

from functools import lru_cache

import pytest

from components.cost.bill import bill
from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import read_stack
from operations.engine import recorded_policies
from operations.recorder.recorder import Recording, Registered, record
from policies.rules import RULES
from tests.components.recorded_wiring import of
from tools.golden.cases import with_ingress

CLOUDS = ("aws", "azure", "gcp")
BALANCER = "azure-native:network:LoadBalancer"


@lru_cache
def recording(cloud: str) -> Recording:
    found = record(f"{cloud}-dev", with_ingress(cloud))
    assert found.errors == []
    return found


def named(cloud: str, kind: str) -> dict[str, Registered]:
    """Return the resources of a type that belong to load balancers of `ingress`, by name without the cluster's."""
    found = of(recording(cloud), kind)
    return {name.partition("-ingress-")[2]: each for name, each in found.items() if "-ingress-" in name}


def test_a_network_load_balancer_of_aws_forwards_to_instances_and_keeps_the_clients_address() -> None:
    balancers = named("aws", "aws:lb/loadBalancer:LoadBalancer")
    assert {name: each.inputs["internal"] for name, each in balancers.items()} == {"front": False, "inside": True}
    assert all(len(each.inputs["securityGroups"]) == 1 for each in balancers.values())
    groups = named("aws", "aws:lb/targetGroup:TargetGroup")
    assert set(groups) == {"front-30080", "front-30443", "inside-30443"}
    checks = {name: each.inputs["healthCheck"] for name, each in groups.items()}
    assert checks["front-30443"]["protocol"] == "HTTP" and checks["front-30443"]["port"] == "30080"
    assert (checks["inside-30443"]["protocol"], checks["inside-30443"]["port"]) == ("TCP", "30443")
    assert (checks["inside-30443"]["path"], checks["inside-30443"]["matcher"]) == ("", "")
    for each in groups.values():
        assert (each.inputs["targetType"], each.inputs["preserveClientIp"]) == ("instance", "true")
        assert len(each.inputs["name"]) <= 32
    attached = named("aws", "aws:lb/targetGroupAttachment:TargetGroupAttachment")
    assert set(attached) == {f"{group}.linux-{index}" for group in groups for index in (0, 1)}
    listeners = named("aws", "aws:lb/listener:Listener")
    assert {name: each.inputs["port"] for name, each in listeners.items()} == {
        "front-80": 80,
        "front-30443": 30443,
        "inside-30443": 30443,
    }


def test_a_load_balancer_of_azure_has_the_interfaces_of_its_pool_and_a_probe() -> None:
    for name, each in named("azure", "azure-native:network:LoadBalancer").items():
        [probe] = each.inputs["probes"]
        assert (probe["protocol"], probe["port"]) == (("Http", 30080) if name == "front" else ("Tcp", 30443))
        assert probe["noHealthyBackendsBehavior"] == "AllProbedUp"
        for rule in each.inputs["loadBalancingRules"]:
            assert rule["disableOutboundSnat"] and not rule.get("enableFloatingIP")
    faces = of(recording("azure"), "azure-native:network:NetworkInterface")
    pools = {
        name.removeprefix("azure-dev-"): [
            pool["id"].split("/")[-3]
            for pool in each.inputs["ipConfigurations"][0].get("loadBalancerBackendAddressPools", [])
        ]
        for name, each in faces.items()
    }
    behind = ["azure-dev-ingress-front", "azure-dev-internal-ingress-inside"]
    assert pools == {"control-plane-0": [], "linux-0": behind, "linux-1": behind, "web-0": []}


def test_load_balancers_of_gcp_share_one_instance_group_per_zone_of_a_pool() -> None:
    groups = named("gcp", "gcp:compute/instanceGroup:InstanceGroup")
    services = named("gcp", "gcp:compute/regionBackendService:RegionBackendService")
    assert set(services) == {"front", "inside"}
    backends = [[one["group"] for one in each.inputs["backends"]] for each in services.values()]
    assert backends[0] == backends[1] and len(backends[0]) == len(groups) == 1
    members = named("gcp", "gcp:compute/instanceGroupMembership:InstanceGroupMembership")
    assert set(members) == {"members.linux-0", "members.linux-1"}
    rules = named("gcp", "gcp:compute/forwardingRule:ForwardingRule")
    assert {name: each.inputs["ports"] for name, each in rules.items()} == {
        "front": ["30080", "30443"],
        "inside": ["30443"],
    }


def test_an_internal_load_balancer_of_gcp_answers_clients_of_other_regions() -> None:
    rules = named("gcp", "gcp:compute/forwardingRule:ForwardingRule")
    found = {name: each.inputs.get("allowGlobalAccess") for name, each in rules.items()}
    assert found == {"front": None, "inside": True}


@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_each_node_port_has_a_health_check_of_its_own_without_a_port_or_path(cloud: str) -> None:
    whole = with_ingress(cloud, health={})
    found = record(f"{cloud}-dev", whole)
    assert found.errors == []
    if cloud == "aws":
        groups = {name: each for name, each in of(found, "aws:lb/targetGroup:TargetGroup").items() if "-front-" in name}
        checks = {each.inputs["port"]: each.inputs["healthCheck"]["port"] for each in groups.values()}
        assert {checks[30080], checks[30443]} == {"30080", "30443"}
        return
    balancer = of(found, "azure-native:network:LoadBalancer")["azure-dev-ingress-front"]
    probes = {each["name"]: each["port"] for each in balancer.inputs["probes"]}
    rules = {
        each["backendPort"]: each["probe"]["id"].rpartition("/")[2] for each in balancer.inputs["loadBalancingRules"]
    }
    assert {port: probes[name] for port, name in rules.items()} == {30080: 30080, 30443: 30443}


def test_another_kind_of_load_balancer_on_azure_is_another_resource() -> None:
    """Azure refuses other zones for the frontend of an existing load balancer."""
    names = {
        internal: {
            each.inputs["loadBalancerName"]
            for each in of(
                record("azure-dev", with_ingress("azure", **kind)), "azure-native:network:LoadBalancer"
            ).values()
        }
        for internal, kind in {False: {}, True: {"internal": True, "allow": ["10.0.0.0/8"], "pools": ["web"]}}.items()
    }
    assert names[False] & names[True] == {"azure-dev-internal-ingress-inside"}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_internal_load_balancers_have_planned_addresses_that_no_machine_has(cloud: str) -> None:
    [planned] = [each for each in _plan(cloud).load_balancers if each.internal]
    assert planned.addresses
    assert not {*planned.addresses} & {machine.address for machine in _plan(cloud).machines}
    assert all(str(address) in str(recording(cloud).resources) for address in planned.addresses)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_policy_pack_accepts_load_balancers_and_their_rules(cloud: str) -> None:
    assert RULES
    assert recorded_policies.broken(recording(cloud).resources.values()) == []


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_bill_counts_load_balancers_and_their_public_addresses(cloud: str) -> None:
    planned = _plan(cloud)
    found = {item.key: item.count for item in bill(planned, "eu-west-1").items if item.pool == "(shared)"}
    assert found["load-balancer"] == (1 if cloud == "gcp" else 2)
    gateways = 1 if cloud == "gcp" else len(planned.network.gateways)
    assert found.get("public-ipv4", 0) == gateways * bool(planned.network.gateways) + 1


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_output_has_the_name_or_address_of_every_load_balancer(cloud: str) -> None:
    [stack] = [each for each in recording(cloud).resources.values() if each.type == "mullion:index:MixedCluster"]
    hosts = (stack.outputs or {})["load_balancers"]
    assert set(hosts) == {"front", "inside"} and all(hosts.values())


@lru_cache
def _plan(cloud: str) -> ClusterPlan:
    return plan_cluster(f"{cloud}-dev", read_stack(f"{cloud}-dev", with_ingress(cloud)).spec)
