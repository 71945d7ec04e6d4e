"""What a plan may leave open: machine and facts (from the user-data), node (found there), registration (the plan's)."""

REFERENCES: dict[str, str] = {
    "machine.name": "Node name, also host name; lower case, at most 15 characters.",
    "machine.address": "Planned private IPv4 address.",
    "machine.pool": "Pool name, or control-plane.",
    "machine.pod_cidr": "Planned pod range; only where the cloud routes pods (l2bridge).",
    "machine.pod_start": "First address in it that pods may have; only there too.",
    "machine.zone": "Index of the availability zone, from 0.",
    "facts.api_host": "Name of the API endpoint in the private zone.",
    "facts.api_url": "https URL of the API endpoint.",
    "facts.api_public_host": "Name of the public API load balancer, or empty.",
    "facts.ca_hash": "sha256:<hex> of the cluster CA's public key, as kubeadm writes it.",
    "facts.ca_url": "URL of the CA bundle (PEM) in the bundle store.",
    "facts.bundle_store": "https URL of the bundle store.",
    "facts.status_url": "URL that the machine's status record has before <instance id>.json: it ends in %3A.",
    "facts.snapshot_store": "https URL of the snapshot store; control plane only.",
    "facts.secret_service": "https URL of the cloud's secret service.",
    "facts.compute_service": "https URL of the cloud's compute API; control plane only.",
    "facts.join_secret": "Name of the secret that holds the bootstrap token.",
    "facts.pki_secret": "Name of the secret that holds CAs and keys; control plane only.",
    "facts.desired_state_secret": "Name of the secret that authenticates the desired-state pointer; control plane.",
    "facts.cloud": "aws, azure or gcp.",
    "facts.identity": "Azure: client id of the machine's own managed identity; it may have others, by policy.",
    "facts.region": "Region of the cloud.",
    "facts.cluster": "Cluster name.",
    "registration.labels": "Node labels as key=value,...",
    "registration.taints": "Taints the node registers with, as Kubernetes objects.",
    "registration.taint_text": "The same as key=value:Effect,...",
    "node.address": "Address found on the machine's interface.",
    "node.provider_id": "providerID, from the metadata service.",
    "node.source_vip": "Address that the source-vip step holds.",
    "node.address_range": "node.address as a range of one: 10.20.1.4/32.",
    "node.pod_subnet": "Pod range of this node: Windows, as the step pod-range found it; Linux, as flannel wrote it.",
    "node.bootstrap_token": "Token read from the join secret; never written to a log or a result.",
    "node.mtu": "What a probe that records mtu said.",
    "node.os_version": "What a probe that records os_version said.",
}
"""The closed list."""

DOCUMENTS = frozenset({"registration.taints"})
"""References whose value is no text: they stand in documents only."""


def ref(name: str) -> dict[str, str]:
    """A reference to a value known later. KeyError when the closed list does not have it."""
    if name not in REFERENCES:
        raise KeyError(f"{name!r} is no reference; components/node/kinds/references.py lists them")
    return {"ref": name}
