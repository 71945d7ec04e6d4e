"""The cluster's API endpoint as a machine sees it: its CA, kubeconfigs that point at it, waiting for it."""

from typing import Any

from components.node.kinds import Step, ref, step
from components.node.waiting import wait
from components.topology.firewall import API_PORT


def kubeconfig(ca: str, user: dict[str, Any]) -> dict[str, Any]:
    """A kubeconfig for a user (fields of an AuthInfo), trusting the CA file."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": {"server": ref("facts.api_url"), "certificate-authority": ca}}],
        "users": [{"name": "node", "user": user}],
        "contexts": [{"name": "node", "context": {"cluster": "cluster", "user": "node"}}],
        "current-context": "node",
    }


def authority(path: str) -> Step:
    """The cluster's CA bundle at path, checked against the hash that the machine was told."""
    return step("certificate-authority", "cluster-ca", url=ref("facts.ca_url"), hash=ref("facts.ca_hash"), path=path)


def reachable() -> Step:
    """The API takes connections; the first control plane needs minutes until it does."""
    return wait("endpoint", timeout_seconds=1800, tcp=[ref("facts.api_host"), API_PORT])
