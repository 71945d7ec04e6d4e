"""One embedded Azure subscription for a test."""

import base64
from typing import Any

import pytest

from sandbox.azure.cloud import AZURE
from sandbox.azure.regions import SUBSCRIPTION, TENANT
from sandbox.cloud_state import CloudState
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, maker

from . import scenes_of_endpoints

REGION = "westeurope"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
NET = f"{GROUP}/providers/Microsoft.Network"
IN: dict[str, Any] = {"resourceGroupName": "rg"}
UBUNTU = {
    "publisher": "Canonical",
    "offer": "0001-com-ubuntu-server-jammy",
    "sku": "22_04-lts-gen2",
    "version": "latest",
}
WINDOWS = {
    "publisher": "MicrosoftWindowsServer",
    "offer": "WindowsServer",
    "sku": "2019-datacenter-core-smalldisk",
    "version": "latest",
}
KEY = {"ssh": {"publicKeys": [{"keyData": "ssh-rsa x", "path": "/home/azureuser/.ssh/authorized_keys"}]}}
FRONT = f"{NET}/loadBalancers/lb/frontendIPConfigurations/api"


def profile(**more: Any) -> dict[str, Any]:
    plain = {"adminUsername": "azureuser", "computerName": "web-0", "linuxConfiguration": KEY}
    return {"osProfile": plain | more}


def rule(**more: Any) -> dict[str, Any]:
    plain = {
        "name": "api",
        "priority": 100,
        "direction": "Inbound",
        "access": "Allow",
        "protocol": "Tcp",
        "sourceAddressPrefix": "10.0.0.0/8",
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "6443",
    }
    return {key: value for key, value in (plain | more).items() if value is not None}


def configuration(**more: Any) -> dict[str, Any]:
    static = {"privateIPAddress": "10.20.0.9", "privateIPAllocationMethod": "Static"}
    return {"ipConfigurations": [{"name": "ip", "subnet": {"id": "$sub"}, **static, **more}]}


