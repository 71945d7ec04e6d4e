"""Sizes by zone, families of vCPU and organisation policies, as the clouds' command lines print them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.plan import ClusterPlan
from components.spec.existing import ExistingNetwork, ExistingSubnet
from components.spec.models import NetworkMode
from operations.clouds import account_offers, account_state, organisation_policies
from operations.clouds.account_limits import account_limits
from operations.clouds.account_offers import Offer
from operations.clouds.account_state import Quota
from operations.clouds.identity import Identity
from operations.commands import account_check
from operations.console.exits import Stop
from operations.stacks import stack_files
from tests.components.recorded_wiring import plan
from tests.operations.clouds.test_account_state import PROJECT, REGIONS, answer


def sizes(planned: ClusterPlan) -> list[str]:
    return sorted({group.size for group in planned.machine_groups if group.machines})


def printed(planned: ClusterPlan, zones: list[str], **azure: Any) -> dict[str, Any]:
    """Return what the cloud's command line prints of sizes that are in these zones."""
    region, names = REGIONS[planned.spec.cloud.value], sizes(planned)
    return {
        # AWS CLI reference, ec2 describe-instance-type-offerings
        "describe-instance-type-offerings": [
            {"InstanceType": name, "LocationType": "availability-zone", "Location": f"{region}{zone}"}
            for name in names
            for zone in zones
        ],
        # Resource SKUs API, in the fields of the query
        "vm list-skus": [
            {"name": name, "family": "standardDSv5Family", "zones": zones, "restrictions": [], **azure}
            for name in names
        ],
        # Compute Engine API, machineTypes
        "machine-types list": [{"name": name, "zone": f"{region}-{zone}"} for name in names for zone in zones],
    }


ZONES = {"aws": ["a", "b", "c"], "azure": ["1", "2", "3"], "gcp": ["b", "c", "d"]}
USE = {
    "vm list-usage": [
        {"currentValue": "4", "limit": "300", "name": {"localizedValue": "Total Regional vCPUs", "value": "cores"}},
        {
            "currentValue": "8",
            "limit": "10",
            "name": {"localizedValue": "Standard DSv5 Family vCPUs", "value": "standardDSv5Family"},
        },
    ]
}


def rows(
    planned: ClusterPlan, limits: Mapping[str, Quota] | None = None, *, built: bool = False
) -> list[tuple[str, str]]:
    cloud = planned.spec.cloud.value
    used = PROJECT if cloud == "gcp" else Identity()
    return account_offers.rows(planned, REGIONS[cloud], used, limits or {}, built=built)


