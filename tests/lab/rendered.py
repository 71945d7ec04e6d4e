"""Files of node plans for real programs, with all references filled in."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.catalogue import artifacts
from components.node import plan_node
from components.node.kinds import REFERENCES
from components.node.plan import NodePlan
from components.spec.models import ClusterSpec
from components.spec.report import Severity, SpecError
from components.stack_files.stack import CLUSTER, read_stack

VALUES: Mapping[str, Any] = {
    **dict.fromkeys(REFERENCES, "value"),
    "machine.name": "pool-0",
    "machine.address": "10.20.0.4",
    "machine.pod_cidr": "10.244.4.0/24",
    "machine.pod_start": "10.244.4.3",
    "facts.api_host": "api.dev.mullion.internal",
    "facts.api_url": "https://api.dev.mullion.internal:6443",
    "registration.labels": "mullion.dev/pool=pool,team=billing",
    "registration.taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
    "registration.taint_text": "os=windows:NoSchedule",
    "node.address": "10.20.0.4",
    "node.address_range": "10.20.0.4/32",
    "node.issuer": "https://dev-issuer-0123456.s3.eu-west-1.amazonaws.com",
    "node.issuer_keys": "https://dev-issuer-0123456.s3.eu-west-1.amazonaws.com/openid/v1/jwks",
    "node.resolv_conf": "/run/systemd/resolve/resolv.conf",
    "node.provider_id": "aws:///eu-west-1a/i-0123456789abcdef0",
    "node.source_vip": "10.244.1.2",
    "node.pod_subnet": "10.244.1.0/24",
    "node.bootstrap_token": "abcdef.0123456789abcdef",
}
"""Values of references, which a machine would fill in."""

DIGEST = 64 * "0"
"""Digests for Kubernetes versions without a published one; nothing is downloaded here."""

_QUANTITIES = {"cpu": "1", "memory": "2Gi", "ephemeral_storage": "1Gi"}

FULL_KUBELET: dict[str, Any] = {
    "system_reserved": _QUANTITIES,
    "kube_reserved": {**_QUANTITIES, "cpu": "200m"},
    "eviction_hard": {"memory.available": "500Mi", "nodefs.available": "10%"},
    "verbosity": 4,
    "config": {"imageGCHighThresholdPercent": 90},
}


FULL_CONTAINERD: dict[str, Any] = {"config": {"oom_score": -999, "debug": {"level": "info"}}}


@dataclass(frozen=True)
class Variant:
    """A cluster to render: the spec's options for all machines, and those of a Windows pool."""

    name: str
    cluster: Mapping[str, Any]
    windows: Mapping[str, Any]


VARIANTS = (
    Variant("defaults", {}, {}),
    Variant(
        "everything",
        {
            "api": {"access": "public", "allow": ["203.0.113.0/24"]},
            "control_plane": {"count": 3, "kubelet": FULL_KUBELET, "kube_proxy": {"config": {"mode": "ipvs"}}},
            "kubeadm": {
                "ignore_preflight": ["NumCPU"],
                "config": {"ClusterConfiguration": {"imageRepository": "registry.example/k8s"}},
            },
            "network": {
                "domain": "example.internal",
                "pods": "10.128.0.0/14",
                "services": "172.20.0.0/16",
                "vni": 5000,
            },
        },
        {
            "max_pods": 50,
            "spot": True,
            "labels": {"team": "billing"},
            "taints": ["os=windows:NoSchedule", "gpu=yes:NoExecute"],
            "kubelet": {**FULL_KUBELET, "priority_class": "HIGH_PRIORITY_CLASS"},
            "kube_proxy": {"dsr": True, "config": {"metricsBindAddress": "127.0.0.1:10249"}},
            "containerd": FULL_CONTAINERD,
        },
    ),
    Variant("docker", {}, {"runtime": "docker"}),
    Variant("pods", {"pod_identity": {}}, {}),
    Variant("hyperv", {}, {"isolation": "hyperv", "size": "m8i.xlarge"}),
    Variant("l2bridge", {"network": {"mode": "l2bridge"}}, {}),
)

TOO_OLD = frozenset({"windows-before-kubernetes", "pod-identity-early", "hyperv-containerd"})
"""Ids of checks that may refuse a variant for some minors, which is then left out there. Any other error of a variant
fails, so that no file stays without a judge unnoticed."""

WINDOWS = ("windows-2019", "windows-2022", "windows-2025")
LINUX = {"linux22": "ubuntu-22.04", "linux24": "ubuntu-24.04"}
"""Pools and their operating systems."""


