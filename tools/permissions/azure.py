"""Custom roles for the identity that runs Mullion on Azure.

Azure refuses a role with a name that no resource provider has, so every name is one of a recorded operation.
"""

import json

from tools.permissions.recorded import Recorded

NOT_READING = {
    "Microsoft.Compute/virtualMachines/runCommand/action": "`mullion connect` runs commands as root or SYSTEM",
    "Microsoft.Compute/locations/operations/read": "only changes, and such commands, are waited for",
}
"""Permissions of functions and commands that neither a preview nor a search for drift calls, and why."""
ROLES = {"azure": ("Mullion", "Builds clusters"), "azure-read": ("Mullion reader", "Previews clusters and finds drift")}
"""Name and description, by the file's name."""


def role(name: str, recorded: Recorded) -> str:
    """Return a custom role as JSON, as `az role definition create` reads it."""
    reads = name == "azure-read"
    title, description = ROLES[name]
    document = {
        "Name": title,
        "IsCustom": True,
        "Description": description,
        "Actions": sorted(recorded.reading - NOT_READING.keys() if reads else recorded.permissions),
        "NotActions": [],
        "DataActions": [],  # the provider reads and writes blobs with the account's key, secrets by ARM
        "NotDataActions": [],
        "AssignableScopes": ["/subscriptions/SUBSCRIPTION"],
    }
    return json.dumps(document, indent=2) + "\n"
