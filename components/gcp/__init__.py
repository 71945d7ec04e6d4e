"""A cluster on GCP: the planned parts, wired together. Decides nothing."""

import pulumi
import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output, ResourceOptions

from components import booted
from components.firewall import Group
from components.gcp.api import Addresses, Balancers, Name
from components.gcp.firewall import Firewall
from components.gcp.identity import Identity
from components.gcp.images import Images
from components.gcp.machines import Site, ways
from components.gcp.network import Network
from components.gcp.pod_routes import PodRoutes
from components.gcp.records import Records
from components.gcp.storage import COMPUTE_HOST, SECRETS_HOST, Storage
from components.generated import Generated
from components.machine_groups import machines
from components.parts import Parts
from components.plan import ClusterPlan
from components.spec.models import Egress, NetworkMode
from components.tags import Tags
from components.told import Told, common, status_url
from components.upgrade import Upgrade


def build(plan: ClusterPlan, generated: Generated, tags: Tags, world: str, parent: pulumi.Resource) -> Parts:
    """Registers every resource of the cluster under `parent`."""
    name, spec, child = plan.name, plan.spec, ResourceOptions(parent=parent)
    here = gcp.organizations.get_client_config_output(opts=InvokeOptions(parent=parent))
    images = Images(
        name,
        plan.operating_systems,
        spec.images,
        plan.network.zone_names,
        spec.rotation.images,
        here.region,
        opts=child,
    )
    network = Network(
        name, plan.network, images.zone_names, spec.network, here.region, protect=spec.protect, opts=child
    )
    upgrade = Upgrade(plan, generated.begins, simulated=booted.is_simulated(world))
    storage = Storage(name, plan, generated, tags, world, upgrade, here.region, opts=child)
    identity = Identity(name, storage, generated.suffix, here.project, opts=child)
    firewall = Firewall(name, network.network_id, identity.accounts, plan.rules, opts=child)
    subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    endpoint, members = plan.endpoint, plan.control_plane.machines
    named = Name(name, endpoint, members, network.network_id, tags, opts=child)
    addresses = Addresses(name, endpoint, subnets[0], here.region, tags, opts=child) if _balanced(plan) else None
    public_host = addresses.public_host if addresses else Output.from_input("")
    site = Site(
        cluster=name,
        zone_names=network.zone_names,
        subnet_ids=subnets,
        accounts=identity.accounts,
        images=images.ids,
        told=Told(
            storage.bundle_urls,
            _facts(plan, generated, storage, public_host, here.region, here.project, world),
            {
                group: Output.all(status_url=status_url(storage.bundle_store, group.value))
                for group in identity.accounts
            },
        ),
        public=spec.network.egress is Egress.PUBLIC,
        routed_pods=spec.network.mode is NetworkMode.L2BRIDGE,
        tags=tags,
    )
    workers = {
        str(machine.address): (f"{name}-{machine.name}", machine.zone)
        for pool in plan.pools
        for machine in pool.machines
    }
    made = machines(
        plan,
        ways(site, [*network.routes, *firewall.rules, *identity.granted, storage.members, named]),
        lambda group: Records(
            parent,
            storage.buckets["bundles"],
            group.value,
            workers if group is Group.WORKERS else {},
            network.zone_names,
        ),
        generated.access(booted.api() or public_host.apply(endpoint.for_people), endpoint.host),
        upgrade,
        world,
        child,
    )
    if addresses:
        behind = {machine: made[machine] for machine in members}
        where = (network.zone_names, network.network_id, subnets[0], here.region)
        Balancers(name, endpoint, addresses.by_scheme, behind, *where, tags, opts=child)
    if site.routed_pods:
        PodRoutes(name, network.network_id, made, opts=child)
    return Parts(public_host, storage.bundle_store, storage.snapshot_store)


def _balanced(plan: ClusterPlan) -> bool:
    return plan.endpoint.balanced or plan.endpoint.public


def _facts(
    plan: ClusterPlan,
    generated: Generated,
    storage: Storage,
    public_host: Output[str],
    region: Output[str],
    project: Output[str],
    world: str,
) -> Output[dict[str, str]]:
    """What machines are told, but status_url, which differs by role."""
    return common(
        plan,
        generated.ca_hash,
        storage,
        public_host,
        world,
        region=region,
        secret_service=storage.url("secret_service", f"{SECRETS_HOST}/v1/projects/", world, project),
        compute_service=storage.url("compute_service", f"{COMPUTE_HOST}/compute/v1/projects/", world, project),
        join_secret=storage.secret_names["join"],
        pki_secret=storage.secret_names["pki"],
        desired_state_secret=storage.secret_names["desired-state"],
    )
