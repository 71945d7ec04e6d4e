"""The region of the stack."""

from collections.abc import Iterator

from components.catalogue import regions
from components.checks.check import Finding, Subject, at, warning


def _unknown(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud.value
    if subject.region and subject.region not in regions.NAMES[cloud]:
        key, example = subject.spec.cloud.facts.region_key, subject.spec.cloud.facts.region_example
        names = " or ".join(regions.nearest(cloud, subject.region)) or f"a region such as {example}"
        yield at(key, value=subject.region, cloud=cloud, names=names)


CHECKS = (
    warning(
        "region-unknown",
        "region cloud",
        _unknown,
        "{value!r} is not in the table of the regions of {cloud}",
        "write {names}, or acknowledge the warning if the region is new",
    ),
)
