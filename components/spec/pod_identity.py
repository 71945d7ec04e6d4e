"""Options of roles of the cloud for pods, by their service accounts."""

from typing import Annotated

from pydantic import Field

from components.spec.access import NAMESPACE
from components.spec.choices import TokenIssuer
from components.spec.options import Model

DISCOVERY, KEYS = ".well-known/openid-configuration", "openid/v1/jwks"
"""Names of the issuer's public documents below its URL. The API server's own are at the same paths."""

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
    """ARNs of the managed policies that its role gets; IAM attaches 10 to a role, and 20 with a higher quota."""

    @property
    def key(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"


class PodIdentity(Model):
    """Roles of the cloud for pods, by their service accounts: the cluster's issuer of tokens becomes public."""

    issuer: TokenIssuer = TokenIssuer.SIGNS
    """Whether API servers sign tokens for the public issuer, or only accept its tokens: the step before and after."""
    service_accounts: list[ServiceAccount] = []
    """Service accounts, and the policies of the role that Mullion makes for each."""
