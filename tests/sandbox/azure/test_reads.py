"""What a refresh reads from Azure, and where it fails."""

from typing import Any

import pytest

from sandbox import tamper
from sandbox.cloud import Refusal
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene

from .conftest import IN


def read(account: Account, thing: Thing) -> Any:
    return account.provider.read(thing.urn, thing.id, thing.outputs, {})


def remove(account: Account, thing: Thing) -> None:
    """Delete a resource by hand."""
    [found] = [each for each in account.cloud_state.resources() if each.id == thing.id]
    tamper.remove(account.cloud_state, found)


def policy(account: Account, scene: Scene) -> Thing:
    """Return the lifecycle rules of an account."""
    scene("store")
    rules: dict[str, Any] = {"policy": {"rules": []}, "managementPolicyName": "default", "accountName": "mulliona1b2"}
    return account.create("ManagementPolicy", "policy", **IN, **rules)


@pytest.mark.parametrize(
    ("name", "above", "code"),
    [
        ("container", "store", "ContainerNotFound"),
        ("policy", "store", "ManagementPolicyNotFound"),
        ("role", "rg", "RoleDefinitionDoesNotExist"),
    ],
)
def test_a_refresh_fails_at_codes_that_the_provider_does_not_take_for_gone(
    account: Account, scene: Scene, name: str, above: str, code: str
) -> None:
    """Source of the codes that it takes: pulumi-azure-native#4841. Those of what is above are among them."""
    holder = scene(above)
    it = policy(account, scene) if name == "policy" else scene(name)
    assert read(account, it)
    remove(account, it)
    with pytest.raises(Refusal, match=f"{code}: "):
        read(account, it)
    remove(account, holder)
    assert read(account, it) is None
