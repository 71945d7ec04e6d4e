"""Subnets and addresses: properties that hold for every cluster, and limits."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.spec.models import ApiAccess, Cloud, ClusterSpec, Network, Pool
from components.topology import addressing, load_balancers, slots


def network(**fields: object) -> Network:
    return Network.model_validate({"zones": 3, "nat_gateways": "zonal", **fields})


def pool(count: int, slot: int | None = None) -> Pool:
    return Pool.model_validate({"os": "ubuntu-22.04", "size": "m6i.large", "count": count, "slot": slot})


names = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)


@given(
    prefix=st.integers(addressing.LARGEST_PREFIX, addressing.SMALLEST_PREFIX),
    zones=st.integers(1, 3),
    egress=st.sampled_from(["nat", "public", "none"]),
    access=st.sampled_from(list(ApiAccess)),
)
def test_subnets_are_inside_the_node_range_and_do_not_overlap(
    prefix: int, zones: int, egress: str, access: ApiAccess
) -> None:
    """IPP-05, within the cluster's network."""
    plan = addressing.network_plan(network(nodes=f"10.0.0.0/{prefix}", zones=zones, egress=egress), access, Cloud.AWS)
    ranges = [each.cidr for each in plan.subnets]
    assert all(each.subnet_of(plan.cidr) for each in ranges)
    assert not any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :])
    assert all(16 <= each.prefixlen <= 28 for each in ranges), "AWS accepts subnets of /16 to /28"
    assert all(each.prefixlen <= 27 for each in (s.cidr for s in plan.edge)), "a load balancer needs a /27"
    routed = [name for table in plan.tables for name in table.subnets]
    assert sorted(routed) == sorted(each.name for each in plan.subnets), "each subnet has exactly one route table"


@given(pools=st.dictionaries(names, st.integers(0, 40), max_size=6), zones=st.integers(1, 3))
def test_addresses_are_unique_unless_an_overlap_is_reported(pools: dict[str, int], zones: int) -> None:
    plan = addressing.network_plan(network(zones=zones), ApiAccess.PRIVATE, Cloud.AWS)
    specs = {name: pool(count) for name, count in pools.items()}
    workers = [a for name, each in specs.items() for a in slots.worker_addresses(plan, name, each)]
    control = [addressing.control_plane_address(plan, index) for index in range(3)]
    if not list(slots.overlaps(plan, specs)):
        assert len({*workers, *control}) == len(workers) + len(control)
    for index, address in enumerate(slots.worker_addresses(plan, "web", pool(9))):
        subnet = plan.machines[index % zones].cidr
        assert address in subnet
        assert subnet[addressing.WORKER_OFFSET] <= address < subnet[-1]


@given(count=st.integers(0, 50), more=st.integers(0, 50), others=st.dictionaries(names, st.integers(0, 9), max_size=4))
def test_scaling_or_adding_pools_changes_no_address(count: int, more: int, others: dict[str, int]) -> None:
    plan = addressing.network_plan(network(), ApiAccess.PRIVATE, Cloud.AWS)
    before = slots.worker_addresses(plan, "web", pool(count))
    assert slots.worker_addresses(plan, "web", pool(count + more))[:count] == before
    assert {name: slots.worker_addresses(plan, name, pool(each)) for name, each in others.items()} == {
        name: slots.worker_addresses(plan, name, pool(each)) for name, each in reversed(others.items())
    }


def test_changing_api_access_moves_no_machine() -> None:
    private = addressing.network_plan(network(egress="public"), ApiAccess.PRIVATE, Cloud.AWS)
    public = addressing.network_plan(network(egress="public"), ApiAccess.PUBLIC, Cloud.AWS)
    assert private.machines == public.machines
    assert private.edge == () and len(public.edge) == 3


def test_overlapping_pools_are_reported_with_a_free_slot() -> None:
    plan = addressing.network_plan(network(), ApiAccess.PRIVATE, Cloud.AWS)
    pools = {"a": pool(30, slot=7), "b": pool(3, slot=7), "c": pool(3, slot=100)}
    [overlap] = slots.overlaps(plan, pools)
    assert (overlap.first, overlap.second) == ("a", "b"), "the smaller pool is to be moved"
    assert overlap.free is not None
    moved = {**pools, "b": pool(3, slot=overlap.free)}
    assert list(slots.overlaps(plan, moved)) == []


def test_addresses_of_a_pool_wrap_around_at_the_end_of_the_range() -> None:
    plan = addressing.network_plan(network(), ApiAccess.PRIVATE, Cloud.AWS)
    first = slots.Slots.of(plan.machines[0].cidr)
    last = slots.worker_addresses(plan, "web", pool(200, slot=first.count - 1))
    assert len(set(last)) == 200
    assert all(any(a in each.cidr for each in plan.machines) for a in last)


@pytest.mark.parametrize(("prefix", "expected"), [(16, 48_912), (22, 3 * 176)])
def test_capacity_counts_the_addresses_of_all_zones(prefix: int, expected: int) -> None:
    plan = addressing.network_plan(network(nodes=f"10.0.0.0/{prefix}"), ApiAccess.PRIVATE, Cloud.AWS)
    assert slots.capacity(plan) == expected


