"""The kinds of step a node plan is made of, and the references it may hold.

This table is the only definition: steps are checked against it when they are made, the
JSON schema of node plans is generated from it, and both executors implement it.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class OnChange(str, Enum):
    """What a change of a step means for machines that already run."""

    REPLACE = "replace"
    """Workers are made anew, wave by wave."""
    AGENT = "agent"
    """The control-plane agent reconciles it in the running cluster."""
    NEW_NODES = "new_nodes"
    """Only machines made from now on take it."""


@dataclass(frozen=True)
class Kind:
    """One kind of step: its fields and what it makes true."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    systems: tuple[str, ...] = ("linux", "windows")
    tuning: tuple[str, ...] = field(default=("timeout_seconds", "retries"))
    """Fields that steer the executor only; they never replace a machine."""
    meaning: str = ""


KINDS: dict[str, Kind] = {
    "directory": Kind(
        ("path",),
        ("access",),
        meaning="The directory exists. access private: SYSTEM and Administrators, or root, alone; else others may"
        " read.",
    ),
    "artifact": Kind(
        ("url", "digest", "path"),
        ("executable", "size"),
        meaning="The file at path has the digest (sha256:... or sha512:...); downloaded from url when it has not.",
    ),
    "archive": Kind(
        ("source", "target"),
        ("strip", "members"),
        meaning="The archive source is unpacked in target; members limits it to these names, strip drops leading"
        " folders.",
    ),
    "file": Kind(
        ("path", "content"),
        ("format", "access", "executable"),
        meaning="The file holds content: text as it is; with format json a document, with format documents a list of"
        " them, each JSON after a line of three dashes; references filled in.",
    ),
    "environment": Kind(("variable", "value"), meaning="The variable has the value for every process of the machine."),
    "secret": Kind(
        ("secret", "path"),
        ("member",),
        meaning="The file, private, holds the secret (or one member of a JSON secret), fetched with the machine's"
        " identity.",
    ),
    "encryption-configuration": Kind(
        ("secret", "member", "path", "resources"),
        systems=("linux",),
        meaning="The file, private, is an EncryptionConfiguration of the API server for the resources: secretbox with"
        " the member's base64 keys (a list, newest first; named key1 for the oldest, and so on), then"
        " identity.",
    ),
    "certificate-authority": Kind(
        ("url", "hash", "path"),
        meaning="The file holds the PEM bundle at url, fetched with the machine's identity; the public key of one of"
        " its certificates has the hash (sha256:<hex>).",
    ),
    "bootstrap-token": Kind(
        ("secret", "kubeconfig", "lifetime_hours"),
        ("requires",),
        systems=("linux",),
        meaning="The secret holds a bootstrap token that the cluster knows, good for at least half its lifetime; else"
        " one is made with the kubeconfig and stored with the machine's identity. Only if the file `requires` exists.",
    ),
    "claim": Kind(
        ("store", "marker", "founder", "member"),
        systems=("linux",),
        meaning="One of the files founder and member exists: founder if this machine itself wrote the object marker"
        " to the store (a write that fails when it exists; it holds the instance id), member if another did."
        " Store errors wait.",
    ),
    "service": Kind(
        ("service", "command"),
        ("depends", "environment", "log", "restart_seconds", "wrapper", "start", "delegate", "description"),
        meaning="The service exists with exactly this command, restarts after failure, and runs (start auto); with"
        " start boot it starts at boot only, and something else starts it now; with delegate its processes"
        " outlive it and manage their own cgroups (Linux).",
    ),
    "command": Kind(
        ("argv",),
        ("creates", "requires", "environment", "input"),
        meaning="Runs argv unless the file `creates` exists, and only if the file `requires` does; input is given on"
        " standard input, a document as JSON.",
    ),
    "wait": Kind(
        ("condition",),
        meaning="Waits until the condition holds: {address: A}, {tcp: [host, port]}, {url: U}, {file: P}, {service:"
        " S}.",
    ),
    "firewall-rule": Kind(
        ("rule", "protocol", "ports"),
        ("sources",),
        meaning="The host's firewall lets the protocol in on the ports (a list: 4789, 30000-32767), from the"
        " sources (default: any).",
    ),
    "hostname": Kind(("value",), meaning="The machine has this host name."),
    "reboot": Kind(
        (), meaning="The machine restarts if an earlier step of the run asked for it, and goes on after it."
    ),
    "module": Kind(("module",), systems=("linux",), meaning="The kernel module is loaded, now and at boot."),
    "sysctl": Kind(("key", "value"), systems=("linux",), meaning="The kernel setting has the value, now and at boot."),
    "swap": Kind((), systems=("linux",), meaning="No swap is in use, now and after a boot."),
    "build": Kind(
        ("build",),
        ("minimum_ubr",),
        systems=("windows",),
        meaning="The machine runs this Windows build with at least this update revision; anything else ends the run.",
    ),
    "registry": Kind(
        ("key", "value", "type", "data"), systems=("windows",), meaning="The registry value has the type and the data."
    ),
    "feature": Kind(("feature",), systems=("windows",), meaning="The Windows feature is installed; asks for a reboot."),
    "port-range": Kind(
        ("protocol", "start", "count"), systems=("windows",), meaning="Dynamic ports of the protocol lie in this range."
    ),
    "defender-exclusion": Kind(
        ("processes", "paths"), systems=("windows",), meaning="Defender, where it runs, leaves these alone."
    ),
    "metadata-route": Kind(
        ("address",), systems=("windows",), meaning="The metadata address is routed through the current interface."
    ),
    "source-vip": Kind(
        ("network", "plugin", "data_directory"),
        systems=("windows",),
        meaning="host-local holds one address of the node's subnet for kube-proxy; sets node.source_vip.",
    ),
}

