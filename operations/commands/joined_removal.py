"""What a removed stack leaves in a cluster that somebody else made: Nodes of its machines, and its bootstrap token.

The engine destroys resources without the program, so no hook deletes them.
"""

import asyncio
import os
from dataclasses import dataclass

from components.rollout import bootstrap_tokens, joined_nodes
from components.rollout.kubernetes_api import Access, KubernetesApi, Refused, Unreachable
from components.rollout.own_kubeconfig import VARIABLE, Unusable, read
from operations.commands import joined
from operations.engine import state
from operations.engine.state import State

CLUSTER = "mullion:index:JoinedCluster"
"""Type of the component in the state."""


@dataclass(frozen=True)
class Left:
    """Machines by instance id, id of the token (empty: none), and hash of the cluster's authority."""

    machines: dict[str, str]
    token: str
    ca_hash: str

    def removed(self) -> str:
        """Delete Nodes and token. Return what was done; or, if they cannot be deleted, the commands that do it."""
        try:
            return asyncio.run(self._removed(KubernetesApi(_access(self.ca_hash))))
        except (Unusable, Unreachable, Refused) as error:
            return f"the existing cluster may still have Nodes of this stack ({error}). Run there:\n{self._commands()}"

    async def _removed(self, api: KubernetesApi) -> str:
        nodes = (await api.call("GET", joined_nodes.NODES))["items"]
        own = [node for node in nodes if joined_nodes.instance_of(node) in self.machines]
        if self.token:
            await bootstrap_tokens.delete(api, self.token)
        for node in own:
            await joined_nodes.delete(api, node)
        names = ", ".join(sorted(node["metadata"]["name"] for node in own)) or "none"
        return f"deleted in the existing cluster: the bootstrap token; Nodes: {names}"

    def _commands(self) -> str:
        nodes = [f"  kubectl delete node {' '.join(sorted(self.machines.values()))}"] if self.machines else []
        secret = f"  kubectl --namespace kube-system delete secret {bootstrap_tokens.secret_name(self.token)}"
        return "\n".join([*nodes, *([secret] if self.token else [])])


def _access(ca_hash: str) -> Access:
    """Return the way to the API by the user's kubeconfig. Raises Unusable if it is of another cluster."""
    access = read(os.environ.get(VARIABLE, ""))
    if not joined.is_of(access, ca_hash):
        raise Unusable(f"{VARIABLE} is of another cluster")
    return access


def left(name: str, resources: State) -> Left | None:
    """Return what a stack leaves; None if its machines join no cluster. resources: of the state, before the removal."""
    cluster = next((each for each in resources if each["type"] == CLUSTER), None)
    if cluster is None:
        return None
    machines = {each["id"]: machine for machine, each in state.instances(resources).items() if each["id"]}
    token = state.stashed(name, resources, "bootstrap-token") or ""
    return Left(machines, token.partition(".")[0], (cluster.get("outputs") or {}).get("ca_hash") or "")
