"""Federated identity credentials: which tokens of another issuer a managed identity trusts.

Source: "Important considerations and restrictions for federated identity credentials", with the table of errors; the
code of concurrent writes is in Azure/bicep-registry-modules#1447.
"""

import re
from urllib.parse import urlsplit

from sandbox.azure.names import CREDENTIAL, IDENTITY, part_of, row
from sandbox.cloud import Refusal, Request, ResourceType, Unique

MOST = 20
"""Credentials of one identity."""
LONGEST = 600
"""Characters of issuer, subject and audience."""
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{2,119}")


def _refuse(message: str) -> None:
    raise Refusal("BadRequest", message)


def _form(request: Request) -> None:
    """Refuse fields that Azure does not take."""
    given = request.inputs
    if len(given["audiences"]) != 1:
        _refuse("Federated identity credentials must have exactly one audience.")
    for name, value in (
        ("issuer", given["issuer"]),
        ("subject", given["subject"]),
        ("audience", given["audiences"][0]),
    ):
        if not value or value != value.strip():
            _refuse("Federated Identity Credential from HTTP body has empty properties")
        if len(value) > LONGEST:
            _refuse(f"The {name} of a federated identity credential has at most {LONGEST} characters.")
    address = urlsplit(given["issuer"])
    if address.scheme != "https" or not address.hostname:
        _refuse(f"The issuer '{given['issuer']}' is not a valid https URL.")


def _count(request: Request) -> None:
    others = request.cloud_state.resources(CREDENTIAL.token)
    same = [one for one in others if identity(request) == one.id.rpartition("/federatedIdentityCredentials/")[0]]
    if request.old is None and len(same) >= MOST:
        _refuse(f"Too many Federated Identity Credentials for the managed identity; the maximum is {MOST}.")


def identity(request: Request) -> str:
    """Return the id of the identity of a credential."""
    return request.format(IDENTITY.id)


def busy(request: Request) -> Refusal:
    """Return the refusal of a write while another one of the same identity runs."""
    return Refusal(
        "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity",
        "Too many Federated Identity Credentials are written concurrently for the managed identity"
        f" '{identity(request)}'. Concurrent Federated Identity Credentials writes under the same managed identity are"
        " not supported.",
    )


TYPES: dict[str, ResourceType] = {
    CREDENTIAL.token: row(
        CREDENTIAL,
        located=False,
        outputs={"type": CREDENTIAL.arm},
        patterns={
            CREDENTIAL.name: (_NAME, "3 to 120 letters, digits, hyphens and underscores, a letter or digit first")
        },
        references=(part_of(IDENTITY),),
        unique=(
            Unique(
                "federated identity credential",
                ("resourceGroupName", "resourceName", "issuer", "subject"),
                "BadRequest",
                "Issuer and subject combination already exists for this Managed Identity.",
            ),
        ),
        rules=(_form, _count),
        alone=(identity, busy),
    )
}
