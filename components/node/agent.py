"""The control-plane agent on a machine: its configuration, its service, and the step that runs `kubeadm upgrade`."""

import hashlib
from collections.abc import Mapping
from typing import Any

from components.node import api_server, authorities, authorization, drill, etcd, images, kubeadm, kubelet, proxy
from components.node.kinds import OnChange, Step, step
from components.node.layout import ADMIN_KUBECONFIG, LINUX, PKI, STATE
from components.node.plan import Phase, Scope, canonical
from components.node.role import Role
from components.spec.quantities import window_minutes
from components.spec.snapshots import copy_folder

CONFIG = "/etc/mullion/agent.json"

TURN = f"{STATE}/turn"
"""File that exists while the machine may change itself (has its turn); the agent writes and removes it."""

_SOURCE = {"PYTHONPATH": "/opt/mullion/current"}
_PYTHON = ["/usr/bin/python3", "-B", "-m"]
_KUBEADM = LINUX.program("kubeadm")
_CRICTL = [LINUX.program("crictl"), "--runtime-endpoint", LINUX.containerd_socket]

_CTR = [LINUX.program("ctr"), "--namespace", "k8s.io"]

_SNAPSHOT = f"{etcd.DATA}/mullion.snapshot"
"""Path of a new etcd snapshot, the same on the host and in etcd's pod."""

_ENDPOINT = "https://127.0.0.1:2379"
_ETCD = [
    *("etcdctl", "--endpoints", _ENDPOINT, "--cacert", f"{PKI}/etcd/ca.crt"),
    *("--cert", f"{PKI}/etcd/healthcheck-client.crt", "--key", f"{PKI}/etcd/healthcheck-client.key"),
]

_ETCDCTL = [*_CRICTL, "exec", "CONTAINER", *_ETCD]

_STATIC_PODS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

PODS: dict[str, Any] = {
    "find": {each: [*_CRICTL, "pods", "--quiet", "--label", f"component={each}"] for each in _STATIC_PODS},
    "stop": [*_CRICTL, "stopp"],
    "running": [*_CRICTL, "ps", "--quiet", "--state", "Running", "--name"],
    "started": [*_CRICTL, "inspect", "--output", "go-template", "--template", "{{.status.startedAt}}"],
}
"""Commands for static pods, which cloud-init/linux/static_pods.py runs."""

KEPT_SNAPSHOTS = 24
"""Number of newest snapshots that are kept whatever their age: after weeks powered off there are no younger ones."""

RENEWAL_DAYS = 90
"""Days before expiry at which certificates are renewed. kubeadm's are valid for a year, so a quarter of it remains to
notice that renewal fails."""


