"""Managed identities of Azure's machines: which one a request gets, and tokens as libraries verify them."""

import base64
import json
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import google.auth.jwt
import pytest
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CredentialUnavailableError, ManagedIdentityCredential
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sandbox import tamper
from sandbox.azure.regions import TENANT
from sandbox.services.azure.machine import MACHINE, identities
from tests.cloud_init.accounts import AZURE_OWN, AZURE_PRINCIPAL, AZURE_STORE
from tests.cloud_init.cloud import FakeCloud


def test_a_request_names_an_identity_or_gets_the_system_assigned_one(
    azure: FakeCloud, credential: ManagedIdentityCredential
) -> None:
    token = credential.get_token("https://vault.azure.net/.default")
    assert token.token == credential.get_token("https://vault.azure.net/.default").token
    with ManagedIdentityCredential() as own:
        claims = verified(azure, own.get_token("https://management.azure.com/.default").token)
    assert (claims["oid"], claims["tid"]) == (AZURE_OWN, TENANT)
    assert claims["xms_mirid"] == azure.account.machine
    assert verified(azure, token.token)["oid"] == AZURE_PRINCIPAL
    cloud_state = azure.services.cloud_state
    machine = cloud_state.find(MACHINE, azure.account.machine)
    assert machine is not None
    del machine.outputs["identity"]["principalId"]
    with cloud_state.transaction():
        cloud_state.put(machine)
    for client, said in ((None, "Multiple user assigned identities"), (AZURE_PRINCIPAL, "Identity not found")):
        with (
            ManagedIdentityCredential(client_id=client) as other,
            pytest.raises((CredentialUnavailableError, ClientAuthenticationError), match=said),
        ):
            other.get_token("https://vault.azure.net/.default")


def test_a_deleted_identity_gives_no_tokens_and_neither_does_a_new_one_of_its_name(azure: FakeCloud) -> None:
    """The machine refers to the deleted one, until somebody assigns the new one to it."""
    cloud_state = azure.services.cloud_state
    machine = cloud_state.find(MACHINE, azure.account.machine)
    assert machine
    [known] = [each for each in identities(cloud_state, machine) if each.outputs["principalId"] == AZURE_PRINCIPAL]
    tamper.remove(cloud_state, known)
    assert known not in identities(cloud_state, machine)
    with cloud_state.transaction():
        cloud_state.put(replace(known, sequence=cloud_state.next_sequence()))
    assert AZURE_PRINCIPAL not in [each.outputs["principalId"] for each in identities(cloud_state, machine)]


def verified(azure: FakeCloud, token: str) -> dict[str, Any]:
    """Return the claims of a token, which a library verifies with the published keys."""
    url, found = f"{azure.url}/common/discovery/keys", list[Any]()
    for host in ("login.microsoftonline.com", "management.azure.com", "127.0.0.1"):
        with urlopen(Request(url, headers={"Host": host})) as answer:
            found.append(json.load(answer)["keys"])
    assert found[0] == found[1] == found[2], "machines of a sandbox know the address of Resource Manager only"
    [key] = found[0]
    n, e = (int.from_bytes(base64.urlsafe_b64decode(key[each] + "=="), "big") for each in ("n", "e"))
    pem = RSAPublicNumbers(e, n).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    said = google.auth.jwt.decode(token, {key["kid"]: pem})
    assert said["iss"] == f"https://sts.windows.net/{TENANT}/"
    return dict(said)


def test_a_token_outlives_its_machine_and_ends_after_its_lifetime(
    azure: FakeCloud, credential: ManagedIdentityCredential
) -> None:
    azure.objects["/bundles/ca.crt"] = b"x"
    token = credential.get_token("https://storage.azure.com/.default").token
    cloud_state = azure.services.cloud_state
    machine = cloud_state.find(MACHINE, azure.account.machine)
    assert machine is not None
    with cloud_state.transaction():
        cloud_state.remove(machine.sequence)
    headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2023-11-03"}
    url = f"{azure.url}/{AZURE_STORE}/bundles/ca.crt"
    assert urlopen(Request(url, headers=headers)).read() == b"x"
    end = verified(azure, token)["exp"]
    azure.services.clock = lambda: end
    with pytest.raises(HTTPError) as late:
        urlopen(Request(url, headers=headers))
    with late.value as error:
        assert error.code == 401
