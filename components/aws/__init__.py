"""A cluster on AWS: the planned parts, wired together. Decides nothing."""

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components import booted
from components.aws.api import Api
from components.aws.firewall import Firewall
from components.aws.identity import Identity
from components.aws.images import Images
from components.aws.machines import Site, ways
from components.aws.network import Network
from components.aws.pod_routes import PodRoutes
from components.aws.records import Records
from components.aws.storage import Storage
from components.firewall import Group
from components.generated import Generated
from components.machine_groups import machines
from components.parts import Parts
from components.plan import ClusterPlan
from components.spec.models import Egress, NetworkMode
from components.tags import Tags
from components.told import Told, common, status_url
from components.upgrade import Upgrade
from components.urls import service_url


def build(plan: ClusterPlan, generated: Generated, tags: Tags, world: str, parent: pulumi.Resource) -> Parts:
    """Registers every resource of the cluster under `parent`."""
    name, spec, child = plan.name, plan.spec, ResourceOptions(parent=parent)
    images = Images(
        name, plan.operating_systems, spec.images, plan.network.zone_names, spec.rotation.images, opts=child
    )
    network = Network(name, plan.network, images.zone_names, spec.network, tags, protect=spec.protect, opts=child)
    firewall = Firewall(name, network.vpc_id, plan.groups, plan.rules, tags, opts=child)
    upgrade = Upgrade(plan, generated.begins, simulated=booted.is_simulated(world))
    storage = Storage(name, plan, generated, tags, world, upgrade, opts=child)
    identity = Identity(name, storage, tags, registries="ecr" in plan.spec.registry_credentials, opts=child)
    machine_subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    edge_subnets = [network.subnet_ids[each.name] for each in plan.network.edge]
    api = Api(
        name,
        plan.endpoint,
        plan.control_plane.machines,
        network.vpc_id,
        {Group.API_INTERNAL: machine_subnets, Group.API_PUBLIC: edge_subnets},
        firewall.group_ids,
        generated.suffix,
        tags,
        network.gateway,
        opts=child,
    )
    site = Site(
        subnet_ids=machine_subnets,
        group_ids=firewall.group_ids,
        profiles=identity.profiles,
        images=images.ids,
        told=Told(
            storage.bundle_urls,
            _facts(plan, generated, storage, api, world, parent),
            {
                group: Output.all(status_url=status_url(storage.bundle_store, role))
                for group, role in identity.role_ids.items()
            },
        ),
        public=spec.network.egress is Egress.PUBLIC,
        routed_pods=spec.network.mode is NetworkMode.L2BRIDGE,
        tags=tags,
    )
    made = machines(
        plan,
        ways(site, [*network.routes, storage.members]),
        lambda group: Records(parent, network.vpc_id, storage.bundle_bucket, identity.role_ids[group]),
        generated.access(booted.api() or api.public_host.apply(plan.endpoint.for_people), plan.endpoint.host),
        upgrade,
        world,
        child,
    )
    if site.routed_pods:
        interfaces = {machine: each.primary_network_interface_id for machine, each in made.items()}
        PodRoutes(name, plan.network, network.table_ids, interfaces, opts=child)
    return Parts(api.public_host, storage.bundle_store, storage.snapshot_store)


def _facts(
    plan: ClusterPlan, generated: Generated, storage: Storage, api: Api, world: str, parent: pulumi.Resource
) -> Output[dict[str, str]]:
    """What machines are told, but status_url, which differs by role."""
    invoke = InvokeOptions(parent=parent)
    here = aws.get_region_output(opts=invoke)
    secrets = aws.get_service_output(service_id="secretsmanager", opts=invoke).dns_name
    return common(
        plan,
        generated.ca_hash,
        storage,
        api.public_host,
        world,
        region=here.region,
        secret_service=secrets.apply(lambda name: service_url("secret_service", name, world)),
        compute_service=here.endpoint.apply(lambda name: service_url("compute_service", name, world)),
        join_secret=storage.secret_names["join"],
        pki_secret=storage.secret_names["pki"],
        desired_state_secret=storage.secret_names["desired-state"],
    )
