"""Add-ons that the control plane applies: manifests in cloud-init/addons with the spec's values filled in."""

import hashlib
import json
from collections.abc import Callable

from components import naming, releases
from components.lint import Context, Level, policies
from components.node import cni, gmsa, hypervisor, images, network, sign_in, snapshots, volumes
from components.node.admission import SYSTEM_NAMESPACE
from components.node.kinds import OnChange, Step, step
from components.node.layout import ADMIN_KUBECONFIG
from components.node.manifests import Manifest, manifests_of, pod_of
from components.node.plan import Phase, Scope, canonical
from components.node.role import HYPERV_LABEL, Role, taint
from components.node.runtime import HYPERV_HANDLER, WINDOWS_HANDLERS
from components.spec.models import CloudController, Isolation, NetworkMode, Pool, WorkloadRules

FOLDER = "/etc/mullion/addons"

_MOST = 3
"""Most control-plane machines (spec.control_plane.count). The policy lists all their names, so that machines can be
added later."""


def phase(role: Role) -> Phase:
    """Return the phase that writes one file of manifests for each add-on, applies them and deletes former add-ons."""
    wanted = {name: manifests for name, make in ADDONS.items() if (manifests := make(role))}
    steps = [_file(name, _by_digest(role, manifests)) for name, manifests in wanted.items()]
    paths = [each.fields["path"] for each in steps]
    folder = step("directory", "addons", path=FOLDER, on_change=OnChange.AGENT)
    apply = step("addons", "apply-addons", files=paths, kubeconfig=ADMIN_KUBECONFIG, on_change=OnChange.AGENT)
    return Phase("addons", Scope.NODE, (folder, *steps, apply))


def flannel(role: Role) -> list[Manifest]:
    """Return flannel for Linux nodes with the cluster's network settings; empty if the cloud routes pods (l2bridge)."""
    if role.spec.network.mode is NetworkMode.L2BRIDGE:
        return []
    manifests = manifests_of("flannel.yaml")
    (settings,) = (each for each in manifests if each["kind"] == "ConfigMap")
    settings["data"] = {
        "cni-conf.json": json.dumps(cni.linux(role.spec.network)),
        "net-conf.json": json.dumps(network.net_conf(role)),
    }
    # flanneld reads its settings at its start only; a changed annotation of the template starts new pods
    (daemons,) = (each for each in manifests if each["kind"] == "DaemonSet")
    template = daemons["spec"]["template"]["metadata"]
    template["annotations"] = {"mullion.dev/settings": hashlib.sha256(canonical(settings["data"])).hexdigest()[:16]}
    return manifests


def flannel_policy(role: Role) -> list[Manifest]:
    """Return the admission policy that holds each flannel pod to its own Node; empty without flannel, or for minors
    whose tokens of pods do not name the Node.
    """
    if role.spec.network.mode is NetworkMode.L2BRIDGE or not role.release.admission_policies:
        return []
    return manifests_of("flannel-policy.yaml")


def node_pods_policy(role: Role) -> list[Manifest]:
    """Return the admission policy that lets only control planes create pods as nodes; empty before Kubernetes 1.30."""
    if not role.release.admission_policies:
        return []
    manifests = manifests_of("node-pods-policy.yaml")
    (policy,) = (each for each in manifests if each["kind"] == "ValidatingAdmissionPolicy")
    users = [f"system:node:{naming.machine_name(naming.CONTROL_PLANE, index)}" for index in range(_MOST)]
    policy["spec"]["validations"][0]["expression"] = f"request.userInfo.username in {json.dumps(users)}"
    return manifests


def node_range_policy(role: Role) -> list[Manifest]:
    """Return the admission policy by which no node chooses its pod range; empty before Kubernetes 1.30."""
    return manifests_of("node-range-policy.yaml") if role.release.admission_policies else []


def windows_workloads(role: Role) -> list[Manifest]:
    """Return the admission policies with the rules of `mullion lint`.

    Empty without Windows pools, before Kubernetes 1.30, and if the spec wants none.
    """
    chosen, context = role.spec.admission, Context(role.spec)
    if chosen.windows_workloads is WorkloadRules.NONE or not context.windows or not role.release.admission_policies:
        return []
    enforced = chosen.windows_workloads is WorkloadRules.ENFORCE
    actions = {Level.ERROR: ["Deny"] if enforced else ["Warn"], Level.WARNING: ["Warn"]}
    return policies.manifests(context, actions, {SYSTEM_NAMESPACE, *chosen.exempt_namespaces})


def windows_nodes(_: Role) -> list[Manifest]:
    """Return the RBAC rules that flanneld and kube-proxy on Windows need with their node's certificate."""
    return windows_node_rights()


def windows_node_rights() -> list[Manifest]:
    """Return the RBAC rules of Windows nodes, which are the same in every cluster, Mullion's or not."""
    return manifests_of("windows-nodes.yaml")


def runtime_classes(role: Role) -> list[Manifest]:
    """Return a RuntimeClass for each Windows build in the cluster, with tolerations for its pools (SCH-05).

    A build whose pools offer Hyper-V isolation has a second one, for their Nodes alone.
    """
    pools: dict[str, list[Pool]] = {}
    for pool in role.spec.pools.values():
        if pool.os.is_windows:
            pools.setdefault(pool.os.value, []).append(pool)
    classes = [_runtime_class(releases.windows(os), each) for os, each in sorted(pools.items())]
    isolated = {os: [pool for pool in each if pool.isolation is Isolation.HYPERV] for os, each in sorted(pools.items())}
    return [*classes, *(_hyperv_class(releases.windows(os), each) for os, each in isolated.items() if each)]


