"""Identities of pods on Azure: what is public, whom an identity trusts, and the order in which keys are published."""

import json
from typing import Any

import pytest

from components.azure.pod_identity import AUDIENCE, CREDENTIAL, identity_name
from components.machine.issuer import md5
from components.plan import plan_cluster
from components.spec.pod_identity import DISCOVERY, KEYS, ServiceAccount
from components.stack_files.stack import read_stack
from operations.recorder.recorder import Recording, Registered, record
from sandbox.values import Secret
from tests.components.recorded_wiring import of
from tools.golden.cases import KEYS as OWN_KEYS
from tools.golden.cases import PRINCIPALS, changed

ACCOUNT, BLOB = "azure-native:storage:StorageAccount", "azure-native:storage:Blob"
SITE, CONTAINER = "azure-native:storage:StorageAccountStaticWebsite", "azure-native:storage:BlobContainer"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
TRUSTED = "azure-native:managedidentity:FederatedIdentityCredential"
ASSIGNMENT, SECRET = "azure-native:authorization:RoleAssignment", "azure-native:keyvault:Secret"
MACHINE = "azure-native:compute:VirtualMachine"


@pytest.fixture(scope="module")
def found() -> Recording:
    recording = record("azure-dev", changed("azure-dev", PRINCIPALS))
    assert recording.errors == []
    return recording


def documents(found: Recording) -> dict[str, Registered]:
    """Return the files of the website by name."""
    return {
        each.inputs["blobName"]: each for each in of(found, BLOB).values() if each.inputs["containerName"] == "$web"
    }


def text(file: Registered) -> str:
    return str(file.inputs["source"].text)


def issuer(found: Recording) -> dict[str, Any]:
    secret: Any = of(found, SECRET)["azure-dev-pki"].inputs["properties"]["value"]
    return json.loads(secret.value if isinstance(secret, Secret) else secret)["issuer"]


def test_the_website_has_two_documents_and_its_account_nothing_else(found: Recording) -> None:
    files, account = documents(found), of(found, ACCOUNT)["azure-dev-issuer"].inputs
    assert files.keys() == {DISCOVERY, KEYS}
    assert account["allowBlobPublicAccess"] is False, "a website needs no public container"
    assert account["networkRuleSet"]["defaultAction"] == "Allow" and account["enableHttpsTrafficOnly"] is True
    names = {each.inputs["accountName"] for each in files.values()}
    assert names == {account["accountName"]} == {each.inputs["accountName"] for each in of(found, SITE).values()}
    assert all(each.inputs["accountName"] != account["accountName"] for each in of(found, CONTAINER).values())


def test_the_discovery_document_is_of_the_issuer_that_control_planes_read_in_their_secret(found: Recording) -> None:
    url = found.outputs["issuer"]
    document = json.loads(text(documents(found)[DISCOVERY]))
    assert url.startswith("https://") and not url.endswith("/")
    assert (document["issuer"], document["jwks_uri"]) == (url, f"{url}/{KEYS}")
    assert issuer(found) == {"url": url, "keys": f"{url}/{KEYS}"}


def test_the_keys_are_those_of_this_rotation_and_the_next_and_no_private_one(found: Recording) -> None:
    keys = json.loads(text(documents(found)[KEYS]))["keys"]
    assert len({key["kid"] for key in keys}) == 2
    assert all(key.keys() == {"use", "kty", "kid", "alg", "n", "e"} for key in keys)
    rotated = record("azure-dev", changed("azure-dev", {**PRINCIPALS, "rotation": {"service_account": 2}}))
    assert len(json.loads(text(documents(rotated)[KEYS]))["keys"]) == 3


def test_a_refresh_sees_what_others_wrote(found: Recording) -> None:
    for file in documents(found).values():
        assert file.inputs["contentMd5"] == md5(text(file)) and file.inputs["contentType"] == "application/json"


def test_each_service_account_has_an_identity_of_its_own_that_trusts_it_alone(found: Recording) -> None:
    trusted = of(found, TRUSTED)
    identities = {each.inputs["resourceName"]: each for each in of(found, IDENTITY).values() if "-pods-" in each.name}
    assert {each.inputs["subject"] for each in trusted.values()} == {
        "system:serviceaccount:shop:uploads",
        "system:serviceaccount:shop:reports.monthly",
    }
    for each in trusted.values():
        assert (each.inputs["issuer"], each.inputs["audiences"]) == (found.outputs["issuer"], [AUDIENCE])
        assert each.inputs["federatedIdentityCredentialResourceName"] == CREDENTIAL
    assert sorted(each.inputs["resourceName"] for each in trusted.values()) == sorted(identities), "one each"


def test_the_credential_and_the_secret_wait_for_the_documents(found: Recording) -> None:
    written = {each.urn for each in documents(found).values()}
    secret, [credential, *_] = of(found, SECRET)["azure-dev-pki"], of(found, TRUSTED).values()
    assert written <= secret.property_dependencies["properties"]
    assert written <= credential.property_dependencies["issuer"]


def test_no_role_is_granted_and_no_machine_has_an_identity_of_pods(found: Recording) -> None:
    plain = record("azure-dev", changed("azure-dev", {}))
    assert of(found, ASSIGNMENT).keys() == of(plain, ASSIGNMENT).keys()
    for machine in of(found, MACHINE).values():
        assert not [id for id in machine.inputs["identity"]["userAssignedIdentities"] if "-pods-" in id]


def test_the_outputs_name_tenant_client_and_principal_of_each_service_account(found: Recording) -> None:
    accounts = {"shop/uploads", "shop/reports.monthly"}
    assert found.outputs["pod_roles"].keys() == accounts == found.outputs["pod_principals"].keys()
    assert found.outputs["pod_tenant"]
    assert "pod_tenant" not in record("azure-dev", changed("azure-dev", {})).outputs


def test_the_account_is_encrypted_with_the_users_key_as_the_others_are() -> None:
    whole = changed("azure-prod", {**PRINCIPALS, **OWN_KEYS["azure"]})
    accounts = of(record("azure-prod", whole), ACCOUNT)
    assert accounts["azure-prod-issuer"].inputs["encryption"] == accounts["azure-prod-bundles"].inputs["encryption"]


def test_only_the_bundle_of_the_control_plane_changes() -> None:
    def bundles(**more: Any) -> dict[str, str]:
        spec = read_stack("azure-dev", changed("azure-dev", more)).spec
        return {group.name: group.bundle.sha256 for group in plan_cluster("azure-dev", spec).machine_groups}

    before, after = bundles(), bundles(**PRINCIPALS)
    assert [name for name in before if before[name] != after[name]] == ["control-plane"]


@pytest.mark.parametrize("cluster", ["a", "azure-dev", "abcdefghijklmnopqrstuvwxyz"])
def test_names_of_identities_fit_and_differ(cluster: str) -> None:
    accounts = [
        ServiceAccount(namespace=namespace, name=name)
        for namespace, name in (("a-b", "c"), ("a", "b-c"), ("a", "b.c"), ("n" * 63, "s" * 253), ("n" * 63, "s" * 252))
    ]
    names = [identity_name(cluster, each) for each in accounts]
    assert len({*names}) == len(names)
    assert all(3 <= len(name) <= 128 and name.replace("-", "").isalnum() for name in names)
