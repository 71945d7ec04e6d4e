"""plan_cluster: makes a ClusterPlan from a spec."""

from ipaddress import IPv4Address

from components import naming
from components.catalogue import etcd_disks, nested_virtualisation
from components.machine.bundle import bundle, scripts
from components.node import plan_node
from components.node.plan import NodePlan
from components.plan.model import ClusterPlan, Endpoint, Machine, MachineGroup
from components.plan.problems import address_problems, path_problems, size_problems
from components.spec.models import (
    ApiAccess,
    Cloud,
    ClusterSpec,
    ControlPlane,
    Isolation,
    Licence,
    MachineOptions,
    NetworkMode,
    Pool,
)
from components.spec.report import SpecError
from components.topology.addressing import (
    NetworkPlan,
    balancer_addresses,
    control_plane_address,
    network_plan,
    pod_range,
)
from components.topology.firewall import SecurityGroup, groups, load_balanced, rules
from components.topology.load_balancers import load_balancers
from components.topology.slots import worker_addresses


def plan_cluster(name: str, spec: ClusterSpec) -> ClusterPlan:
    """Return the plan of a cluster whose spec passed its checks.

    Raises SpecError with all problems that only planning finds: overlapping addresses, user-data over the cloud's
    limit, a blocked network path.
    """
    network = network_plan(spec.network, spec.api.access, spec.cloud, ingress=spec.ingress.is_public)
    if problems := list(address_problems(network, spec)):
        raise SpecError(name, problems)
    plan = ClusterPlan(
        name=name,
        spec=spec,
        network=network,
        endpoint=_endpoint(name, spec, network),
        groups=groups(spec),
        rules=rules(spec),
        load_balancers=load_balancers(spec, network),
        control_plane=_control_plane(name, spec, network),
        pools=tuple(_pool(name, spec, network, pool) for pool in sorted(spec.pools)),
    )
    if problems := [*size_problems(plan), *path_problems(plan)]:
        raise SpecError(name, problems)
    return plan


def _endpoint(name: str, spec: ClusterSpec, network: NetworkPlan) -> Endpoint:
    if cluster := spec.existing_cluster:
        return Endpoint("", cluster.host, balanced=False, public=False, balancer_addresses=(), port=cluster.port)
    balanced = load_balanced(spec)
    return Endpoint(
        naming.zone_name(name),
        naming.api_host(name),
        balanced,
        spec.api.access is ApiAccess.PUBLIC,
        tuple(balancer_addresses(network, spec.cloud) if balanced else ()),
    )


def pool_at(plan: ClusterPlan, pool: MachineGroup, kubernetes: str) -> MachineGroup:
    """Return a pool of the plan as planned for another Kubernetes version. Raises LookupError for an unknown one."""
    if kubernetes == plan.spec.kubernetes:
        return pool
    return _pool(plan.name, plan.spec.model_copy(update={"kubernetes": kubernetes}), plan.network, pool.name)


def _control_plane(name: str, spec: ClusterSpec, network: NetworkPlan) -> MachineGroup:
    addresses = [control_plane_address(network, index) for index in range(spec.control_plane.count)]
    return _group(spec, naming.CONTROL_PLANE, spec.control_plane, plan_node(name, spec, None), addresses)


def _pool(name: str, spec: ClusterSpec, network: NetworkPlan, pool: str) -> MachineGroup:
    addresses = worker_addresses(network, pool, spec.pools[pool])
    return _group(spec, pool, spec.pools[pool], plan_node(name, spec, pool), addresses)


def _nested(cloud: Cloud, options: MachineOptions) -> bool:
    """Return whether the launch of a group's machines must ask for nested virtualisation."""
    isolated = isinstance(options, Pool) and options.isolation is Isolation.HYPERV
    return isolated and nested_virtualisation.is_chosen_at_launch(cloud.value)


def _group(
    spec: ClusterSpec, name: str, options: MachineOptions, node_plan: NodePlan, addresses: list[IPv4Address]
) -> MachineGroup:
    routed = spec.network.mode is NetworkMode.L2BRIDGE
    machines = tuple(
        Machine(
            naming.machine_name(name, index),
            index,
            index % spec.network.zones,
            address,
            pod_range(spec.network, address) if routed else None,
        )
        for index, address in enumerate(addresses)
    )
    control_plane = isinstance(options, ControlPlane)
    asked = options.etcd_disk if isinstance(options, ControlPlane) else None
    files = scripts("windows" if options.os.is_windows else "linux", control_plane=control_plane)
    return MachineGroup(
        name=name,
        cloud=spec.cloud,
        group=SecurityGroup.CONTROL_PLANE if control_plane else SecurityGroup.WORKERS,
        os=options.os,
        size=options.size,
        disk_gb=options.disk_gb,
        image=spec.images.get(options.os),
        max_unavailable=options.rollout.wave(options.count) if isinstance(options, Pool) else 1,
        canary=isinstance(options, Pool) and options.rollout.canary is not None,
        node_plan=node_plan,
        bundle=bundle(node_plan, files),
        machines=machines,
        share=spec.worker_identity.share(spec.cloud),
        own_licence=isinstance(options, Pool) and options.licence is Licence.OWN,
        spot=isinstance(options, Pool) and options.spot,
        nested_virtualisation=_nested(spec.cloud, options),
        etcd_disk=etcd_disks.planned(spec.cloud, options.size, asked) if asked else None,
        joins=spec.existing_cluster is not None,
    )
