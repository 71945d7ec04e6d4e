"""Refusals about Bastion hosts and their subnets, in the form of refusals.py."""

from tests.sandbox.scenes import Row

from .conftest import rule

BASTIONS: dict[str, Row] = {
    "Bastion in another subnet": (
        "bastion",
        {"ipConfigurations": [{"name": "b", "subnet": {"id": "$sub"}, "publicIPAddress": {"id": "$door"}}]},
        "InvalidBastionSubnet",
        "needs a subnet named AzureBastionSubnet",
    ),
    "tunnels of a basic Bastion": ("bastion", {"sku": {"name": "Basic"}}, "InvalidRequestFormat", "enableTunneling"),
    "second Bastion of a network": (
        "bastion",
        {"bastionHostName": "second", "ipConfigurations": [{"name": "b", "subnet": {"id": "$bastions"}}]},
        "BastionHostAlreadyExists",
        "has the Bastion host",
    ),
    "rules of any subnet on that of Bastion": (
        "bastions",
        {"networkSecurityGroup": {"id": "$nsg"}},
        "NetworkSecurityGroupNotCompliantForAzureBastionSubnet",
        "nsg does not have necessary rules",
    ),
    "rule with ranges that overlap": (
        "nsg",
        {"securityRules": [rule(sourceAddressPrefix=None, sourceAddressPrefixes=["10.1.0.0/16", "10.1.7.0/24"])]},
        "OverlappingSubnetsNotPermittedInSecurityRule",
        "10.1.0.0/16 and 10.1.7.0/24",
    ),
    "small subnet of Bastion": (
        "bastion",
        {"ipConfigurations": [{"name": "b", "subnet": {"id": "$few"}, "publicIPAddress": {"id": "$door"}}]},
        "InvalidBastionSubnet",
        "a prefix of /26 or larger",
    ),
}
