"""What Azure asks of the network security group of a Bastion host's subnet."""

from typing import Any

from sandbox.azure.names import RULES
from sandbox.cloud import Refusal, Request

NAME = "AzureBastionSubnet"
"""Name of the subnet of a Bastion host."""
_RULES = (
    ("Inbound", "443", None),
    ("Inbound", "443", "GatewayManager"),
    ("Outbound", "22", "VirtualNetwork"),
    ("Outbound", "3389", "VirtualNetwork"),
    ("Outbound", "443", "AzureCloud"),
)
"""Direction, port, service tag of rules without which Azure takes no group on the subnet ("Configure NSG rules for
Azure Bastion"; MicrosoftDocs/azure-docs#80806: default rules do not count). Service tag None: any source."""


def compliant(request: Request) -> None:
    """Refuse a group on AzureBastionSubnet that lacks a rule Bastion needs. A rule of subnets."""
    group = request.cloud_state.find(RULES.token, (request.inputs.get("networkSecurityGroup") or {}).get("id") or "")
    if request.inputs["subnetName"] != NAME or group is None:
        return
    given = [rule for rule in group.inputs.get("securityRules") or [] if rule["access"] == "Allow"]
    for direction, port, tag in _RULES:
        side = "source" if direction == "Inbound" else "destination"
        if not any(_covers(rule, direction, port, tag, side) for rule in given):
            raise Refusal(
                "NetworkSecurityGroupNotCompliantForAzureBastionSubnet",
                f"Network security group {group.inputs['networkSecurityGroupName']} does not have necessary rules for"
                f" Azure Bastion Subnet {NAME}.",
            )


def _covers(rule: dict[str, Any], direction: str, port: str, tag: str | None, side: str) -> bool:
    ports = [rule.get("destinationPortRange"), *(rule.get("destinationPortRanges") or [])]
    return (
        rule["direction"] == direction
        and (port in ports or "*" in ports)
        and rule["protocol"] in ("*", "Tcp")
        and (tag is None or rule.get(f"{side}AddressPrefix") == tag)
    )
