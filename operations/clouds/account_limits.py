"""How much of an account's limits a cluster needs, compared with the limits of a new account."""

from collections.abc import Callable, Mapping
from typing import Any

from components.catalogue import instance_sizes
from components.catalogue.account_limits import (
    ACCOUNTS,
    ADDRESSES,
    ENDPOINTS,
    EVERYWHERE,
    FIREWALLS,
    NETWORKS,
    NEW_ACCOUNT,
    SSD,
    STATIC,
    VCPUS,
)
from components.plan import ClusterPlan
from components.spec.etcd_disk import EtcdDiskType
from components.wiring.access_rights import identities


def _vcpus(plan: ClusterPlan) -> int:
    """Return the vCPU of all machines; a size missing in the tables counts as 0.

    Machines of spot pools are left out: every cloud has a limit of its own for them (EC2 "All Standard Spot Instance
    Requests", Azure "Total Regional Spot vCPUs", Compute Engine "Preemptible CPUs").
    """
    sizes = [(instance_sizes.size(each.size), len(each.machines)) for each in plan.machine_groups if not each.spot]
    return sum(size.vcpu * count for size, count in sizes if size)


def _addresses(plan: ClusterPlan) -> int:
    """Return the number of public addresses of NAT gateways, public machines, public load balancers and Azure Bastion.

    AWS counts addresses of gateways only: it gives machines and load balancers others.
    """
    if plan.spec.cloud.facts.edge_subnets:
        return len(plan.network.gateways)
    machines = len(plan.machines) * plan.has_public_machines
    return len(plan.network.gateways) + machines + _balancers(plan) + plan.builds_bastion


def _balancers(plan: ClusterPlan) -> int:
    """Return the number of public load balancers; on GCP each has a reserved address."""
    return plan.endpoint.public + sum(not balancer.internal for balancer in plan.load_balancers)


def _ssd(plan: ClusterPlan) -> int:
    """Return the GiB of Persistent Disks: Hyperdisks have a quota of their own ("Hyperdisk Balanced Capacity")."""
    counted = [each for each in plan.machine_groups if instance_sizes.gcp_disk(each.size).startswith("pd-")]
    further = [each for each in plan.machine_groups if each.etcd_disk and each.etcd_disk.type is EtcdDiskType.PD_SSD]
    roots = sum(group.disk_gb * len(group.machines) for group in counted)
    return roots + sum(group.etcd_disk.size_gb * len(group.machines) for group in further if group.etcd_disk)


def _networks(plan: ClusterPlan) -> int:
    return 0 if plan.network.existing else 1


def _firewalls(plan: ClusterPlan) -> int:
    """Return the firewall rules of GCP, a resource each; in a Shared VPC the host project's quota counts them."""
    return len(plan.rules)


def _accounts(plan: ClusterPlan) -> int:
    """Return the service accounts of GCP: a machine has the account of its identity."""
    return len(identities(plan))


NEEDED: Mapping[str, Callable[[ClusterPlan], int]] = {
    VCPUS: _vcpus,
    EVERYWHERE: _vcpus,
    ADDRESSES: _addresses,
    STATIC: _balancers,
    SSD: _ssd,
    NETWORKS: _networks,
    FIREWALLS: _firewalls,
    ACCOUNTS: _accounts,
    ENDPOINTS: lambda plan: len(plan.private_endpoints),
}
"""By limit, a function that returns how much of it a cluster needs."""


def account_limits(plan: ClusterPlan) -> list[dict[str, Any]]:
    """Return a row for each limit: what is limited, the cloud's name of the limit, need of the cluster, new account.

    new_account: None if the cloud chooses the limit for each account.
    """
    return [
        {"what": what, "title": limit.title, "needed": NEEDED[what](plan), "new_account": limit.new or None}
        for what, limit in NEW_ACCOUNT[plan.spec.cloud.value].items()
    ]
