"""Owner, tags, protection and expiry of the cluster."""

import re
from collections.abc import Callable, Iterator

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec import expiry
from components.spec.expiry import life_seconds, moment
from components.spec.models import Cloud

TAGS_MOST, TAGS_OURS = 50, 10
"""Tags of a resource: AWS takes 50, Mullion sets at most ten (Name, and mullion: cluster, owner, expires, urn, ...)."""

KEY_LONGEST, VALUE_LONGEST = 128, 256
"""Characters of a tag's key and value (AWS)."""

_CHARACTERS = re.compile(r"^[\w +\-=.:/@]*$")
"""Characters that tags of every AWS service take: letters, digits, spaces and + - = . _ : / @."""

SHORTEST_LIFE = 1800
"""Seconds. A Windows node takes about 15 minutes to become Ready, so a cluster with a shorter life is hardly used."""

PAST = "expires-past"
"""Id of a warning that stops `up`: commands on a cluster that has expired must go on working."""


def _expires_form(subject: Subject) -> Iterator[Finding]:
    expires = subject.spec.expires
    if expires is not None and life_seconds(expires) is None and not moment(expires):
        yield at("expires", value=expires, example=f"{expiry.now().year + 1}-12-24T18:00:00Z")


def _past(subject: Subject) -> Iterator[Finding]:
    ends = moment(subject.spec.expires or "")
    if ends and ends <= expiry.now():
        yield at("expires", value=subject.spec.expires)


def _no_life(subject: Subject) -> Iterator[Finding]:
    if life_seconds(subject.spec.expires or "") == 0:
        yield at("expires", value=subject.spec.expires)


def _short_life(subject: Subject) -> Iterator[Finding]:
    life = life_seconds(subject.spec.expires or "")
    if life and life < SHORTEST_LIFE:
        yield at("expires", value=subject.spec.expires)


def _protected_expires(subject: Subject) -> Iterator[Finding]:
    if subject.spec.protect and subject.spec.expires is not None:
        yield at("expires")


def _no_owner(subject: Subject) -> Iterator[Finding]:
    if subject.spec.protect and subject.spec.owner is None:
        yield at("owner")


def _owner_form(subject: Subject) -> Iterator[Finding]:
    owner = subject.spec.owner
    if owner is not None and not (owner.strip() and len(owner) <= VALUE_LONGEST and _CHARACTERS.fullmatch(owner)):
        yield at("owner", value=owner[:60], longest=VALUE_LONGEST)


def _many_tags(subject: Subject) -> Iterator[Finding]:
    count = len(subject.spec.tags)
    if count > TAGS_MOST - TAGS_OURS:
        yield at("tags", count=count, most=TAGS_MOST - TAGS_OURS, limit=TAGS_MOST, ours=TAGS_OURS)


def _each_tag(wrong: Callable[[str, str], str]) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        for key, value in subject.spec.tags.items():
            if why := wrong(key, value):
                yield at("tags", key, key=key[:60], why=why)

    return rule


def _tag_key(key: str, value: str) -> str:
    if not key.strip() or len(key) > KEY_LONGEST:
        return f"has {len(key)} characters, not 1 to {KEY_LONGEST}"
    return "" if _CHARACTERS.fullmatch(key) else "has other characters than letters, digits, spaces and + - = . _ : / @"


def _tag_value(key: str, value: str) -> str:
    if len(value) > VALUE_LONGEST:
        return f"has {len(value)} characters, more than {VALUE_LONGEST}"
    return (
        "" if _CHARACTERS.fullmatch(value) else "has other characters than letters, digits, spaces and + - = . _ : / @"
    )


def _tag_reserved(key: str, value: str) -> str:
    low = key.lower()
    if low.startswith("aws:"):
        return "AWS reserves tags that begin with aws:"
    return "Mullion sets it on every resource" if low.startswith("mullion:") or low == "name" else ""


_LABEL_KEY, _LABEL_VALUE = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
"""Keys and values of labels on Google Cloud ("Requirements for labels")."""


def _labels(subject: Subject) -> Iterator[Finding]:
    if not subject.spec.cloud.facts.tags_are_labels:
        return
    for key, value in subject.spec.tags.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            yield at("tags", key, key=key[:60], value=value[:60])


