"""Rules for Azure's types, one resource at a time: a valid resource breaks none, and each change breaks one."""

import base64
from typing import Any

import pytest

from policies.rules import RULES
from policies.rules.exposure import AZURE_GROUP
from policies.rules.permissions import ASSIGNMENT, CREDENTIAL, DEFINITION
from policies.rules.rule import AZURE_MACHINE, Resource, ResourceRule

from .cases import KEY, no_memory, planned
from .cases_gcp import inside
from .recorded import resources

ACCOUNT, VAULT = "azure-native:storage:StorageAccount", "azure-native:keyvault:Vault"
TYPES = f"mullion:index:MixedCluster$mullion:azure:ControlPlane${AZURE_MACHINE}"
ROLES = "/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions"
ROW = {"access": "Allow", "direction": "Inbound", "protocol": "Tcp", "sourceAddressPrefix": "10.20.0.0/16"}
GOOD: dict[str, dict[str, Any]] = {
    AZURE_MACHINE: {
        "securityProfile": {
            "securityType": "TrustedLaunch",
            "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True},
        },
        "osProfile": {"customData": base64.b64encode(b"#cloud-config and nothing that is a secret").decode()},
    },
    AZURE_GROUP: {"securityRules": [{**ROW, "destinationPortRange": "10250"}]},
    ACCOUNT: {
        "allowBlobPublicAccess": False,
        "enableHttpsTrafficOnly": True,
        "minimumTlsVersion": "TLS1_2",
        "networkRuleSet": {"defaultAction": "Deny"},
    },
    VAULT: {"properties": {"enableRbacAuthorization": True, "networkAcls": {"defaultAction": "Deny"}}},
    ASSIGNMENT: {"roleDefinitionId": f"{ROLES}/1", "scope": "/subscriptions/s/resourceGroups/g"},
    CREDENTIAL: {"subject": "system:serviceaccount:shop:uploads", "audiences": ["api://AzureADTokenExchange"]},
    DEFINITION: {"permissions": [{"actions": ["Microsoft.Compute/virtualMachines/read"], "dataActions": []}]},
}
OWNER, ANYBODY = f"{ROLES}/8e3af657-a8ff-443c-a75c-2fe8c4bcb635", {**ROW, "sourceAddressPrefix": "*"}
LEAK = base64.b64encode(f"#cloud-config with {KEY} in it".encode()).decode()
CASES: tuple[tuple[str, str, str, Any, str], ...] = (
    ("machines-shielded", AZURE_MACHINE, "securityProfile.securityType", None, "is not TrustedLaunch"),
    ("machines-shielded", AZURE_MACHINE, "securityProfile.uefiSettings.secureBootEnabled", False, "not verified"),
    ("machines-shielded", AZURE_MACHINE, "securityProfile.uefiSettings.vTpmEnabled", False, "the boot is not measured"),
    ("no-secret-in-user-data", AZURE_MACHINE, "osProfile.customData", LEAK, "customData holds a private key"),
    ("no-secret-in-user-data", AZURE_MACHINE, "tags.key", f"AccountKey={'a' * 86}==", "an Azure storage key"),
    ("admin-ports-closed", AZURE_GROUP, "securityRules", [{**ANYBODY, "destinationPortRange": "22"}], "22 (SSH)"),
    (
        "admin-ports-closed",
        AZURE_GROUP,
        "securityRules",
        [{**ANYBODY, "destinationPortRange": "3000-4000"}],
        "3389 (RDP)",
    ),
    ("admin-ports-closed", AZURE_GROUP, "securityRules", [{**ANYBODY, "destinationPortRanges": ["1-6000"]}], "5986"),
    (
        "api-by-allow-list",
        AZURE_GROUP,
        "securityRules",
        [{**ANYBODY, "destinationPortRange": "6443"}],
        "past the API's load",
    ),
    ("stores-encrypted", ACCOUNT, "allowBlobPublicAccess", True, "allowBlobPublicAccess is not False"),
    ("stores-encrypted", ACCOUNT, "enableHttpsTrafficOnly", None, "enableHttpsTrafficOnly is not True"),
    ("stores-encrypted", ACCOUNT, "minimumTlsVersion", "TLS1_0", "minimumTlsVersion is not TLS1_2"),
    ("stores-encrypted", ACCOUNT, "networkRuleSet.defaultAction", "Allow", "is not Deny"),
    ("stores-encrypted", VAULT, "properties.enableRbacAuthorization", False, "is not True"),
    ("stores-encrypted", VAULT, "properties.networkAcls", None, "defaultAction is not Deny"),
    ("permissions-narrow", ASSIGNMENT, "roleDefinitionId", OWNER, "Owner allows nearly everything"),
    ("permissions-narrow", ASSIGNMENT, "scope", "/subscriptions/s", "all of /subscriptions/s"),
    ("permissions-narrow", DEFINITION, "permissions", [{"actions": ["*/read"]}], "allows */read"),
    ("permissions-narrow", DEFINITION, "permissions", [{"dataActions": ["Microsoft.Storage/*"]}], "list the actions"),
)


def resource(kind: str) -> Resource:
    """Return a valid resource of a type, with its tags."""
    urn = f"urn:pulumi:s::p::{TYPES.replace(AZURE_MACHINE, kind)}::s-one"
    tags = {"Name": "s-one", "mullion:cluster": "s", "mullion:urn": urn.replace("$", "+")}
    kept = frozenset(("osProfile", "hardwareProfile", "storageProfile"))
    return Resource(urn, kind, {**GOOD[kind], "tags": tags}, ignore_changes=kept)


def broken(each: Resource) -> dict[str, list[str]]:
    """Return rule -> violations of the resource."""
    violations = {rule.name: [wrong for _, wrong in rule.violations([each])] for rule in RULES}
    return {name: wrong for name, wrong in violations.items() if wrong}


@pytest.mark.parametrize("kind", GOOD)
def test_valid_resources_break_no_rule(kind: str) -> None:
    assert broken(resource(kind)) == {}


@pytest.mark.parametrize(("rule", "kind", "path", "value", "says"), CASES, ids=lambda each: str(each)[:40])
def test_each_change_breaks_exactly_one_rule(rule: str, kind: str, path: str, value: Any, says: str) -> None:
    changed = inside(path, value)(resource(kind))
    assert changed
    violations = broken(changed)
    assert violations.keys() == {rule}
    assert any(says in wrong for wrong in violations[rule]), violations


def test_the_rules_read_windows_bundles_in_their_folders_on_azure() -> None:
    [stored] = [each for each in resources("azure-prod") if each.urn.endswith("Blob::azure-prod-bundle-web")]
    changed = planned(no_memory)(stored)
    assert changed
    [wrong] = broken(changed)["reserves-and-priority-set"]
    assert wrong.startswith("pool web reserves no memory")


def test_every_azure_type_of_a_rule_has_a_case() -> None:
    apart = {"azure-native:storage:Blob", "azure-native:network:SecurityRule"}
    """Types without a sample here: the rules read them as they read other objects and firewall rules."""
    rules = [each for each in RULES if isinstance(each, ResourceRule) and each.name != "tags-present"]
    types = {kind for each in rules for kind in each.types if kind.startswith("azure-native:")}
    assert types <= GOOD.keys() | apart
