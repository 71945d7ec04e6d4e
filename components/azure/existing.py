"""An existing virtual network: looked up, never changed."""

import asyncio
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import _utilities

from components.azure.existing_zones import look_for_zones
from components.azure.images import ZONES
from components.azure.network import SERVICES, UsableNetwork
from components.spec.models import ApiAccess, Egress
from components.topology.firewall import load_balanced
from components.topology.private_endpoints import azure_zones
from components.topology.service_zones import azure_zone_ids
from components.wiring.context import ClusterContext
from components.wiring.existing_network import Lookups, listed, looked_up
from components.wiring.fixed_layout import fixed_layout

_SUBSCRIPTION, _GROUP, _NAME, _SUBNET = 2, 4, 8, 10
"""Indexes in an id split at "/": /subscriptions/ID/resourceGroups/GROUP/providers/.../virtualNetworks/NAME/subnets/NAME
"""

TUNNELLING = ("Standard", "Premium")
"""SKUs of Bastion with the native client ("About Bastion configuration settings")."""

_GLOBAL = {"Microsoft.Storage.Global": "Microsoft.Storage"}
"""Service endpoint of all regions -> the one of the subnet's region, which it includes ("Azure virtual network service
endpoints")."""


class ExistingVnet(UsableNetwork):
    """The user's virtual network and subnets, also of another resource group."""

    def __init__(self, context: ClusterContext, subscription: Output[str], opts: ResourceOptions | None = None) -> None:
        """Raises RunError if the network does not fit, or the layout changed. subscription: id of the cluster's."""
        name, plan = context.plan.name, context.plan.network
        super().__init__("mullion:azure:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        lookups = Lookups(self, _utilities.get_version(), context.plan.spec)
        existing = lookups.existing

        async def zones() -> list[str]:
            location = pulumi.Config("azure-native").get("location") or ""
            return await look(lookups, await subscription.future() or "", location, list(plan.zone_names or ZONES))

        self.zone_names, _ = fixed_layout(context.plan, looked_up(lookups, zones), self)
        self.balanced_zones = self.zone_names if plan.zones == 1 else Output.from_input(list(ZONES))
        self.network_id = self.zone_names.apply(lambda _: existing.network)
        ids = [self.zone_names.apply(lambda _, id_=subnet.id: id_) for subnet in existing.subnets]
        closed = context.plan.spec.network.egress is Egress.NONE
        self.admitted_subnets, self.endpoint_subnet = ([], ids[0]) if closed else (ids, None)
        self.subnet_ids = ids if len(ids) == plan.zones else ids * plan.zones
        self.service_zones = {
            zone: self.zone_names.apply(lambda _, id_=id_: id_)
            for zone, id_ in azure_zone_ids(existing.service_zones).items()
        }
        self.routes, self.bastion = list[pulumi.Resource](), None
        self.register_outputs({"network_id": self.network_id, "subnet_ids": ids})


async def look(lookups: Lookups, subscription: str, location: str, zones: list[str]) -> list[str]:
    """Return the zones; add problems to the lookups. subscription, location: the cluster's; "" is unknown."""
    parts = lookups.existing.network.split("/")
    if subscription.lower() != parts[_SUBSCRIPTION].lower():
        # Virtual Network documentation, "Create, change, or delete a network interface": "The virtual network you
        # select must be in the same subscription as the network interface"
        lookups.wrong(
            "network",
            f"it is in subscription {parts[_SUBSCRIPTION]}, and Azure attaches machines of {subscription} to"
            " networks of their own subscription only",
            "build the cluster in the subscription of the network",
        )
        return zones
    arguments = {"resourceGroupName": parts[_GROUP], "virtualNetworkName": parts[_NAME]}
    token = "azure-native:network:getVirtualNetwork"  # noqa: S105
    network = await lookups.find("network", parts[_NAME], token, arguments)
    if not network:
        return zones
    space: dict[str, list[str]] = network.get("addressSpace") or {}
    lookups.refuse_overlaps(space.get("addressPrefixes") or [])
    if location and _plain(location) != _plain(network["location"]):
        wrong = f"it is in {network['location']}, and machines in {location} need a network of their region"
        lookups.wrong("network", wrong, f"write azure-native:location: {network['location']}")
    options: dict[str, list[str]] = network.get("dhcpOptions") or {}
    private = azure_zones(lookups.spec)
    if servers := options.get("dnsServers"):
        lookups.warn(
            f"network.existing.network has name servers of its own ({', '.join(servers)}): machines find the API"
            f" only if these forward names of {', '.join(('mullion.internal', *private))} to 168.63.129.16"
        )
    await _bastion(lookups, subscription)
    if lookups.spec.network.egress is Egress.NONE:
        await look_for_zones(lookups, subscription)
    count = len(lookups.existing.subnets)
    await asyncio.gather(*(_subnet(lookups, index, arguments) for index in range(count)))
    return zones


async def _subnet(lookups: Lookups, index: int, network: dict[str, str]) -> None:
    name, path = lookups.existing.subnets[index].id.split("/")[_SUBNET], f"subnets.{index}.id"
    arguments = {**network, "subnetName": name}
    subnet = await lookups.find(path, f"subnet {name}", "azure-native:network:getSubnet", arguments)
    if not subnet:
        return
    ranges: list[str] = [subnet.get("addressPrefix") or "", *(subnet.get("addressPrefixes") or [])]
    lookups.compare_range(index, next((each for each in ranges if each and ":" not in each), ""))
    if lookups.spec.network.egress is Egress.NONE:
        _no_way_out(lookups, path, arguments, subnet)
    else:
        _service_endpoints(lookups, path, arguments, subnet)
    if delegated := [each.get("serviceName", "a service") for each in listed(subnet, "delegations")]:
        reason = f"{name} is delegated to {', '.join(delegated)}, and takes no machines"
        lookups.wrong(path, reason, "write the id of a subnet without delegation")
    if lookups.spec.network.egress is Egress.NAT and not (subnet.get("natGateway") or subnet.get("routeTable")):
        _warn_of_no_way_out(lookups, f"network.existing.{path}: {name}", subnet.get("defaultOutboundAccess"))


def _update(arguments: dict[str, str]) -> str:
    """Return the command that changes a subnet. arguments: of its look-up."""
    group, network = arguments["resourceGroupName"], arguments["virtualNetworkName"]
    return f"az network vnet subnet update -g {group} --vnet-name {network} -n {arguments['subnetName']}"


def _service_endpoints(lookups: Lookups, path: str, arguments: dict[str, str], subnet: dict[str, Any]) -> None:
    """Add a problem if a subnet lacks a service endpoint."""
    present = [str(each["service"]) for each in listed(subnet, "serviceEndpoints")]
    missing = set(SERVICES) - {_GLOBAL.get(service, service) for service in present}
    if missing:
        # the command replaces the list
        services = " ".join((*present, *sorted(missing)))
        needed = f"{', '.join(sorted(missing))}: the stores refuse its machines"
        reason = f"{arguments['subnetName']} has no service endpoint for {needed}"
        lookups.wrong(path, reason, f"let its owner run: {_update(arguments)} --service-endpoints {services}")


def _no_way_out(lookups: Lookups, path: str, arguments: dict[str, str], subnet: dict[str, Any]) -> None:
    """Add a problem if a subnet has a NAT gateway, or the outbound access that Azure gives subnets by default.

    Source: "Default outbound access in Azure". A route table replaces that access; its routes are not looked up.
    """
    name, none = arguments["subnetName"], "and egress: none says that there is no way out"
    if subnet.get("natGateway"):
        fix = f"write egress: nat, or let its owner run: {_update(arguments)} --remove natGateway"
        lookups.wrong(path, f"{name} has a NAT gateway, {none}", fix)
    elif subnet.get("defaultOutboundAccess") is not False and not subnet.get("routeTable"):
        fix = f"let its owner run: {_update(arguments)} --default-outbound-access false"
        lookups.wrong(path, f"{name} has Azure's default outbound access, {none}", fix)


async def _bastion(lookups: Lookups, subscription: str) -> None:
    """Look up the Bastion host: SKU, native client, range of its subnet.

    A host in another subscription is not looked up.
    """
    bastion = lookups.existing.bastion
    if bastion is None:
        return
    parts = bastion.id.split("/")
    if subscription.lower() != parts[_SUBSCRIPTION].lower():
        lookups.warn(f"network.existing.bastion is in subscription {parts[_SUBSCRIPTION]}, where it is not looked up")
        return
    arguments = {"resourceGroupName": parts[_GROUP], "bastionHostName": parts[_NAME]}
    host = await lookups.find("bastion.id", parts[_NAME], "azure-native:network:getBastionHost", arguments)
    if not host:
        return
    tier: dict[str, str] = host.get("sku") or {}
    sku = tier.get("name")
    if sku not in TUNNELLING or not host.get("enableTunneling"):
        reason = f"{parts[_NAME]} has the SKU {sku}, and its native client is {_switch(host.get('enableTunneling'))}"
        command = f"az network bastion update -g {parts[_GROUP]} -n {parts[_NAME]} --sku Standard --enable-tunneling"
        lookups.wrong("bastion.id", reason, f"let its owner run: {command}")
    for configuration in listed(host, "ipConfigurations"):
        inside: dict[str, str] = configuration.get("subnet") or {}
        place = inside.get("id", "").split("/")
        if len(place) <= _SUBNET:
            continue
        where = {"resourceGroupName": place[_GROUP], "virtualNetworkName": place[_NAME], "subnetName": place[_SUBNET]}
        subnet = await lookups.optional("azure-native:network:getSubnet", where) or {}
        found = subnet.get("addressPrefix") or next(iter(subnet.get("addressPrefixes") or []), "")
        if found and found != str(bastion.range):
            reason = f"the subnet of {parts[_NAME]} has the range {found}, not {bastion.range}"
            lookups.wrong("bastion.range", reason, f"write range: {found}")


def _switch(on: bool | None) -> str:
    return "on" if on else "off"


def _warn_of_no_way_out(lookups: Lookups, subnet: str, default: bool | None) -> None:
    """Warn of a subnet without NAT and routes: BGP or Virtual WAN may bring a default route, which no lookup shows.

    default: whether the subnet has default outbound access; None if Azure decides. "Default outbound access in Azure":
    machines behind an internal Standard load balancer have none. Mullion's public one gives none either.
    """
    spec = lookups.spec
    if default is False:
        why = "and no default outbound access"
    elif load_balanced(spec) or spec.api.access is ApiAccess.PUBLIC:
        why = "and Azure gives machines behind a Standard load balancer, as control planes are, no outbound access"
    elif pools := sorted({pool for each in spec.ingress.load_balancers.values() for pool in each.pools}):
        why = f"and Azure gives machines behind a Standard load balancer, as pools {', '.join(pools)} of ingress are,"
        why += " no outbound access"
    else:
        return
    lookups.warn(
        f"{subnet} has no NAT gateway, no route table {why}. Machines do not boot, unless a gateway (BGP) or Virtual"
        " WAN brings a route to the internet; otherwise attach a NAT gateway, or a route table that leads to a firewall"
    )


def _plain(location: str) -> str:
    """Return a location's name as ids have it: West Europe is westeurope."""
    return location.replace(" ", "").lower()
