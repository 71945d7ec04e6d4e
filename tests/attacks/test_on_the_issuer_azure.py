"""On the issuer of service-account tokens on Azure: whoever writes its keys, or adds a credential, becomes every pod.

Clusters with `pod_identity`; the role assignments are those that the program registers.

Seen in: the cloud's audit log (activity log), and the resource logs of the storage account if they are on.
"""

import re
from functools import lru_cache

import pytest

from operations.recorder.recorder import Recording, Registered, record
from tests.components.recorded_wiring import of
from tools.golden.cases import PRINCIPALS, changed

ASSIGNMENT, DEFINITION = "azure-native:authorization:RoleAssignment", "azure-native:authorization:RoleDefinition"
ACCOUNT, IDENTITY = "azure-native:storage:StorageAccount", "azure-native:managedidentity:UserAssignedIdentity"
GROUP = re.compile(r"/subscriptions/[^/]+(/resourceGroups/[^/]+)?/?")


@lru_cache
def recorded() -> Recording:
    found = record("azure-prod", changed("azure-prod", PRINCIPALS))
    assert found.errors == []
    return found


def guarded() -> set[str]:
    """Return the URNs of the issuer's account and of the identities of pods."""
    pods = {each.urn for each in of(recorded(), IDENTITY).values() if "-pods-" in each.name}
    assert len(pods) == 2
    return {of(recorded(), ACCOUNT)["azure-prod-issuer"].urn, *pods}


def reaches(assigned: Registered) -> bool:
    """Return whether a role assignment applies to one of them: by itself, its group or the subscription."""
    scope = str(assigned.inputs["scope"])
    return bool(GROUP.fullmatch(scope) or assigned.property_dependencies.get("scope", frozenset()) & guarded())


def actions(assigned: Registered) -> set[str]:
    """Return the actions of a role assignment: of a custom role, or everything for a built-in one."""
    custom = assigned.property_dependencies.get("roleDefinitionId", frozenset())
    rows = [
        row for each in of(recorded(), DEFINITION).values() if each.urn in custom for row in each.inputs["permissions"]
    ]
    return {action for row in rows for name in ("actions", "dataActions") for action in row.get(name) or []} or {"*"}


@pytest.mark.parametrize("provider", ["Microsoft.Storage", "Microsoft.ManagedIdentity"])
def test_no_machine_publishes_a_key_or_trusts_an_issuer_of_its_own(provider: str) -> None:
    """Write keys, read the account's keys, or add a federated credential, with the identity of a machine.

    Refused by: the role assignments of machines, none of which reaches the issuer's account or an identity of pods with
    an action on either.
    """
    reaching = [each for each in of(recorded(), ASSIGNMENT).values() if reaches(each)]
    assert reaching, "a role of machines is assigned on the whole group"
    for each in reaching:
        assert not [action for action in actions(each) if action == "*" or action.startswith(provider)], each.name


def test_no_pod_has_a_right_before_somebody_grants_it() -> None:
    """Use the identity of a pod before its owner has assigned a role.

    Refused by: Azure, because the program assigns no role to an identity of pods.
    """
    for each in of(recorded(), ASSIGNMENT).values():
        assert not each.property_dependencies["principalId"] & guarded(), each.name
