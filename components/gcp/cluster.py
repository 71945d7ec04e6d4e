"""A cluster on GCP: registers the planned resources. Decides nothing."""

from collections.abc import Mapping
from dataclasses import replace

import pulumi
from pulumi import Output, ResourceOptions

from components.gcp.api import Addresses, Balancers, Name
from components.gcp.existing import ExistingVpcNetwork
from components.gcp.firewall import Firewall
from components.gcp.identity import Identity
from components.gcp.images import lookup
from components.gcp.ingress import Ingress
from components.gcp.machines import MachineInputs, cloud_machines
from components.gcp.network import Network
from components.gcp.place import Place, place
from components.gcp.pod_identity import PodIdentity
from components.gcp.pod_routes import PodRoutes
from components.gcp.records import Records
from components.gcp.storage import Storage
from components.spec.models import NetworkMode
from components.wiring.context import ClusterContext
from components.wiring.images import Images
from components.wiring.launch_data import ServiceAccess, launch_data
from components.wiring.machine_groups import machines
from components.wiring.published_documents import Members
from components.wiring.result import CloudOutputs


def build(context: ClusterContext, parent: pulumi.Resource) -> CloudOutputs:
    """Register every resource of the cluster under `parent`."""
    plan, child, here = context.plan, ResourceOptions(parent=parent), place(parent)
    images = Images(context, lookup(here.region), opts=child)
    network = (
        ExistingVpcNetwork(context, images.zone_names, opts=child)
        if plan.network.existing
        else Network(context, here, images.zone_names, opts=child)
    )
    # resolves once the layout's check has passed, so that no bucket or secret gets another key before it
    region = Output.all(here.region, network.zone_names).apply(lambda known: str(known[0]))
    storage = Storage(context, Place(here.project, region), opts=child)
    identity = Identity(context, here, network.zone_names, storage, opts=child)
    firewall = Firewall(context, network, opts=child)
    api_name = Name(context, network, opts=child)
    addresses = Addresses(context, here, network, opts=child) if plan.endpoint.has_balancers else None
    public_host = addresses.public_host if addresses else Output.from_input("")
    roles, services = {name: name for name in identity.accounts}, {"region": here.region, **storage.services}
    storage.publish_members(context, Members(roles, here.region, network.zone_names))
    access = ServiceAccess(roles, storage.secret_names, services)
    launch = launch_data(context, storage, access)
    inputs = MachineInputs(context, network, identity, images.ids)
    first = [*network.routes, *firewall.rules, storage.members, api_name]
    registered = machines(
        context,
        cloud_machines(inputs, launch, first),
        Records(
            parent=parent,
            planned=plan.machines,
            bucket=storage.buckets["bundles"],
            cluster=plan.name,
            zone_names=network.zone_names,
        ),
        public_host,
        child,
    )
    if addresses:
        control_plane = {machine: registered.instances[machine] for machine in plan.control_plane.machines}
        Balancers(context, here, network, addresses, control_plane, opts=child)
    if plan.spec.network.mode is NetworkMode.L2BRIDGE:
        PodRoutes(context, network, registered.instances, opts=child)
    ingress = Ingress(context, here, network, registered, opts=child) if plan.load_balancers else None
    hosts: Mapping[str, Output[str]] = ingress.hosts if ingress else {}
    outputs = CloudOutputs(public_host, storage.bundle_store, storage.snapshot_store, hosts)
    if (wanted := plan.spec.pod_identity) is None:
        return outputs
    pods = PodIdentity(context, wanted, opts=child)
    return replace(outputs, pod_roles=pods.members, pod_provider=pods.provider)
