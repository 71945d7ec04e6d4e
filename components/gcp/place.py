"""The project and region that resources are created in."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
from pulumi import InvokeOptions, Output


@dataclass(frozen=True)
class Place:
    """Project id and region of the provider."""

    project: Output[str]
    region: Output[str]


def place(parent: pulumi.Resource) -> Place:
    """Return the project and region of the provider that `parent` has."""
    client = gcp.organizations.get_client_config_output(opts=InvokeOptions(parent=parent))
    return Place(client.project, client.region)


def balancer_of(cluster: str) -> str:
    """Return the description of a load balancer's parts that cannot have labels; the reaper finds them by it."""
    return f"Load balancer of {cluster}"