REFERENCES: dict[str, str] = {
    "machine.name": "Node name, also host name; lower case, at most 15 characters.",
    "machine.address": "Planned private IPv4 address.",
    "machine.pool": "Pool name, or control-plane.",
    "machine.zone": "Index of the availability zone, from 0.",
    "facts.api_host": "Name of the API endpoint in the private zone.",
    "facts.api_url": "https URL of the API endpoint.",
    "facts.api_public_host": "Name of the public API load balancer, or empty.",
    "facts.ca_hash": "sha256:<hex> of the cluster CA's public key, as kubeadm writes it.",
    "facts.ca_url": "URL of the CA bundle (PEM) in the bundle store.",
    "facts.bundle_store": "https URL of the bundle store.",
    "facts.snapshot_store": "https URL of the snapshot store; control plane only.",
    "facts.secret_service": "https URL of the cloud's secret service.",
    "facts.compute_service": "https URL of the cloud's compute API; control plane only.",
    "facts.join_secret": "Name of the secret that holds the bootstrap token.",
    "facts.pki_secret": "Name of the secret that holds CAs and keys; control plane only.",
    "facts.desired_state_secret": "Name of the secret that authenticates the desired-state pointer; control plane.",
    "facts.cloud": "aws, azure or gcp.",
    "facts.region": "Region of the cloud.",
    "facts.cluster": "Cluster name.",
    "registration.labels": "Node labels as key=value,...",
    "registration.taints": "Taints the node registers with, as Kubernetes objects.",
    "node.address": "Address found on the machine's interface.",
    "node.provider_id": "providerID, from the metadata service.",
    "node.source_vip": "Address that the source-vip step holds.",
    "node.pod_subnet": "Pod range of this node, as the network says.",
    "node.bootstrap_token": "Token read from the join secret; never written to a log or a result.",
}
"""Everything a plan may leave open, and what fills it: machine, facts (from the user-data), node (found there)."""


def ref(name: str) -> dict[str, str]:
    """A reference to a value known later. KeyError when the closed list does not have it."""
    if name not in REFERENCES:
        raise KeyError(f"{name!r} is no reference; components/node/kinds.py lists them")
    return {"ref": name}


@dataclass(frozen=True)
class Step:
    """One thing that must be true of the machine."""

    kind: str
    name: str
    fields: dict[str, Any]
    on_change: OnChange = OnChange.REPLACE

    def document(self) -> dict[str, Any]:
        """As it stands in plan.json."""
        return {"kind": self.kind, "name": self.name, **self.fields}

    def replacing(self) -> dict[str, Any] | None:
        """The part that replaces workers when it changes, or None."""
        if self.on_change is not OnChange.REPLACE:
            return None
        tuning = KINDS[self.kind].tuning
        return {"kind": self.kind, "name": self.name} | {k: v for k, v in self.fields.items() if k not in tuning}


def step(kind: str, name: str, /, *, on_change: OnChange = OnChange.REPLACE, **fields: Any) -> Step:
    """A step of a known kind with its fields. ValueError names what is missing or unknown."""
    known = KINDS.get(kind)
    if known is None:
        raise ValueError(f"step {name!r}: {kind!r} is no kind")
    missing = [each for each in known.required if each not in fields]
    unknown = [each for each in fields if each not in known.required + known.optional + known.tuning]
    if missing or unknown:
        raise ValueError(f"step {name!r} of kind {kind}: missing {missing}, unknown {unknown}")
    return Step(kind, name, fields, on_change)
