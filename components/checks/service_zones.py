"""Private zones of an existing network by which machines without a way to the internet find the cloud's services."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error
from components.spec.models import Cloud, Egress
from components.topology.service_zones import (
    FORMS,
    azure_commands,
    azure_zone_ids,
    google_commands,
    missing_zones,
)


def _given(subject: Subject) -> list[str]:
    existing = subject.spec.network.existing
    return existing.service_zones if existing else []


def _in(*path: object, **values: object) -> Finding:
    return at("network", "existing", "service_zones", *path, **values)


def _unused(subject: Subject) -> Iterator[Finding]:
    if _given(subject) and subject.spec.network.egress is not Egress.NONE:
        yield _in()


def _form(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud in FORMS:
        form, words = FORMS[subject.spec.cloud]
        for index, id_ in enumerate(_given(subject)):
            if not form.fullmatch(id_):
                yield _in(index, value=id_, form=words)


def _readable(subject: Subject) -> bool:
    """Return whether all ids have their form, so that names of zones can be read in them."""
    return not [*_form(subject)]


def _missing(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    if spec.network.existing is None or not _readable(subject):
        return
    create = azure_commands if spec.cloud is Cloud.AZURE else google_commands
    for zone in missing_zones(spec):
        yield _in(zone=zone, commands=create(zone, spec.network.existing.network))


def _twice(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is Cloud.GCP or not _readable(subject):
        return
    given = _given(subject)
    zones = [*given] if subject.spec.cloud is Cloud.AWS else [zone for link in given for zone in azure_zone_ids([link])]
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield _in(index, zone=zone)


_READS = "network.existing network.egress cloud registry_credentials"

CHECKS = (
    error(
        "existing-service-zone-id",
        _READS,
        _form,
        "{value!r} does not name a private zone",
        "write {form}",
    ),
    error(
        "existing-service-zones-missing",
        _READS,
        _missing,
        "with egress: none machines need a private zone of {zone} that this network sees, and Mullion makes none in a"
        " network of yours: it would hide all other names of the zone from the network's machines",
        "write the id that your network has already; or let its owner run: {commands}; and write the new id",
    ),
    error(
        "existing-service-zone-twice",
        _READS,
        _twice,
        "another entry names a zone {zone} too, and a network sees one zone of a name",
        "list the zone that this network sees only",
    ),
    error(
        "existing-service-zones-unused",
        _READS,
        _unused,
        "service_zones has no effect here: only egress: none uses them",
        "remove service_zones",
    ),
)
