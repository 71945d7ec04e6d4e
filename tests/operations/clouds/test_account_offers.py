"""Sizes by zone, families of vCPU and organisation policies, as the clouds' command lines print them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.plan import ClusterPlan
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
    quotas = [{"limit": 5.0, "metric": "NETWORKS", "usage": 5.0}, {"limit": 100.0, "metric": "FIREWALLS", "usage": 1.0}]
    answer(monkeypatch, {"project-info describe": {"quotas": quotas}})
    planned = plan("gcp-prod")
    found = account_state.quotas(planned, "europe-west1", PROJECT)
    assert found == {"networks": Quota(5, 5), "firewall rules": Quota(100, 1)}
    faults = [line for line, fault in account_state.compared(planned, found, built=False) if fault]
    assert faults == ["networks: the cluster takes 1, the account has 5, 5 in use"]


def policies(monkeypatch: pytest.MonkeyPatch, planned: ClusterPlan, **answers: Any) -> list[str]:
    """Return the lines about policies. answers: by the constraint's name behind its service."""
    answer(monkeypatch, {f".{name} ": each for name, each in answers.items()})
    return [line for line, fault in organisation_policies.rows(planned, PROJECT) if fault]


@pytest.mark.parametrize(
    ("name", "policy", "said"),
    [
        ("restrictCloudNATUsage", {"listPolicy": {"allValues": "DENY"}}, "Cloud NAT"),
        ("restrictCloudNATUsage", {"listPolicy": {"allValues": "ALLOW"}}, ""),
        ("restrictCloudNATUsage", {"listPolicy": {"allowedValues": ["under:organizations/1"]}}, ""),
        ("disableServiceAccountCreation", {"booleanPolicy": {"enforced": True}}, "service accounts of machines"),
        ("disableServiceAccountCreation", {"booleanPolicy": {}}, ""),
        (
            "trustedImageProjects",
            {"listPolicy": {"allowedValues": ["projects/ubuntu-os-cloud"]}},
            "machine images of other projects (projects/windows-cloud)",
        ),
        (
            "trustedImageProjects",
            {"listPolicy": {"deniedValues": ["is:projects/windows-cloud"]}},
            "machine images of other projects (projects/windows-cloud)",
        ),
        ("trustedImageProjects", {"listPolicy": {"allowedValues": ["is:projects/windows-cloud"]}}, "ubuntu-os-cloud"),
        (
            "restrictLoadBalancerCreationForTypes",
            {"listPolicy": {"allowedValues": ["INTERNAL_HTTP_HTTPS"]}},
            "passthrough load balancers (INTERNAL_TCP_UDP",
        ),
        ("vmExternalIpAccess", {"listPolicy": {"allValues": "DENY"}}, ""),
        ("vmCanIpForward", {"listPolicy": {"allValues": "DENY"}}, ""),
    ],
)
def test_a_policy_that_refuses_what_the_plan_needs_is_named(
    name: str, policy: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers in the form of the Organization Policy API, version 1. gcp-prod has NAT and overlay."""
    found = policies(monkeypatch, plan("gcp-prod"), **{name: policy})
    assert bool(found) is bool(said)
    assert all(re.search(re.escape(said), line) for line in found)


def test_a_plan_with_l2bridge_needs_machines_that_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan("gcp-prod")
    network = planned.spec.network.model_copy(update={"mode": NetworkMode.L2BRIDGE})
    planned = replace(planned, spec=planned.spec.model_copy(update={"network": network}))
    [line] = policies(monkeypatch, planned, vmCanIpForward={"listPolicy": {"allValues": "DENY"}})
    assert (
        line
        == "the organisation policy constraints/compute.vmCanIpForward refuses machines that forward packets of pods"
    )


def test_other_clouds_have_no_such_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, {})
    assert list(organisation_policies.rows(plan("aws-prod"), Identity())) == []
    assert asked == []
