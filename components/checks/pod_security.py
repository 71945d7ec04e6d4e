"""Pod Security Standards, and admission policies for workloads."""

from collections.abc import Iterator

from components import releases
from components.checks.check import Finding, Subject, at, error, warning
from components.checks.versions import supported
from components.spec.kubeadm_flags import flags
from components.spec.models import PodSecurity, WorkloadRules

NODE_POLICIES = "node-policies-missing"
"""Id of the warning about workers that no admission policy holds to their own Node; it stops `up` unless it is
acknowledged."""


def _levels_unavailable(subject: Subject) -> Iterator[Finding]:
    if subject.spec.pod_security != PodSecurity() and not _has_levels(subject):
        yield at("pod_security", minor=subject.minor)


def _levels_replaced(subject: Subject) -> Iterator[Finding]:
    path = ("kubeadm", "config", "ClusterConfiguration", "apiServer")
    given = flags(subject.spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer"), path)
    for place, name, _ in given:
        if name == "admission-control-config-file" and _has_levels(subject):
            yield at(*place, name=name)


def _policies_unavailable(subject: Subject) -> Iterator[Finding]:
    if not supported(subject) or releases.release(subject.minor).admission_policies:
        return
    if subject.spec.admission.windows_workloads is WorkloadRules.ENFORCE:
        yield at("admission", "windows_workloads", minor=subject.minor)


def _without_node_policies(subject: Subject) -> Iterator[Finding]:
    if supported(subject) and not releases.release(subject.minor).admission_policies:
        yield at("kubernetes", minor=subject.minor)


def _has_levels(subject: Subject) -> bool:
    return not supported(subject) or releases.release(subject.minor).pod_security_api is not None


CHECKS = (
    error(
        "pod-security-unavailable",
        "pod_security kubernetes",
        _levels_unavailable,
        "Kubernetes {minor} has no Pod Security Standards; they came with 1.23",
        "remove pod_security, or upgrade Kubernetes",
    ),
    error(
        "admission-policies-unavailable",
        "admission.windows_workloads kubernetes",
        _policies_unavailable,
        "Kubernetes {minor} has no ValidatingAdmissionPolicy; it came with 1.30",
        "remove windows_workloads and run mullion lint on manifests, or upgrade Kubernetes",
        "LIN-12",
    ),
    warning(
        NODE_POLICIES,
        "kubernetes",
        _without_node_policies,
        "Kubernetes {minor} has no ValidatingAdmissionPolicy, so root on one worker can make Service endpoints of"
        " itself, also of CoreDNS; with flannel's token it can change the status of every Node; and the key of a"
        " revoked machine can write its own Node until the certificate ends; before 1.23 any pod may be privileged too,"
        " for lack of Pod Security Standards; `up` stops unless this is acknowledged",
        "upgrade to 1.30 or newer, one minor at a time; until then run on its workers only what you trust, and"
        " acknowledge this with the reason",
    ),
    error(
        "admission-file-replaced",
        "kubeadm.config kubernetes",
        _levels_replaced,
        "--{name} would replace the cluster's Pod Security Standards",
        "remove it, and write pod_security",
        "SRV-13",
    ),
)
