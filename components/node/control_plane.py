"""The control plane's machines, the same plan for all of them: a marker decides who founds the cluster."""

from typing import Any

from components.firewall import API_PORT
from components.node import addons, downloads, kubeadm, network, runtime, system
from components.node.endpoint import reachable
from components.node.kinds import Step, ref, step
from components.node.layout import ADMIN_KUBECONFIG, STATE
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.waiting import wait

FOUNDER, MEMBER, DONE = f"{STATE}/founder", f"{STATE}/member", f"{STATE}/joined"
"""Files: this machine founds the cluster; it joins one; it has done so, to the end."""

MARKER = "founded"
"""Object in the snapshot store that the founder wrote."""

TOKEN_HOURS = 24
"""kubeadm's own default; longer than the slowest Windows machine needs to boot."""

ENCRYPTED = ["secrets"]
"""Resources encrypted at rest."""

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/version"]},
        {"level": "None", "resources": [{"group": "", "resources": ["events"]}]},
        {"level": "None", "verbs": ["get", "update"], "resources": [{"group": "coordination.k8s.io"}]},
        {"level": "Metadata"},
    ],
}
"""Who did what to which object; never bodies, which hold Secrets."""


def phases(role: Role) -> tuple[Phase, ...]:
    """All phases, in order."""
    return (
        system.identity(),
        system.linux(),
        downloads.phase(role),
        runtime.phase(role),
        network.linux_phase(role),
        Phase("certificates", Scope.NODE, _certificates()),
        Phase("control-plane", Scope.NODE, (*kubeadm.preparation(role), *_found_or_join(role))),
        addons.phase(role),
        _verify(),
    )


def _certificates() -> tuple[Step, ...]:
    secret = ref("facts.pki_secret")
    files = (
        step("secret", f"pki-{member}", secret=secret, member=member, path=path)
        for member, path in kubeadm.SECRET_FILES.items()
    )
    encryption = step(
        "encryption-configuration",
        "encryption",
        secret=secret,
        member="encryption-keys",
        path=kubeadm.ENCRYPTION,
        resources=ENCRYPTED,
    )
    return (
        step("directory", "etcd-pki", path="/etc/kubernetes/pki/etcd"),
        *files,
        step("directory", "encryption-folder", path=kubeadm.ENCRYPTION.rpartition("/")[0], access="private"),
        encryption,
        step("directory", "audit-folder", path=kubeadm.AUDIT_POLICY.rpartition("/")[0]),
        step("file", "audit-policy", path=kubeadm.AUDIT_POLICY, format="json", content=AUDIT_POLICY),
        step("directory", "audit-logs", path=kubeadm.AUDIT_LOGS, access="private"),
    )


def _found_or_join(role: Role) -> tuple[Step, ...]:
    documents = kubeadm.init_documents(role)
    return (
        step("directory", "state", path=STATE, access="private"),
        step("file", "init-config", path=kubeadm.INIT_CONFIG, format="documents", content=documents),
        step(
            "claim", "found-or-join", store=ref("facts.snapshot_store"), marker=MARKER, founder=FOUNDER, member=MEMBER
        ),
        kubeadm.init(creates=DONE, requires=FOUNDER),
        # here, so that everybody else, and kubeadm-join below, finds a token
        step(
            "bootstrap-token",
            "join-secret",
            secret=ref("facts.join_secret"),
            kubeconfig=ADMIN_KUBECONFIG,
            lifetime_hours=TOKEN_HOURS,
            requires=FOUNDER,
        ),
        reachable(),
        kubeadm.join(role, creates=DONE, requires=MEMBER),
        # written last: an init or join cut short runs again and says what stands in its way
        step("file", "joined", path=DONE, content=""),
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
