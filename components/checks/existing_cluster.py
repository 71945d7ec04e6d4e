"""Pools that join a cluster that somebody else made: what its description needs, and options that have no place."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from components.checks.check import Finding, Rule, Subject, at, error
from components.checks.ingress_limits import MOST_RULES
from components.spec import pem
from components.spec.existing import LONGEST_HOST, ExistingCluster
from components.spec.models import Cloud, ClusterSpec, ControlPlane, NetworkMode
from components.spec.options import Model
from components.topology.firewall import rules

OWNED = ("api", "ingress", "kubeadm", "pod_security", "admission", "addons", "snapshots")
"""Groups of options about programs that the cluster's owner runs, or that Mullion does not build for joined pools."""
CHOSEN = ("cloud_controller", "csi", "gmsa", "access", "pod_identity")
GENERATIONS = ("certificate_authorities", "service_account", "encryption", "desired_state", "administrator")
"""Options of `rotation` about keys that are the owner's."""

_Joining = Callable[[Subject, ExistingCluster], Iterator[Finding]]


def _of(rule: _Joining) -> Rule:
    """Return the rule for specs with an existing cluster."""

    def checked(subject: Subject) -> Iterator[Finding]:
        if subject.spec.existing_cluster:
            yield from rule(subject, subject.spec.existing_cluster)

    return checked


def _in(*path: object, **values: object) -> Finding:
    return at("existing_cluster", *path, **values)


def _cloud(subject: Subject, _: ExistingCluster) -> Iterator[Finding]:
    if subject.spec.cloud is not Cloud.AWS:
        yield _in(cloud=subject.spec.cloud.facts.title)


def _network(subject: Subject, _: ExistingCluster) -> Iterator[Finding]:
    if subject.spec.network.existing is None:
        yield at("network", "existing")


def _mode(subject: Subject, _: ExistingCluster) -> Iterator[Finding]:
    if subject.spec.network.mode is not NetworkMode.OVERLAY:
        yield at("network", "mode", value=subject.spec.network.mode.value)


def _linux(subject: Subject, _: ExistingCluster) -> Iterator[Finding]:
    for group in subject.workers:
        if not group.os.is_windows:
            yield at(*group.path, "os", value=group.os.value)


def _endpoint(_: Subject, cluster: ExistingCluster) -> Iterator[Finding]:
    try:
        whole = f"https://{cluster.host}:{cluster.port}"
    except ValueError:
        whole = ""
    if whole != cluster.endpoint or not cluster.port or not 0 < len(cluster.host) <= LONGEST_HOST:
        yield _in("endpoint", value=cluster.endpoint[: 2 * LONGEST_HOST], most=LONGEST_HOST)


def _authority(_: Subject, cluster: ExistingCluster) -> Iterator[Finding]:
    try:
        found = pem.read(cluster.ca)
    except ValueError:
        yield _in("ca", what="no certificate in PEM")
        return
    if len(found) != 1:
        yield _in("ca", what=f"{len(found)} certificates")
    elif not found[0].is_authority:
        yield _in("ca", what=f"the certificate of {found[0].subject}, which is no authority")


def _no_nodes(_: Subject, cluster: ExistingCluster) -> Iterator[Finding]:
    if not cluster.nodes:
        yield _in("nodes")


def _overlaps(subject: Subject, cluster: ExistingCluster) -> Iterator[Finding]:
    network = subject.spec.network
    taken = {"network.pods": network.pods, "network.services": network.services}
    subnets = network.existing.subnets if network.existing else []
    taken |= {f"network.existing.subnets.{index}": subnet.range for index, subnet in enumerate(subnets)}
    for (index, nodes), (name, range_) in product(enumerate(cluster.nodes), taken.items()):
        if nodes.overlaps(range_):
            yield _in("nodes", index, value=nodes, name=name, range=range_)