@dataclass(frozen=True)
class Rendered:
    """The plan of one machine."""

    variant: str
    os: str
    pool: str
    """Name of the pool, or control-plane."""
    plan: NodePlan

    @property
    def name(self) -> str:
        """Return a label of the machine."""
        return f"{self.variant}-{self.os if self.pool == 'windows' else self.pool}"

    def file_of_kind(self, kind: str) -> Any:
        """Return the Kubernetes document of a kind among the plan's files, filled in."""
        contents = [each.fields.get("content") for each in self.plan.steps if each.kind == "file"]
        return filled(next(each for each in contents if isinstance(each, dict) and each.get("kind") == kind))

    def has(self, step: str) -> bool:
        """Return whether the plan has a step of this name."""
        return any(each.name == step for each in self.plan.steps)

    def content(self, step: str) -> Any:
        """Return the content of a file step, filled in."""
        return filled(self.fields(step)["content"])

    def fields(self, step: str) -> Mapping[str, Any]:
        """Return the fields of the step of this name."""
        return next(each for each in self.plan.steps if each.name == step).fields

    def command(self, service: str, program: str) -> list[str]:
        """Return the program's arguments in a service's command, filled in, without wrappers."""
        command = filled(self.fields(service)["command"])
        first = next(i for i, each in enumerate(command) if each.removesuffix(".exe").endswith(program))
        return command[first + 1 :]


def filled(document: Any, values: Mapping[str, Any] = VALUES) -> Any:
    """Return the document with all references replaced by values."""
    if isinstance(document, Mapping):
        if set(document) == {"ref"}:
            return values[document["ref"]]
        return {key: filled(value, values) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [filled(each, values) for each in document]
    return document


def machines(kubernetes: str) -> tuple[Rendered, ...]:
    """Return all machines of all variants that can be planned for the version."""
    return tuple(each for variant in VARIANTS for each in of_variant(kubernetes, variant))


def of_variant(kubernetes: str, variant: Variant) -> Iterator[Rendered]:
    """Yield the machines of a variant that can be planned for the version."""
    pools = {name: {"os": os, **_linux_part(variant)} for name, os in LINUX.items()}
    for windows in WINDOWS:
        spec = _spec(kubernetes, variant, {**pools, "windows": {"os": windows, **variant.windows}})
        if spec is None:
            continue
        first = windows == WINDOWS[0]
        for pool in ("windows", None, *LINUX) if first else ("windows",):
            yield Rendered(variant.name, windows, pool or "control-plane", plan_node("dev", spec, pool))


def _linux_part(variant: Variant) -> Mapping[str, Any]:
    return (
        {"kubelet": FULL_KUBELET, "containerd": FULL_CONTAINERD, "labels": {"team": "billing"}, "spot": True}
        if variant.name == "everything"
        else {}
    )


def _spec(kubernetes: str, variant: Variant, pools: Mapping[str, Any]) -> ClusterSpec | None:
    """Return the spec; None if only checks of TOO_OLD refuse it. Raises SpecError if another check does."""
    artifacts = {**variant.cluster.get("artifacts", {}), **_entries(kubernetes)}
    document = {"cloud": "aws", "kubernetes": kubernetes, "pools": pools, **variant.cluster, "artifacts": artifacts}
    try:
        return read_stack("dev", {"aws:region": "eu-west-1", CLUSTER: document}).spec
    except SpecError as refused:
        if not {each.id for each in refused.problems if each.severity is Severity.ERROR} <= TOO_OLD:
            raise
        return None


def _entries(kubernetes: str) -> Mapping[str, Any]:
    """Return entries for a Kubernetes version without entries in artifacts.json."""
    url = "https://files.example/node-{}.tar.gz"
    entry = {"name": "kubernetes-node", "version": kubernetes, "sha256": DIGEST}
    missing = kubernetes not in artifacts.versions("kubernetes-node")
    entries = [{**entry, "os": os, "url": url.format(os)} for os in ("linux", "windows")] if missing else []
    return {"entries": entries}


def write(folder: Path, name: str, *documents: Any) -> Path:
    """Return one file with these documents as JSON, which is YAML too."""
    path = folder / name
    path.write_text("\n---\n".join(json.dumps(each) for each in documents), encoding="utf-8")
    return path


SAMPLES: Mapping[str, Any] = {
    "any": 0,
    "bool": False,
    "bool-map": {},
    "count": 10,
    "duration": "10s",
    "int": 10,
    "list": [],
    "map": {},
    "number": 0.5,
    "object": {},
    "text": "text",
    "text-map": {},
    "texts": [],
}
"""A valid value for each type of field."""


def of_fields(api_version: str, kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return a document with all fields of a table."""
    document: dict[str, Any] = {"apiVersion": api_version, "kind": kind}
    for name, takes in sorted(fields.items()):
        *above, last = name.split(".")
        place = document
        for each in above:
            place = place.setdefault(each, {})
        place.setdefault(last, SAMPLES[takes].copy() if isinstance(SAMPLES[takes], dict) else SAMPLES[takes])
    return document
