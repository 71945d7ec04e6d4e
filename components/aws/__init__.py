"""A cluster on AWS: the planned parts, wired together. Decides nothing."""

from dataclasses import dataclass
from itertools import chain

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output, ResourceOptions

from components.aws.api import Api
from components.aws.control_plane import ControlPlane
from components.aws.firewall import Firewall
from components.aws.identity import Identity
from components.aws.images import Images
from components.aws.machines import Site
from components.aws.network import Network
from components.aws.pod_routes import PodRoutes
from components.aws.records import ControlPlaneRecords, Records
from components.aws.storage import Storage
from components.aws.urls import SANDBOX, service_url
from components.aws.workers import Workers
from components.firewall import Group
from components.generated import Generated
from components.plan import ClusterPlan
from components.rollout import Rollout
from components.spec.models import Egress, NetworkMode
from components.tags import Tags
from components.upgrade import Upgrade


@dataclass(frozen=True)
class Parts:
    """What the facade needs of a cloud."""

    public_host: Output[str]
    bundle_store: Output[str]
    snapshot_store: Output[str]


def build(plan: ClusterPlan, generated: Generated, tags: Tags, world: str, parent: pulumi.Resource) -> Parts:
    """Registers every resource of the cluster under `parent`."""
    name, spec, child = plan.name, plan.spec, ResourceOptions(parent=parent)
    images = Images(
        name, plan.operating_systems, spec.images, plan.network.zone_names, spec.rotation.images, opts=child
    )
    network = Network(name, plan.network, images.zone_names, spec.network, tags, protect=spec.protect, opts=child)
    firewall = Firewall(name, network.vpc_id, plan.groups, plan.rules, tags, opts=child)
    upgrade = Upgrade(plan, generated.begins, simulated=world == SANDBOX)
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
        bundle_urls=storage.bundle_urls,
        facts=_facts(plan, generated, storage, api, world, parent),
        status_urls={group: _status_url(storage, role) for group, role in identity.role_ids.items()},
        public=spec.network.egress is Egress.PUBLIC,
        routed_pods=spec.network.mode is NetworkMode.L2BRIDGE,
        routes=[*network.routes, storage.members],
    )
    records = Records(parent, network.vpc_id, storage.bundle_bucket, identity.role_ids[Group.WORKERS])
    access = generated.access(api.public_host.apply(plan.endpoint.for_people), plan.endpoint.host)
    rollout = Rollout(plan, records, access, simulated=world == SANDBOX)
    control_plane = ControlPlane(name, plan.control_plane, site, tags, protect=spec.protect, opts=child)
    said = Records(parent, network.vpc_id, storage.bundle_bucket, identity.role_ids[Group.CONTROL_PLANE])
    upgrade.source = ControlPlaneRecords(said, control_plane.instance_ids)
    pools = [Workers(name, pool, site, tags, rollout, upgrade, opts=child) for pool in plan.pools]
    interfaces = chain(control_plane.interface_ids, *(each.interface_ids for each in pools))
    if site.routed_pods:
        PodRoutes(name, plan.network, network.table_ids, dict(zip(plan.machines, interfaces, strict=True)), opts=child)
    return Parts(api.public_host, storage.bundle_store, storage.snapshot_store)


def _status_url(storage: Storage, role_id: Output[str]) -> Output[str]:
    """Where machines with this role put their status records, up to the instance's id; %3A is a colon."""
    return Output.concat(storage.bundle_store, "/status/", role_id, "%3A")


def _facts(
    plan: ClusterPlan, generated: Generated, storage: Storage, api: Api, world: str, parent: pulumi.Resource
) -> Output[dict[str, str]]:
    """Every fact of components/facts.py but status_url, which differs by role."""
    invoke = InvokeOptions(parent=parent)
    here = aws.get_region_output(opts=invoke)
    secrets = aws.get_service_output(service_id="secretsmanager", opts=invoke).dns_name
    return Output.all(
        world=world,
        cloud=plan.spec.cloud.value,
        region=here.region,
        cluster=plan.name,
        api_host=plan.endpoint.host,
        api_url=plan.endpoint.url,
        api_public_host=api.public_host,
        ca_hash=generated.ca_hash,
        ca_url=storage.ca_url,
        bundle_store=storage.bundle_store,
        snapshot_store=storage.snapshot_store,
        secret_service=secrets.apply(lambda name: service_url("secret_service", name, world)),
        compute_service=here.endpoint.apply(lambda name: service_url("compute_service", name, world)),
        join_secret=storage.secret_names["join"],
        pki_secret=storage.secret_names["pki"],
        desired_state_secret=storage.secret_names["desired-state"],
    )
