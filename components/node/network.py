"""The overlay network: flannel's net-conf, CNI files, flanneld on Windows, what is closed to pods."""

from dataclasses import dataclass
from typing import Any

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
from components.spec.models import Network

METADATA_ADDRESS = "169.254.169.254"


@dataclass(frozen=True)
class Closed:
    """An address that pods may not reach; tcp_ports: only these (empty: all)."""

    address: str
    tcp_ports: tuple[int, ...] = ()


CLOSED_TO_PODS: dict[str, tuple[Closed, ...]] = {
    "aws": (Closed(METADATA_ADDRESS),),
    # WireServer gives out extension settings, with secrets (CVE-2021-27075)
    "azure": (Closed(METADATA_ADDRESS), Closed("168.63.129.16", (80, 32526))),
    "gcp": (Closed(METADATA_ADDRESS),),
}


def name(network: Network) -> str:
    """FLN-04: the one name of HNS network, CNI files, source VIP and kube-proxy; flannel's own default."""
    return f"flannel.{network.vni}"


def net_conf(network: Network) -> dict[str, Any]:
    """FLN-01: flannel's net-conf.json, for the Linux ConfigMap and for Windows."""
    backend = {"Type": "vxlan", "VNI": network.vni, "Port": network.port}
    return {"Network": str(network.pods), "Backend": backend}


def linux_cni(network: Network) -> dict[str, Any]:
    """FLN-03: flannel's CNI file on Linux."""
    flannel = {"type": "flannel", "delegate": {"hairpinMode": True, "isDefaultGateway": True}}
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"name": name(network), "cniVersion": "1.0.0", "plugins": [flannel, portmap]}


def windows_cni(role: Role) -> dict[str, Any]:
    """NET-09: flannel's CNI file on Windows with containerd (HCN, apiVersion 2)."""
    network = role.spec.network
    pods, services = str(network.pods), str(network.services)
    policies = [
        {"Type": "OutBoundNAT", "Settings": {"Exceptions": [pods, services]}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": services, "NeedEncap": True}},
        {"Type": "ProviderAddress", "Settings": {"ProviderAddress": ref("node.address")}},
        *_access_lists(CLOSED_TO_PODS[role.spec.cloud.value]),
    ]
    delegate = {
        "type": "win-overlay",
        "apiVersion": 2,
        "policies": [{"name": "EndpointPolicy", "value": each} for each in policies],
    }
    flannel = {"type": "flannel", "capabilities": {"portMappings": True, "dns": True}, "delegate": delegate}
    return {"name": name(network), "cniVersion": "1.0.0", "plugins": [flannel]}


def _access_lists(closed: tuple[Closed, ...]) -> list[dict[str, Any]]:
    # HCN AclPolicySetting (hcsshim hcn/hcnpolicy.go): protocol numbers and ports are texts, the lowest priority
    # number wins; Switch rules act in the virtual switch, out of a pod's reach. All else stays open by the last two.
    blocks = [
        {"Direction": "Out", "RemoteAddresses": f"{each.address}/32", "Action": "Block", "Priority": 200 + index}
        | ({"Protocols": "6", "RemotePorts": ",".join(map(str, each.tcp_ports))} if each.tcp_ports else {})
        for index, each in enumerate(closed)
    ]
    opens = [{"Direction": direction, "Action": "Allow", "Priority": 65500} for direction in ("In", "Out")]
    return [{"Type": "ACL", "Settings": {**each, "RuleType": "Switch"}} for each in (*blocks, *opens)]


def windows_phase(role: Role) -> Phase:
    """flanneld, then what needs its network, then the CNI file, which makes the node Ready, last."""
    network = name(role.spec.network)
    return Phase(
        "network",
        Scope.NODE,
        (
            wait("node-certificate", timeout_seconds=900, file=WINDOWS_NODE_CERTIFICATE),
            *_flanneld(role),
            wait("flannel-network", timeout_seconds=600, file=FLANNEL_SUBNET_FILE),
            # the first HNS network moves the address to another adapter and drops this route (NET-14)
            step("metadata-route", "metadata-route", address=METADATA_ADDRESS),
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
                content=windows_cni(role),
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
            step("file", "closed-to-pods-unit", path=path, content=_unit(CLOSED_TO_PODS[role.spec.cloud.value])),
            step("command", "closed-to-pods", argv=["/usr/bin/systemctl", "enable", "--now", _UNIT]),
        ),
    )


def _unit(closed: tuple[Closed, ...]) -> str:
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
