"""References: machine and facts (from user-data), node (read on the machine), registration (from the plan)."""

REFERENCES: dict[str, str] = {
    "machine.name": "Node name, also host name; lower case, at most 15 characters.",
    "machine.address": "Planned private IPv4 address.",
    "machine.pool": "Pool name, or control-plane.",
    "machine.pod_cidr": "Planned pod range; only where the cloud routes pods (l2bridge).",
    "machine.pod_start": "First address for pods in machine.pod_cidr; only with l2bridge.",
    "machine.zone": "Index of the availability zone, from 0.",
    "facts.api_host": "Name of the API endpoint in the private zone.",
    "facts.api_url": "https URL of the API endpoint.",
    "facts.ca_hash": "sha256:<hex> of the cluster CA's public key, as kubeadm writes it.",
    "facts.ca_url": "URL of the CA bundle (PEM) in the bundle store.",
    "facts.bundle_store": "https URL of the bundle store.",
    "facts.status_url": "URL of the machine's status record without <instance id>.json; it ends in %3A.",
    "facts.snapshot_store": "https URL of the snapshot store; control plane only.",
    "facts.secret_service": "https URL of the cloud's secret service.",
    "facts.compute_service": "https URL of the cloud's compute API; control plane only.",
    "facts.compute_way": "Azure, egress: none: proxy, by which control planes ask the compute API.",
    "facts.join_secret": "Name of the secret from which every machine derives its bootstrap token.",
    "facts.pki_secret": "Name of the secret with authorities and keys; control plane only.",
    "facts.desired_state_secret": "Name of the secret that signs the desired-state pointer; control plane only.",
    "facts.cloud": "aws, azure or gcp.",
    "facts.identity": "Azure: client id of the machine's managed identity; policies may assign others too.",
    "facts.tenant": "Azure, with registry_credentials: id of the directory of the cluster's identities.",
    "facts.registry_identity": "Azure, with registry_credentials: client id of the identity that pulls images.",
    "facts.region": "Region of the cloud.",
    "facts.cluster": "Cluster name.",
    "registration.labels": "Node labels as key=value,...",
    "registration.taints": "Taints the node registers with, as Kubernetes objects.",
    "registration.taint_text": "The same taints as key=value:Effect,...",
    "node.address": "Address of the machine's interface.",
    "node.provider_id": "providerID, from the metadata service.",
    "node.source_vip": "Address that the source-vip step has reserved.",
    "node.address_range": "node.address as a range of one address: 10.20.1.4/32.",
    "node.pod_subnet": "Pod range of this node: on Windows from the step pod-range, on Linux from flannel's file.",
    "node.bootstrap_token": "This machine's bootstrap token (announcing.py); never written to a log or a result.",
    "node.issuer": "URL of the issuer of service-account tokens, from the secret pki; control plane with pod_identity.",
    "node.issuer_keys": "URL of the keys that verify these tokens, from the same secret.",
    "node.resolv_conf": "Linux: file with the name servers; systemd-resolved's own, without loopback, if it runs.",
    "node.mtu": "Output of the probe that records mtu.",
    "node.os_version": "Output of the probe that records os_version.",
}
"""Meaning by name: the closed list of references."""

DOCUMENTS = frozenset({"registration.taints"})
"""References whose value is not a string; allowed in documents only."""


def ref(name: str) -> dict[str, str]:
    """Return a reference to a value that the machine fills in. Raises KeyError if the closed list lacks the name."""
    if name not in REFERENCES:
        raise KeyError(f"{name!r} is no reference; components/node/kinds/references.py lists them")
    return {"ref": name}
