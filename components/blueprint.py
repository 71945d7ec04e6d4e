"""What the wiring of a cloud is given."""

from dataclasses import dataclass

from pulumi import Output

from components import booted
from components.generated import Generated
from components.kubernetes_api import Access
from components.plan import ClusterPlan
from components.tags import Tags
from components.upgrade import Upgrade


@dataclass(frozen=True)
class Blueprint:
    """One cluster: its plan, and what the program has ready for it in any cloud."""

    plan: ClusterPlan
    generated: Generated
    tags: Tags
    upgrade: Upgrade
    world: str
    """The one it is built in (components/urls.py)."""

    def access(self, public_host: Output[str]) -> Output[Access]:
        """Of the program to the Kubernetes API."""
        endpoint = self.plan.endpoint
        url = booted.api() or public_host.apply(endpoint.for_people)
        return self.generated.access(url, endpoint.host)
