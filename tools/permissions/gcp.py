"""Custom roles for the identity that runs Mullion on Google Cloud."""

from tools.permissions.recorded import Recorded

LIMIT = 3000
"""Permissions of a custom role (IAM, "Quotas and limits")."""
SESSION = {"iap.tunnelInstances.accessViaIAP"}
ROLES = {
    "gcp": ("Mullion", "Builds clusters"),
    "gcp-read": ("Mullion reader", "Previews clusters and finds drift"),
    "gcp-session": ("Mullion sessions", "Opens tunnels to control planes"),
}
"""Title and description, by the file's name."""


def role(name: str, recorded: Recorded) -> str:
    """Return a custom role as YAML, as `gcloud iam roles create --file` reads it.

    Raises ValueError if it is too long.
    """
    of_name = {"gcp": recorded.permissions, "gcp-read": recorded.reading, "gcp-session": SESSION}
    permissions = sorted(of_name[name] if name == "gcp-session" else of_name[name] - SESSION)
    if len(permissions) > LIMIT:
        raise ValueError(f"{name} has {len(permissions)} permissions; a custom role has at most {LIMIT}")
    title, description = ROLES[name]
    lines = (f"- {each}" for each in permissions)
    return "\n".join(
        [f"title: {title}", f"description: {description}", "stage: GA", "includedPermissions:", *lines, ""]
    )
