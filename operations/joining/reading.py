"""Requests to the API of an existing cluster. They only read, ask for rights, or are dry runs."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import yaml

from components.lint.conditions import items
from components.lint.conditions import read as at
from components.releases.order import is_version
from components.rollout import bootstrap_tokens
from components.rollout.kubernetes_api import KubernetesApi, Refused, objects

Document = dict[str, Any]

SYSTEM, PUBLIC = "kube-system", "kube-public"
JOINERS = bootstrap_tokens.GROUP
WORKLOADS = {"DaemonSet": "daemonsets", "Deployment": "deployments", "StatefulSet": "statefulsets"}
ADDRESS_OUTSIDE = "203.0.113.1"
"""Address for documentation (RFC 5737), which no range of Services contains."""
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True)
class Right:
    """A request that a group must be allowed to make."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'/' if self.subresource else ''}{self.subresource}"


@dataclass(frozen=True)
class Flannel:
    """flannel in the cluster."""

    namespace: str
    daemon_set: str
    config_map: str
    settings: Mapping[str, Any]
    """Its net-conf.json."""


@dataclass(frozen=True)
class Existing:
    """What the API of an existing cluster says. None and empty values: the cluster does not have it."""

    version: str
    """Of the API server that answered, such as 1.37.1."""
    nodes: tuple[Document, ...]
    workloads: tuple[Document, ...]
    """DaemonSets, Deployments and StatefulSets of all namespaces."""
    config: Mapping[str, Mapping[str, str]]
    """Data of the ConfigMaps in kube-system, and of cluster-info in kube-public, by name."""
    flannel: Flannel | None
    control_plane: tuple[Document, ...]
    """Pods of the control plane's programs, if kubelets run them."""
    dns_service: Document | None
    dns_endpoints: int
    """Number of ready endpoints of the DNS Service."""
    service_answer: str
    """Message of the API server about a Service with an address of no range."""
    rights: Mapping[tuple[str, Right], bool] = field(default_factory=dict[tuple[str, Right], bool])
    """Whether a user, by name, has a right."""

    @cached_property
    def kubeadm(self) -> Mapping[str, Any]:
        """Return kubeadm's ClusterConfiguration; empty without it."""
        return _yaml(self.config.get("kubeadm-config", {}).get("ClusterConfiguration", ""))

    @cached_property
    def kubelet(self) -> Mapping[str, Any]:
        """Return the configuration that kubeadm gives new kubelets; empty without it."""
        # minors before 1.24 put the version in the name
        found = (data for name, data in self.config.items() if name.startswith("kubelet-config"))
        return _yaml(next(found, {}).get("kubelet", ""))

    @cached_property
    def endpoint(self) -> Mapping[str, str]:
        """Return server and CA that joining nodes read, as `server` and `certificate-authority-data`; empty without."""
        document = _yaml(self.config.get("cluster-info", {}).get("kubeconfig", ""))
        found = items(document.get("clusters"))
        return found[0].get("cluster", {}) if found else {}

    def flags(self, program: str) -> Iterator[dict[str, str]]:
        """Yield the flags of each pod of a control-plane program."""
        for pod in self.control_plane:
            if at(pod, "metadata.labels.component") == program:
                container = items(at(pod, "spec.containers"))[0]
                words = [*items(container.get("command")), *items(container.get("args"))]
                pairs = (word.removeprefix("--").partition("=") for word in words if word.startswith("--"))
                yield {name: value for name, _, value in pairs}


JOINER, WINDOWS_NODE = "a joining machine", "a Windows node"
USERS: dict[str, tuple[str, list[str]]] = {
    JOINER: ("system:bootstrap:abcdef", ["system:bootstrappers", JOINERS, "system:authenticated"]),
    WINDOWS_NODE: ("system:node:mullion-join-check", ["system:nodes", "system:authenticated"]),
}
CSR = ("certificates.k8s.io", "certificatesigningrequests")
ASKED: dict[str, tuple[Right, ...]] = {
    JOINER: (Right("create", *CSR), Right("create", *CSR, "nodeclient")),
    WINDOWS_NODE: (
        Right("create", *CSR, "selfnodeclient"),
        Right("list", "", "nodes"),
        Right("watch", "", "services"),
        Right("watch", "discovery.k8s.io", "endpointslices"),
    ),
}
"""Rights of each user: to ask for a certificate, to get it without a person's approval, and what flanneld and
kube-proxy read on Windows, where they use the node's certificate."""


