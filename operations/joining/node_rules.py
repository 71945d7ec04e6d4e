"""Rules about an existing cluster's versions, rights of joining machines, and workloads that would reach Windows."""

from collections.abc import Iterator
from typing import Any

from components import releases
from components.catalogue.artifacts import versions
from components.lint import Context
from components.lint.conditions import read as at
from components.lint.documents import Manifests, Object
from components.lint.judge import lint
from components.node import addons
from components.releases.order import is_version
from operations.joining.reading import ASKED, JOINER, JOINERS, SYSTEM, Existing
from operations.joining.row import Command, Row, State, apply, ok, patch, refused, unknown

SKEW, SKEW_BEFORE_128 = 3, 2
"""Minors that a kubelet may be older than the API server, from 1.28 on and before
(https://kubernetes.io/releases/version-skew-policy/)."""
WOULD_LAND = ("daemonset-on-windows", "tolerates-everything")
"""Rules of the linter about workloads that the taint of Windows nodes does not stop."""
CLIENT_ROLE = "system:certificates.k8s.io:certificatesigningrequests:{}client"
GROUP_BINDINGS = {
    "create certificatesigningrequests": ("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", JOINERS),
    "create certificatesigningrequests/nodeclient": (
        "kubeadm:node-autoapprove-bootstrap",
        CLIENT_ROLE.format("node"),
        JOINERS,
    ),
    "create certificatesigningrequests/selfnodeclient": (
        "kubeadm:node-autoapprove-certificate-rotation",
        CLIENT_ROLE.format("selfnode"),
        "system:nodes",
    ),
}
"""Right -> name, ClusterRole and group of the binding that kubeadm creates for it
(cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go)."""


def version(cluster: Existing, wanted: str | None) -> Iterator[Row]:
    """Judge the versions of the API servers and of the Windows nodes. wanted: of the nodes; None: the newest."""
    found = [cluster.version, *_running(cluster)]
    oldest, newest = releases.in_order(found)[0], releases.in_order(found)[-1]
    nodes = wanted or node_version(cluster)
    if not nodes:
        yield refused(
            "version",
            f"Kubernetes {cluster.version}: Mullion builds Windows nodes of "
            f"{releases.supported_minors()[0]} to {releases.supported_minors()[-1]}",
        )
        return
    behind = _number(newest) - _number(nodes)
    allowed = SKEW if _number(newest) >= 28 else SKEW_BEFORE_128
    if releases.minor(nodes) not in releases.supported_minors():
        known = f"{releases.supported_minors()[0]} to {releases.supported_minors()[-1]}"
        yield refused("version", f"nodes of {nodes}: Mullion builds {known}")
    elif releases.older(oldest, nodes):
        yield refused(
            "version",
            f"nodes of {nodes} are newer than an API server of {oldest}; write "
            f"--kubernetes {oldest} or older, or upgrade the control plane first",
        )
    elif behind > allowed:
        yield refused(
            "version",
            f"nodes of {nodes} are {behind} minors older than an API server of {newest}; {allowed} are allowed",
        )
    else:
        yield ok("version", f"API servers of {', '.join(sorted({*found}))}; Windows nodes of {nodes}")


def node_version(cluster: Existing) -> str:
    """Return the newest version of Windows nodes with published digests that the cluster takes; empty without one."""
    oldest = releases.in_order([cluster.version, *_running(cluster)])[0]
    pinned = versions("kubernetes-node")
    fitting = [each for each in pinned if releases.minor(each) == releases.minor(oldest)]
    fitting = [each for each in fitting if not releases.older(oldest, each)]
    if fitting:
        return releases.in_order(fitting)[-1]
    return oldest if releases.minor(oldest) in releases.supported_minors() else ""


def _running(cluster: Existing) -> list[str]:
    """Return the versions of the API servers that kubelets run, by their images."""
    pods = (each for each in cluster.control_plane if at(each, "metadata.labels.component") == "kube-apiserver")
    tags = (str(pod["spec"]["containers"][0].get("image", "")).rpartition(":v")[2] for pod in pods)
    return [tag for tag in tags if is_version(tag)]  # a kubelet may create such a pod with any image


def _number(version: str) -> int:
    return int(releases.minor(version).partition(".")[2])


def joining(cluster: Existing) -> Iterator[Row]:
    """Judge what a machine needs to join: endpoint, CA, tokens, rights and who approves its certificate."""
    server = cluster.endpoint.get("server", "")
    if server and cluster.endpoint.get("certificate-authority-data"):
        yield ok("endpoint", f"{server}, with its CA in kube-public/cluster-info")
    else:
        yield refused(
            "endpoint",
            "ConfigMap kube-public/cluster-info has no server and CA. On a control "
            "plane: kubeadm init phase bootstrap-token",
        )
    yield _flag(cluster, "bootstrap-tokens", "kube-apiserver", "enable-bootstrap-token-auth", "true")
    yield _approver(cluster)
    for who in ASKED:
        yield _rights(cluster, who)


