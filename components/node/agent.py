"""The control-plane agent on a machine: what it is told, its service, and the step by which kubeadm upgrades."""

import hashlib
from collections.abc import Mapping
from typing import Any

from components.node import kubeadm, kubelet, proxy
from components.node.kinds import OnChange, Step, step
from components.node.layout import ADMIN_KUBECONFIG, KUBEADM_PATCHES, LINUX, PKI, STATE
from components.node.plan import Phase, Scope, canonical
from components.node.role import Role

CONFIG = "/etc/mullion/agent.json"

TURN = f"{STATE}/turn"
"""File: the machine may change itself; the agent writes and removes it."""

_SOURCE = {"PYTHONPATH": "/opt/mullion/current"}
_PYTHON = ["/usr/bin/python3", "-B", "-m"]
_KUBEADM = LINUX.program("kubeadm")
_CRICTL = [LINUX.program("crictl"), "--runtime-endpoint", LINUX.containerd_socket]

_SNAPSHOT = "/var/lib/etcd/mullion.snapshot"
"""On the host and in etcd's pod alike."""

_ETCD = [
    *("etcdctl", "--endpoints", "https://127.0.0.1:2379", "--cacert", f"{PKI}/etcd/ca.crt"),
    *("--cert", f"{PKI}/etcd/healthcheck-client.crt", "--key", f"{PKI}/etcd/healthcheck-client.key"),
]

_STATIC_PODS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

SNAPSHOTS = {"every_minutes": 60, "keep": 24, "days": 7}
"""One an hour; those older than a week go, but never one of the newest 24."""

RENEWAL_DAYS = 90
"""kubeadm's certificates live a year: a quarter of it is time to notice that renewal fails."""


def upgrade(role: Role, founder: str, told: Mapping[str, Any]) -> tuple[Step, ...]:
    """Before the kubelet's service, which so is never newer than its API server.

    founder: file of a machine that founded the cluster. told: fields of steps whose work the agent goes on with: token,
    encryption, founding.
    """
    return (
        step(
            "file",
            "agent-config",
            path=CONFIG,
            format="json",
            content={**configuration(role, founder), **told},
            on_change=OnChange.AGENT,
        ),
        # not due while this machine has no turn: at its founding or joining, and at every boot
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
    """The agent itself; it starts itself anew when another bundle is current."""
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
    """What the agent reads: cloud-init/linux/agent/configuration.py."""
    return {
        "kubeconfig": ADMIN_KUBECONFIG,
        "founder": founder,
        "digest": digest(role),
        "upgrade": _upgrade(role),
        "etcd": {
            "find": [*_CRICTL, "ps", "--quiet", "--state", "Running", "--name", "^etcd$"],
            "etcdctl": [*_CRICTL, "exec", "CONTAINER", *_ETCD],
        },
        "snapshots": {**SNAPSHOTS, "file": _SNAPSHOT},
        "certificates": {
            "files": [f"{PKI}/{name}.crt" for name in kubeadm.CERTIFICATES],
            "days": RENEWAL_DAYS,
            "renew": [_KUBEADM, "certs", "renew", "all"],
        },
        "pods": {
            "find": {each: [*_CRICTL, "pods", "--quiet", "--label", f"component={each}"] for each in _STATIC_PODS},
            "stop": [*_CRICTL, "stopp"],
            "running": [*_CRICTL, "ps", "--quiet", "--state", "Running", "--name"],
            "started": [*_CRICTL, "inspect", "--output", "go-template", "--template", "{{.status.startedAt}}"],
        },
    }


def digest(role: Role) -> str:
    """Of all that kubeadm makes static pods and the kubelet's configuration from; the same on every machine."""
    made = [kubeadm.cluster_configuration(role), kubelet.configuration(role), proxy.configuration(role)]
    return hashlib.sha256(canonical(made)).hexdigest()


def _upgrade(role: Role) -> dict[str, list[list[str]]]:
    ignored = [*role.release.ignore_preflight, *role.spec.kubeadm.ignore_preflight]
    flags = ["--ignore-preflight-errors", ",".join(ignored)] if ignored else []
    flags += ["--patches", KUBEADM_PATCHES] if role.release.kubelet_patch else []
    config = ["--config", kubeadm.INIT_CONFIG]
    return {
        "apply": [
            [_KUBEADM, "init", "phase", "upload-config", "kubeadm", *config],
            [_KUBEADM, "upgrade", "apply", f"v{role.spec.kubernetes}", "--yes", *flags],
        ],
        "node": [[_KUBEADM, "upgrade", "node", *flags]],
        # kubeadm's upgrade knows the configuration that the cluster has; not before all API servers are new, because
        # kube-proxy may not be newer than one
        "last": [[_KUBEADM, "init", "phase", "addon", "kube-proxy", *config]],
    }
