"""IAM's providers of OpenID Connect, and managed policies of roles.

Sources: IAM API reference, CreateOpenIDConnectProvider and AttachRolePolicy; IAM user guide, "IAM and AWS STS quotas".
Whether a managed policy exists is not known here: AWS's own are not listed, and no cluster makes one.
"""

import re
from urllib.parse import urlsplit

from sandbox.aws.iam import ATTACHMENT, ROLE
from sandbox.aws.quotas import QUOTAS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.quotas import beside

PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
CLIENTS, THUMBPRINTS = 100, 5
"""Most audiences and thumbprints of a provider."""
_POLICY = re.compile(r"arn:aws:iam::(aws|\d{12}):policy/(?:[\w+=,.@-]+/)*[\w+=,.@-]{1,128}")


def _provider(request: Request) -> None:
    inputs = request.inputs
    parts = urlsplit(inputs["url"])
    if parts.scheme != "https" or not parts.hostname or "." not in parts.hostname:
        raise Refusal("InvalidInput", f"Invalid Open ID Connect Url: {inputs['url']}")
    clients = inputs.get("clientIdLists") or []
    if len(clients) > CLIENTS:
        message = f"Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: {CLIENTS}"
        raise Refusal("LimitExceeded", message)
    if not all(1 <= len(each) <= 255 for each in clients):
        raise Refusal("ValidationError", "Member must have length between 1 and 255: clientIDList")
    if len(inputs.get("thumbprintLists") or []) > THUMBPRINTS:
        raise Refusal("InvalidInput", f"Thumbprint list must contain fewer than or equal to {THUMBPRINTS} entries.")


def _attachable(request: Request) -> None:
    """Refuse what is no managed policy of AWS or of this account."""
    arn = request.inputs["policyArn"]
    found = _POLICY.fullmatch(arn)
    if not found:
        raise Refusal("InvalidInput", f"ARN {arn} is not valid.")
    if found[1] not in ("aws", request.place.account):
        raise Refusal("NoSuchEntity", f"Policy {arn} does not exist or is not attachable.")


TYPES: dict[str, ResourceType] = {
    PROVIDER: ResourceType(
        id=lambda request: (
            request.format("arn:aws:iam::{account}:oidc-provider/")
            + request.inputs["url"].removeprefix("https://").rstrip("/")
        ),
        immutable=("url",),
        chosen=("thumbprintLists",),
        unordered=("clientIdLists",),
        outputs={"arn": "{id}"},
        patterns={
            "url": (re.compile(r"https://[^?#\s]{1,247}"), "an https URL without query, at most 255 characters"),
            "thumbprintLists[]": (re.compile("[0-9A-Fa-f]{40}"), "40 hexadecimal digits of SHA-1"),
        },
        unique=(Unique("provider", ("url",), "EntityAlreadyExists", "Provider with url {in_.url} already exists."),),
        rules=(_provider, QUOTAS.at_most("OIDC providers per account"), tag_rule("ValidationError")),
    ),
    ATTACHMENT: ResourceType(
        id="{in_.role}/{in_.policyArn}",
        immutable=("role", "policyArn"),
        references=(Reference("role", ROLE, "NoSuchEntity", "The role with name {id} cannot be found.", "refuse"),),
        rules=(_attachable, QUOTAS.at_most("managed policies per role", beside(ROLE, "role"))),
    ),
}
