"""ClusterContext: the input of each cloud's `build`."""

from dataclasses import dataclass

from pulumi import Output

from components.plan import ClusterPlan
from components.rollout import simulation
from components.rollout.kubernetes_api import Access
from components.rollout.pod_routes import PodRouteHooks
from components.rollout.upgrade import Upgrade
from components.wiring.joined_cluster import JoinedCluster
from components.wiring.kept_secrets import Generated
from components.wiring.tags import Tags


@dataclass(frozen=True)
class ClusterContext:
    """One cluster: its plan, secrets, tags and upgrade, the same for every cloud."""

    plan: ClusterPlan
    secrets: Generated | JoinedCluster
    tags: Tags
    upgrade: Upgrade
    target: str
    """Where the cluster is built: cloud or sandbox (components/machine/service_urls.py)."""
    pod_routes: PodRouteHooks

    @property
    def generated(self) -> Generated:
        """Return the secrets of a cluster that Mullion makes. Raises ValueError if the pools join somebody else's."""
        if self.plan.joins or isinstance(self.secrets, JoinedCluster):
            raise ValueError(f"{self.plan.name} joins a cluster whose secrets Mullion does not have")
        return self.secrets

    def access(self, public_host: Output[str]) -> Output[Access | None]:
        """Return how the program itself reaches the Kubernetes API; None: not at all.

        public_host: empty if the API is private.
        """
        if isinstance(self.secrets, JoinedCluster):
            return Output.from_input(self.secrets.access)
        endpoint = self.plan.endpoint
        url = simulation.api() or public_host.apply(endpoint.for_people)
        return self.generated.access(url, endpoint.host)
