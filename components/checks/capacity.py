"""Licences of Windows, and spot capacity."""

from collections.abc import Iterator

from components.catalogue import instance_sizes
from components.checks.check import Finding, Subject, at, error, warning
from components.spec import defaults
from components.spec.models import Cloud, Licence

_OWN = {
    Cloud.AWS: "AWS bills Windows with every shared instance; a licence of yours needs Dedicated Hosts and an image"
    " that you import",
    Cloud.GCP: "Google Cloud bills Windows with every shared machine; a licence of yours needs sole-tenant nodes and"
    " an image that you import",
}
"""Why a pool cannot have the user's licence, by cloud (AWS, "Microsoft licensing on AWS", "Bring your own licenses";
Compute Engine, "Bring your own licenses")."""


def _own_elsewhere(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if pool.licence is Licence.OWN and pool.os.is_windows and subject.spec.cloud in _OWN:
            yield at("pools", name, "licence", why=_OWN[subject.spec.cloud])


def _own_on_linux(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if pool.licence is Licence.OWN and not pool.os.is_windows:
            yield at("pools", name, "licence", value=pool.os.value)


def _not_spot(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AZURE:
        return
    for name, pool in subject.spec.pools.items():
        if pool.spot and (instance_sizes.is_burstable(pool.size) or pool.size.endswith("_Promo")):
            example = defaults.SIZES["azure"]["windows" if pool.os.is_windows else "linux"]
            yield at("pools", name, "spot", value=pool.size, example=example)


def _spot_without_grant(subject: Subject) -> Iterator[Finding]:
    """Find spot pools with a key of the user's on AWS, whose policy or grants only AWS knows."""
    pools = [name for name, pool in subject.spec.pools.items() if pool.spot and pool.count]
    if subject.spec.cloud is Cloud.AWS and subject.spec.encryption_key and pools:
        yield at("pools", pools[0], "spot", names=", ".join(pools))


def _all_windows_spot(subject: Subject) -> Iterator[Finding]:
    pools = {name: pool for name, pool in subject.spec.pools.items() if pool.os.is_windows and pool.count}
    if pools and all(pool.spot for pool in pools.values()):
        yield at("pools", next(iter(pools)), "spot", names=", ".join(pools))


CHECKS = (
    error(
        "spot-size",
        "pools.<pool>.spot pools.<pool>.size cloud",
        _not_spot,
        "Azure has no spot capacity of {value}, a size of the B series or a promotion",
        "choose another size such as {example}, or remove spot",
    ),
    warning(
        "spot-key-grant",
        "pools.*.spot pools.*.count encryption_key cloud",
        _spot_without_grant,
        "spot machines (pools {names}) end at launch unless the role AWSServiceRoleForEC2Spot exists and has a grant on"
        " encryption_key",
        "run the two commands of docs/spot.md, and acknowledge this",
    ),
    warning(
        "windows-all-spot",
        "pools.*.spot pools.*.os pools.*.count",
        _all_windows_spot,
        "every Windows machine uses spot capacity (pools {names}); the cloud may take all of them at once, and then no"
        " workload for Windows runs until it has capacity again",
        "add a Windows pool without spot for what has to keep running",
    ),
    error(
        "licence-of-the-cloud",
        "pools.<pool>.licence pools.<pool>.os cloud",
        _own_elsewhere,
        "{why}, and Mullion builds neither",
        "write licence: included, or build the pool on Azure",
        "OS-10",
    ),
    error(
        "licence-without-windows",
        "pools.<pool>.licence pools.<pool>.os",
        _own_on_linux,
        "the licence is that of Windows, but the pool runs {value}",
        "remove licence",
        "OS-10",
    ),
)
