"""Ports of metrics exporters, which every machine of the cluster may reach on every other."""

from collections.abc import Iterator

from components.checks.check import Finding, Subject, at, error
from components.topology.firewall import API_PORT, ETCD_PORTS, KUBELET_PORT, NODE_PORTS, SSH_PORT

CLOSED = {
    SSH_PORT: "SSH",
    445: "SMB",
    **dict.fromkeys(ETCD_PORTS, "etcd"),
    3389: "Remote Desktop",
    **dict.fromkeys((5985, 5986), "WinRM"),
    API_PORT: "the API server",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}
"""Ports that lead into a machine or the cluster, and whose they are: nobody monitors by these."""


def _closed(subject: Subject) -> Iterator[Finding]:
    for index, port in enumerate(subject.spec.network.exporter_ports):
        if port in CLOSED:
            yield at("network", "exporter_ports", index, value=port, whose=CLOSED[port])


def _open(subject: Subject) -> Iterator[Finding]:
    for index, port in enumerate(subject.spec.network.exporter_ports):
        if port == KUBELET_PORT or NODE_PORTS[0] <= port <= NODE_PORTS[1]:
            yield at("network", "exporter_ports", index, value=port)


def _twice(subject: Subject) -> Iterator[Finding]:
    ports = subject.spec.network.exporter_ports
    for index, port in enumerate(ports):
        if port in ports[:index]:
            yield at("network", "exporter_ports", index, value=port)


CHECKS = (
    error(
        "exporter-port-closed",
        "network.exporter_ports",
        _closed,
        "port {value} is {whose}: a stolen worker could reach it on every machine",
        "list ports of exporters, such as 9100 (node_exporter) and 9182 (windows_exporter)",
    ),
    error(
        "exporter-port-open",
        "network.exporter_ports",
        _open,
        "port {value} is open between all machines already, as the kubelet's or as a node port",
        "remove it: the cloud refuses the same rule twice",
    ),
    error(
        "exporter-port-twice",
        "network.exporter_ports",
        _twice,
        "port {value} is listed twice",
        "keep one: the cloud refuses the same rule twice",
    ),
)
