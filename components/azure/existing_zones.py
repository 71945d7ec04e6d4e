"""Private zones of the user by which machines without a way to the internet find stores and vault: looked up.

The stack file names the zones' links to the network, because no function of the provider lists the zones of a network.
"""

from components.topology.private_endpoints import azure_zones
from components.topology.service_zones import azure_commands
from components.wiring.existing_network import Lookups

_SUBSCRIPTION, _GROUP, _ZONE, _LINK = 2, 4, 8, 10
"""Indexes in a link's id split at "/" (topology/service_zones.py, FORMS)."""


async def look_for_zones(lookups: Lookups, subscription: str) -> None:
    """Add a problem for each link that does not lead to the network. subscription: id of the cluster's.

    Links in another subscription are not looked up. Whether a link of each zone is named, the checks show.
    """
    for index, link in enumerate(lookups.existing.service_zones):
        parts, path = link.split("/"), f"service_zones.{index}"
        if parts[_SUBSCRIPTION].lower() != subscription.lower():
            lookups.warn(
                f"network.existing.{path} is in subscription {parts[_SUBSCRIPTION]}, where it is not looked up"
            )
        elif parts[_ZONE].lower() in azure_zones(lookups.spec):
            await _link(lookups, path, parts)


async def _link(lookups: Lookups, path: str, parts: list[str]) -> None:
    group, zone, name, own = parts[_GROUP], parts[_ZONE], parts[_LINK], lookups.existing.network
    what, token = f"link {name} of {zone}", "azure-native:privatedns:getVirtualNetworkLink"
    asked = {"resourceGroupName": group, "privateZoneName": zone, "virtualNetworkLinkName": name}
    create = f"let its owner run: {azure_commands(zone, own, group)}; and write the link's id"
    found = await lookups.find(path, what, token, asked, create)
    if not found:
        return
    leads: dict[str, str] = found.get("virtualNetwork") or {}
    if leads.get("id", "").lower() != own.lower():
        lookups.wrong(path, f"{what} leads to {leads.get('id') or 'no network'}, not to {own}", create)
    elif (state := found.get("virtualNetworkLinkState")) != "Completed":
        wait = f"wait for it: az network private-dns link vnet wait -g {group} -z {zone} -n {name} --created"
        lookups.wrong(path, f"{what} is not complete: {state}", wait)
