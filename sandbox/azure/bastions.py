"""Azure Bastion hosts, and what Azure asks of their subnet."""

import ipaddress
from typing import Any

from sandbox.azure.bastion_rules import NAME
from sandbox.azure.interfaces import claims, completed
from sandbox.azure.names import ADDRESS, BASTION, SUBNET, points_to, row
from sandbox.azure.networks import prefix
from sandbox.cloud import Refusal, Request, ResourceType

LARGEST_PREFIX = 26
SKUS = ("Basic", "Developer", "Premium", "Standard")
SCALE_UNITS = (2, 50)


def _configurations(request: Request) -> list[dict[str, Any]]:
    return request.inputs.get("ipConfigurations") or []


def _place(request: Request) -> None:
    """Refuse a subnet of another name or of less than a /26 ("About Bastion configuration settings"; codes: ours)."""
    for configuration in _configurations(request):
        subnet = request.cloud_state.find(SUBNET.token, (configuration.get("subnet") or {}).get("id") or "")
        if subnet is None:
            continue
        if subnet.inputs["subnetName"] != NAME:
            raise Refusal("InvalidBastionSubnet", f"A Bastion host needs a subnet named {NAME}, not {subnet.id}.")
        if ipaddress.IPv4Network(prefix(subnet.inputs)).prefixlen > LARGEST_PREFIX:
            raise Refusal("InvalidBastionSubnet", f"{subnet.id} must have a prefix of /{LARGEST_PREFIX} or larger.")


def _features(request: Request) -> None:
    sku = (request.inputs.get("sku") or {}).get("name", "Basic")
    if sku not in SKUS:
        raise Refusal("InvalidRequestFormat", f"Bastion has no SKU {sku}; SKUs: {', '.join(SKUS)}.")
    if request.inputs.get("enableTunneling") and sku not in ("Standard", "Premium"):
        raise Refusal("InvalidRequestFormat", f"enableTunneling needs the SKU Standard or Premium, not {sku}.")


def _only_one(request: Request) -> None:
    """Refuse a second host of a virtual network: its subnet holds one (Bastion FAQ; code: ours)."""
    own = {(each.get("subnet") or {}).get("id") for each in _configurations(request)}
    for other in request.cloud_state.resources(BASTION.token):
        theirs = {(each.get("subnet") or {}).get("id") for each in other.inputs.get("ipConfigurations") or []}
        if other.sequence != request.sequence and own & theirs:
            raise Refusal("BastionHostAlreadyExists", f"The virtual network has the Bastion host {other.id}.")


TYPES: dict[str, ResourceType] = {
    BASTION.token: row(
        BASTION,
        outputs={
            "provisioningState": "Succeeded",
            "type": BASTION.arm,
            "dnsName": "bst-{hex:8}-0000-4000-8000-{hex:12}.bastion.azure.com",
        },
        derive=lambda request: {"ipConfigurations": completed(request, "ipConfigurations", request.old)},
        completed=("ipConfigurations",),
        immutable=("ipConfigurations",),
        references=(
            points_to(SUBNET, "ipConfigurations[].subnet.id"),
            points_to(ADDRESS, "ipConfigurations[].publicIPAddress.id"),
        ),
        claims=lambda request: claims(request, "ipConfigurations"),
        ranges={"scaleUnits": SCALE_UNITS},
        rules=(_place, _features, _only_one),
    ),
}
