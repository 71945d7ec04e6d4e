"""What a first contact with a Windows Server tests: the steps of a pool's plan that need no cluster (contact.json)."""

from dataclasses import replace
from typing import Any

from components import releases
from components.catalogue.artifacts import UNKNOWN
from components.node import cni
from components.node import plan_node as plan_of
from components.node.kinds import Step, check
from components.node.layout import WINDOWS
from components.node.role import role
from components.spec.models import ClusterSpec, NetworkMode, Runtime
from components.version import VERSION

FORMAT = 1
"""Version of contact.json and of the result."""

RANGES = {NetworkMode.L2BRIDGE: "10.244.250.0/24", NetworkMode.OVERLAY: "10.244.251.0/24"}
"""Pod range of the network that is made and removed, by mode."""

_FIRST = RANGES[NetworkMode.OVERLAY]
MACHINE = {"pool": "contact", "pod_cidr": _FIRST, "pod_start": _FIRST.replace(".0/24", ".3")}
"""Planned values of the machine, beside its own name and address."""

KNOWN = frozenset({"name", "address", *MACHINE})
"""Members of `machine` that a machine without a cluster has."""

OWN = frozenset({"node.address", "node.address_range", "node.pod_subnet", "node.provider_id", "node.source_vip"})
"""References that are read on the machine or set by an earlier step; other node.* values need a cluster."""

CLUSTER_KINDS = {
    **dict.fromkeys(("api-version", "certificate-authority", "node-object", "pod-range"), "asks the cluster"),
    "kubelet-bootstrap": "reads the cluster's join secret",
    "secret": "reads a secret of the cluster",
    "stale-network": "would remove networks of others",
    "overlay-network": "waits for flanneld; the network is made and removed without it",
    "hns-network": "the network is made and removed in both modes",
}
"""Why a step is left out, by its kind."""

CLUSTER_SERVICES = frozenset({"kubelet", "flanneld", "kube-proxy", "interruption"})
"""Services that do not run without a cluster."""


def document(name: str, spec: ClusterSpec, pool: str) -> dict[str, Any]:
    """Return contact.json of a pool of a Windows release: steps, reasons for those left out, networks, programs.

    Contains no secret and no fact of a cluster but the cloud's name.
    """
    subject = role(name, spec, pool)
    plan = plan_of(name, spec, pool)
    unpinned = [each.name.removeprefix("download-") for each in plan.steps if each.fields.get("digest") == UNKNOWN]
    reasons = {each.name: why for each in plan.steps if (why := _reason(each, unpinned))}
    phases = [
        {"name": phase.name, "steps": [each.document() for each in phase.steps if each.name not in reasons]}
        for phase in plan.phases
    ]
    return {
        "format": FORMAT,
        "mullion": VERSION,
        "os": subject.os.value,
        "build": releases.windows(subject.os).build,
        "runtime": subject.runtime.value,
        "network": spec.network.mode.value,
        "kubernetes": spec.kubernetes,
        "cloud": spec.cloud.value,
        "machine": MACHINE,
        "phases": [each for each in phases if each["steps"]],
        "left_out": [{"step": each.name, "kind": each.kind, "why": reasons[each.name]} for each in plan.steps
                     if each.name in reasons],
        "networks": {mode.value: _network(name, spec, pool, mode) for mode in RANGES},
        "programs": _programs(spec.kubernetes),
    }  # fmt: skip


def _reason(step: Step, unpinned: list[str]) -> str:
    """Return why the step is left out; an empty text if it is not."""
    if why := CLUSTER_KINDS.get(step.kind):
        return why
    condition: dict[str, Any] = step.fields.get("condition", {})
    if {step.fields.get("service"), str(condition.get("service"))} & CLUSTER_SERVICES:
        return "the service needs a cluster"
    if set(condition) - {"address", "service"}:
        return "waits for a service or file of the cluster"
    if step.name.removeprefix("download-").removeprefix("unpack-").removesuffix("-runs") in unpinned:
        return "its download has no digest: mullion pin"
    for found in check.references(step.fields):
        source, _, key = found.partition(".")
        if not ((source == "machine" and key in KNOWN) or found in OWN):
            return f"needs {found} of a cluster"
    return ""


def _network(name: str, spec: ClusterSpec, pool: str, mode: NetworkMode) -> dict[str, Any]:
    """Return how to test a network mode: the step or HNS request that creates the network, its name, range and
    endpoints, and an endpoint's policies in the form of HNS v1.
    """
    changed = spec.model_copy(update={"network": spec.network.model_copy(update={"mode": mode})})
    subject, subnet, network = role(name, changed, pool), RANGES[mode], cni.name(changed.network)
    plugin = cni.windows(replace(subject, runtime=Runtime.DOCKER))["plugins"][0]
    policies = [each["value"] for each in plugin.get("delegate", plugin)["policies"]]
    made: dict[str, Any] = {"name": network, "subnet": subnet, "endpoints": ["first-contact-pod"], "policies": policies}
    if mode is NetworkMode.OVERLAY:
        # as helper.psm1 of microsoft/SDN makes it; flannel's is the same with more flags
        vsid = {"Type": "VSID", "VSID": spec.network.vni}
        gateway = subnet.replace(".0/24", ".1")
        ranges = [{"AddressPrefix": subnet, "GatewayAddress": gateway, "Policies": [vsid]}]
        return {**made, "body": {"Name": network, "Type": "Overlay", "Subnets": ranges}}
    step = next(each for each in plan_of(name, changed, pool).steps if each.kind == "hns-network").document()
    planned = {key: subnet if value == {"ref": "machine.pod_cidr"} else value for key, value in step.items()}
    return {**made, "endpoints": ["first-contact-pod", step["endpoint"]], "step": planned}


def _programs(kubernetes: str) -> list[dict[str, Any]]:
    """Return command lines of downloaded programs, and a text that each must print."""
    version = f"v{kubernetes}"
    return [
        {"argv": [WINDOWS.program("kubelet"), "--version"], "says": version},
        {"argv": [WINDOWS.program("kube-proxy"), "--version"], "says": version},
        {"argv": [WINDOWS.program("kubectl"), "version", "--client"], "says": version},
    ]