def _rules(subject: Subject, cluster: ExistingCluster) -> Iterator[Finding]:
    count = sum(rule.ingress for rule in rules(subject.spec))
    if subject.spec.cloud is Cloud.AWS and count > MOST_RULES[Cloud.AWS]:
        yield _in("nodes", listed=len(cluster.nodes), count=count, most=MOST_RULES[Cloud.AWS])


def _unused(subject: Subject, _: ExistingCluster) -> Iterator[Finding]:
    """Yield options with another value than the default that a joined pool cannot have."""
    spec = subject.spec
    control_plane = ControlPlane.model_validate({"count": 0, "size": spec.cloud.facts.linux_size})
    if spec.control_plane != control_plane:
        yield at("control_plane")
    yield from _changed(spec, ClusterSpec, OWNED)
    yield from _changed(spec, ClusterSpec, CHOSEN)
    yield from _changed(spec.rotation, type(spec.rotation), GENERATIONS, "rotation")
    if spec.network.existing and spec.network.existing.private_zone:
        yield at("network", "existing", "private_zone")


def _changed(model: Model, kind: type[Model], names: tuple[str, ...], *path: str) -> Iterator[Finding]:
    for name in names:
        default: Any = kind.model_fields[name].get_default(call_default_factory=True)
        if getattr(model, name) != default:
            yield at(*path, name)


_READS = "existing_cluster"

CHECKS = (
    error(
        "existing-cluster-cloud",
        f"{_READS} cloud",
        _of(_cloud),
        "not built yet: pools on {cloud} that join an existing cluster; AWS has them",
        "write cloud: aws, or remove existing_cluster",
    ),
    error(
        "existing-cluster-network",
        f"{_READS} network.existing",
        _of(_network),
        "pools that join a cluster are built in a network from which its machines are reached; Mullion creates none",
        "name your network and subnets for the Windows machines (docs/existing-cluster.md)",
    ),
    error(
        "existing-cluster-mode",
        f"{_READS} network.mode",
        _of(_mode),
        "mode {value}: pools join clusters with flannel's VXLAN only",
        "write mode: overlay",
        "NET-05",
    ),
    error(
        "existing-cluster-linux",
        f"{_READS} pools.*.os",
        _of(_linux),
        "{value}: pools that join an existing cluster are Windows; its Linux machines are its owner's",
        "write a Windows release, and join Linux machines with kubeadm",
    ),
    error(
        "existing-cluster-endpoint",
        _READS,
        _of(_endpoint),
        "{value!r} is not https://HOST:PORT with a host of at most {most} characters",
        "write `server` of kube-public/cluster-info with its port",
    ),
    error(
        "existing-cluster-ca",
        _READS,
        _of(_authority),
        "it has {what}; machines pin the key of one authority",
        "write the cluster's ca.crt: `mullion join` does so. During a rotation of authorities join no machine",
    ),
    error(
        "existing-cluster-no-nodes",
        _READS,
        _of(_no_nodes),
        "no range: the pools' firewall would admit neither pods of Linux nodes nor the API servers",
        "list the subnets of the cluster's machines",
    ),
    error(
        "existing-cluster-nodes-overlap",
        f"{_READS} network.pods network.services network.existing",
        _of(_overlaps),
        "{value} overlaps {range} of {name}",
        "list the subnets of the cluster's own machines; give Windows machines a subnet of their own, because they have"
        " fixed addresses",
        "IPP-05",
    ),
    error(
        "existing-cluster-rules-many",
        f"{_READS} cloud network.port",
        _of(_rules),
        "{listed} ranges make {count} inbound rules of the machines' security group; AWS takes {most} by default",
        "list the subnets of the cluster's machines in place of their addresses",
    ),
    error(
        "existing-cluster-option",
        " ".join((_READS, "cloud control_plane rotation network.existing", *OWNED, *CHOSEN)),
        _of(_unused),
        "it has no effect on pools that join an existing cluster: its owner runs the control plane and its add-ons",
        "remove it",
    ),
)