def test_nat_gateways_are_in_edge_subnets_single_or_one_per_zone() -> None:
    single = addressing.network_plan(network(nat_gateways="single"), ApiAccess.PRIVATE, Cloud.AWS)
    zonal = addressing.network_plan(network(nat_gateways="zonal"), ApiAccess.PRIVATE, Cloud.AWS)
    assert [each.name for each in single.gateways] == ["nat-0"]
    assert [each.subnet for each in zonal.gateways] == ["edge-0", "edge-1", "edge-2"]
    assert {table.routes[0].target for table in single.tables} == {"internet", "nat-0"}


def test_without_egress_no_subnet_has_a_route_out_and_machines_keep_their_addresses() -> None:
    plan = addressing.network_plan(network(egress="none", nodes="10.0.0.0/22"), ApiAccess.PRIVATE, Cloud.AWS)
    assert plan.machines == addressing.network_plan(network(nodes="10.0.0.0/22"), ApiAccess.PRIVATE, Cloud.AWS).machines
    assert [table.routes for table in plan.tables] == [()] and plan.gateways == () and plan.edge == ()
    assert [(each.name, each.cidr.prefixlen) for each in plan.endpoints] == [(f"endpoints-{i}", 28) for i in range(3)]
    assert not any(each.public for each in plan.subnets)


@pytest.mark.parametrize("prefix", [16, 18, 22])
def test_without_egress_on_azure_endpoints_have_one_subnet_beside_that_of_sessions(prefix: int) -> None:
    closed = network(egress="none", nodes=f"10.0.0.0/{prefix}")
    plan = addressing.network_plan(closed, ApiAccess.PRIVATE, Cloud.AZURE)
    [own] = plan.endpoints
    sessions = addressing.bastion_range(closed)
    assert sessions and not own.cidr.overlaps(sessions) and own.cidr.num_addresses >= 16
    assert not any(own.cidr.overlaps(each.cidr) for each in plan.machines)
    assert plan.tables == () and plan.gateways == () and not any(each.public for each in plan.subnets)


def test_endpoints_in_an_existing_network_have_addresses_that_nothing_else_has() -> None:
    subnets = [{"id": "nodes", "range": "10.30.0.0/23"}]
    existing = network(egress="none", nodes="10.30.0.0/23", existing={"network": "net", "subnets": subnets})
    plan = addressing.network_plan(existing, ApiAccess.PRIVATE, Cloud.AZURE)
    own = [addressing.endpoint_address(plan, index) for index in range(3)]
    assert own == [IPv4Address(f"10.30.0.{last}") for last in (6, 7, 8)]
    control = [addressing.control_plane_address(plan, index) for index in range(3)]
    fixed = {*addressing.balancer_addresses(plan, Cloud.AZURE), *control}
    assert not fixed & {*own}
    assert load_balancers.FIRST_OFFSET > addressing.ENDPOINT_OFFSET + 2
    built = addressing.network_plan(network(egress="none"), ApiAccess.PRIVATE, Cloud.AZURE)
    assert addressing.endpoint_address(built, 0) is None


@pytest.mark.parametrize("cloud", [Cloud.GCP, Cloud.AZURE])
def test_regional_gateways_and_load_balancers_need_no_subnet_and_machines_keep_the_addresses_of_aws(
    cloud: Cloud,
) -> None:
    zonal = network(nat_gateways="zonal")
    plan, aws = (addressing.network_plan(zonal, ApiAccess.PUBLIC, each) for each in (cloud, Cloud.AWS))
    assert plan.edge == () and plan.machines == aws.machines
    assert [(each.name, each.subnet) for each in plan.gateways] == [("nat-0", ""), ("nat-1", ""), ("nat-2", "")]
    assert addressing.balancer_addresses(plan, cloud) == addressing.balancer_addresses(aws, Cloud.AWS)[:1]


def test_the_default_node_range_is_private() -> None:
    spec = ClusterSpec.model_validate({"cloud": "aws", "kubernetes": "1.32.13"})
    assert spec.network.nodes.subnet_of(IPv4Network("10.0.0.0/8"))


@given(prefix=st.integers(addressing.LARGEST_PREFIX, addressing.SMALLEST_PREFIX), zones=st.integers(1, 3))
def test_net_05_each_node_address_has_a_pod_range_of_its_own(prefix: int, zones: int) -> None:
    """IPP-02, with the smallest pod range that the check accepts: a /24 for each address of the node range."""
    routed = network(nodes=f"10.0.0.0/{prefix}", pods=f"64.0.0.0/{prefix - 8}", zones=zones)
    plan = addressing.network_plan(routed, ApiAccess.PRIVATE, Cloud.AWS)
    addresses = [addressing.control_plane_address(plan, index) for index in range(3)]
    addresses += slots.worker_addresses(plan, "web", pool(40))
    addresses += [plan.cidr[0], plan.cidr[-1]]
    ranges = [addressing.pod_range(routed, each) for each in addresses]
    assert all(each.prefixlen == 24 and each.subnet_of(routed.pods) for each in ranges)
    assert len(set(ranges)) == len(set(addresses))


def test_pod_range_raises_if_the_range_is_too_small_for_a_node() -> None:
    small = network(nodes="10.20.0.0/22", pods="10.244.0.0/16")
    assert addressing.pod_range(small, IPv4Address("10.20.0.255")) == IPv4Network("10.244.255.0/24")
    with pytest.raises(IndexError, match=r"no /24 for 10\.20\.1\.0"):
        addressing.pod_range(small, IPv4Address("10.20.1.0"))