def pod_security(role: Role) -> list[Manifest]:
    """Return the Pod Security Admission labels of the namespaces that every cluster has."""
    manifests, levels = manifests_of("pod-security.yaml"), role.spec.pod_security
    (default,) = (each for each in manifests if each["metadata"]["name"] == "default")
    labels = {"audit": levels.audit, "warn": levels.warn}
    default["metadata"]["labels"] = {
        f"pod-security.kubernetes.io/{mode}": level.value for mode, level in labels.items()
    }
    return manifests


def metrics_server(role: Role) -> list[Manifest]:
    """Return metrics-server in the version for the minor; empty unless the spec has addons.metrics_server.

    With a second Linux machine it has two pods, so autoscalers keep their metrics during a drain. Before 1.27 they have
    no disruption budget, because there a budget also keeps pods that are not ready from eviction, and so blocks drains
    (unhealthyPodEvictionPolicy is on by default from 1.27; KEP-3017).
    """
    if not role.spec.addons.metrics_server:
        return []
    manifests = manifests_of("metrics-server.yaml")
    if not releases.within(role.release.minor, "1.27", ""):
        manifests = [each for each in manifests if each["kind"] != "PodDisruptionBudget"]
    (deployment,) = (each for each in manifests if each["kind"] == "Deployment")
    workers = sum(pool.count for pool in role.spec.pools.values() if not pool.os.is_windows)
    deployment["spec"]["replicas"] = min(2, role.spec.control_plane.count + workers)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = f"registry.k8s.io/metrics-server/metrics-server:v{role.release.metrics_server}"
    return manifests


def cloud_controller(role: Role) -> list[Manifest]:
    """Return the cloud controller manager of the minor; empty unless the spec has cloud_controller: external."""
    if role.spec.cloud_controller is CloudController.NONE:
        return []
    manifests, chosen = manifests_of("cloud-controller-aws.yaml"), releases.aws_controller(role.spec.kubernetes)
    (daemons,) = (each for each in manifests if each["kind"] == "DaemonSet")
    (container,) = daemons["spec"]["template"]["spec"]["containers"]
    digest = role.spec.artifacts.images.get(chosen.image) or chosen.digest
    container["image"] = f"{chosen.image}@{digest}" if digest else chosen.image
    # the names of balancers have it too (kubernetes/cloud-provider, app/core.go)
    container["args"].append(f"--cluster-name={role.cluster}")
    return manifests


def images_on(role: Role, system: str) -> frozenset[str]:
    """Return the images that add-ons start on nodes of an operating system, linux or windows."""
    pods = [pod_of(each) for make in ADDONS.values() for each in _by_digest(role, make(role))]
    chosen = [each for each in pods if each.get("nodeSelector", {}).get("kubernetes.io/os", "linux") == system]
    return frozenset(
        container["image"]
        for pod in chosen
        for container in (*pod.get("initContainers", ()), *pod.get("containers", ()))
    )


ADDONS: dict[str, Callable[[Role], list[Manifest]]] = {
    "flannel": flannel,
    "flannel-policy": flannel_policy,
    "node-pods-policy": node_pods_policy,
    "node-range-policy": node_range_policy,
    "windows-workloads": windows_workloads,
    "windows-nodes": windows_nodes,
    "runtime-classes": runtime_classes,
    "pod-security": pod_security,
    "sign-in": sign_in.bindings,
    "metrics-server": metrics_server,
    "cloud-controller": cloud_controller,
    "snapshots": snapshots.manifests,
    "volumes": volumes.manifests,
    "gmsa": gmsa.manifests,
}


def _runtime_class(release: releases.WindowsRelease, pools: list[Pool]) -> Manifest:
    taints = sorted({each for pool in pools for each in pool.taints})
    (manifest,) = manifests_of("runtime-class.yaml")
    manifest["metadata"]["name"] = release.runtime_class
    # a check refuses pools of one build with different runtimes
    manifest["handler"] = WINDOWS_HANDLERS[pools[0].runtime]
    scheduling = manifest["scheduling"]
    scheduling["nodeSelector"]["node.kubernetes.io/windows-build"] = release.build
    scheduling["tolerations"] = [{**taint(each), "operator": "Equal"} for each in taints]
    return manifest


def _hyperv_class(release: releases.WindowsRelease, pools: list[Pool]) -> Manifest:
    """Return the class of a build's Hyper-V isolated pods; pools: those that offer this isolation."""
    manifest = _runtime_class(release, pools)
    manifest["metadata"]["name"] = release.hyperv_class
    manifest["handler"] = HYPERV_HANDLER
    manifest["overhead"] = {"podFixed": dict(hypervisor.OVERHEAD)}
    manifest["scheduling"]["nodeSelector"][HYPERV_LABEL] = "true"
    return manifest


def _by_digest(role: Role, manifests: list[Manifest]) -> list[Manifest]:
    """Return the manifests with the digests of their containers' images."""
    for each in manifests:
        pod = pod_of(each)
        for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
            container["image"] = images.pinned(role, container["image"])
    return manifests


def _file(name: str, manifests: list[Manifest]) -> Step:
    content = {"apiVersion": "v1", "kind": "List", "items": manifests}
    path = f"{FOLDER}/{name}.json"
    return step("file", f"addon-{name}", path=path, format="json", content=content, on_change=OnChange.AGENT)
