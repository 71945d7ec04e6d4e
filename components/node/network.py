"""The pod network: flannel's net-conf, flanneld on Windows, CNI files, what is closed to pods."""

from typing import Any

from components.node import cni
from components.node.kinds import Step, ref, step
from components.node.layout import (
    FLANNEL,
    FLANNEL_SUBNET_FILE,
    HOST_LOCAL_STATE,
    WINDOWS,
    WINDOWS_NODE_CERTIFICATE,
    WINDOWS_NODE_KUBECONFIG,
)
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.waiting import wait
from components.spec.models import Network, NetworkMode


def net_conf(network: Network) -> dict[str, Any]:
    """FLN-01: flannel's net-conf.json, for the Linux ConfigMap and for Windows."""
    backend: dict[str, Any] = {"Type": "vxlan", "VNI": network.vni, "Port": network.port}
    if network.mode is not NetworkMode.OVERLAY:
        # the cloud routes; flannel hands out the ranges on Linux
        backend = {"Type": "alloc"}
    return {"Network": str(network.pods), "Backend": backend}


def windows_phase(role: Role) -> Phase:
    """flanneld, then what needs its network, then the CNI file, which makes the node Ready, last."""
    network = cni.name(role.spec.network)
    return Phase(
        "network",
        Scope.NODE,
        (
            wait("node-certificate", timeout_seconds=900, file=WINDOWS_NODE_CERTIFICATE),
            *_flanneld(role),
            wait("flannel-network", timeout_seconds=600, file=FLANNEL_SUBNET_FILE),
            # the first HNS network moves the address to another adapter and drops this route (NET-14)
            step("metadata-route", "metadata-route", address=cni.METADATA_ADDRESS),
            step(
                "source-vip",
                "source-vip",
                network=network,
                plugin=WINDOWS.program("host-local", WINDOWS.cni_programs),
                data_directory=HOST_LOCAL_STATE,
            ),
            step("directory", "cni-config-folder", path=WINDOWS.cni_config, access="private"),
            step(
                "file",
                "cni-config",
                path=WINDOWS.path(WINDOWS.cni_config, "10-flannel.conflist"),
                format="json",
                content=cni.windows(role),
            ),
        ),
    )


def _flanneld(role: Role) -> tuple[Step, ...]:
    configuration = WINDOWS.path(FLANNEL, "net-conf.json")
    command = [
        WINDOWS.program("flanneld", FLANNEL),
        *("--kubeconfig-file", WINDOWS_NODE_KUBECONFIG),
        "--kube-subnet-mgr",
        "--ip-masq",
        "--iptables-forward-rules=false",
        *("--net-config-path", configuration),
        *("--subnet-file", FLANNEL_SUBNET_FILE),
        *("--iface", ref("node.address")),
    ]
    return (
        step("directory", "flannel-logs", path=WINDOWS.path(WINDOWS.logs, "flanneld")),
        step("file", "net-conf", path=configuration, format="json", content=net_conf(role.spec.network)),
        step(
            "service",
            "flanneld",
            service="flanneld",
            command=command,
            wrapper=WINDOWS.program("nssm"),
            depends=["kubelet"],
            environment={"NODE_NAME": ref("machine.name")},
            log=WINDOWS.path(WINDOWS.logs, "flanneld", "flanneld.log"),
            restarts_on=[configuration],
            restart_seconds=10,
        ),
    )


_UNIT = "mullion-closed-to-pods.service"


def linux_phase(role: Role) -> Phase:
    """A unit that closes addresses to pods before the kubelet starts any."""
    path = f"/etc/systemd/system/{_UNIT}"
    return Phase(
        "network",
        Scope.IMAGE,
        (
            step("file", "closed-to-pods-unit", path=path, content=_unit(cni.CLOSED_TO_PODS[role.spec.cloud.value])),
            step("command", "closed-to-pods", argv=["/usr/bin/systemctl", "enable", "--now", _UNIT]),
        ),
    )


def _unit(closed: tuple[cni.Closed, ...]) -> str:
    lines = ["[Unit]", "Description=Close metadata addresses to pods", "Before=kubelet.service", "", "[Service]"]
    lines += ["Type=oneshot", "RemainAfterExit=yes"]
    for each in closed:
        ports = ",".join(map(str, each.tcp_ports))
        match = (
            f"FORWARD -d {each.address}/32 " + (f"-p tcp -m multiport --dports {ports} " if ports else "") + "-j DROP"
        )
        # delete first (it may fail: "-"), so that a second start leaves one rule
        lines += [f"ExecStart=-/usr/sbin/iptables -w -D {match}", f"ExecStart=/usr/sbin/iptables -w -I {match}"]
    return "\n".join([*lines, "", "[Install]", "WantedBy=multi-user.target", ""])
