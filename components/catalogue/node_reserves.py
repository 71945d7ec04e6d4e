"""What kubelet and runtime keep from pods on Linux, by the machine's size, as managed clusters do."""

from collections.abc import Iterable

from components.catalogue.instance_sizes import Size

_CPU = ((1000, 6.0), (1000, 1.0), (2000, 0.5), (None, 0.25))
"""Thousandths of a core and the percentage of them that EKS and GKE reserve."""
_GKE_MEMORY = ((4096, 25), (4096, 20), (8192, 10), (114688, 6), (None, 2))
"""MiB of memory and the percentage of them that GKE reserves."""


def kube_reserved(size: Size | None, max_pods: int, *, linux_pool: bool) -> dict[str, str]:
    """Return the default of kubeReserved, as quantities: cpu and memory.

    Empty for a control plane, which runs no pods of users, for Windows, and without a known size. Managed clusters
    reserve the same CPU. Memory is the smaller of EKS's 255 MiB + 11 MiB for each pod (amazon-eks-ami, nodeadm) and of
    GKE's shares ("Plan GKE Standard node sizes"): EKS's is more than small machines have.
    """
    if size is None or not linux_pool:
        return {}
    mebibytes = min(255 + 11 * max_pods, _shares(size.memory // 2**20, _GKE_MEMORY))
    return {"cpu": f"{_shares(size.vcpu * 1000, _CPU)}m", "memory": f"{mebibytes}Mi"}


def _shares(whole: int, steps: Iterable[tuple[int | None, float]]) -> int:
    """Return the sum of percentages of consecutive parts. steps: length of a part (None: the rest), percentage."""
    reserved = 0.0
    for most, percent in steps:
        part = whole if most is None else min(whole, most)
        reserved, whole = reserved + part * percent / 100, whole - part
    return round(reserved)
