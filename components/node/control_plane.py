"""Node plan of the control plane, the same for all its machines: a log of records decides which one is the founder."""

from typing import Any

from components.node import (
    addons,
    admission,
    agent,
    api_server,
    authorities,
    authorization,
    downloads,
    etcd,
    images,
    kubeadm,
    kubelet,
    network,
    runtime,
    system,
)
from components.node.kinds import Step, ref, step
from components.node.layout import ADMIN_KUBECONFIG, LINUX, STATE
from components.node.plan import Phase, Scope
from components.node.role import CONTROL_PLANE_LABEL, Role
from components.node.waiting import wait
from components.topology.addressing import control_plane_address, network_plan
from components.topology.firewall import API_PORT

FOUNDER, MEMBER, DONE = f"{STATE}/founder", f"{STATE}/member", f"{STATE}/joined"
"""Files that exist if this machine founds the cluster, if it joins the cluster, and once it has finished either."""

FOUNDED = f"{STATE}/founded"
"""File that exists once the founder has recorded that the cluster is founded."""

RESTORED = f"{STATE}/restored"
"""File that exists once etcd's data are restored, with the snapshot's key; empty if the founding has no snapshot."""

LOG = "founding"
"""Prefix of the records in the snapshot store that decide which machine is the founder."""

TOKEN_HOURS = 24
"""Lifetime of a bootstrap token in hours: kubeadm's default, and longer than the slowest Windows machine boots."""

ENCRYPTED = ["secrets"]
"""Namespaced resources of the core group that are encrypted at rest."""

_TOKEN: dict[str, Any] = {
    "secret": ref("facts.join_secret"),
    "kubeconfig": ADMIN_KUBECONFIG,
    "lifetime_hours": TOKEN_HOURS,
}
_KEYS: dict[str, Any] = {
    "secret": ref("facts.pki_secret"),
    "member": "encryption-keys",
    "path": api_server.ENCRYPTION,
    "resources": ENCRYPTED,
}
_SIGNERS: dict[str, Any] = {
    "secret": ref("facts.pki_secret"),
    "member": "service-account-keys",
    "private": kubeadm.SIGNING_KEY,
    "public": kubeadm.VERIFYING_KEYS,
}
_LOG: dict[str, Any] = {"store": ref("facts.snapshot_store"), "log": LOG, "cluster": ref("facts.ca_hash")}
_CONTINUED = {"token": _TOKEN, "encryption": _KEYS, "service_account": _SIGNERS, "founding": _LOG}
"""Fields of the steps that make bootstrap tokens and keys and read the log, also for the agent's configuration."""

_READS = ["get", "list", "watch"]
_CONTROLLERS = ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy"]

_CONNECTIONS = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"]
"""Resources through which a request reaches a program in the cluster. A WebSocket opens them with GET, so their verb is
`get` (kubernetes, staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go)."""

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
        {"level": "None", "resources": [{"group": "", "resources": ["events"]}]},
        {"level": "None", "verbs": ["get", "update"], "resources": [{"group": "coordination.k8s.io"}]},
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]},
        {"level": "Metadata", "resources": [{"group": "", "resources": _CONNECTIONS}]},
        {"level": "None", "verbs": _READS, "users": _CONTROLLERS},
        {"level": "None", "verbs": _READS, "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"]},
        {"level": "Metadata"},
    ],
}
"""Audit policy: records who did what to which object; never request bodies, which contain Secrets.

Reads of Kubernetes' own programs, which no person asked for, would fill the log within hours; their reads of Secrets
stay, and so do their connections to pods, Services and kubelets. The first rule that matches decides.
"""


def phases(role: Role) -> tuple[Phase, ...]:
    """Return all phases in order."""
    return (
        system.identity(),
        system.linux(role),
        downloads.phase(role),
        runtime.phase(role),
        network.linux_phase(role),
        *network.linux_pods(role),
        Phase("certificates", Scope.NODE, (*_certificates(role), *_admission(role), *authorization.steps(role))),
        Phase("control-plane", Scope.NODE, (*etcd.disk(role, DONE), *_prepared(role), *_found_or_join(role))),
        agent.phase(),
        addons.phase(role),
        _verify(),
    )


def _certificates(role: Role) -> tuple[Step, ...]:
    secret, now = ref("facts.pki_secret"), role.spec.authorities
    files = (
        step("secret", f"pki-{file}", secret=secret, member=now.member(file), path=path)
        for file, path in {**kubeadm.SECRET_FILES, **authorities.files(role)}.items()
    )
    return (
        step("directory", "etcd-pki", path="/etc/kubernetes/pki/etcd"),
        *files,
        step("service-account-keys", "service-account", **_SIGNERS),
        step("directory", "encryption-folder", path=api_server.ENCRYPTION.rpartition("/")[0], access="private"),
        step("encryption-configuration", "encryption", **_KEYS),
        step("directory", "audit-folder", path=api_server.AUDIT_POLICY.rpartition("/")[0]),
        step("file", "audit-policy", path=api_server.AUDIT_POLICY, format="json", content=AUDIT_POLICY),
        step("directory", "audit-logs", path=api_server.AUDIT_LOGS, access="private"),
    )


