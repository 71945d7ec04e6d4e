"""The files with policies, by name."""

from tools.permissions import aws, azure, gcp
from tools.permissions.recorded import recorded

NAMES = (
    *(f"{name}.json" for name in (*aws.POLICIES, *azure.ROLES)),
    *(f"{name}.yaml" for name in gcp.ROLES),
)


def text(file: str) -> str:
    """Return the text of a file of NAMES."""
    name = file.partition(".")[0]
    cloud = name.partition("-")[0]
    render = {"aws": aws.policy, "azure": azure.role, "gcp": gcp.role}[cloud]
    return render(name, recorded(cloud))
