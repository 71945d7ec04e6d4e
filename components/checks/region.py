"""The region of the stack.

A region that the table lacks may be a slip, which would fail after the first resources, or newer than the table; one
without zones may have some by now. `up` therefore stops until somebody acknowledges it.
"""

from collections.abc import Iterator

from components.catalogue import regions
from components.checks.check import Finding, Subject, at, warning
from components.spec.models import Cloud

UNKNOWN = "region-unknown"
WITHOUT_ZONES = "region-without-zones"


def _unknown(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud.value
    if subject.region and subject.region not in regions.NAMES[cloud]:
        key, example = subject.spec.cloud.facts.region_key, subject.spec.cloud.facts.region_example
        names = " or ".join(regions.nearest(cloud, subject.region)) or f"a region such as {example}"
        yield at(key, value=subject.region, cloud=cloud, names=names)


def _without_zones(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is Cloud.AZURE and subject.region in regions.AZURE_WITHOUT_ZONES:
        facts = subject.spec.cloud.facts
        yield at(facts.region_key, value=subject.region, example=facts.region_example)


CHECKS = (
    warning(
        UNKNOWN,
        "region cloud",
        _unknown,
        "{value!r} is not in the table of the regions of {cloud}; `up` stops unless this is acknowledged",
        "write {names}; clouds open regions at any time: if yours is newer than the table, acknowledge this warning",
    ),
    warning(
        WITHOUT_ZONES,
        "region cloud",
        _without_zones,
        "{value!r} has no availability zones, and each machine, address and load balancer is placed in a zone; Azure "
        "would refuse the first machine after network and stores exist, so `up` stops unless this is acknowledged",
        "write a region such as {example}; Azure adds zones to regions: if yours has some by now, acknowledge this "
        "warning",
    ),
)
