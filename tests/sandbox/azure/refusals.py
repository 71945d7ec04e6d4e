"""Refusals of the real Azure to inputs of our program or a user's spec: scene or type, changes, error code, words.

None removes a property of the scene; `$name` is the id of a resource that the scene created (conftest.py).
"""

from typing import Any

from tests.sandbox.scenes import Row

from .conftest import FRONT, GROUP, KEY, NET, UBUNTU, WINDOWS, configuration, profile, rule
from .refusals_of_bastion import BASTIONS
from .refusals_of_disks import DISKS
from .refusals_of_endpoints import ENDPOINTS, NAMED
from .refusals_of_routes import ROUTES
from .refusals_of_spot import SPOT
from .refusals_of_stores import STORES


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    return {"securityRules": list(given)}


def image(reference: dict[str, str], size: int = 64, **more: str) -> dict[str, Any]:
    return {"storageProfile": {"imageReference": reference | more, "osDisk": {"createOption": "a", "diskSizeGB": size}}}


def front(**more: Any) -> dict[str, Any]:
    plain = {"name": "api", "subnet": {"id": "$sub"}, "privateIPAllocationMethod": "Static"}
    return {"frontendIPConfigurations": [plain | more]}


BALANCED = {"name": "api", "protocol": "Tcp", "frontendPort": 1, "frontendIPConfiguration": {"id": FRONT}}
FORWARDED = {
    **BALANCED,
    "backendPort": 80,
    "backendAddressPool": {"id": f"{NET}/loadBalancers/lb/backendAddressPools/nodes"},
}
NETWORKS: dict[str, Row] = {
    "no such group": ("net", {"resourceGroupName": "no"}, "ResourceGroupNotFound", "could not be found"),
    "network without a range": ("net", {"addressSpace": {"addressPrefixes": []}}, "InvalidRequestFormat", "prefix"),
    "host bits": (
        "net",
        {"addressSpace": {"addressPrefixes": ["10.0.0.1/16"]}},
        "InvalidCIDRNotation",
        "the address prefix should be 10.0.0.0/16",
    ),
    "no range at all": (
        "net",
        {"addressSpace": {"addressPrefixes": ["ten"]}},
        "InvalidAddressPrefixFormat",
        "not formatted correctly",
    ),
    "subnet outside": ("sub", {"addressPrefix": "10.21.0.0/24"}, "NetcfgSubnetRangeOutsideVnet", "is outside"),
    "subnet of two addresses": ("sub", {"addressPrefix": "10.20.0.0/31"}, "NetcfgInvalidSubnet", "is not valid"),
    "subnet of no network": ("sub", {"virtualNetworkName": "no"}, "ParentResourceNotFound", "virtualNetworks/no"),
    "subnet with no such table": (
        "sub",
        {"routeTable": {"id": f"{NET}/routeTables/no"}},
        "InvalidResourceReference",
        "routeTables/no referenced by routeTable.id was not found",
    ),
    "rule's priority": ("nsg", rules(rule(priority=99)), "SecurityRuleInvalidPriority", "Allowed range 100-4096"),
    "two rules of one priority": (
        "nsg",
        rules(rule(), rule(name="b")),
        "SecurityRuleConflict",
        "b conflicts with rule api",
    ),
    "rule's range": (
        "nsg",
        rules(rule(sourceAddressPrefix="10.0.0.1/8")),
        "SecurityRuleInvalidAddressPrefix",
        "Value provided: 10.0.0.1/8",
    ),
    "rule's ports": (
        "nsg",
        rules(rule(destinationPortRange="9-1")),
        "SecurityRuleInvalidPortRange",
        "Value provided: 9-1",
    ),
    "rule of a prefix and prefixes": (
        "nsg",
        rules(rule(sourceAddressPrefixes=["10.0.0.0/9"])),
        "SecurityRuleParameterContainsUnsupportedValue",
        "one of sourceAddressPrefix and sourceAddressPrefixes",
    ),
    "rule without ports": (
        "nsg",
        rules(rule(sourcePortRange=None)),
        "SecurityRuleParameterMissing",
        "one of sourcePortRange",
    ),
    "rule's protocol": ("nsg", rules(rule(protocol="TCP")), "InvalidRequestFormat", "invalid protocol: 'TCP'"),
    "rules of one name": ("nsg", rules(rule(), rule(priority=101)), "InvalidRequestFormat", "name of its own"),
    "dynamic standard address": (
        "pip",
        {"publicIPAllocationMethod": "Dynamic"},
        "StandardSkuPublicIPAddressesMustBeStatic",
        "AllocationMethod set to Static",
    ),
    "basic address": ("pip", {"sku": {"name": "Basic"}}, "IPv4BasicSkuPublicIpCountLimitReached", "more than 0"),
    "basic NAT": ("nat", {"sku": {"name": "Basic"}}, "NatGatewaySkuMustBeStandard", "Standard"),
    "interface outside": (
        "nic",
        configuration(privateIPAddress="10.9.0.4"),
        "PrivateIPAddressNotInSubnet",
        "does not belong to the range",
    ),
    "reserved address": (
        "nic",
        configuration(privateIPAddress="10.20.0.3"),
        "PrivateIPAddressInReservedRange",
        "reserved IP range of subnet prefix 10.20.0.0/24",
    ),
    "static without an address": (
        "nic",
        configuration(privateIPAddress=None),
        "PrivateIPAddressNotSpecified",
        "must be given",
    ),
    "interface without a configuration": (
        "nic",
        {"ipConfigurations": []},
        "NetworkInterfaceMustHaveIpConfiguration",
        "at least one",
    ),
    "interface in no pool": (
        "nic",
        configuration(loadBalancerBackendAddressPools=[{"id": f"{NET}/loadBalancers/lb/backendAddressPools/no"}]),
        "InvalidResourceReference",
        "backendAddressPools/no",
    ),
    "balancer with no such probe": (
        "lb",
        {"loadBalancingRules": [BALANCED | {"probe": {"id": f"{NET}/loadBalancers/lb/probes/no"}}]},
        "InvalidResourceReference",
        "probes/no referenced by resource",
    ),
    "two rules of one port": (
        "lb",
        {"loadBalancingRules": [BALANCED, BALANCED | {"name": "b"}]},
        "RulesUseSameFrontendPortProtocolAndIPConfig",
        "use port 1",
    ),
    "two rules to one port of a pool": (
        "lb",
        {"loadBalancingRules": [FORWARDED, FORWARDED | {"name": "b", "frontendPort": 2}]},
        "RulesUseSameBackendPortProtocolAndPool",
        "same protocol Tcp and backend port 80",
    ),
    "frontend nowhere": (
        "lb",
        {"frontendIPConfigurations": [{"name": "api"}]},
        "LoadBalancerFrontendIPConfigMustHaveSubnetOrPublicIP",
        "neither",
    ),
    "frontend outside": ("lb", front(privateIPAddress="10.9.0.9"), "PrivateIPAddressNotInSubnet", "10.9.0.9"),
    "probe without a path": (
        "lb",
        {"probes": [{"name": "ready", "protocol": "Https", "port": 6443}]},
        "InvalidRequestFormat",
        "lacks requestPath",
    ),
}
MACHINES: dict[str, Row] = {
    "sixteen letters on Windows": (
        "vm",
        image(WINDOWS) | profile(computerName="x" * 16, adminPassword="Pass-word-1", linuxConfiguration=None),
        "InvalidParameter",
        "Windows computer name cannot be more than 15 characters long",
    ),
    "digits alone": ("vm", profile(computerName="12345"), "InvalidParameter", "be entirely numeric"),
    "underscore": ("vm", profile(computerName="web_0"), "InvalidParameter", "contain the following characters"),
    "administrator": ("vm", profile(adminUsername="Administrator"), "InvalidParameter", "Username specified"),
    "weak password": ("vm", profile(adminPassword="password"), "InvalidParameter", "at least 3 of password complexity"),
    "no password and no key": (
        "vm",
        profile(linuxConfiguration=None),
        "InvalidParameter",
        "'adminPassword' is missing",
    ),
    "key on Windows": ("vm", image(WINDOWS) | profile(linuxConfiguration=KEY), "InvalidParameter", "is missing"),
    "custom data that is no base64": ("vm", profile(customData="#cloud-config"), "InvalidParameter", "Base64 encoding"),
    "long custom data": ("vm", profile(customData="AAAA" * 21846), "InvalidParameter", "maximum length of 87380"),
    "no such size": (
        "vm",
        {"hardwareProfile": {"vmSize": "Standard_D3s_v5"}},
        "InvalidParameter",
        "Standard_D3s_v5 provided for the VM size",
    ),
    "no such zone": ("vm", {"zones": ["4"]}, "InvalidAvailabilityZone", "'westeurope' are '1,2,3'"),
    "no such image": ("vm", image(UBUNTU, sku="22_04"), "PlatformImageNotFound", "22_04:latest' is not available"),
    "no such version": ("vm", image(UBUNTU, version="newest"), "PlatformImageNotFound", "lts-gen2:newest'"),
    "disk smaller than the image": ("vm", image(UBUNTU, 20), "InvalidParameter", "in the VM image: 30 GB"),
    "small disk of a large image": (
        "vm",
        image(WINDOWS, sku="2019-datacenter-core") | profile(adminPassword="Pass-word-1"),
        "InvalidParameter",
        "in the VM image: 127 GB",
    ),
    "trusted launch of generation 1": (
        "vm",
        image(UBUNTU, sku="22_04-lts") | {"securityProfile": {"securityType": "TrustedLaunch"}},
        "BadRequest",
        "Gen2 OS Image",
    ),
    "x86 image on arm": ("vm", {"hardwareProfile": {"vmSize": "Standard_D2ps_v5"}}, "BadRequest", "architecture"),
    "no such interface": (
        "vm",
        {"networkProfile": {"networkInterfaces": [{"id": f"{NET}/networkInterfaces/no"}]}},
        "InvalidResourceReference",
        "networkInterfaces/no",
    ),
    "no such identity": (
        "vm",
        {"identity": {"type": "UserAssigned", "userAssignedIdentities": [f"{GROUP}/no"]}},
        "FailedIdentityOperation",
        "rg/no",
    ),
    "licence of Windows on Linux": ("vm", {"licenseType": "Windows_Server"}, "InvalidParameter", "'licenseType'"),
    "extension of no machine": ("extension", {"vmName": "no"}, "ParentResourceNotFound", "virtualMachines/no"),
}
ROWS = NETWORKS | ROUTES | BASTIONS | ENDPOINTS | MACHINES | DISKS | SPOT | STORES
BEFORE = {"subnet with no such table": "net", "second Bastion of a network": "bastion"} | NAMED
"""Further resources that a row needs in order to be refused."""
NEEDED = {
    "sub": "net",
    "bastions": "net",
    "names": "endpoint",
    "route": "table",
    "extension": "vm",
    "secret": "vault",
    "container": "store",
    "record": "zone",
}
"""Resources that the scene of a row needs besides those that it names."""
