"""Roles of pods (`pod_identity`): versions, entries, policies, and ways to the cloud."""

from collections.abc import Iterator

from components import releases
from components.checks.check import Finding, Subject, at, error, warning
from components.checks.versions import supported
from components.spec.choices import TokenIssuer
from components.spec.kubeadm_flags import flags
from components.spec.models import Cloud, Egress
from components.spec.pod_identity import ServiceAccount, accepted

BROAD = ("AdministratorAccess", "PowerUserAccess", "FullAccess")
"""Suffixes of policies that no machine and no pod can have, whoever wrote them (the policy pack refuses them too)."""
LONGEST_SUBJECT = 127
"""Bytes of google.subject (IAM API reference, projects.locations.workloadIdentityPools.providers)."""
LONGEST_CONDITION = 4096
"""Characters of attributeCondition (the same page)."""
_OURS = ("service-account-issuer", "service-account-jwks-uri")
_PUBLIC = (Cloud.AWS, Cloud.AZURE)
"""Clouds that read the documents of a public issuer."""
_GRANT = {
    Cloud.AZURE: "and assign roles to the identity in the output pod_principals",
    Cloud.GCP: "and grant roles to the member in the output pod_roles",
}
_ASKED = {
    Cloud.AWS: (
        "AWS's service STS",
        "give the network an interface endpoint of STS, or the pods a proxy (HTTPS_PROXY)",
    ),
    Cloud.AZURE: ("login.microsoftonline.com, which has no private endpoint", "give the pods a proxy (HTTPS_PROXY)"),
}
"""Service that exchanges tokens of pods, and what to do without a way to it (Google's has Private Google Access)."""


def _accounts(subject: Subject) -> list[ServiceAccount]:
    return subject.spec.pod_identity.service_accounts if subject.spec.pod_identity else []


def _of(index: int, *path: object, **values: object) -> Finding:
    return at("pod_identity", "service_accounts", index, *path, **values)


def _early(subject: Subject) -> Iterator[Finding]:
    if subject.spec.pod_identity and subject.spec.cloud in _PUBLIC and supported(subject):
        first = releases.first_in_order(subject.spec.kubernetes)
        if first != subject.spec.kubernetes:
            yield at("pod_identity", version=subject.spec.kubernetes, first=first)


def _twice(subject: Subject) -> Iterator[Finding]:
    keys = [each.key for each in _accounts(subject)]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield _of(index, value=key)


def _policies(subject: Subject) -> Iterator[Finding]:
    for index, account in enumerate(_accounts(subject)):
        for place, policy in enumerate(account.policies):
            if policy in account.policies[:place]:
                yield _of(index, "policies", place, value=policy)


def _broad(subject: Subject) -> Iterator[Finding]:
    for index, account in enumerate(_accounts(subject)):
        for place, policy in enumerate(account.policies):
            if policy.endswith(BROAD):
                yield _of(index, "policies", place, value=policy.rpartition("/")[2])


def _of_aws(subject: Subject) -> Iterator[Finding]:
    if subject.spec.pod_identity is None or subject.spec.cloud is Cloud.AWS:
        return
    if subject.spec.cloud is Cloud.GCP and subject.spec.pod_identity.issuer is not TokenIssuer.SIGNS:
        yield at("pod_identity", "issuer", wrong="issuer is for AWS and Azure", fix="tokens keep kubeadm's issuer here")
    for index, account in enumerate(_accounts(subject)):
        if account.policies:
            yield _of(index, "policies", wrong="policies is for AWS alone", fix=_GRANT[subject.spec.cloud])


def _long_subject(subject: Subject) -> Iterator[Finding]:
    for index, account in enumerate(_accounts(subject)):
        if subject.spec.cloud is Cloud.GCP and len(account.subject) > LONGEST_SUBJECT:
            yield _of(index, value=account.subject, length=len(account.subject), most=LONGEST_SUBJECT)


def _long_condition(subject: Subject) -> Iterator[Finding]:
    accounts = _accounts(subject)
    length = len(accepted(accounts))
    if subject.spec.cloud is Cloud.GCP and length > LONGEST_CONDITION:
        yield at("pod_identity", "service_accounts", count=len(accounts), length=length, most=LONGEST_CONDITION)


def _flags(subject: Subject) -> Iterator[Finding]:
    path = ("kubeadm", "config", "ClusterConfiguration", "apiServer")
    written = subject.spec.kubeadm.config.get("ClusterConfiguration", {}).get("apiServer")
    for place, name, _ in flags(written, path) if subject.spec.pod_identity else ():
        if name in _OURS:
            yield at(*place, name=name)


def _no_way(subject: Subject) -> Iterator[Finding]:
    found = _ASKED.get(subject.spec.cloud)
    if found and _accounts(subject) and subject.spec.network.egress is Egress.NONE:
        yield at("pod_identity", "service_accounts", service=found[0], fix=found[1])


CHECKS = (
    error(
        "pod-identity-early",
        "pod_identity kubernetes",
        _early,
        "API servers need two issuers in an order, so that the new one signs and tokens of the old one stay valid;"
        " kubeadm {version} sorts them",
        "write Kubernetes {first} or newer, or remove pod_identity",
    ),
    error(
        "pod-identity-twice",
        "pod_identity",
        _twice,
        "{value} is listed twice",
        "keep one entry, with the policies of both",
    ),
    error(
        "pod-identity-policy-twice",
        "pod_identity",
        _policies,
        "{value} is listed twice",
        "keep one: a role has a policy once",
    ),
    error(
        "pod-identity-broad",
        "pod_identity",
        _broad,
        "{value} allows more than a pod needs, and whoever may create pods in the namespace gets it",
        "write the ARN of a policy with only the actions and resources that the pods use",
    ),
    error(
        "pod-identity-aws-field",
        "pod_identity cloud",
        _of_aws,
        "{wrong}",
        "remove it, {fix}",
    ),
    error(
        "pod-identity-long-subject",
        "pod_identity cloud",
        _long_subject,
        "{value} has {length} bytes, and Google takes subjects of at most {most}",
        "give the namespace or the service account a shorter name",
    ),
    error(
        "pod-identity-many",
        "pod_identity cloud",
        _long_condition,
        "the condition that names these {count} service accounts has {length} characters, and Google takes {most}",
        "list fewer, or let programs share a service account",
    ),
    error(
        "pod-identity-flags",
        "pod_identity kubeadm.config",
        _flags,
        "with pod_identity tokens name the issuer that Mullion publishes, so {name} is Mullion's",
        "in a new cluster remove it; in one that was built with it remove pod_identity, because API servers would"
        " refuse all tokens of that issuer",
    ),
    warning(
        "pod-identity-no-way",
        "pod_identity cloud network.egress",
        _no_way,
        "pods exchange their tokens at {service}, and egress: none lets them reach no address outside",
        "{fix}",
    ),
)