def _version(api: KubernetesApi) -> str:
    """Return the API server's version without suffixes such as -eks-1a2b3c4. Raises Refused if it is not a version."""
    said = str(api.ask("GET", "/version").get("gitVersion"))
    version = re.split("[-+]", said.removeprefix("v"), maxsplit=1)[0]
    if not is_version(version):
        raise Refused(200, f"its version {said[:40]!r} is not a version of Kubernetes")
    return version


def read(api: KubernetesApi) -> Existing:
    """Return what the API says. Raises Unreachable, and Refused if a right of the administrator is missing."""
    workloads = tuple(each for kind in WORKLOADS for each in _workloads(api, kind))
    maps = objects(api, f"/api/v1/namespaces/{SYSTEM}/configmaps")
    config = {each["metadata"]["name"]: each.get("data") or {} for each in maps}
    cluster_info = _found(api, f"/api/v1/namespaces/{PUBLIC}/configmaps/cluster-info") or {}
    config["cluster-info"] = cluster_info.get("data") or {}
    pods = objects(api, f"/api/v1/namespaces/{SYSTEM}/pods?labelSelector=tier%3Dcontrol-plane")
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices"
    endpoints = objects(api, f"{slices}?labelSelector=kubernetes.io%2Fservice-name%3Dkube-dns")
    return Existing(
        version=_version(api),
        nodes=tuple(objects(api, "/api/v1/nodes")),
        workloads=workloads,
        config=config,
        flannel=_flannel(api, workloads),
        control_plane=tuple(pods),
        dns_service=_found(api, f"/api/v1/namespaces/{SYSTEM}/services/kube-dns"),
        dns_endpoints=sum(_ready(each) for each in endpoints),
        service_answer=_service_answer(api),
        rights={(who, right): _allowed(api, who, right) for who, rights in ASKED.items() for right in rights},
    )


def _workloads(api: KubernetesApi, kind: str) -> list[Document]:
    found = objects(api, f"/apis/apps/v1/{WORKLOADS[kind]}")
    return [{**each, "apiVersion": "apps/v1", "kind": kind} for each in found]  # items of a list name no kind


def _found(api: KubernetesApi, path: str) -> Document | None:
    try:
        return api.ask("GET", path)
    except Refused as refused:
        if refused.status == 404:
            return None
        raise


def _flannel(api: KubernetesApi, workloads: tuple[Document, ...]) -> Flannel | None:
    """Return flannel by the ConfigMap with net-conf.json that a DaemonSet mounts; None without one."""
    for each in workloads:
        if each["kind"] != "DaemonSet":
            continue
        meta = each["metadata"]
        for volume in items(at(each, "spec.template.spec.volumes")):
            name = at(volume, "configMap.name")
            if not name:
                continue
            found = _found(api, f"/api/v1/namespaces/{meta['namespace']}/configmaps/{name}")
            text = ((found or {}).get("data") or {}).get("net-conf.json")
            if text:
                settings: Any = {}
                with suppress(ValueError):
                    settings = json.loads(text)
                return Flannel(meta["namespace"], meta["name"], name, settings if isinstance(settings, dict) else {})
    return None


def _ready(endpoint_slice: Document) -> int:
    found = items(endpoint_slice.get("endpoints"))
    return sum(at(each, "conditions.ready") is not False for each in found)


def _service_answer(api: KubernetesApi) -> str:
    """Return the API server's refusal of an address outside its range, which names the range. Creates nothing."""
    spec = {"clusterIP": ADDRESS_OUTSIDE, "ports": [{"port": 80}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "mullion-"}, "spec": spec}
    try:
        api.ask("POST", "/api/v1/namespaces/default/services?dryRun=All", body)
    except Refused as refused:
        return str(refused)
    return ""


def _allowed(api: KubernetesApi, who: str, right: Right) -> bool:
    user, groups = USERS[who]
    asked = {"verb": right.verb, "group": right.group, "resource": right.resource, "subresource": right.subresource}
    spec = {"user": user, "groups": groups, "resourceAttributes": asked}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return bool(api.ask("POST", REVIEWS, body)["status"]["allowed"])


def _yaml(text: str) -> Mapping[str, Any]:
    with suppress(yaml.YAMLError):
        document = yaml.safe_load(text)
        if isinstance(document, dict):
            return document  # pyright: ignore[reportUnknownVariableType]
    return {}
