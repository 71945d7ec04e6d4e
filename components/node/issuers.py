"""Issuers of service-account tokens: flags of the API server."""

from typing import Any

from components.node.kinds import ref
from components.node.role import Role
from components.spec.choices import Cloud, TokenIssuer
from components.spec.pod_identity import kubeadms_issuer

LONGEST = "24h0m0s"
"""Longest time for which a requested token is valid, unless the user sets the flag. Without it whoever may create
tokens of a service account gets one for ten years, which opens its role from anywhere: clouds ask nobody whether the
pod or the service account still exists. Kubelets renew tokens within a day."""


def arguments(role: Role) -> dict[str, Any]:
    """Return the API server's flags for the public issuer; empty without one: Google takes the keys of kubeadm's.

    The first issuer signs, and all are accepted, also as audiences (the default of --api-audiences). So tokens that
    were signed before the cluster had a public issuer stay valid: they name kubeadm's.
    """
    if role.spec.pod_identity is None or role.spec.cloud is Cloud.GCP:
        return {}
    public, kubeadms = ref("node.issuer"), kubeadms_issuer(role.spec.network.domain)
    longest = {"service-account-max-token-expiration": LONGEST}
    if role.spec.pod_identity.issuer is TokenIssuer.ACCEPTED:
        return {"service-account-issuer": [kubeadms, public], **longest}
    return {
        **longest,
        "service-account-issuer": [public, kubeadms],
        # else the API server's own discovery document names its address, which is not in the issuer's
        "service-account-jwks-uri": ref("node.issuer_keys"),
    }
