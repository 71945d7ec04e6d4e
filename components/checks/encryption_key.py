"""Checks of `encryption_key`: form and region of its id. Only the cloud knows whether the key can be used."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error

IDENTITY = "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ManagedIdentity/userAssignedIdentities/NAME"


def _malformed(subject: Subject) -> Iterator[Finding]:
    key, facts = subject.spec.encryption_key, subject.spec.cloud.facts
    if key is not None and not facts.key_form.fullmatch(key):
        yield at("encryption_key", value=key, words=facts.key_words)


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    """Find a key of another region: EC2, S3, disks and buckets of GCP take keys of their own region alone."""
    found = subject.spec.cloud.facts.key_form.fullmatch(subject.spec.encryption_key or "")
    region = found.groupdict().get("region") if found else None
    if region and subject.region and region != subject.region:
        yield at("encryption_key", key_region=region, region=subject.region)


def _nobody(subject: Subject) -> Iterator[Finding]:
    """Find a key without the identity that Azure's services need to use it."""
    spec = subject.spec
    if spec.encryption_key and not spec.encryption_identity and spec.cloud.facts.key_identity_form:
        yield at("encryption_identity")


def _malformed_identity(subject: Subject) -> Iterator[Finding]:
    identity, form = subject.spec.encryption_identity, subject.spec.cloud.facts.key_identity_form
    if identity is not None and form is not None and not form.fullmatch(identity):
        yield at("encryption_identity", value=identity)


def _unused_identity(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    if spec.encryption_identity is not None and not (spec.encryption_key and spec.cloud.facts.key_identity_form):
        yield at("encryption_identity", title=spec.cloud.facts.title)


CHECKS = (
    error(
        "encryption-key-malformed",
        "encryption_key cloud",
        _malformed,
        "{value!r} is not the id of a key",
        "write {words}",
    ),
    error(
        "encryption-key-region",
        "encryption_key cloud",
        _elsewhere,
        "the key is in {key_region}, the cluster in {region}: the cloud encrypts disks and buckets of a region with"
        " keys of that region only",
        "write a key of {region}",
    ),
    error(
        "encryption-identity-missing",
        "encryption_identity encryption_key cloud",
        _nobody,
        "missing: Azure's services use encryption_key as a managed identity of yours, which needs the role"
        " Key Vault Crypto Service Encryption User on the key",
        f"write {IDENTITY}",
    ),
    error(
        "encryption-identity-malformed",
        "encryption_identity cloud",
        _malformed_identity,
        "{value!r} is not the id of a user-assigned managed identity",
        f"write {IDENTITY}",
    ),
    error(
        "encryption-identity-unused",
        "encryption_identity encryption_key cloud",
        _unused_identity,
        "no effect: only Azure uses an identity (the cloud is {title}), and only with encryption_key",
        "remove encryption_identity, or on Azure write encryption_key too",
    ),
)
