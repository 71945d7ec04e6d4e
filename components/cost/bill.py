"""The bill of a planned cluster: the items that its cloud charges for.

The items come from the plan, so no engine and no Pulumi is needed; a test compares them with the resources that the
program registers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from components.catalogue import prices
from components.catalogue.etcd_disks import Disk
from components.catalogue.prices import HOUR, HOURS, Price
from components.plan import ClusterPlan, MachineGroup
from components.spec.choices import StorageDriver
from components.spec.etcd_disk import EtcdDiskType
from components.topology.private_endpoints import built_zones

SHARED = "(shared)"
"""Shown in place of a pool's name for items that all pools share."""

NAT_MACHINES = 32
"""GCP charges for each machine behind Cloud NAT, up to 32 ("Cloud NAT pricing")."""

SECRETS = 3
"""Secrets of a cluster: join, keys of the control plane, desired state (components/wiring/stores.py)."""


@dataclass(frozen=True)
class Usage:
    """Monthly use, which is not in the plan: traffic to the internet, GB; stored files, GiB. None: not counted."""

    traffic_gb: float | None = None
    stored_gib: float | None = None


@dataclass(frozen=True)
class Item:
    """One item. what: its text. key: in the price table. count: number of units. price: None if unknown. most: what an
    unknown price is at most; None if that is unknown too.
    """

    pool: str
    what: str
    key: str
    count: float
    price: Price | None
    most: Price | None = None

    @property
    def unit(self) -> str:
        """Unit of the price."""
        return prices.unit(self.key)

    @property
    def month(self) -> float | None:
        """USD a month; None if the price is unknown."""
        return self._month(self.price)

    @property
    def month_at_most(self) -> float | None:
        """USD a month, by the bound of a price that is unknown; None without either."""
        return self._month(self.price or self.most)

    def _month(self, price: Price | None) -> float | None:
        return None if price is None else price.amount * self.count * (HOURS if self.unit == HOUR else 1)


@dataclass(frozen=True)
class Bill:
    """What a cluster costs. items: the control plane's, the pools', the shared ones."""

    cluster: str
    cloud: str
    region: str
    usage: Usage
    items: tuple[Item, ...]

    @cached_property
    def month(self) -> float:
        """USD a month of all items with a known price."""
        return sum(item.month or 0 for item in self.items)

    @property
    def hour(self) -> float:
        """USD an hour: the month divided by 730."""
        return self.month / HOURS

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Items without a price in the tables; with any, the total is a lower bound."""
        return _names(item for item in self.items if item.price is None)

    @cached_property
    def judged(self) -> float:
        """USD a month of all items with a price or a bound, by which a budget judges."""
        return sum(item.month_at_most or 0 for item in self.items)

    @cached_property
    def unbounded(self) -> tuple[str, ...]:
        """Items with neither a price nor a bound."""
        return _names(item for item in self.items if item.month_at_most is None)

    @cached_property
    def by_pool(self) -> dict[str, float | None]:
        """USD a month by pool, the shared items last; known prices only. None for a pool without a known price."""
        sums: dict[str, float | None] = {}
        for item in self.items:
            before = sums.get(item.pool)
            sums[item.pool] = before if item.month is None else (before or 0) + item.month
        return sums

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """Pools with an item without a price: their sums are lower bounds."""
        return frozenset(item.pool for item in self.items if item.price is None)

    def at_most(self, pool: str | None = None) -> float | None:
        """Return what the cluster, or one pool, costs at most, USD a month; None if an item has no bound."""
        months = [item.month_at_most for item in self.items if pool in (None, item.pool)]
        known = [month for month in months if month is not None]
        return sum(known) if len(known) == len(months) else None

    def largest(self, count: int) -> list[tuple[Item, float]]:
        """Return the items with a price or a bound that cost most, and their USD a month, at most."""
        known = [(item, item.month_at_most) for item in self.items if item.month_at_most is not None]
        return sorted(known, key=lambda each: each[1], reverse=True)[:count]


def _names(items: Iterable[Item]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.what.partition(",")[0] for item in items))


def bill(planned: ClusterPlan, region: str, usage: Usage | None = None) -> Bill:
    """Return the bill of a planned cluster in a region."""
    usage, cloud = usage or Usage(), planned.spec.cloud.value
    items = [item for group in planned.machine_groups for item in _group(planned, group, region)]
    items += [
        Item(SHARED, what, key, count, prices.price(cloud, region, key))
        for what, key, count in (*_network(planned, cloud), *_stores(planned, cloud), *_used(planned, usage))
    ]
    return Bill(planned.name, cloud, region, usage, tuple(items))


def _group(planned: ClusterPlan, group: MachineGroup, region: str) -> Iterator[Item]:
    """Yield the items of one machine group; none if it has no machine."""
    cloud, count = planned.spec.cloud.value, len(group.machines)
    if not count:
        return
    if group.spot:
        # The price changes with the demand, and the tables have prices on demand only. These are its maximum: machines
        # of AWS and Azure are requested without another one (components/aws/machines.py, components/azure/machines.py),
        # and Google sells spot machines at a discount ("Spot VMs pricing").
        on_demand = prices.price(cloud, region, group.size)
        yield Item(group.name, f"spot {group.size}", group.size, count, None, on_demand)
    else:
        yield Item(group.name, group.size, group.size, count, prices.price(cloud, region, group.size))
    if group.os.is_windows and not group.own_licence:
        key, units, premium = prices.windows(cloud, region, group.size)
        what = f"Windows on {'spot ' if group.spot else ''}{group.size}"
        yield Item(group.name, what, key, count * units, None if group.spot else premium, premium)
    key, units = prices.disk_key(cloud, group.size, group.disk_gb)
    what = f"{key} disk, {group.disk_gb} GiB"
    yield Item(group.name, what, key, count * units, prices.price(cloud, region, key))
    if group.etcd_disk:
        yield from _etcd_disk(group, group.etcd_disk, region)
    if planned.has_public_machines:
        yield Item(group.name, "public IPv4 address", "public-ipv4", count, prices.price(cloud, region, "public-ipv4"))


def _etcd_disk(group: MachineGroup, disk: Disk, region: str) -> Iterator[Item]:
    """Yield etcd's disks, and their speed as far as it is above what the price of the size includes."""
    cloud, kind, count = group.cloud.value, disk.type.value, len(group.machines)
    key, units = (
        (kind, disk.size_gb) if kind != EtcdDiskType.PREMIUM else prices.disk_key(cloud, group.size, disk.size_gb)
    )
    rows = [(f"{key} disk of etcd, {disk.size_gb} GiB", key, float(units))]
    for asked, what, included in (
        (disk.iops, "iops", prices.INCLUDED_IOPS),
        (disk.throughput, "throughput", prices.INCLUDED_THROUGHPUT),
    ):
        if asked and (more := asked - included.get(kind, 0)) > 0:
            rows.append((f"{more} {what} of etcd's {kind} disk", f"{kind}-{what}", float(more)))
    for text, name, number in rows:
        yield Item(group.name, text, name, count * number, prices.price(cloud, region, name))


