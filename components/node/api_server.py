"""The API server's flags and mounts on control planes, which kubeadm writes into its static pod."""

from typing import Any

from components.node import admission, authorization, issuers, sign_in
from components.node.layout import PKI
from components.node.role import Role

ENCRYPTION = "/etc/kubernetes/encryption/configuration.json"
AUDIT_POLICY = "/etc/kubernetes/audit/policy.json"
AUDIT_LOGS = "/var/log/kubernetes/audit"

_FLAGS = {
    "audit-log-maxage": "30",
    "audit-log-maxbackup": "10",
    "audit-log-maxsize": "100",
    "audit-log-path": f"{AUDIT_LOGS}/audit.log",
    "audit-policy-file": AUDIT_POLICY,
    "encryption-provider-config": ENCRYPTION,
    # without it the API server accepts any certificate from what answers at a kubelet's address
    "kubelet-certificate-authority": f"{PKI}/ca.crt",
    "profiling": "false",
}

_VOLUMES = (
    ("encryption", ENCRYPTION.rpartition("/")[0], True),
    ("audit-policy", AUDIT_POLICY.rpartition("/")[0], True),
    ("audit-logs", AUDIT_LOGS, False),
)


def flags(role: Role) -> dict[str, Any]:
    """Return the flags that kubeadm does not set by itself, or not so; a list is a flag with several values."""
    return {
        **_FLAGS,
        **admission.arguments(role),
        **authorization.arguments(role),
        **sign_in.arguments(role),
        **issuers.arguments(role),
    }


def volumes(role: Role) -> tuple[tuple[str, str, bool], ...]:
    """Return the host paths to mount: name, path on the host and in the pod, read-only."""
    return (*_VOLUMES, *admission.volumes(role), *authorization.volumes(role))
