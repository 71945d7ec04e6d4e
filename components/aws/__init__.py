"""A cluster on AWS: the planned parts, wired together. Decides nothing."""

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, ResourceOptions

from components.aws import images
from components.aws.api import Api
from components.aws.firewall import Firewall
from components.aws.identity import Identity
from components.aws.machines import MachineInputs, cloud_machines
from components.aws.network import Network
from components.aws.pod_routes import PodRoutes
from components.aws.records import Records
from components.aws.storage import Storage
from components.machine.service_urls import service_url
from components.spec.models import NetworkMode
from components.topology.firewall import SecurityGroup
from components.wiring.context import ClusterContext
from components.wiring.images import Images
from components.wiring.launch_data import launch_data
from components.wiring.machine_groups import machines
from components.wiring.result import CloudOutputs


def build(context: ClusterContext, parent: pulumi.Resource) -> CloudOutputs:
    """Registers every resource of the cluster under `parent`."""
    plan, tags, target, child = context.plan, context.tags, context.target, ResourceOptions(parent=parent)
    name, spec, invoke = plan.name, plan.spec, InvokeOptions(parent=parent)
    found = Images("aws", plan, images.newest, images.zones, images.WITHDRAWN, opts=child)
    network = Network(name, plan.network, found.zone_names, spec.network, tags, protect=spec.protect, opts=child)
    firewall = Firewall(name, network.vpc_id, plan.groups, plan.rules, tags, opts=child)
    storage = Storage(context, opts=child)
    identity = Identity(name, storage, tags, registries="ecr" in spec.registry_credentials, opts=child)
    machine_subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    edge_subnets = [network.subnet_ids[each.name] for each in plan.network.edge]
    api = Api(
        name,
        plan.endpoint,
        plan.control_plane.machines,
        network.vpc_id,
        {SecurityGroup.API_INTERNAL: machine_subnets, SecurityGroup.API_PUBLIC: edge_subnets},
        firewall.group_ids,
        context.generated.suffix,
        tags,
        network.gateway,
        opts=child,
    )
    here = aws.get_region_output(opts=invoke)
    secrets = aws.get_service_output(service_id="secretsmanager", opts=invoke).dns_name
    services = {
        "region": here.region,
        "secret_service": secrets.apply(lambda name: service_url("secret_service", name, target)),
        "compute_service": here.endpoint.apply(lambda name: service_url("compute_service", name, target)),
    }
    launch = launch_data(context, storage, api.public_host, identity.role_ids, storage.secret_names, services)
    inputs = MachineInputs(context, machine_subnets, firewall.group_ids, identity.profiles, found.ids)
    made = machines(
        context,
        cloud_machines(inputs, launch, [*network.routes, storage.members]),
        lambda group: Records(parent, network.vpc_id, storage.bundle_bucket, identity.role_ids[group]),
        api.public_host,
        child,
    )
    if spec.network.mode is NetworkMode.L2BRIDGE:
        interfaces = {machine: each.primary_network_interface_id for machine, each in made.items()}
        PodRoutes(name, plan.network, network.table_ids, interfaces, opts=child)
    return CloudOutputs(api.public_host, storage.bundle_store, storage.snapshot_store)