def _network(planned: ClusterPlan, cloud: str) -> Iterator[tuple[str, str, float]]:
    """Yield gateways, endpoints, load balancers, the host of sessions, and their public addresses."""
    gateways, addresses = len(planned.network.gateways), 0
    if gateways and cloud == "gcp":  # one Cloud NAT with one address; 256 ports for each of up to 252 machines
        yield "Cloud NAT machine", "nat-vm", min(len(planned.machines), NAT_MACHINES)
        addresses += 1
    elif gateways:
        yield "NAT gateway", "nat-gateway", gateways
        addresses += gateways
    if endpoints := len(planned.private_endpoints):
        # AWS PrivateLink pricing: each hour in each zone; Azure Private Link pricing: each hour
        zones = len(planned.network.endpoints) if planned.spec.cloud.facts.zonal_endpoints else 1
        yield "private endpoint", "endpoint", endpoints * zones
    public = planned.endpoint.public + sum(not balancer.internal for balancer in planned.load_balancers)
    balancers = planned.endpoint.balanced + planned.endpoint.public + len(planned.load_balancers)
    if balancers:  # GCP: one price for the first five forwarding rules
        yield "load balancer", "load-balancer", 1 if cloud == "gcp" else balancers
    if public:  # a public one of AWS has an address in each zone
        addresses += public * (planned.network.zones if cloud == "aws" else 1)
    if planned.builds_bastion:
        yield "Azure Bastion", "bastion", 1
        addresses += 1
    if addresses:
        yield "public IPv4 address", "public-ipv4", addresses


def _stores(planned: ClusterPlan, cloud: str) -> Iterator[tuple[str, str, float]]:
    if planned.joins:
        yield "secret", "secret", 1  # of the bootstrap token
        return
    yield "private DNS zone", "dns-zone", 1 + len(built_zones(planned.spec))
    if cloud != "azure":  # a key vault of Azure charges for operations only
        yield "secret", "secret", SECRETS
    if {StorageDriver.EBS, StorageDriver.PD} & {*planned.spec.csi}:
        yield "volumes and snapshots of claims", "claims", 1


def _used(planned: ClusterPlan, usage: Usage) -> Iterator[tuple[str, str, float]]:
    if usage.traffic_gb:
        yield "GB to the internet", "egress-gb", usage.traffic_gb
        if planned.network.gateways:
            yield "GB through NAT", "nat-gb", usage.traffic_gb
    if usage.stored_gib:
        yield "GiB in the stores", "store-gib", usage.stored_gib