def upgrade(role: Role, founder: str, continued: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the steps before the kubelet's service, so that no kubelet is newer than its API server.

    founder: file that exists on the machine that founded the cluster. continued: fields of the steps whose work the
    agent continues: token, encryption, service_account, founding.
    """
    return (
        step(
            "file",
            "agent-config",
            path=CONFIG,
            format="json",
            content={**configuration(role, founder), **continued},
            on_change=OnChange.AGENT,
        ),
        # skipped while this machine has no turn: when it founds or joins the cluster, and at every boot
        step(
            "command",
            "kubeadm-upgrade",
            argv=[*_PYTHON, "agent.upgrade"],
            environment=_SOURCE,
            requires=TURN,
            timeout_seconds=1800,
            on_change=OnChange.AGENT,
        ),
    )


def phase() -> Phase:
    """Return the phase that runs the agent, which restarts itself when another bundle becomes current."""
    service = step(
        "service",
        "agent",
        service="mullion-agent",
        description="Mullion's control-plane agent",
        command=[*_PYTHON, "agent"],
        environment=_SOURCE,
        restarts_on=[CONFIG],
        restart_seconds=10,
        on_change=OnChange.AGENT,
    )
    return Phase("agent", Scope.NODE, (service,))


def configuration(role: Role, founder: str) -> dict[str, Any]:
    """Return the content of agent.json, read by cloud-init/linux/agent/configuration.py."""
    return {
        "kubeconfig": ADMIN_KUBECONFIG,
        "founder": founder,
        "digest": digest(role),
        "upgrade": _upgrade(role),
        "etcd": {
            "find": [*_CRICTL, "ps", "--quiet", "--state", "Running", "--name", "^etcd$"],
            "etcdctl": _ETCDCTL,
            "quota": etcd.quota(kubeadm.cluster_configuration(role)),
            "least": etcd.least(role),
        },
        "snapshots": {
            "every_minutes": role.spec.snapshots.every_minutes,
            "keep": KEPT_SNAPSHOTS,
            "days": role.spec.snapshots.keep_days,
            "daily": role.spec.snapshots.keep_daily,
            "weekly": role.spec.snapshots.keep_weekly,
            "file": _SNAPSHOT,
            **copies(role),
        },
        "drill": drill.configuration(role, _ETCDCTL, _ENDPOINT),
        "audit": {"folder": api_server.AUDIT_LOGS, "days": role.spec.api.audit_days},
        "certificates": {
            "files": authorities.CERTIFICATES,
            "days": RENEWAL_DAYS,
            "renew": authorities.RENEW,
            **({"whole": whole} if (whole := authorities.whole(role)) else {}),
        },
        "pods": PODS,
        **({"authorization": found} if (found := authorization.fields(role.spec)) else {}),
        **_reboots(role),
    }


def copies(role: Role) -> dict[str, Any]:
    """Return the URL below which copies of snapshots have the same names, as `copies`; empty without copies."""
    copied = role.spec.snapshots.copy_to
    return {"copies": f"{copied.url}/{copy_folder(role.cluster)}"} if copied else {}


def _reboots(role: Role) -> dict[str, Any]:
    """Return when the machine may restart for its packages; empty if never."""
    window = role.spec.control_plane.reboot_window
    return {"reboots": dict(zip(("begin", "minutes"), window_minutes(window), strict=True))} if window else {}


HEALTH_JOB = "CreateJob"
"""Check of `kubeadm upgrade apply` that runs a Job on any node which its pod tolerates, so a worker could keep the
control plane from being upgraded. An ignored check runs and its error becomes a warning, a minute later (kubeadm,
phases/upgrade/health.go of 1.36.3 and 1.37.1). The agent asks every API server for /readyz before and after.
"""


def digest(role: Role) -> str:
    """Return the sha256 (hex) of the documents that kubeadm derives static pods and the kubelet's configuration from.

    It is the same on every machine.
    """
    documents = [kubeadm.cluster_configuration(role), kubelet.configuration(role), proxy.configuration(role)]
    if patches := kubeadm.image_patches(role):
        documents.append(patches)
    return hashlib.sha256(canonical(documents)).hexdigest()


def pulls(role: Role) -> dict[str, list[list[str]]]:
    """Return the commands that pull and tag the control plane's images by digest, by container."""
    return images.pulls(role, kubeadm.cluster_configuration(role), (_CRICTL, _CTR))


def _upgrade(role: Role) -> dict[str, list[list[str]]]:
    ignored = [*role.release.ignore_preflight, *role.spec.kubeadm.ignore_preflight]
    flags = ["--patches", kubeadm.patches_folder(role)] if role.release.kubelet_patch else []
    flags += authorities.upgrading(role)
    node = ["--ignore-preflight-errors", ",".join(ignored)] if ignored else []
    # kubeadm refuses `all` beside the name of a check
    applied = ignored if "all" in [each.lower() for each in ignored] else [HEALTH_JOB, *ignored]
    apply = ["--ignore-preflight-errors", ",".join(applied)]
    config = ["--config", kubeadm.INIT_CONFIG]
    pulled = [argv for commands in pulls(role).values() for argv in commands]
    return {
        "apply": [
            *pulled,
            [_KUBEADM, "init", "phase", "upload-config", "kubeadm", *config],
            [_KUBEADM, "upgrade", "apply", f"v{role.spec.kubernetes}", "--yes", *apply, *flags],
        ],
        "node": [*pulled, [_KUBEADM, "upgrade", "node", *node, *flags]],
        # `kubeadm upgrade` keeps kube-proxy's configuration in the cluster, so this command replaces it; it runs after
        # all API servers are upgraded, because kube-proxy must not be newer than any of them
        "last": [[_KUBEADM, "init", "phase", "addon", "kube-proxy", *config]],
    }
