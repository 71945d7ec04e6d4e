"""Patches of Kubernetes whose kubeadm keeps the order of a flag that is given several times.

The first --service-account-issuer signs, and kubeadm used to sort them (kubernetes/kubeadm#3261). Read in
cmd/kubeadm/app/util/arguments.go: 1.32.11, 1.33.7, 1.34.3 and 1.35.0 sort; 1.32.13, 1.33.9, 1.34.4, 1.35.1, 1.36.0 and
1.37.1 do not. 1.32.12 and 1.33.8 were not read. A configuration of kubeadm before 1.31 has each flag once.
"""

from components.releases.order import minor, older

KEEPS_ORDER = {"1.32": "1.32.13", "1.33": "1.33.9", "1.34": "1.34.4", "1.35": "1.35.1"}
"""By minor: the first such patch. Newer minors have it in all patches, older ones in none."""


def first_in_order(kubernetes: str) -> str:
    """Return the version itself if it keeps the order, else the first version of its minor or of a newer one."""
    own = minor(kubernetes)
    if older(own, min(KEEPS_ORDER)):
        return KEEPS_ORDER[min(KEEPS_ORDER)]
    first = KEEPS_ORDER.get(own, kubernetes)
    return first if older(kubernetes, first) else kubernetes
