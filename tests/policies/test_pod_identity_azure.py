"""The website of an issuer on Azure is a narrow exception, and identities of machines trust no other issuer."""

from dataclasses import replace
from functools import lru_cache

import pytest

from operations.engine import recorded_policies
from operations.recorder.recorder import record
from policies.rules.permissions import CREDENTIAL
from policies.rules.rule import Resource
from policies.rules.stores import ACCOUNT, BLOB, CONTAINER, SITE
from tests.policies.cases import Change, given, gone
from tests.policies.recorded import broken
from tools.golden.cases import PRINCIPALS, changed

ISSUER, KEYS = "azure-prod-issuer", "azure-prod-issuer-keys"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"


@lru_cache
def resources(*, preview: bool = False) -> tuple[Resource, ...]:
    recording = record("azure-prod", changed("azure-prod", PRINCIPALS), preview=preview)
    assert recording.errors == []
    return tuple(map(recorded_policies.resource, recording.resources.values()))


def urn(kind: str, name: str) -> str:
    return next(each.urn for each in resources() if (each.type, each.name) == (kind, name))


def said(kind: str, name: str, change: Change) -> dict[str, list[str]]:
    found = [change(each) if (each.type, each.name) == (kind, name) else each for each in resources()]
    assert tuple(found) != resources()
    return broken(tuple(each for each in found if each is not None))


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "up"])
def test_a_protected_stack_with_identities_of_pods_breaks_no_rule(preview: bool) -> None:
    assert broken(resources(preview=preview)) == {}
    [own] = [each for each in resources() if (each.type, each.name) == (ACCOUNT, ISSUER)]
    assert not own.protect, "the website goes with its option"


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        (BLOB, KEYS, given(blobName="keys/sa.key")),
        (SITE, ISSUER, gone),
        (ACCOUNT, ISSUER, given(allowBlobPublicAccess=True)),
        (ACCOUNT, ISSUER, given(enableHttpsTrafficOnly=False)),
        (ACCOUNT, "azure-prod-bundles", given(networkRuleSet={"defaultAction": "Allow"})),
    ],
)
def test_an_account_that_opens_more_than_the_issuers_documents_is_refused(kind: str, name: str, change: Change) -> None:
    wrong = said(kind, name, change)["stores-encrypted"]
    account = name if kind == ACCOUNT else ISSUER
    assert [each for each in wrong if each.startswith(f"{account}: ") and "others could read" in each]


def test_the_issuers_account_has_no_other_container() -> None:
    account = urn(ACCOUNT, ISSUER)

    def moved(each: Resource) -> Resource:
        return replace(each, inputs_from={**each.inputs_from, "accountName": frozenset({account})})

    assert said(CONTAINER, "azure-prod-bundles", moved)["stores-encrypted"]


def test_an_identity_of_machines_with_a_federated_credential_is_refused() -> None:
    [trusted, *_] = [each for each in resources() if each.type == CREDENTIAL]
    node = urn(IDENTITY, "azure-prod-control-plane")

    def moved(each: Resource) -> Resource:
        return replace(each, inputs_from={**each.inputs_from, "resourceName": frozenset({node})})

    [wrong] = said(CREDENTIAL, trusted.name, moved)["permissions-narrow"]
    assert "azure-prod-control-plane is an identity of machines" in wrong