SCENES: dict[str, tuple[str, dict[str, Any]]] = {
    "rg": ("ResourceGroup", {"resourceGroupName": "rg", "location": REGION}),
    "net": (
        "VirtualNetwork",
        IN | {"virtualNetworkName": "net", "addressSpace": {"addressPrefixes": ["10.20.0.0/16"]}},
    ),
    "nsg": ("NetworkSecurityGroup", IN | {"networkSecurityGroupName": "nsg", "securityRules": [rule()]}),
    "table": ("RouteTable", IN | {"routeTableName": "table"}),
    "route": (
        "Route",
        IN
        | {
            "routeName": "pods",
            "routeTableName": "table",
            "addressPrefix": "10.244.1.0/24",
            "nextHopType": "VirtualAppliance",
            "nextHopIpAddress": "10.20.0.9",
        },
    ),
    "pip": (
        "PublicIPAddress",
        IN | {"publicIpAddressName": "pip", "sku": {"name": "Standard"}, "publicIPAllocationMethod": "Static"},
    ),
    "nat": (
        "NatGateway",
        IN | {"natGatewayName": "nat", "sku": {"name": "Standard"}, "publicIpAddresses": [{"id": "$pip"}]},
    ),
    "sub": (
        "Subnet",
        IN
        | {
            "virtualNetworkName": "net",
            "subnetName": "sub",
            "addressPrefix": "10.20.0.0/24",
            "natGateway": {"id": "$nat"},
            "networkSecurityGroup": {"id": "$nsg"},
            "routeTable": {"id": "$table"},
        },
    ),
    "door": (
        "PublicIPAddress",
        IN | {"publicIpAddressName": "door", "sku": {"name": "Standard"}, "publicIPAllocationMethod": "Static"},
    ),
    "bastions": (
        "Subnet",
        IN | {"virtualNetworkName": "net", "subnetName": "AzureBastionSubnet", "addressPrefix": "10.20.63.192/26"},
    ),
    "few": (
        "Subnet",
        IN | {"virtualNetworkName": "net", "subnetName": "AzureBastionSubnet", "addressPrefix": "10.20.63.192/27"},
    ),
    "bastion": (
        "BastionHost",
        IN
        | {
            "bastionHostName": "bastion",
            "sku": {"name": "Standard"},
            "enableTunneling": True,
            "ipConfigurations": [{"name": "b", "subnet": {"id": "$bastions"}, "publicIPAddress": {"id": "$door"}}],
        },
    ),
    "members": ("ApplicationSecurityGroup", IN | {"applicationSecurityGroupName": "members"}),
    "nic": (
        "NetworkInterface",
        IN | {"networkInterfaceName": "nic", **configuration(applicationSecurityGroups=[{"id": "$members"}])},
    ),
    "lb": (
        "LoadBalancer",
        IN
        | {
            "loadBalancerName": "lb",
            "sku": {"name": "Standard"},
            "frontendIPConfigurations": [
                {
                    "name": "api",
                    "subnet": {"id": "$sub"},
                    "privateIPAddress": "10.20.0.40",
                    "privateIPAllocationMethod": "Static",
                }
            ],
            "backendAddressPools": [{"name": "nodes"}],
            "probes": [{"name": "ready", "protocol": "Https", "port": 6443, "requestPath": "/readyz"}],
            "loadBalancingRules": [
                {
                    "name": "api",
                    "protocol": "Tcp",
                    "frontendPort": 6443,
                    "backendPort": 6443,
                    "frontendIPConfiguration": {"id": FRONT},
                    "probe": {"id": f"{NET}/loadBalancers/lb/probes/ready"},
                }
            ],
        },
    ),
    "identity": ("UserAssignedIdentity", IN | {"resourceName": "node"}),
    "vm": (
        "VirtualMachine",
        IN
        | {
            "vmName": "web-0",
            "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
            "storageProfile": {"imageReference": UBUNTU, "osDisk": {"createOption": "FromImage", "diskSizeGB": 64}},
            "networkProfile": {"networkInterfaces": [{"id": "$nic"}]},
            "zones": ["1"],
            **profile(customData=base64.b64encode(b"#cloud-config").decode()),
        },
    ),
    "extension": (
        "VirtualMachineExtension",
        IN
        | {
            "vmName": "web-0",
            "vmExtensionName": "loader",
            "publisher": "Microsoft.Compute",
            "type": "CustomScriptExtension",
            "typeHandlerVersion": "1.10",
            "protectedSettings": {"commandToExecute": "powershell"},
        },
    ),
    "vault": (
        "Vault",
        IN
        | {
            "vaultName": "mullion-a1b2",
            "properties": {
                "tenantId": TENANT,
                "sku": {"family": "A", "name": "standard"},
                "enableRbacAuthorization": True,
            },
        },
    ),
    "secret": (
        "keyvault:Secret",
        IN | {"vaultName": "mullion-a1b2", "secretName": "pki", "properties": {"value": "value"}},
    ),
    "store": (
        "StorageAccount",
        IN
        | {
            "accountName": "mulliona1b2",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "allowBlobPublicAccess": False,
        },
    ),
    "container": ("BlobContainer", IN | {"accountName": "mulliona1b2", "containerName": "bundles"}),
    "zone": ("PrivateZone", IN | {"privateZoneName": "c.mullion.internal", "location": "Global"}),
    "link": (
        "VirtualNetworkLink",
        IN
        | {
            "privateZoneName": "c.mullion.internal",
            "virtualNetworkLinkName": "link",
            "location": "Global",
            "registrationEnabled": False,
            "virtualNetwork": {"id": "$net"},
        },
    ),
    "record": (
        "PrivateRecordSet",
        IN
        | {
            "privateZoneName": "c.mullion.internal",
            "relativeRecordSetName": "api",
            "recordType": "A",
            "ttl": 60,
            "aRecords": [{"ipv4Address": "10.20.0.40"}],
        },
    ),
    **scenes_of_endpoints.SCENES,
    "role": (
        "RoleDefinition",
        {
            "scope": "$rg",
            "roleName": "machine reader",
            "permissions": [{"actions": ["Microsoft.Compute/virtualMachines/read"]}],
            "assignableScopes": ["$rg"],
        },
    ),
}
NEEDS = {
    **dict.fromkeys(
        ("net", "nsg", "members", "table", "pip", "door", "identity", "vault", "store", "zone", "blobs"), "rg"
    ),
    **dict.fromkeys(("sub", "bastions", "few", "inside"), "net"),
    "blob link": "blobs",
    "names": "endpoint",
    "route": "table",
    "extension": "vm",
    "secret": "vault",
    "container": "store",
    "link": "zone",
    "record": "zone",
}
"""Resources that a row needs besides those that its inputs name."""


@pytest.fixture
def account(cloud_state: CloudState) -> Account:
    return Account(cloud_state, AZURE, REGION)


@pytest.fixture
def scene(account: Account) -> Scene:
    return maker(account, SCENES, NEEDS)
