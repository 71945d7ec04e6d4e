"""Configuration of the API server's admission plugins: the Pod Security Standards of the cluster."""

import hashlib
from typing import Any

from components.node.plan import canonical
from components.node.role import Role

FOLDER = "/etc/kubernetes/admission"

SYSTEM_NAMESPACE = "kube-system"
"""kubeadm starts kube-proxy here, which is privileged, before an add-on can label the namespace."""


def configuration(role: Role) -> dict[str, Any] | None:
    """Return the AdmissionConfiguration; None for minors whose API server has no PodSecurity plugin."""
    api = role.release.pod_security_api
    if api is None:
        return None
    levels = role.spec.pod_security
    defaults = {"enforce": levels.enforce.value, "audit": levels.audit.value, "warn": levels.warn.value}
    standards = {
        "apiVersion": api,
        "kind": "PodSecurityConfiguration",
        "defaults": {**defaults, **{f"{mode}-version": "latest" for mode in defaults}},
        "exemptions": {
            "usernames": [],
            "runtimeClasses": [],
            "namespaces": sorted({SYSTEM_NAMESPACE, *levels.exempt_namespaces}),
        },
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": standards}],
    }


def path(content: dict[str, Any]) -> str:
    """Return the file of an AdmissionConfiguration.

    Its name has a digest of the content: the API server reads the file only at its start, and another name makes
    kubeadm restart it.
    """
    return f"{FOLDER}/{hashlib.sha256(canonical(content)).hexdigest()[:12]}.json"


def arguments(role: Role) -> dict[str, str]:
    """Return the API server's flags for the configuration."""
    content = configuration(role)
    return {} if content is None else {"admission-control-config-file": path(content)}


def volumes(role: Role) -> tuple[tuple[str, str, bool], ...]:
    """Return the host paths to mount into the API server: name, path on the host and in the pod, read-only."""
    return (("admission", FOLDER, True),) if arguments(role) else ()
