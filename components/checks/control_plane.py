"""The machines of the control plane, and room for Linux pods."""

from collections.abc import Iterator

from components.catalogue import control_plane_sizes
from components.checks.check import Finding, Subject, at, error, warning
from components.checks.machines import known

RECORDED = 2000
"""Nodes whose certificates of a day fit into the agent's ConfigMap mullion-machines of at most 1 MiB (Kubernetes,
"ConfigMaps"), also on a day in which every machine is replaced (tests/agent/test_machines.py)."""


def _count(subject: Subject) -> Iterator[Finding]:
    count = subject.spec.control_plane.count
    if count not in (1, 3) and not subject.spec.existing_cluster:  # its own check refuses every other count than 0
        yield at("control_plane", "count", value=count)


def _windows(subject: Subject) -> Iterator[Finding]:
    if subject.spec.control_plane.os.is_windows:
        yield at("control_plane", "os", value=subject.spec.control_plane.os.value)


def linux_workers(subject: Subject) -> int:
    """Return the number of Linux workers in all pools."""
    return sum(group.count for group in subject.workers if not group.os.is_windows)


def _no_linux(subject: Subject) -> Iterator[Finding]:
    if subject.spec.existing_cluster:
        return
    if linux_workers(subject) == 0 and any(group.count for group in subject.workers):
        count = subject.spec.control_plane.count
        yield at("pools", size=subject.spec.control_plane.size, count=count)


def _no_workers(subject: Subject) -> Iterator[Finding]:
    if not any(group.count for group in subject.workers):
        yield at("pools")


def _single_protected(subject: Subject) -> Iterator[Finding]:
    if subject.spec.protect and subject.spec.control_plane.count == 1:
        yield at("control_plane", "count")


def _nodes(subject: Subject) -> int:
    """Return the number of workers whose control plane is Mullion's."""
    return 0 if subject.spec.existing_cluster else sum(group.count for group in subject.workers)


def _size_for_nodes(subject: Subject) -> Iterator[Finding]:
    size, nodes = known(subject, subject.groups[0]), _nodes(subject)
    row = control_plane_sizes.row(nodes)
    # up to the first row every size is enough that kubeadm accepts
    if size and nodes > control_plane_sizes.ROWS[0].nodes and not control_plane_sizes.fits(size, row):
        example = control_plane_sizes.smallest(subject.spec.cloud.value, size.name, row)
        has = {"value": size.name, "vcpu": size.vcpu, "gib": size.memory / 2**30}
        yield at("control_plane", "size", **has, nodes=nodes, least=row.vcpu, memory=row.gib, example=example)


def _shared_disk(subject: Subject) -> Iterator[Finding]:
    nodes = _nodes(subject)
    if control_plane_sizes.row(nodes).own_disk and subject.spec.control_plane.etcd_disk is None:
        yield at("control_plane", "etcd_disk", nodes=nodes)


def _beyond_record(subject: Subject) -> Iterator[Finding]:
    nodes = sum(group.count for group in subject.groups)
    if nodes > RECORDED:
        yield at("pools", nodes=nodes, most=RECORDED)


def _preflight(subject: Subject) -> Iterator[Finding]:
    for index, name in enumerate(subject.spec.kubeadm.ignore_preflight):
        if name.lower() == "all":
            yield at("kubeadm", "ignore_preflight", index)


CHECKS = (
    error(
        "control-plane-count",
        "control_plane.count",
        _count,
        "the control plane has {value} machines, but Mullion builds 1 or 3: etcd needs an odd number for a majority,"
        " and more than three slow it down",
        "write 1 or 3",
        "CP-01",
    ),
    error(
        "control-plane-windows",
        "control_plane.os",
        _windows,
        "the control plane cannot run on {value}: its programs and etcd exist only for Linux",
        "write ubuntu-24.04 or ubuntu-22.04",
        "CP-01",
    ),
    warning(
        "no-linux-worker",
        "control_plane.count control_plane.size pools.*.count pools.*.os",
        _no_linux,
        "there is no Linux worker: CoreDNS, webhooks and all other Linux pods must fit on the control plane"
        " ({count} x {size}) and tolerate its taint",
        "add a pool with os: ubuntu-24.04",
        "CP-01",
    ),
    warning(
        "no-workers",
        "pools.*.count",
        _no_workers,
        "no pool has machines, so the cluster is only a control plane",
        "add a pool, or raise a count",
        "CP-01",
    ),
    warning(
        "protected-single-control-plane",
        "protect control_plane.count",
        _single_protected,
        "the cluster is protected, but if its only control-plane machine is lost, the API stops until it is restored",
        "write count: 3",
    ),
    warning(
        "control-plane-small-for-nodes",
        "control_plane.size pools.*.count cloud",
        _size_for_nodes,
        "{value} has {vcpu} vCPU and {gib:g} GiB for {nodes} workers; Kubernetes' own scripts gave such a control plane"
        " {least} vCPU and {memory:g} GiB, and with too few etcd loses its leader when many pods start at once",
        "choose a type with {least} vCPU such as {example}",
    ),
    warning(
        "etcd-shares-disk",
        "control_plane.etcd_disk pools.*.count",
        _shared_disk,
        "etcd serves {nodes} workers from the root disk, where images and audit logs slow its writes down",
        "write etcd_disk: {{}}, and replace the control-plane machines one after the other",
    ),
    warning(
        "nodes-beyond-record",
        "control_plane.count pools.*.count",
        _beyond_record,
        "{nodes} nodes: the agent records certificates in one ConfigMap of at most 1 MiB; if more than {most} machines"
        " are replaced within a day it is full, and kubelets get no certificates until recorded ones end",
        "build two clusters, or replace the machines over several days",
    ),
    error(
        "preflight-all",
        "kubeadm.ignore_preflight",
        _preflight,
        "`all` switches off every preflight check, also those that stop a machine from joining twice",
        "list the checks to ignore one by one",
    ),
)