_NOT_IN_AZURE_KEYS = re.compile(r"[<>%&\\?/]")
_AZURE_KEEPS = ("microsoft", "azure", "windows")
"""Characters and beginnings that keys of tags on Azure cannot have ("Use tags to organize your Azure resources")."""


def _azure_key(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AZURE:
        return
    for key in subject.spec.tags:
        if _NOT_IN_AZURE_KEYS.search(key):
            yield at("tags", key, key=key[:60], why="Azure's keys have none of < > % & \\ ? /")
        elif key.lower().startswith(_AZURE_KEEPS):
            yield at("tags", key, key=key[:60], why=f"Azure reserves keys that begin with {', '.join(_AZURE_KEEPS)}")


def _same_key(subject: Subject) -> Iterator[Finding]:
    """Find keys that differ only in case: keys on Azure, and of IAM on AWS, are compared without it."""
    seen: dict[str, str] = {}
    for key in subject.spec.tags:
        if key.lower() in seen:
            yield at("tags", key, key=key[:60], other=seen[key.lower()][:60])
        seen.setdefault(key.lower(), key)


def _tag_kubernetes(key: str, value: str) -> str:
    return "reserved" if key.startswith(("kubernetes.io/cluster/", "k8s.io/")) else ""


CHECKS = (
    error(
        "expires-form",
        "expires",
        _expires_form,
        "{value!r} is neither a duration nor a UTC time",
        'write 8h, 3d or a UTC time in quotes: "{example}"',
    ),
    warning(
        PAST,
        "expires",
        _past,
        "{value} is in the past; `up` refuses",
        "write a later time, or remove expires; `mullion down` removes the cluster",
    ),
    error(
        "expires-at-once",
        "expires",
        _no_life,
        "a duration of {value} lets anyone delete the cluster as soon as it is created",
        "write 1h or more, or remove expires",
    ),
    warning(
        "expires-soon",
        "expires",
        _short_life,
        "{value} is too short: Windows nodes take about 15 minutes to become Ready",
        "write 1h or more",
    ),
    error(
        "protect-and-expires",
        "protect expires",
        _protected_expires,
        "protect and expires contradict each other",
        "remove expires, or write protect: false",
    ),
    warning(
        "owner-missing",
        "owner protect",
        _no_owner,
        "the cluster is protected, but has no owner",
        "write owner: and a team or an e-mail address",
    ),
    error(
        "owner-form",
        "owner",
        _owner_form,
        "{value!r} cannot be the value of a tag",
        "write 1 to {longest} letters, digits, spaces and + - = . _ : / @",
    ),
    error(
        "tags-too-many",
        "tags",
        _many_tags,
        "{count} tags are too many: AWS takes {limit}, and Mullion sets up to {ours}",
        "write at most {most}",
    ),
    error("tag-key", "tags", _each_tag(_tag_key), "the tag key {key!r} {why}", "shorten it, or write other characters"),
    error(
        "tag-value",
        "tags",
        _each_tag(_tag_value),
        "the value of {key!r} {why}",
        "shorten it, or write other characters",
    ),
    error(
        "tag-reserved", "tags", _each_tag(_tag_reserved), "the tag key {key!r} is reserved: {why}", "write another key"
    ),
    error(
        "tag-no-label",
        "tags cloud",
        _labels,
        "the tag {key!r}: {value!r} cannot be a label on Google Cloud",
        "write at most 63 lower-case letters, digits, - and _, and begin the key with a letter",
    ),
    error("tag-key-on-azure", "tags cloud", _azure_key, "the tag {key!r} is not possible: {why}", "write another key"),
    error(
        "tag-key-twice",
        "tags",
        _same_key,
        "the tag keys {key!r} and {other!r} differ only in case, which Azure, and IAM on AWS, do not distinguish",
        "remove one of them",
    ),
    warning(
        "tag-of-kubernetes",
        "tags",
        _each_tag(_tag_kubernetes),
        "with the tag {key!r} the cloud controller of another cluster can change or delete these resources",
        "remove it: Mullion runs no cloud controller",
    ),
)
