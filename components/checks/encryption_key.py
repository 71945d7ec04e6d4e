"""Checks of the user's key (`encryption_key`): whether it can be used is known only to the cloud."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error


def _malformed(subject: Subject) -> Iterator[Finding]:
    key, form = subject.spec.encryption_key, subject.spec.cloud.facts.key_form
    if key is not None and form is not None and not form.fullmatch(key):
        yield at("encryption_key", value=key, words=subject.spec.cloud.facts.key_words)


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    """Find a key of another region: EC2, S3, disks and buckets of GCP take keys of their own region alone."""
    key, form = subject.spec.encryption_key, subject.spec.cloud.facts.key_form
    found = form.fullmatch(key) if key is not None and form is not None else None
    if found and subject.region and found["region"] != subject.region:
        yield at("encryption_key", key_region=found["region"], region=subject.region)


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
)
