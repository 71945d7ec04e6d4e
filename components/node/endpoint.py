"""Steps for the API endpoint on a machine: its CA file, kubeconfigs, and the wait for it."""

from typing import Any

from components.node.kinds import Step, ref, step
from components.node.waiting import wait
from components.topology.firewall import API_PORT


def kubeconfig(ca: str, user: dict[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig for a user (fields of an AuthInfo) that trusts the CA file."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": {"server": ref("facts.api_url"), "certificate-authority": ca}}],
        "users": [{"name": "node", "user": user}],
        "contexts": [{"name": "node", "context": {"cluster": "cluster", "user": "node"}}],
        "current-context": "node",
    }


def authority(path: str) -> Step:
    """Return the step that downloads the cluster's CA and checks it against the fact `ca_hash`."""
    return step("certificate-authority", "cluster-ca", url=ref("facts.ca_url"), hash=ref("facts.ca_hash"), path=path)


def reachable(port: int = API_PORT) -> Step:
    """Return the step that waits until the API accepts connections; a new control plane needs minutes."""
    return wait("endpoint", timeout_seconds=1800, tcp=[ref("facts.api_host"), port])
