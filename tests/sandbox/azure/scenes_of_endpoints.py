"""A private endpoint of a store, its subnet with rules, and its names."""

from typing import Any

from tests.sandbox.scenes import Scenes

IN: dict[str, Any] = {"resourceGroupName": "rg"}
_INBOUND = {"direction": "Inbound", "sourcePortRange": "*", "destinationAddressPrefix": "*"}
_MEMBERS = {"sourceApplicationSecurityGroups": [{"id": "$members"}]}

SCENES: Scenes = {
    "guard": (
        "NetworkSecurityGroup",
        IN
        | {
            "networkSecurityGroupName": "guard",
            "securityRules": [
                {
                    **_INBOUND,
                    **_MEMBERS,
                    "name": "machines",
                    "access": "Allow",
                    "protocol": "Tcp",
                    "priority": 100,
                    "destinationPortRange": "443",
                },
                {
                    **_INBOUND,
                    "name": "rest",
                    "access": "Deny",
                    "protocol": "*",
                    "priority": 4096,
                    "sourceAddressPrefix": "*",
                    "destinationPortRange": "*",
                },
            ],
        },
    ),
    "inside": (
        "Subnet",
        IN
        | {
            "virtualNetworkName": "net",
            "subnetName": "inside",
            "addressPrefix": "10.20.9.0/28",
            "networkSecurityGroup": {"id": "$guard"},
            "privateEndpointNetworkPolicies": "NetworkSecurityGroupEnabled",
        },
    ),
    "endpoint": (
        "PrivateEndpoint",
        IN
        | {
            "privateEndpointName": "endpoint",
            "subnet": {"id": "$inside"},
            "privateLinkServiceConnections": [
                {"name": "bundles", "privateLinkServiceId": "$store", "groupIds": ["blob"]}
            ],
        },
    ),
    "blobs": (
        "PrivateZone",
        IN | {"privateZoneName": "privatelink.blob.core.windows.net", "location": "Global"},
    ),
    "blob link": (
        "VirtualNetworkLink",
        IN
        | {
            "privateZoneName": "privatelink.blob.core.windows.net",
            "virtualNetworkLinkName": "link",
            "location": "Global",
            "registrationEnabled": False,
            "virtualNetwork": {"id": "$net"},
        },
    ),
    "names": (
        "PrivateDnsZoneGroup",
        IN
        | {
            "privateEndpointName": "endpoint",
            "privateDnsZoneGroupName": "default",
            "privateDnsZoneConfigs": [{"name": "blob", "privateDnsZoneId": "$blobs"}],
        },
    ),
}
