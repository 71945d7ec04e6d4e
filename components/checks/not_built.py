"""Options of the spec that Mullion does not build yet."""

from collections.abc import Callable, Iterator

from components.checks.check import Check, Finding, Path, Rule, Subject, error
from components.releases.storage_drivers import DRIVERS
from components.spec.models import Cloud, CloudController, ClusterSpec

_Used = Callable[[ClusterSpec], bool]

CLUSTER: tuple[tuple[str, str, _Used, str, str, str], ...] = (
    (
        "cloud-controller",
        "cloud_controller",
        lambda s: s.cloud_controller is CloudController.EXTERNAL and s.cloud is not Cloud.AWS,
        "a cloud controller on this cloud (AWS has one; those of Azure and GCP are not tried against their APIs)",
        "write cloud_controller: none, and bring a load balancer (docs/load-balancers.md)",
        "SVC-01",
    ),
    (
        "csi",
        "csi",
        lambda s: any(each not in DRIVERS for each in s.csi),
        "storage drivers other than {} (docs/volumes.md says why)".format(", ".join(each.value for each in DRIVERS)),
        "remove them from csi, and install such a driver in the cluster",
        "STO-03",
    ),
)
"""Id, path, whether a spec uses the option, its name in the message, what to do, requirements."""


def _cluster_rule(path: Path, used: _Used) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        if used(subject.spec):
            yield Finding(path)

    return rule


def _row(slug: str, reads: str, rule: Rule, what: str, fix: str, needs: str) -> Check:
    return error(f"not-built-{slug}", f"{reads}.<key>", rule, f"not built yet: {what}", fix, needs)


CHECKS = tuple(
    _row(slug, path, _cluster_rule(tuple(path.split(".")), used), *texts) for slug, path, used, *texts in CLUSTER
)
"""One check for each row."""
