"""What to do after some errors of clouds and providers that do not say it themselves."""

import re

from operations.stacks import target

GONE = {
    "azure-native:storage:BlobContainer": "ContainerNotFound",
    "azure-native:storage:ManagementPolicy": "ManagementPolicyNotFound",
    "azure-native:authorization:RoleDefinition": "RoleDefinitionDoesNotExist",
}
"""By type, Azure's code for a resource that does not exist, if the provider does not know the code: a refresh then ends
with it instead of finding that the resource is gone (pulumi-azure-native#4841)."""
GROUP, BLOCKED = "azure-native:resources:ResourceGroup", re.compile(r"ResourceGroupDeletionBlocked|RecoveryServices")
"""Type of a resource group, and what Azure says if it cannot delete a resource in it."""
BUCKET_POLICY, CLOSED = "aws:s3/bucketPolicy:BucketPolicy", "BlockPublicPolicy"
"""Type of a bucket's policy, and the setting that S3 names if the account lets no bucket be public."""
OF_PODS, OF_ACCOUNT = "mullion:azure:PodIdentity", "azure-native:storage:"
CREDENTIAL = "azure-native:managedidentity:FederatedIdentityCredential"
FORBIDDEN = re.compile(r"RequestDisallowedByPolicy|AuthorizationFailure")
"""Component of an issuer's website, types in storage accounts, type of what trusts the issuer, and what Azure says if a
policy closes the account."""
SHUT = re.compile(
    r"(?<!-issuer-keys \()(?<!-issuer-discovery \()azure-native:storage:Blob\b.*\bAuthorizationFailure\b", re.DOTALL
)
"""Matches the errors of objects in a storage account whose rules do not admit this computer (docs/azure.md). That
of an issuer has no such rules."""
VAULT = "exists in deleted state"
"""Part of Key Vault's error ConflictError: a vault that was deleted keeps its name (docs/azure.md)."""


def of(urn: str, text: str) -> str:
    """Return what to do about an error of a resource, as further lines; empty if the error says it itself."""
    parts = urn.split("::")
    if len(parts) < 4:
        return ""
    kind, stack = parts[2].rpartition("$")[2], parts[0].removeprefix("urn:pulumi:")
    if (code := GONE.get(kind)) and re.search(rf"\b{code}\b", text):
        return (
            "\n    Azure no longer has it, and the provider cannot take that for a deletion (pulumi-azure-native#4841)."
            "\n    Create it again in Azure under its name and id (pulumi stack export shows them); or, if nothing "
            f"else in the state needs it:\n    pulumi state delete --stack {stack} '{urn}'"
        )
    if kind == BUCKET_POLICY and CLOSED in text:
        return (
            "\n    Run it again: S3 may not know everywhere yet that this bucket may be opened. If it stays, the"
            "\n    account or the organisation lets no bucket be public, and pod_identity needs one with two public"
            " documents:"
            "\n    aws s3control get-public-access-block --account-id ACCOUNT shows it"
            " (docs/pod-identity.md)"
        )
    if OF_PODS in parts[2].split("$") and kind.startswith(OF_ACCOUNT) and FORBIDDEN.search(text):
        return (
            "\n    A policy closes this storage account, and pod_identity needs one whose static website Entra ID can"
            " read:\n    no public container, but an account with a public network. az policy state list --resource ID"
            " names the policy.\n    Ask for an exemption, or remove pod_identity and publish an issuer yourself"
            " (docs/pod-identity.md#on-azure)"
        )
    if kind == CREDENTIAL and "RequestDisallowedByPolicy" in text:
        return (
            "\n    A policy allows only named issuers of federated credentials: add the output issuer to its list"
            " (allowed exceptions),\n    ask for an exemption, or remove this entry of pod_identity"
            " (docs/pod-identity.md#on-azure)"
        )
    if kind == GROUP and BLOCKED.search(text):
        return (
            "\n    If a policy backs up virtual machines, its Recovery Services vault is in this group: stop its "
            'backups,\n    delete their data and the vault, then run this again (docs/azure.md, "Destroy")'
        )
    return ""


def of_stack(name: str, errors: str) -> list[str]:
    """Return lines of advice about a stack's errors; empty if they have no known cause."""
    up, down, refresh = (target.command(*words) for words in (("up", name), ("down", name), ("up", name, "--refresh")))
    found: list[str] = []
    if SHUT.search(errors):
        found.append(
            "No object is missing: the cluster's storage accounts do not admit this computer. Write its present public"
            " address in api.allow, or in the cluster's region its subnet in api.virtual_network_rules (docs/azure.md)."
            f" Then run `{up}`, which changes the accounts' rules before it reads or writes an object, and this again"
        )
    if VAULT in errors:
        found.append(_of_vaults(up, down, refresh))
    return found


def _of_vaults(up: str, down: str, refresh: str) -> str:
    """Return how to go on with the name of a deleted vault, by these command lines."""
    return (
        f"Azure keeps the name of a deleted vault. After an interrupted `down`: `{down}` to its end, then"
        f" `{up}`, whose new vault gets another name by itself. If the vault was deleted by hand:"
        f" `az keyvault recover --name VAULT`, then `{refresh}`"
    )