@pytest.mark.parametrize("cloud", ZONES)
def test_sizes_that_all_zones_have_are_no_fault(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(f"{cloud}-prod")
    asked = answer(monkeypatch, printed(planned, ZONES[cloud]))
    found = rows(planned)
    assert len(found) == len([group for group in planned.machine_groups if group.machines])
    assert {fault for _, fault in found} == {""}
    assert all(size in asked[0] for size in sizes(planned))


@pytest.mark.parametrize("cloud", ZONES)
def test_a_size_that_a_zone_lacks_is_a_fault_before_anything_is_built(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan(f"{cloud}-prod")
    assert planned.network.zones > 1
    answer(monkeypatch, printed(planned, ZONES[cloud][:1]))
    monkeypatch.setattr(stack_files, "config", lambda _: {"gcp:project": "our-project"})
    with pytest.raises(Stop, match=r"size: .* is offered in .*\n.*choose another size, zones or region"):
        account_check.refuse_short("mine", planned, REGIONS[cloud], sandbox=False, built=False)


@pytest.mark.parametrize(
    ("restriction", "left"),
    [
        ({"type": "Location", "zones": None}, frozenset[str]()),
        ({"type": "Zone", "zones": ["1", "3"]}, frozenset({"2"})),
    ],
)
def test_restrictions_of_a_subscription_take_zones_away(
    restriction: dict[str, Any], left: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan("azure-prod")
    answer(monkeypatch, printed(planned, ZONES["azure"], restrictions=[restriction]))
    found = account_offers.offered(planned, "westeurope", Identity())
    assert found == dict.fromkeys(sizes(planned), Offer(left, "standardDSv5Family"))


def test_a_size_that_the_command_line_does_not_know_is_in_no_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan("azure-prod")
    answer(monkeypatch, {"vm list-skus": []})
    assert all("in no zone" in line and fault for line, fault in rows(planned))


@pytest.mark.parametrize("cloud", ZONES)
@pytest.mark.parametrize("text", [None, {"message": "denied"}, [{"other": 1}]])
def test_another_answer_says_nothing(cloud: str, text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(f"{cloud}-prod")
    words = ("describe-instance-type-offerings", "vm list-skus", "machine-types list")
    answer(monkeypatch, {} if text is None else dict.fromkeys(words, text))
    assert rows(planned) == []


def test_the_vcpu_of_a_family_are_compared_with_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan("azure-prod")
    answer(monkeypatch, {**printed(planned, ZONES["azure"]), **USE})
    needed = next(row["needed"] for row in account_limits(planned) if row["what"] == "vCPU")
    limits = account_state.quotas(planned, "westeurope", Identity())
    line, fault = rows(planned, limits)[-1]
    assert line == f"vCPU of standardDSv5Family: the cluster takes {needed}, the account has 10, 8 in use"
    assert "'Standard DSv5 Family vCPUs'" in fault
    assert "the cluster takes" in rows(planned, limits, built=True)[-1][0]


def test_networks_and_firewall_rules_of_a_project_are_limits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """All families count in all regions, also in an existing network, whose host project has the other limits."""
    used = {"NETWORKS": (5.0, 5.0), "FIREWALLS": (100.0, 1.0), "CPUS_ALL_REGIONS": (12.0, 4.0)}
    quotas = [{"limit": limit, "metric": name, "usage": usage} for name, (limit, usage) in used.items()]
    answer(monkeypatch, {"project-info describe": {"quotas": quotas}})
    planned = plan("gcp-prod")
    found = account_state.quotas(planned, "europe-west1", PROJECT)
    assert found == {"networks": Quota(5, 5), "firewall rules": Quota(100, 1), "vCPU in all regions": Quota(12, 4)}
    faults = {line: fault for line, fault in account_state.compared(planned, found, built=False) if fault}
    needed = next(row["needed"] for row in account_limits(planned) if row["what"] == "vCPU")
    everywhere = f"vCPU in all regions: the cluster takes {needed}, the account has 12, 4 in use"
    assert list(faults) == [everywhere, "networks: the cluster takes 1, the account has 5, 5 in use"]
    assert "'CPUs (all regions)'" in faults[everywhere]
    planned = replace(planned, network=replace(planned.network, existing=True))
    assert account_state.quotas(planned, "europe-west1", PROJECT) == {"vCPU in all regions": Quota(12, 4)}


def policies(monkeypatch: pytest.MonkeyPatch, planned: ClusterPlan, answers: Mapping[str, Any]) -> list[str]:
    """Return the lines about policies. answers: by the constraint's name."""
    answer(monkeypatch, {f"org-policies describe {name} ": each for name, each in answers.items()})
    return [line for line, fault in organisation_policies.rows(planned, PROJECT, "europe-west1") if fault]


@pytest.mark.parametrize(
    ("name", "policy", "said"),
    [
        ("compute.restrictCloudNATUsage", {"listPolicy": {"allValues": "DENY"}}, "Cloud NAT"),
        ("compute.restrictCloudNATUsage", {"listPolicy": {"allValues": "ALLOW"}}, ""),
        ("compute.restrictCloudNATUsage", {"listPolicy": {"allowedValues": ["under:organizations/1"]}}, ""),
        ("iam.disableServiceAccountCreation", {"booleanPolicy": {"enforced": True}}, "service accounts of machines"),
        ("iam.disableServiceAccountCreation", {"booleanPolicy": {}}, ""),
        (
            "compute.trustedImageProjects",
            {"listPolicy": {"allowedValues": ["projects/ubuntu-os-cloud"]}},
            "machine images of other projects (projects/windows-cloud)",
        ),
        (
            "compute.trustedImageProjects",
            {"listPolicy": {"deniedValues": ["is:projects/windows-cloud"]}},
            "machine images of other projects (projects/windows-cloud)",
        ),
        (
            "compute.trustedImageProjects",
            {"listPolicy": {"allowedValues": ["is:projects/windows-cloud"]}},
            "ubuntu-os-cloud",
        ),
        (
            "compute.restrictLoadBalancerCreationForTypes",
            {"listPolicy": {"allowedValues": ["INTERNAL_HTTP_HTTPS"]}},
            "passthrough load balancers (INTERNAL_TCP_UDP",
        ),
        ("compute.vmExternalIpAccess", {"listPolicy": {"allValues": "DENY"}}, ""),
        ("compute.managed.vmExternalIpAccess", {"spec": {"rules": [{"enforce": True}]}}, ""),
        ("iam.managed.disableServiceAccountCreation", {"spec": {"rules": [{"enforce": True}]}}, "service accounts"),
        ("iam.managed.disableServiceAccountCreation", {"spec": {"rules": [{"enforce": False}]}}, ""),
        (
            "iam.managed.disableServiceAccountCreation",
            {"spec": {"rules": [{"enforce": True}, {"condition": {"expression": "x"}, "enforce": False}]}},
            "",
        ),
        ("compute.managed.restrictNonConfidentialComputing", {"spec": {"rules": [{"enforce": True}]}}, "Confidential"),
        (
            "compute.restrictNonConfidentialComputing",
            {"listPolicy": {"deniedValues": ["compute.googleapis.com"]}},
            "machines without Confidential Computing (compute.googleapis.com)",
        ),
        (
            "gcp.restrictNonCmekServices",
            {"listPolicy": {"deniedValues": ["is:storage.googleapis.com", "bigquery.googleapis.com"]}},
            "what has no key of yours (storage.googleapis.com)",
        ),
        ("gcp.restrictCmekCryptoKeyProjects", {"listPolicy": {"allowedValues": ["projects/keys"]}}, ""),
        ("storage.softDeletePolicySeconds", {"listPolicy": {"allowedValues": ["604800"]}}, "soft deletion (0)"),
        ("storage.softDeletePolicySeconds", {"listPolicy": {"allowedValues": ["604800", "0"]}}, ""),
        (
            "gcp.resourceLocations",
            {"listPolicy": {"allowedValues": ["in:us-east1-locations", "is:europe-west3"]}},
            "resources in the region (europe-west1)",
        ),
        ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["in:europe-west1-locations"]}}, ""),
        ("gcp.resourceLocations", {"listPolicy": {"allowedValues": ["in:us-locations"]}}, ""),
        ("gcp.resourceLocations", {"listPolicy": {"deniedValues": ["in:europe-west1-locations"]}}, "(europe-west1)"),
        ("compute.vmCanIpForward", {"listPolicy": {"allValues": "DENY"}}, ""),
    ],
)
def test_a_policy_that_refuses_what_the_plan_needs_is_named(
    name: str, policy: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers in the form of the Organization Policy API, version 1, managed ones 2. gcp-prod has NAT and overlay."""
    found = policies(monkeypatch, plan("gcp-prod"), {name: policy})
    assert bool(found) is bool(said)
    assert all(re.search(re.escape(said), line) for line in found)


def test_a_plan_with_l2bridge_needs_machines_that_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan("gcp-prod")
    network = planned.spec.network.model_copy(update={"mode": NetworkMode.L2BRIDGE})
    planned = replace(planned, spec=planned.spec.model_copy(update={"network": network}))
    refusing = {
        "compute.vmCanIpForward": {"listPolicy": {"allValues": "DENY"}},
        "compute.managed.vmCanIpForward": {"spec": {"rules": [{"enforce": True}]}},
    }
    assert policies(monkeypatch, planned, refusing) == [
        f"the organisation policy constraints/{name} refuses machines that forward packets of pods" for name in refusing
    ]


def test_only_a_balanced_api_needs_an_internal_load_balancer(monkeypatch: pytest.MonkeyPatch) -> None:
    public, prod = plan("gcp-ci"), plan("gcp-prod")
    assert public.endpoint.public and not public.endpoint.balanced and prod.endpoint.balanced
    name = "compute.restrictLoadBalancerCreationForTypes"
    allowed = {name: {"listPolicy": {"allowedValues": ["EXTERNAL_NETWORK_TCP_UDP"]}}}
    assert policies(monkeypatch, public, allowed) == []
    [line] = policies(monkeypatch, prod, allowed)
    assert line.endswith("refuses passthrough load balancers (INTERNAL_TCP_UDP)")


def test_policies_about_keys_and_shared_subnetworks_are_compared_with_the_stack_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = "projects/host/regions/europe-west1/subnetworks"
    subnets = [ExistingSubnet(id=f"{shared}/a", range=IPv4Network("10.0.0.0/24"))]
    existing = ExistingNetwork(network="projects/host/global/networks/n", subnets=subnets)
    planned = plan("gcp-prod")
    network = planned.spec.network.model_copy(update={"existing": existing})
    key = "projects/keys/locations/europe-west1/keyRings/r/cryptoKeys/k"
    planned = replace(planned, spec=planned.spec.model_copy(update={"network": network, "encryption_key": key}))
    keys, vpc = "gcp.restrictCmekCryptoKeyProjects", "compute.restrictSharedVpcSubnetworks"
    for name, allowed, refused in (
        (keys, "under:projects/keys", ""),
        (keys, "under:projects/others", "keys of other projects (projects/keys)"),
        (keys, "under:folders/1", ""),
        (vpc, f"{shared}/a", ""),
        (vpc, "under:projects/host", ""),
        (vpc, f"{shared}/b", f"subnetworks of another project ({shared}/a)"),
        ("gcp.restrictNonCmekServices", "bigquery.googleapis.com", ""),
    ):
        lines = policies(monkeypatch, planned, {name: {"listPolicy": {"allowedValues": [allowed]}}})
        assert [line.partition(" refuses ")[2] for line in lines] == [refused] * bool(refused), (name, allowed)
    own = replace(PROJECT, account="host")
    assert [line for line, _ in organisation_policies.rows(planned, own) if "subnetworks" in line] == []


def test_other_clouds_have_no_such_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {})
    assert list(organisation_policies.rows(plan("aws-prod"), Identity())) == []
    assert asked == []
