"""Versions of Kubernetes that a control plane can be upgraded to."""

from collections.abc import Sequence

from components.catalogue.artifacts import versions
from components.releases import in_order, minor, next_minor, older


def refusal(known: Sequence[str], wanted: str) -> str:
    """Return why a control plane with these versions, oldest first, cannot be changed to another; "" if it can.

    Kubernetes is upgraded by one minor at a time and never downgraded (version skew policy; kubeadm refuses it).
    """
    if older(wanted, known[-1]):
        return f"{wanted} is older than {known[-1]}, which the control plane has; write {known[-1]} or a newer one"
    following = next_minor(known[0])
    if minor(wanted) not in (minor(known[0]), following):
        patches = [patch for patch in versions("kubernetes-node") if minor(patch) == following]
        first = in_order(patches)[-1] if patches else f"a {following}"
        return f"from {known[0]} to {wanted} is more than one minor version; write {first} first, then go on"
    return ""
