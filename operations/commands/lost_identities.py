"""Identities of machines that somebody deleted in the account, and where the way back is described.

A new identity of the same name is another one for the cloud: machines that were built with the deleted one get no
credentials by it, or credentials whose rights are on other names (docs/recovery.md, "A deleted identity").
"""

from collections.abc import Iterable

from operations.engine.state import State

TYPES = {
    "aws:iam/role:Role": ("role", "uniqueId"),
    "aws:iam/instanceProfile:InstanceProfile": ("instance profile", "uniqueId"),
    "azure-native:managedidentity:UserAssignedIdentity": ("managed identity", "principalId"),
    "gcp:serviceaccount/account:Account": ("service account", "uniqueId"),
}
"""By type of the resource: its word, and the output that differs in a new one of the same name."""


def advice(lost: Iterable[tuple[str, str]]) -> str:
    """Return what the loss of identities means; empty if none is lost. lost: names and types of missing resources."""
    named = [f"{TYPES[kind][0]} {name}" for name, kind in lost if kind in TYPES]
    if not named:
        return ""
    return (
        f"deleted in the account: {', '.join(named)}. Machines that were built with it have no credentials, and a new"
        ' one of the same name does not give them back: docs/recovery.md, "A deleted identity", has the way back'
    )


def created_again(before: State, after: State) -> list[tuple[str, str]]:
    """Return names and types of the identities that are others after a run than before."""
    numbers = {each["urn"]: _number(each) for each in before if each["type"] in TYPES}
    return [
        (each["urn"].rpartition("::")[2], each["type"])
        for each in after
        if (earlier := numbers.get(each["urn"])) and _number(each) not in ("", earlier)
    ]


def _number(resource: dict[str, object]) -> str:
    outputs = resource.get("outputs")
    found = outputs.get(TYPES[str(resource["type"])][1]) if isinstance(outputs, dict) else None
    return str(found or "")
