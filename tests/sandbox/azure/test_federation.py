"""What Azure refuses of federated credentials and of static websites."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox import faults
from sandbox.azure.names import CREDENTIAL, IDENTITY
from sandbox.azure.stores import CALLER
from sandbox.cloud import Refusal
from tests.sandbox.account import Account, Thing
from tests.sandbox.scenes import Scene

from .conftest import IN

TRUST: dict[str, Any] = {
    "resourceName": "node",
    "issuer": "https://issuer.z6.web.core.windows.net",
    "subject": "system:serviceaccount:shop:uploads",
    "audiences": ["api://AzureADTokenExchange"],
}
Create = Callable[..., Thing]


@pytest.fixture
def trust(account: Account, scene: Scene) -> Create:
    scene("rg")
    scene("identity")

    def create(name: str = "kubernetes", **more: Any) -> Thing:
        given = IN | TRUST | {"federatedIdentityCredentialResourceName": name} | more
        return account.create("FederatedIdentityCredential", name, **given)

    return create


@pytest.fixture
def website(account: Account, scene: Scene) -> Callable[..., Thing]:
    scene("rg")

    def create(**more: Any) -> Thing:
        made = {"accountName": "issuera1b2", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
        account.create("StorageAccount", "issuer", **IN, **(made | more))
        return account.create("StorageAccountStaticWebsite", "issuer", **IN, accountName="issuera1b2")

    return create


def test_a_credential_is_a_part_of_its_identity_and_goes_with_it(account: Account, trust: Create) -> None:
    made = trust()
    [identity] = account.cloud_state.resources(IDENTITY.token)
    assert made.id == f"{identity.id}/federatedIdentityCredentials/kubernetes"
    account.provider.delete(identity.urn, identity.id, identity.outputs)
    assert account.cloud_state.resources(CREDENTIAL.token) == []


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"audiences": ["api://AzureADTokenExchange", "other"]}, "BadRequest", "exactly one audience"),
        ({"audiences": []}, "BadRequest", "exactly one audience"),
        ({"subject": ""}, "BadRequest", "empty properties"),
        ({"subject": "a" * 601}, "BadRequest", "at most 600 characters"),
        ({"issuer": "http://issuer.example.com"}, "BadRequest", "not a valid https URL"),
        ({"resourceName": "nobody"}, "ParentResourceNotFound", "userAssignedIdentities/nobody"),
    ],
)
def test_azure_refuses_a_credential(
    account: Account, trust: Create, more: dict[str, Any], code: str, words: str
) -> None:
    refusal = account.refused(lambda: trust(**more))
    assert refusal.code == code and words in refusal.message


@pytest.mark.parametrize("name", ["ab", "-begins", "with.dot", "a" * 121])
def test_a_name_that_azure_does_not_take_is_found_before_the_call(account: Account, scene: Scene, name: str) -> None:
    given = IN | TRUST | {"federatedIdentityCredentialResourceName": name}
    assert "federatedIdentityCredentialResourceName" in account.failures("FederatedIdentityCredential", **given)


def test_issuer_and_subject_are_once_in_an_identity_and_free_in_another(account: Account, trust: Create) -> None:
    trust()
    refusal = account.refused(lambda: trust("second"))
    assert refusal.message == "Issuer and subject combination already exists for this Managed Identity."
    account.create("UserAssignedIdentity", "other", **IN, resourceName="other")
    trust("third", resourceName="other")


def test_an_identity_has_twenty_credentials(account: Account, trust: Create) -> None:
    made = [trust(f"account-{number}", subject=f"system:serviceaccount:shop:{number}") for number in range(20)]
    more = {"subject": "system:serviceaccount:shop:more"}
    assert "the maximum is 20" in account.refused(lambda: trust("more", **more)).message
    account.update(made[0], subject="system:serviceaccount:shop:renamed")
    account.delete(made[0])
    trust("more", **more)


def test_two_writes_of_one_identity_at_a_time_are_refused_and_of_two_identities_are_not(
    account: Account, trust: Create
) -> None:
    account.create("UserAssignedIdentity", "other", **IN, resourceName="other")
    checked = account.check(
        "FederatedIdentityCredential", "first", **(IN | TRUST | {"federatedIdentityCredentialResourceName": "first"})
    )
    seen: list[str] = []

    def meanwhile(_: float) -> None:
        account.provider.pause = lambda _: None
        with pytest.raises(Refusal) as caught:
            trust("second", subject="system:serviceaccount:shop:second")
        seen.append(caught.value.code)
        seen.append(trust("third", resourceName="other").id)

    faults.plan(account.cloud_state, "slow", amount=1)
    account.provider.pause = meanwhile
    account.provider.create(account.urn("FederatedIdentityCredential", "first"), checked, preview=False)
    assert seen[0] == "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity"
    assert seen[1].endswith("/other/federatedIdentityCredentials/third")
    trust("second", subject="system:serviceaccount:shop:second")


def test_files_of_a_website_need_the_website_and_go_with_the_account(account: Account, website: Create) -> None:
    made = website(allowBlobPublicAccess=False)
    assert made.id.endswith("/storageAccounts/issuera1b2/staticWebsite")
    assert made.outputs["containerName"] == "$web"
    file = {"accountName": "issuera1b2", "containerName": "$web", "blobName": "openid/v1/jwks"}
    account.create("Blob", "keys", **IN, **file)
    assert list(account.cloud_state.objects("issuera1b2/$web")) == ["openid/v1/jwks"]
    store = next(one for one in account.cloud_state.resources() if one.type.endswith("StorageAccount"))
    account.provider.delete(store.urn, store.id, store.outputs)
    assert [one.type for one in account.cloud_state.resources()] == ["azure-native:resources:ResourceGroup"]
    assert not account.cloud_state.objects("issuera1b2/$web")


def test_an_account_without_a_website_has_no_container_of_that_name(account: Account, scene: Scene) -> None:
    scene("rg")
    scene("store")
    file = {"accountName": "mulliona1b2", "containerName": "$web", "blobName": "openid/v1/jwks"}
    assert account.refused(lambda: account.create("Blob", "keys", **IN, **file)).code == "ContainerNotFound"


@pytest.mark.parametrize(
    "closed",
    [
        {"publicNetworkAccess": "Disabled"},
        {"networkRuleSet": {"defaultAction": "Deny", "ipRules": [{"iPAddressOrRange": "198.51.100.7"}]}},
    ],
)
def test_a_closed_account_lets_this_computer_switch_no_website(
    account: Account, website: Create, closed: dict[str, Any]
) -> None:
    account.cloud_state.set_setting(CALLER, "203.0.113.9")
    with pytest.raises(Refusal, match="AuthorizationFailure"):
        website(**closed)


def test_an_account_of_files_has_no_website(website: Create) -> None:
    with pytest.raises(Refusal, match="not supported"):
        website(kind="FileStorage", sku={"name": "Premium_LRS"})
