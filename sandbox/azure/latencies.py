"""Durations of Azure calls; sandbox/latency.py names the sources of the figures."""

from collections.abc import Mapping

from sandbox.azure import names
from sandbox.latency import LOGS, Latency

_ARM = "estimate: the provider polls ARM, and most network resources are within one wait of ten seconds"
LATENCIES: Mapping[str, Latency] = {
    names.RESOURCE_GROUP: Latency(2, 2, 45, "estimate: a group is deleted with a wait for what is in it"),
    names.NETWORK.token: Latency(5, 5, 11, _ARM),
    names.SUBNET.token: Latency(5, 5, 11, _ARM),
    names.RULES.token: Latency(11, 11, 11, LOGS + "11 s (cloudera-labs/terraform-cdp-modules#39); delete: estimate"),
    names.NAT.token: Latency(11, 11, 11, _ARM),
    names.ADDRESS.token: Latency(4, 4, 11, LOGS + "4 s (terraform-azurerm-vmseries-modules#92); delete: estimate"),
    names.INTERFACE.token: Latency(2, 2, 11, _ARM),
    names.BASTION.token: Latency(
        600, 300, 300, "estimate: creation takes about ten minutes (tutorial on Azure Bastion)"
    ),
    names.ENDPOINT.token: Latency(
        60, 30, 30, "estimate: 29 to 40 s and more in the logs of hashicorp/terraform-provider-azurerm#28112"
    ),
    names.ZONE_GROUP.token: Latency(11, 11, 11, _ARM),
    names.BALANCER.token: Latency(4, 4, 11, _ARM),
    names.MACHINE.token: Latency(
        50,
        20,
        45,
        "estimate: Linux is up in less than a minute; 302 s in terraform-azurerm-vmseries-modules#87 is an image",
    ),
    names.DISK_KEY.token: Latency(11, 11, 11, _ARM),
    names.EXTENSION.token: Latency(
        60, 60, 30, "estimate: the agent asks for work every half minute, and reports at its end"
    ),
    names.VAULT.token: Latency(
        186, 10, 10, LOGS + "3 m 6 s (Azure/terraform-azurerm-avm-res-keyvault-vault#79); delete: estimate"
    ),
    names.STORE.token: Latency(25, 5, 5, _ARM),
    names.ZONE.token: Latency(35, 5, 35, _ARM),
    names.LINK.token: Latency(35, 5, 35, _ARM),
    "azure-native:authorization:RoleAssignment": Latency(25, 25, 5, "estimate: waits until the assignment is seen"),
    "azure-native:authorization:RoleDefinition": Latency(30, 30, 30, "estimate: waits until the definition is seen"),
}
