"""A cluster on Azure: registers the planned resources. Decides nothing."""

from dataclasses import replace

import pulumi
from pulumi import Input, InvokeOptions, Output, ResourceOptions
from pulumi_azure_native import authorization

from components.azure.api import Balancers, Name
from components.azure.endpoints import Endpoints
from components.azure.existing import ExistingVnet
from components.azure.firewall import Firewall
from components.azure.identity import Identity
from components.azure.ingress import Ingress
from components.azure.machines import AdministratorLogin, MachineInputs, cloud_machines
from components.azure.network import Network
from components.azure.own_key import own_key
from components.azure.place import Place, ResourceGroup
from components.azure.pod_identity import PodIdentity
from components.azure.records import Records
from components.azure.storage import Storage, bundle_container
from components.azure.vault import Vault, VaultInputs
from components.naming import CONTROL_PLANE
from components.wiring.context import ClusterContext
from components.wiring.launch_data import ServiceAccess, launch_data
from components.wiring.machine_groups import machines
from components.wiring.published_documents import Members
from components.wiring.result import CloudOutputs
from components.wiring.stores import SECRETS


def build(context: ClusterContext, parent: pulumi.Resource) -> CloudOutputs:
    """Register every resource of the cluster under `parent`."""
    plan, child = context.plan, ResourceOptions(parent=parent)
    client = authorization.get_client_config_output(opts=InvokeOptions(parent=parent))
    place = ResourceGroup(context, opts=child).place
    firewall = Firewall(context, place, opts=child)
    network = (
        ExistingVnet(context, client.subscription_id, opts=child)
        if plan.network.existing
        else Network(context, place, firewall, opts=child)
    )
    identity = Identity(context, place, client.subscription_id, opts=child)
    pods = _pod_identity(context, place, child)
    kept = VaultInputs(client.tenant_id, list(identity.definitions.values()), pods.issuer if pods else None)
    vault = Vault(context, place, network, kept, opts=child)
    storage = Storage(context, place, network, vault, opts=child)
    identity.grant(storage, vault)
    if network.bastion:
        network.bastion.add_host(network.routes)
    endpoints = Endpoints(context, place, network, storage, vault, opts=child).ways if plan.private_endpoints else []
    api_name = Name(context, place, network, opts=child)
    balancers = Balancers(context, place, network, opts=child) if plan.endpoint.has_balancers else None
    public_host = balancers.public_host if balancers else Output.from_input("")
    roles, secrets = {name: name for name in identity.ids}, {secret: secret for secret in SECRETS.values()}
    storage.publish_members(context, Members(roles, place.location, network.zone_names))
    services: dict[str, Input[str]] = {
        "region": place.location,
        "secret_service": vault.url,
        "compute_service": storage.compute_service,
    }
    if plan.private_endpoints:
        services["compute_way"] = "proxy"  # no private endpoint leads to Resource Manager
    if identity.puller:
        services |= {"registry_identity": identity.puller.client_id, "tenant": client.tenant_id}
    access = ServiceAccess(roles, secrets, services, identity.client_ids)
    launch = launch_data(context, storage, access)
    ingress = Ingress(context, place, network, opts=child) if plan.load_balancers else None
    pool_ids = {CONTROL_PLANE: balancers.pool_ids if balancers else [], **(ingress.pool_ids if ingress else {})}
    login = AdministratorLogin(context, opts=child)
    key = own_key(plan.spec)
    disks = key.disk_encryption_set(f"{plan.name}-disks", place, parent) if key else None
    inputs = MachineInputs(context, place, network, firewall, identity, login, pool_ids, disks)
    machines(
        context,
        cloud_machines(inputs, launch, [*network.routes, *endpoints, storage.members, api_name]),
        Records(parent=parent, planned=plan.machines, container=bundle_container(context, place)),
        public_host,
        child,
    )
    outputs = CloudOutputs(
        public_host,
        storage.bundle_store,
        storage.snapshot_store,
        ingress.hosts if ingress else {},
        gmsa_identity=identity.gmsa.principal_id if identity.gmsa else None,
    )
    return _with_pods(outputs, pods, client.tenant_id) if pods else outputs


def _pod_identity(context: ClusterContext, place: Place, child: ResourceOptions) -> PodIdentity | None:
    """Register the identities of pods, if the cluster has them."""
    wanted = context.plan.spec.pod_identity
    return PodIdentity(context, place, wanted, opts=child) if wanted else None


def _with_pods(outputs: CloudOutputs, pods: PodIdentity, tenant: Output[str]) -> CloudOutputs:
    """Return the outputs with those of the identities of pods."""
    return replace(
        outputs,
        issuer=pods.url,
        pod_roles={key: each.client for key, each in pods.identities.items()},
        pod_principals={key: each.principal for key, each in pods.identities.items()},
        pod_tenant=tenant,
    )
