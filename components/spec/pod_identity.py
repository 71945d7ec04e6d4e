"""Options of roles of the cloud for pods, by their service accounts."""

from typing import Annotated

from pydantic import Field

from components.spec.access import NAMESPACE
from components.spec.choices import TokenIssuer
from components.spec.options import Model

DISCOVERY, KEYS = ".well-known/openid-configuration", "openid/v1/jwks"
"""Names of the issuer's public documents below its URL. The API server's own are at the same paths."""


def kubeadms_issuer(domain: str) -> str:
    """Return the issuer that kubeadm sets, by the cluster's DNS domain (cmd/kubeadm/app/phases/controlplane)."""
    return f"https://kubernetes.default.svc.{domain}"


_LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
PolicyArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::(aws|\d{12}):policy/[A-Za-z0-9+=,.@_/-]{1,512}$")]
"""ARN of a managed policy: AWS's own, or one of an account (IAM user guide, "IAM identifiers")."""


class ServiceAccount(Model):
    """A service account of Kubernetes whose pods get a role of the cloud."""

    namespace: Annotated[str, Field(pattern=NAMESPACE)]
    """Namespace of the service account."""
    name: Annotated[str, Field(pattern=rf"^{_LABEL}(\.{_LABEL})*$", max_length=253)]
    """Name of the service account."""
    policies: Annotated[list[PolicyArn], Field(max_length=20)] = []
    """AWS: ARNs of the managed policies that its role gets; IAM attaches 10 to a role, and 20 with a higher quota."""

    @property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def subject(self) -> str:
        """Return the claim `sub` of its tokens (Kubernetes, "Managing Service Accounts")."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def accepted(accounts: list[ServiceAccount]) -> str:
    """Return the expression (CEL) that is true for tokens of these service accounts alone."""
    subjects = ", ".join(f"'{each.subject}'" for each in accounts)
    return f"assertion.sub in [{subjects}]" if accounts else "false"


class PodIdentity(Model):
    """Roles of the cloud for pods, by their service accounts. On AWS and Azure the issuer of tokens becomes public."""

    issuer: TokenIssuer = TokenIssuer.SIGNS
    """AWS, Azure: whether API servers sign tokens for the public issuer, or only accept them: before and after."""
    service_accounts: list[ServiceAccount] = []
    """Service accounts, and what their pods may do in the cloud."""
