"""Custom roles of Azure: when they can be assigned and deleted."""

import pytest

from sandbox.azure import roles
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene


def test_a_role_is_assigned_once_and_not_deleted_while_assigned(account: Account, scene: Scene) -> None:
    role, principal = scene("role"), scene("identity").outputs["principalId"]
    given = {"scope": scene("rg").id, "roleDefinitionId": role.id, "principalId": principal}
    scene("vault")  # takes longer than Azure needs to know the role
    made = account.create("RoleAssignment", "a", **given)
    assert account.refused(lambda: account.create("RoleAssignment", "b", **given)).code == "RoleAssignmentExists"
    assert account.refused(lambda: account.delete(role)).code == "RoleDefinitionHasAssignments"
    account.delete(made)
    account.delete(role)


def test_a_new_role_is_not_assigned_before_azure_knows_it(
    account: Account, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MicrosoftDocs/azure-docs issue 99810."""
    principal = scene("identity").outputs["principalId"]
    scene("vault")
    role = scene("role")
    given = {"scope": scene("rg").id, "roleDefinitionId": role.id, "principalId": principal}
    refusal = account.refused(lambda: account.create("RoleAssignment", "a", **given))
    assert refusal.code == "RoleDefinitionDoesNotExist", "the vault is older than the role"
    scene("store")
    refusal = account.refused(lambda: account.create("RoleAssignment", "a", **given))
    assert refusal.code == "RoleDefinitionDoesNotExist", "a storage account takes less than a minute"
    monkeypatch.setattr(roles, "UNKNOWN_SECONDS", 0)
    account.create("RoleAssignment", "a", **given)
