"""Limits of the sandbox's account, and their use, as a cloud's command line would print them."""

from collections import Counter
from collections.abc import Callable, Mapping

from components.catalogue.account_limits import ACCOUNTS, ADDRESSES, ENDPOINTS, EVERYWHERE, SSD, STATIC, VCPUS
from components.catalogue.instance_sizes import size
from sandbox.cloud_state import CloudState


def _aws(cloud_state: CloudState, region: str) -> dict[str, tuple[int, int]]:
    from sandbox.aws.network import EIP, INSTANCE
    from sandbox.aws.quotas import QUOTAS
    from sandbox.aws.quotas import VCPUS as CORES

    cores = _vcpus(cloud_state.counts(INSTANCE, region, "instanceType"))
    addresses = QUOTAS.limit(cloud_state, "Elastic IP addresses per region")
    return {
        VCPUS: (QUOTAS.limit(cloud_state, CORES), cores),
        ADDRESSES: (addresses, cloud_state.count(EIP, region)),
        ENDPOINTS: (QUOTAS.limit(cloud_state, "interface endpoints per VPC"), 0),  # a new VPC has none
    }


def _azure(cloud_state: CloudState, region: str) -> dict[str, tuple[int, int]]:
    from sandbox.azure.names import ADDRESS, MACHINE
    from sandbox.azure.quotas import CORES, QUOTAS

    cores = _vcpus(cloud_state.counts(MACHINE.token, region, "hardwareProfile.vmSize"))
    addresses = QUOTAS.limit(cloud_state, "public addresses per location")
    return {
        VCPUS: (QUOTAS.limit(cloud_state, CORES), cores),
        ADDRESSES: (addresses, cloud_state.count(ADDRESS.token, region)),
    }


def _gcp(cloud_state: CloudState, region: str) -> dict[str, tuple[int, int]]:
    from sandbox.gcp.firewalls import ACCOUNT
    from sandbox.gcp.names import ADDRESS, DISK, INSTANCE
    from sandbox.gcp.quotas import ALL_CPUS, CPUS, DISKS, QUOTAS, SERVICE_ACCOUNTS, STATIC_ADDRESSES, ssd_gb

    everywhere = cloud_state.resources(INSTANCE)
    machines = [one.inputs for one in everywhere if one.region == region]
    reserved = [one.inputs for one in cloud_state.resources(ADDRESS) if one.region == region]
    faces = [face for machine in machines for face in machine["networkInterfaces"]]
    disks = [one.inputs for one in cloud_state.resources(DISK) if one.region == region]
    return {
        VCPUS: (
            QUOTAS.limit(cloud_state, CPUS),
            _vcpus(cloud_state.counts(INSTANCE, region, "machineType")),
        ),
        EVERYWHERE: (
            QUOTAS.limit(cloud_state, ALL_CPUS),
            _vcpus(Counter(str(one.inputs["machineType"]) for one in everywhere)),
        ),
        STATIC: (
            QUOTAS.limit(cloud_state, STATIC_ADDRESSES),
            sum(one.get("addressType", "EXTERNAL") == "EXTERNAL" for one in reserved),
        ),
        ADDRESSES: (
            QUOTAS.limit(cloud_state, "in-use external addresses per region"),
            sum(bool(face.get("accessConfigs")) for face in faces),
        ),
        SSD: (QUOTAS.limit(cloud_state, DISKS), sum(map(ssd_gb, [*machines, *disks]))),
        ACCOUNTS: (QUOTAS.limit(cloud_state, SERVICE_ACCOUNTS), len(list(cloud_state.resources(ACCOUNT)))),
    }


def _vcpus(counts: Mapping[str, int]) -> int:
    """Return the vCPU of machines by size; a size that no table has counts as none."""
    found = [(size(name), count) for name, count in counts.items() if name]
    return sum(known.vcpu * count for known, count in found if known)


_CLOUDS: Mapping[str, Callable[[CloudState, str], dict[str, tuple[int, int]]]] = {
    "aws": _aws,
    "azure": _azure,
    "gcp": _gcp,
}


def quotas(cloud_state: CloudState, cloud: str, region: str) -> dict[str, tuple[int, int]]:
    """Return limit and use in a region, by what is limited."""
    return _CLOUDS[cloud](cloud_state, region)
