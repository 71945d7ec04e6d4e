"""Checks of the CIS Kubernetes Benchmark about modes and owners of files, which only a booted machine answers."""

from dataclasses import dataclass

MANIFESTS, CONFIG, PKI = "/etc/kubernetes/manifests", "/etc/kubernetes", "/etc/kubernetes/pki"


@dataclass(frozen=True)
class Files:
    """Files of root:root on a machine."""

    checks: tuple[str, ...]
    """Checks of the benchmark that ask for this mode and this owner."""
    paths: str
    """Paths and patterns for a shell, with spaces between them; each must match at least one file."""
    most: int
    """Bits of the mode that are allowed."""
    workers: bool = False
    """Whether workers have these files too."""


FILES = (
    Files(("1.1.1", "1.1.2"), f"{MANIFESTS}/kube-apiserver.yaml", 0o600),
    Files(("1.1.3", "1.1.4"), f"{MANIFESTS}/kube-controller-manager.yaml", 0o600),
    Files(("1.1.5", "1.1.6"), f"{MANIFESTS}/kube-scheduler.yaml", 0o600),
    Files(("1.1.7", "1.1.8"), f"{MANIFESTS}/etcd.yaml", 0o600),
    # 1.1.12 asks for the owner etcd, which is accepted: only root reads the folder
    Files(("1.1.11", "1.1.12"), "/var/lib/etcd", 0o700),
    Files(("1.1.13", "1.1.14"), f"{CONFIG}/admin.conf {CONFIG}/super-admin.conf", 0o600),
    Files(("1.1.15", "1.1.16"), f"{CONFIG}/scheduler.conf", 0o600),
    Files(("1.1.17", "1.1.18"), f"{CONFIG}/controller-manager.conf", 0o600),
    Files(("1.1.19",), f"{PKI} {PKI}/etcd", 0o755),
    Files(("1.1.19", "1.1.20"), f"{PKI}/*.crt {PKI}/etcd/*.crt", 0o644),
    Files(("1.1.19", "1.1.21"), f"{PKI}/*.key {PKI}/etcd/*.key", 0o600),
    Files(("4.1.1", "4.1.2"), "/etc/systemd/system/kubelet.service", 0o600, workers=True),
    Files(("4.1.5", "4.1.6"), f"{CONFIG}/kubelet.conf", 0o600, workers=True),
    Files(("4.1.7", "4.1.8"), f"{PKI}/ca.crt", 0o644, workers=True),
    Files(("4.1.9", "4.1.10"), "/var/lib/kubelet/config.yaml", 0o600, workers=True),
)
"""Modes and owners that the benchmark asks for, and that `docs/cis.md` says pass."""