def _flag(cluster: Existing, check: str, program: str, flag: str, wanted: str) -> Row:
    """Return the row about a flag that all pods of a control-plane program must have."""
    values = [each.get(flag, "not set") or "true" for each in cluster.flags(program)]
    if not values:
        return unknown(check, f"no pod of {program} in {SYSTEM}; look whether it has --{flag}={wanted}")
    if {*values} != {wanted}:
        return refused(
            check,
            f"{program} has --{flag}: {', '.join(values)}. Set it to {wanted} in "
            f"/etc/kubernetes/manifests/{program}.yaml of each control plane",
        )
    return ok(check, f"{program} has --{flag}={wanted}")


def _approver(cluster: Existing) -> Row:
    """Return the row about the controller that approves certificates: Mullion's agent is not in this cluster."""
    check, program = "certificates", "kube-controller-manager"
    given = [each.get("controllers", "*") for each in cluster.flags(program)]
    if not given:
        return unknown(
            check,
            f"no pod of {program} in {SYSTEM}; look whether its controllers csrapproving "
            "and csrsigning run, which approve and sign the certificates of kubelets",
        )
    for needed in ("csrapproving", "csrsigning"):
        for each in (text.split(",") for text in given):
            if f"-{needed}" in each or not {"*", needed} & {*each}:
                return refused(
                    check,
                    f"{program} runs without {needed} (--controllers={','.join(each)}), so "
                    "nothing gives a joining kubelet its certificate",
                )
    return ok(check, f"{program} approves and signs requests of joining kubelets")


def _rights(cluster: Existing, who: str) -> Row:
    check = "joining-rights" if who == JOINER else "node-rights"
    lacking = [str(right) for right in ASKED[who] if not cluster.rights.get((who, right))]
    if not lacking:
        return ok(check, f"{who} may {', '.join(map(str, ASKED[who]))}")
    manifests = [_binding(*GROUP_BINDINGS[right]) for right in lacking if right in GROUP_BINDINGS]
    if any(right not in GROUP_BINDINGS for right in lacking):
        manifests += addons.windows_node_rights()
    listed: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": manifests}
    return Row(check, State.MEND, f"{who} may not {', '.join(lacking)}", (apply(listed),))


def _binding(name: str, role: str, group: str) -> dict[str, Any]:
    api = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }


def landing(cluster: Existing) -> Iterator[Row]:
    """Judge workloads: none may land on a Windows node in spite of its taint os=windows:NoSchedule."""
    objects = tuple(Object(each) for each in cluster.workloads)
    found = lint(Manifests(objects), Context()).findings
    wrong = {
        (each.object.kind, each.object.namespace, each.object.name) for each in found if each.rule.id in WOULD_LAND
    }
    body = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": "linux"}}}}}
    for kind, namespace, name in sorted(wrong):
        commands: tuple[Command, ...] = (patch(kind.lower(), namespace, name, body),)
        yield Row(
            "workloads",
            State.MEND,
            f"{kind} {namespace}/{name} tolerates the taint of Windows nodes and names no "
            "operating system. The patch starts its pods anew; for Windows images write windows "
            "instead",
            commands,
        )
    if not wrong:
        yield ok("workloads", f"the taint of Windows nodes stops all {len(objects)} that name no operating system")


def serving(cluster: Existing) -> Iterator[Row]:
    """Judge who approves certificates that kubelets serve with: kube-controller-manager never does."""
    flag = "kubelet-certificate-authority"
    if cluster.kubelet.get("serverTLSBootstrap"):
        yield unknown(
            "serving-certificates",
            "kubelet-config sets serverTLSBootstrap: kubectl logs and exec "
            "fail until somebody approves the requests of kubernetes.io/kubelet-serving. In its own clusters "
            "Mullion's agent does; here look for an approver: kubectl get csr",
        )
    elif any(flag in each for each in cluster.flags("kube-apiserver")):
        yield refused(
            "serving-certificates",
            f"kube-apiserver has --{flag}, and kubelet-config does not set serverTLSBootstrap: kubectl logs and exec "
            "would refuse what Windows kubelets sign themselves. Set serverTLSBootstrap: true in ConfigMap "
            "kube-system/kubelet-config, and run an approver of kubernetes.io/kubelet-serving",
        )
    else:
        yield ok("serving-certificates", "kubelets sign their own, as kubeadm's default")
