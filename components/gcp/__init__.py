"""A cluster on GCP: the planned parts, wired together. Decides nothing."""

from functools import partial

import pulumi
import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output, ResourceOptions

from components.gcp import images
from components.gcp.api import Addresses, Balancers, Name
from components.gcp.firewall import Firewall
from components.gcp.identity import Identity
from components.gcp.machines import MachineInputs, cloud_machines
from components.gcp.network import Network
from components.gcp.pod_routes import PodRoutes
from components.gcp.records import Records
from components.gcp.storage import Storage
from components.spec.models import NetworkMode
from components.topology.firewall import NODES, SecurityGroup
from components.wiring.context import ClusterContext
from components.wiring.images import Images
from components.wiring.launch_data import launch_data
from components.wiring.machine_groups import machines
from components.wiring.result import CloudOutputs


def build(context: ClusterContext, parent: pulumi.Resource) -> CloudOutputs:
    """Registers every resource of the cluster under `parent`."""
    plan, tags, child = context.plan, context.tags, ResourceOptions(parent=parent)
    name, spec, endpoint, members = plan.name, plan.spec, plan.endpoint, plan.control_plane.machines
    here = gcp.organizations.get_client_config_output(opts=InvokeOptions(parent=parent))
    region = here.region
    found = Images("gcp", plan, images.newest, partial(images.zones, region), opts=child)
    network = Network(name, plan.network, found.zone_names, spec.network, region, protect=spec.protect, opts=child)
    zone_names, network_id = network.zone_names, network.network_id
    storage = Storage(context, region, here.project, opts=child)
    identity = Identity(name, storage, context.generated.suffix, here.project, opts=child)
    firewall = Firewall(name, network_id, identity.accounts, plan.rules, opts=child)
    subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    named = Name(name, endpoint, plan.api_addresses, network_id, tags, opts=child)
    addresses = Addresses(name, endpoint, subnets[0], region, tags, opts=child) if endpoint.has_balancers else None
    public_host = addresses.public_host if addresses else Output.from_input("")
    roles = {group: group.value for group in NODES}
    launch = launch_data(
        context, storage, public_host, roles, storage.secret_names, {"region": region, **storage.services}
    )
    inputs = MachineInputs(context, zone_names, subnets, identity.accounts, found.ids)
    made = machines(
        context,
        cloud_machines(inputs, launch, [*network.routes, *firewall.rules, *identity.granted, storage.members, named]),
        lambda group: Records(
            parent=parent,
            role=group.value,
            planned=plan.workers if group is SecurityGroup.WORKERS else (),
            bucket=storage.buckets["bundles"],
            cluster=name,
            zone_names=zone_names,
        ),
        public_host,
        child,
    )
    if addresses:
        behind = {machine: made[machine] for machine in members}
        Balancers(
            name, endpoint, addresses.by_scheme, behind, zone_names, network_id, subnets[0], region, tags, opts=child
        )
    if spec.network.mode is NetworkMode.L2BRIDGE:
        PodRoutes(name, network_id, made, opts=child)
    return CloudOutputs(public_host, storage.bundle_store, storage.snapshot_store)