def _admission(role: Role) -> tuple[Step, ...]:
    content = admission.configuration(role)
    if content is None:
        return ()
    return (
        step("directory", "admission-folder", path=admission.FOLDER),
        step("file", "admission", path=admission.path(content), format="json", content=content),
    )


def _prepared(role: Role) -> tuple[Step, ...]:
    documents = kubeadm.init_documents(role)
    return (
        *kubeadm.preparation(role),
        step("directory", "state", path=STATE, access="private"),
        step("file", "init-config", path=kubeadm.INIT_CONFIG, format="documents", content=documents),
        *_pulled(role),
        *agent.upgrade(role, FOUNDER, _CONTINUED),
        *downloads.kubelet(role),
        kubeadm.service(role),
        kubeadm.rejoin(DONE),
    )


def _pulled(role: Role) -> tuple[Step, ...]:
    """Return the steps that pull images by digest before kubeadm pulls their tags; later the agent pulls them."""
    return tuple(
        step("command", f"{verb}-{container}", argv=argv, creates=DONE)
        for container, commands in agent.pulls(role).items()
        for verb, argv in zip(("pull", "tag"), commands, strict=True)
    )


def _found_or_join(role: Role) -> tuple[Step, ...]:
    exact = images.etcd_by_digest(role, kubeadm.cluster_configuration(role))
    etcd_image: dict[str, Any] = {"etcd_image": exact} if exact else {}
    return (
        # the founder needs minutes; the other machines wait for it in this step
        step("claim", "found-or-join", **_LOG, founder=FOUNDER, member=MEMBER, timeout_seconds=1800),
        _endpoint(role, "endpoint"),
        step(
            "etcd-restored",
            "etcd-restored",
            **_LOG,
            requires=FOUNDER,
            done=RESTORED,
            config=kubeadm.INIT_CONFIG,
            argv=list(role.release.etcd_restore),
            data=etcd.DATA,
            node=ref("machine.name"),
            address=ref("machine.address"),
            **etcd_image,
            **agent.copies(role),
        ),
        kubeadm.init(RESTORED, done=DONE, requires=FOUNDER),
        step("founded", "founded", **_LOG, founder=FOUNDER, path=FOUNDED),
        # after `founded`: no machine may join a cluster that another founder could still replace; kubeadm-join reads
        # this token
        step(
            "bootstrap-token",
            "join-secret",
            **_TOKEN,
            requires=FOUNDER,
        ),
        kubeadm.join(role, done=DONE, requires=MEMBER),
        *authorities.certificates(role, DONE, agent.PODS),
        *kubelet.private_configuration(role),
        # kubeadm keeps the mode of a folder that exists, such as a disk's (CIS Kubernetes Benchmark 1.1.11)
        step("access", "etcd-data", path=etcd.DATA, access="private"),
        wait("own-api", timeout_seconds=600, url=f"https://127.0.0.1:{API_PORT}/readyz"),
        step(
            "restored-node",
            "own-node",
            requires=FOUNDER,
            kubeconfig=ADMIN_KUBECONFIG,
            node=ref("machine.name"),
            provider_id=ref("node.provider_id"),
            label=CONTROL_PLANE_LABEL,
            argv=[LINUX.program("kubeadm"), "init", "phase", "mark-control-plane", "--config", kubeadm.INIT_CONFIG],
        ),
        _endpoint(role, "endpoint-own"),
    )


def _endpoint(role: Role, name: str) -> Step:
    """Return the step that resolves the API's name to control planes in the hosts file.

    A load balancer may not send a machine's connection back to the same machine.
    """
    planned = network_plan(role.spec.network, role.spec.api.access, role.spec.cloud)
    peers = [str(control_plane_address(planned, index)) for index in range(role.spec.control_plane.count)]
    return step(
        "endpoint",
        name,
        host=ref("facts.api_host"),
        address=ref("machine.address"),
        peers=peers,
        founder=FOUNDER,
        joined=DONE,
        ca=LINUX.ca,
        timeout_seconds=600,
    )


def _verify() -> Phase:
    return Phase(
        "verify",
        Scope.NODE,
        (
            wait("kubelet-runs", service="kubelet"),
            wait("kubelet-healthy", url="http://127.0.0.1:10248/healthz"),
            wait("api-answers", tcp=[ref("machine.address"), API_PORT]),
        ),
    )
