"""The region of the stack.

A region that the table lacks may be a slip, which would fail after the first resources, or newer than the table. `up`
therefore stops until somebody acknowledges it.
"""

from collections.abc import Iterator

from components.catalogue import regions
from components.checks.check import Finding, Subject, at, warning

UNKNOWN = "region-unknown"


def _unknown(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud.value
    if subject.region and subject.region not in regions.NAMES[cloud]:
        key, example = subject.spec.cloud.facts.region_key, subject.spec.cloud.facts.region_example
        names = " or ".join(regions.nearest(cloud, subject.region)) or f"a region such as {example}"
        yield at(key, value=subject.region, cloud=cloud, names=names)


CHECKS = (
    warning(
        UNKNOWN,
        "region cloud",
        _unknown,
        "{value!r} is not in the table of the regions of {cloud}; `up` stops unless this is acknowledged",
        "write {names}; clouds open regions at any time: if yours is newer than the table, acknowledge this warning",
    ),
)
