"""A cluster on AWS: registers the planned resources. Decides nothing."""

from collections.abc import Mapping
from dataclasses import replace

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components.aws.api import Api
from components.aws.endpoints import Endpoints
from components.aws.existing import ExistingVpc
from components.aws.firewall import Firewall
from components.aws.identity import Identity
from components.aws.images import lookup
from components.aws.ingress import Ingress
from components.aws.machines import MachineInputs, cloud_machines
from components.aws.network import Network
from components.aws.offerings import checked, offers
from components.aws.pod_identity import PodIdentity
from components.aws.pod_routes import PodRoutes
from components.aws.records import Records
from components.aws.storage import Storage
from components.machine.service_urls import service_url
from components.spec.models import NetworkMode
from components.wiring.context import ClusterContext
from components.wiring.images import Images
from components.wiring.launch_data import ServiceAccess, launch_data
from components.wiring.machine_groups import machines
from components.wiring.published_documents import Members
from components.wiring.result import CloudOutputs


def build(context: ClusterContext, parent: pulumi.Resource) -> CloudOutputs:
    """Register every resource of the cluster under `parent`."""
    plan, child = context.plan, ResourceOptions(parent=parent)
    offered = offers(plan, InvokeOptions(parent=parent))
    images = Images(context, lookup(plan, offered), opts=child)
    if plan.network.existing:
        network = ExistingVpc(context, offered, opts=child)
    else:
        network = Network(context, checked(plan, images.zone_names, offered), opts=child)
    firewall = Firewall(context, network, opts=child)
    endpoints = []
    if isinstance(network, Network) and plan.private_endpoints:
        endpoints = Endpoints(context, network, firewall, opts=child).ways
    pods = _pod_identity(context, child)
    storage = Storage(context, network.zone_names, pods.issuer if pods else None, opts=child)
    reached = [*network.routes, *endpoints]
    identity = Identity(context, network, reached, storage, opts=child)
    services = _services(context.target, InvokeOptions(parent=parent))
    first, public_host = [*reached, *firewall.egress], Output.from_input("")
    if not plan.joins:
        storage.publish_members(context, Members(identity.role_ids, services["region"], network.zone_names))
        api = Api(context, network, firewall, opts=child)
        first, public_host = [*first, storage.members, api.record], api.public_host
    access = ServiceAccess(identity.role_ids, storage.secret_names, services)
    launch = launch_data(context, storage, access)
    inputs = MachineInputs(context, network.machine_subnets, firewall.group_ids, identity.profiles, images.ids)
    registered = machines(
        context,
        cloud_machines(inputs, launch, first),
        Records(parent, network.vpc_id, storage.bundle_bucket, identity.role_ids),
        public_host,
        child,
    )
    if plan.spec.network.mode is NetworkMode.L2BRIDGE:
        PodRoutes(context, network, registered.instances, opts=child)
    ingress = Ingress(context, network, firewall, registered, opts=child) if plan.load_balancers else None
    hosts: Mapping[str, Output[str]] = ingress.hosts if ingress else {}
    outputs = CloudOutputs(public_host, storage.bundle_store, storage.snapshot_store, hosts)
    return replace(outputs, issuer=pods.url, pod_roles=pods.roles) if pods else outputs


def _pod_identity(context: ClusterContext, child: ResourceOptions) -> PodIdentity | None:
    """Register the roles of pods, if the cluster has them."""
    wanted = context.plan.spec.pod_identity
    return PodIdentity(context, wanted, opts=child) if wanted else None


def _services(target: str, invoke: InvokeOptions) -> dict[str, Output[str]]:
    """Return the region and the URLs of Secrets Manager and EC2, by fact."""
    region = aws.get_region_output(opts=invoke)
    secrets = aws.get_service_output(service_id="secretsmanager", opts=invoke).dns_name
    return {
        "region": region.region,
        "secret_service": secrets.apply(lambda name: service_url("secret_service", name, target)),
        "compute_service": region.endpoint.apply(lambda name: service_url("compute_service", name, target)),
    }
