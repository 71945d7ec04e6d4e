"""A cluster on Azure: the planned parts, wired together. Decides nothing."""

import pulumi
from pulumi import InvokeOptions, Output, ResourceOptions
from pulumi_azure_native import authorization

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
from components.azure.vault import Vault
from components.blueprint import Blueprint
from components.firewall import NODES, Group
from components.machine_groups import machines
from components.parts import Parts
from components.stores import SECRETS
from components.told import told


def build(given: Blueprint, parent: pulumi.Resource) -> Parts:
    """Registers every resource of the cluster under `parent`."""
    plan, tags, child = given.plan, given.tags, ResourceOptions(parent=parent)
    name, spec, endpoint = plan.name, plan.spec, plan.endpoint
    here = authorization.get_client_config_output(opts=InvokeOptions(parent=parent))
    place = ResourceGroup(name, tags, protect=spec.protect, opts=child).place
    zones = Output.from_input(list(plan.network.zone_names or ZONES))
    network = Network(name, plan.network, zones, spec.network, place, tags, protect=spec.protect, opts=child)
    subnets = [network.subnet_ids[each.name] for each in plan.network.machines]
    storage = Storage(given, subnets, place, opts=child)
    vault = Vault(given, here.tenant_id, subnets, place, opts=child)
    suffix = given.generated.suffix
    identity = Identity(name, storage, vault, suffix, here.subscription_id, place, tags, opts=child)
    firewall = Firewall(name, plan.rules, place, tags, opts=child)
    named = Name(name, endpoint, plan.api_addresses, network.network_id, place, tags, opts=child)
    balancers = None
    if endpoint.has_balancers:
        balancers = Balancers(name, endpoint, subnets[0], network.zone_names, place, tags, opts=child)
    public_host = balancers.public_host if balancers else Output.from_input("")
    services = {
        "region": place.location,
        "secret_service": vault.url,
        "compute_service": storage.compute_service,
    }
    roles, secrets = {group: group.value for group in NODES}, {secret: secret for secret in SECRETS.values()}
    site = Site(
        given=given,
        place=place,
        zone_names=network.zone_names,
        subnet_ids=subnets,
        rules_ids=firewall.rules_ids,
        member_ids=firewall.member_ids,
        pool_ids=balancers.pool_ids if balancers else [],
        identities=identity.ids,
        access=Access(name, opts=child),
        told=told(given, storage, public_host, roles, secrets, services, identity.client_ids),
    )
    machines(
        given,
        ways(site, [*network.routes, *identity.granted, storage.members, named]),
        lambda group: Records(
            parent=parent,
            role=group.value,
            planned=plan.workers if group is Group.WORKERS else (),
            container=storage.containers["bundles"],
        ),
        public_host,
        child,
    )
    if network.table is not None:
        PodRoutes(name, network.table, plan.machines, place, opts=child)
    return Parts(public_host, storage.bundle_store, storage.snapshot_store)
