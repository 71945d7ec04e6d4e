"""A cluster on Azure: the planned parts, wired together. Decides nothing."""

import pulumi
from pulumi import InvokeOptions, Output, ResourceOptions
from pulumi_azure_native import authorization

from components import booted
from components.azure.access import Access
from components.azure.api import Balancers, Name
from components.azure.firewall import Firewall
from components.azure.identity import Identity
from components.azure.images import ZONES
from components.azure.machines import Site, ways
from components.azure.network import Network
from components.azure.place import ResourceGroup
from components.azure.pod_routes import PodRoutes
from components.azure.records import Records
from components.azure.storage import Storage
from components.azure.vault import NAMES, Vault
from components.firewall import Group
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
    here = authorization.get_client_config_output(opts=InvokeOptions(parent=parent))
    place = ResourceGroup(name, tags, protect=spec.protect, opts=child).place
    zones = Output.from_input(list(plan.network.zone_names or ZONES))
    network = Network(name, plan.network, zones, spec.network, place, tags, protect=spec.protect, opts=child)
    subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    upgrade = Upgrade(plan, generated.begins, simulated=booted.is_simulated(world))
    storage = Storage(name, plan, generated, tags, world, upgrade, subnets, place, opts=child)
    vault = Vault(name, generated, tags, world, here.tenant_id, subnets, place, protect=spec.protect, opts=child)
    identity = Identity(name, storage, vault, generated.suffix, here.subscription_id, place, tags, opts=child)
    firewall = Firewall(name, plan.rules, place, tags, opts=child)
    endpoint, members = plan.endpoint, plan.control_plane.machines
    named = Name(name, endpoint, members, network.network_id, place, tags, opts=child)
    balancers = None
    if endpoint.balanced or endpoint.public:
        balancers = Balancers(name, endpoint, subnets[0], network.zone_names, place, tags, opts=child)
    public_host = balancers.public_host if balancers else Output.from_input("")
    site = Site(
        cluster=name,
        place=place,
        zone_names=network.zone_names,
        subnet_ids=subnets,
        rules_ids=firewall.rules_ids,
        member_ids=firewall.member_ids,
        pool_ids=balancers.pool_ids if balancers else [],
        identities=identity.ids,
        images=spec.images,
        access=Access(name, opts=child),
        told=Told(
            storage.bundle_urls,
            common(
                plan,
                generated.ca_hash,
                storage,
                public_host,
                world,
                region=place.location,
                secret_service=vault.url,
                compute_service=storage.compute_service,
                **NAMES,
            ),
            {
                group: Output.all(status_url=status_url(storage.bundle_store, group.value), identity=client_id)
                for group, client_id in identity.client_ids.items()
            },
        ),
        public=spec.network.egress is Egress.PUBLIC,
        routed_pods=spec.network.mode is NetworkMode.L2BRIDGE,
        tags=tags,
    )
    workers = {str(machine.address): machine.name for pool in plan.pools for machine in pool.machines}
    machines(
        plan,
        ways(site, [*network.routes, *identity.granted, storage.members, named]),
        lambda group: Records(
            parent, storage.containers["bundles"], group.value, workers if group is Group.WORKERS else {}
        ),
        generated.access(booted.api() or public_host.apply(endpoint.for_people), endpoint.host),
        upgrade,
        world,
        child,
    )
    if network.table is not None:
        PodRoutes(name, network.table, plan.machines, place, opts=child)
    return Parts(public_host, storage.bundle_store, storage.snapshot_store)
