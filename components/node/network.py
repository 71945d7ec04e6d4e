"""The pod network: flannel's net-conf.json, flanneld on Windows, CNI files, addresses closed to pods."""

from typing import Any

from components.clouds import ClosedAddress
from components.node import cni
from components.node.kinds import Step, ref, step
from components.node.layout import (
    FLANNEL,
    FLANNEL_SUBNET_FILE,
    HOST_LOCAL_STATE,
    LINUX,
    WINDOWS,
    WINDOWS_NODE_KUBECONFIG,
)
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.node.waiting import wait
from components.spec.models import Network, NetworkMode, Runtime


def net_conf(role: Role) -> dict[str, Any]:
    """Return flannel's net-conf.json for overlay, the same for the Linux ConfigMap and for Windows (FLN-01).

    Only flannel on Linux reads MTU, the largest packet between machines: pods get 50 bytes less (flannel-io/flannel
    pkg/backend/vxlan/device.go). On Windows HNS gives pods 1450, whatever the machine has (Azure/AKS#2873).
    """
    network = role.spec.network
    backend = {"Type": "vxlan", "VNI": network.vni, "Port": network.port, "MTU": role.spec.cloud.facts.mtu}
    return {"Network": str(network.pods), "Backend": backend}


CNI_FILE = "10-flannel.conflist"
"""CNI file on Windows; other files in its folder are deleted, because runtimes use the first by name (NET-02)."""


def before_kubelet(role: Role) -> Phase:
    """Return the phase that removes state of the last boot, and the CNI file, while the kubelet is stopped.

    Otherwise the reservation of a pod that the kubelet starts meanwhile would look stale until its endpoint exists, and
    two pods would get one address. With l2bridge the range is planned, so the whole network exists before the kubelet.
    With overlay an earlier run of this boot may have failed after flanneld made the virtual switch: the route is set
    here too, because the kubelet's steps ask the metadata service.
    """
    services = ["kube-proxy", *([] if _routed(role) else ["flanneld"]), "kubelet"]
    if _routed(role):
        return Phase("pod-network", Scope.NODE, _bridge(role, services))
    route = _metadata_route(role, "metadata-route-before-kubelet")
    return Phase("pod-network", Scope.NODE, (_stale(role, "last-boot", services), route))


def windows_phase(role: Role) -> Phase:
    """Return the phase that creates the overlay network; its last step is the CNI file, which makes the node Ready."""
    return Phase(
        "network",
        Scope.NODE,
        (
            *(() if _routed(role) else _overlay(role)),
            step("directory", "cni-config-folder", path=WINDOWS.cni_config, access="private", only=[CNI_FILE]),
            step(
                "file",
                "cni-config",
                path=WINDOWS.path(WINDOWS.cni_config, CNI_FILE),
                format="json",
                content=cni.windows(role),
            ),
        ),
    )


def _metadata_route(role: Role, name: str = "metadata-route") -> Step:
    # the first HNS network moves the address to another adapter, but not these routes (NET-14)
    return step("metadata-route", name, addresses=list(role.spec.cloud.facts.metadata_routes))


HOLD_SECONDS = 60
"""Seconds after a new HNS network for which metadata routes must hold: HNS removes them up to 45 s later (kube-up's
scripts for GCE, k8s-node-setup.psm1)."""


def metadata_route_holds(role: Role) -> Step:
    """Return the step that sets metadata routes again until HNS has settled, the last before the node is checked."""
    addresses = list(role.spec.cloud.facts.metadata_routes)
    return step("metadata-route", "metadata-route-holds", addresses=addresses, hold_seconds=HOLD_SECONDS)


_RUNTIME_NETWORKS = {Runtime.DOCKER: ["nat"], Runtime.CONTAINERD: list[str]()}
"""HNS networks that a runtime makes by itself, before its configuration forbids it; those of other programs stay."""


def _stale(role: Role, name: str, services: list[str], **more: Any) -> Step:
    """Return the step that removes stale networks at each boot, before any program uses the network (OPS-04)."""
    fields: dict[str, Any] = {"network": cni.name(role.spec.network), "services": services, **more}
    if "kubelet" in services:
        fields["cni_file"] = WINDOWS.path(WINDOWS.cni_config, CNI_FILE)
    own = _RUNTIME_NETWORKS[role.runtime]
    return step("stale-network", name, data_directory=HOST_LOCAL_STATE, runtime_networks=own, **fields)


def _bridge(role: Role, services: list[str]) -> tuple[Step, ...]:
    """Return the steps for l2bridge: the cloud routes the planned range to this machine, so no agent is needed."""
    subnet = ref("machine.pod_cidr")
    return (
        _stale(role, "stale-network", services, subnet=subnet),
        # HNS takes the adapter with whatever address it has
        wait("node-address", address=ref("machine.address")),
        step("hns-network", "hns-network", network=cni.L2BRIDGE, subnet=subnet, endpoint=cni.L2BRIDGE_ENDPOINT),
        _metadata_route(role),
    )


def _overlay(role: Role) -> tuple[Step, ...]:
    """Return the steps for overlay: flanneld starts once the Node has a pod range and no state is stale (FLN-07)."""
    network, subnet, pods = cni.name(role.spec.network), ref("node.pod_subnet"), str(role.spec.network.pods)
    return (
        step(
            "pod-range",
            "pod-range",
            node=ref("machine.name"),
            kubeconfig=WINDOWS_NODE_KUBECONFIG,
            kubectl=WINDOWS.program("kubectl"),
        ),
        _stale(role, "stale-network", ["kube-proxy", "flanneld"], subnet=subnet, subnet_file=FLANNEL_SUBNET_FILE),
        *_flanneld(role),
        step(
            "overlay-network",
            "overlay-network",
            network=network,
            subnet=subnet,
            pods=pods,
            subnet_file=FLANNEL_SUBNET_FILE,
            service="flanneld",
            address=ref("node.address"),
        ),
        _metadata_route(role),
        step(
            "source-vip",
            "source-vip",
            network=network,
            subnet=subnet,
            plugin=WINDOWS.program("host-local", WINDOWS.cni_programs),
            data_directory=HOST_LOCAL_STATE,
        ),
    )


def _flanneld(role: Role) -> tuple[Step, ...]:
    configuration = WINDOWS.path(FLANNEL, "net-conf.json")
    # no --ip-masq: flannel's CNI plug-in would add a second OutBoundNAT policy to that of the CNI file
    command = [
        WINDOWS.program("flanneld", FLANNEL),
        *("--kubeconfig-file", WINDOWS_NODE_KUBECONFIG),
        "--kube-subnet-mgr",
        "--iptables-forward-rules=false",
        *("--net-config-path", configuration),
        *("--subnet-file", FLANNEL_SUBNET_FILE),
        *("--iface", ref("node.address")),
    ]
    return (
        step("directory", "flannel-logs", path=WINDOWS.path(WINDOWS.logs, "flanneld"), access="private"),
        step("file", "net-conf", path=configuration, format="json", content=net_conf(role)),
        wait("node-address", address=ref("machine.address")),
        step(
            "service",
            "flanneld",
            service="flanneld",
            command=command,
            wrapper=WINDOWS.program("nssm"),
            depends=["kubelet"],
            demand=True,
            environment={"NODE_NAME": ref("machine.name")},
            log=WINDOWS.path(WINDOWS.logs, "flanneld", "flanneld.log"),
            restarts_on=[configuration],
            restart_seconds=10,
        ),
    )


_UNIT, _TIMER_UNIT = "mullion-closed-to-pods.service", "mullion-closed-to-pods.timer"

_CHAIN = "MULLION-PODS"


def linux_phase(role: Role) -> Phase:
    """Return the phase with a unit that closes addresses to pods before the kubelet; l2bridge: it masquerades too."""
    path = f"/etc/systemd/system/{_UNIT}"
    rules = [rule for closed in role.spec.cloud.facts.closed_to_pods for rule in _closed(closed)]
    rules += _masquerade(role.spec.network) if _routed(role) else []
    return Phase(
        "network",
        Scope.IMAGE,
        (
            step("file", "closed-to-pods-unit", path=path, content=_unit(rules)),
            step("file", "closed-to-pods-timer", path=path.replace(".service", ".timer"), content=_TIMER),
            step("command", "closed-to-pods-enabled", argv=["/usr/bin/systemctl", "enable", _UNIT]),
            step("command", "closed-to-pods-repaired", argv=["/usr/bin/systemctl", "enable", "--now", _TIMER_UNIT]),
            step("command", "closed-to-pods", argv=["/usr/bin/systemctl", "start", _UNIT]),
        ),
    )


def linux_pods(role: Role) -> tuple[Phase, ...]:
    """Return the phase with the CNI file for l2bridge; empty for overlay, where flannel writes the file."""
    if not _routed(role):
        return ()
    path = LINUX.path(LINUX.cni_config, "10-bridge.conflist")
    content = cni.linux_bridge(role.spec.network)
    return (
        Phase(
            "pod-network",
            Scope.NODE,
            (
                step("directory", "cni-config-folder", path=LINUX.cni_config),
                step("file", "cni-config", path=path, format="json", content=content),
            ),
        ),
    )


def _routed(role: Role) -> bool:
    return role.spec.network.mode is NetworkMode.L2BRIDGE


def _unit(rules: list[str]) -> str:
    """Return the unit, which each start of the kubelet and the timer run again: no RemainAfterExit."""
    lines = ["[Unit]", "Description=Close metadata addresses to pods", "Before=kubelet.service", "", "[Service]"]
    lines += ["Type=oneshot", *rules, "", "[Install]", "WantedBy=multi-user.target", "RequiredBy=kubelet.service", ""]
    return "\n".join(lines)


_TIMER = "\n".join(
    [
        *("[Unit]", "Description=Close metadata addresses to pods again if another program flushed the rules", ""),
        *("[Timer]", "OnBootSec=1min", "OnUnitInactiveSec=5min", "", "[Install]", "WantedBy=timers.target", ""),
    ]
)
"""Timer of the unit: a program on the machine that flushes iptables opens metadata to pods for at most five minutes."""


def _closed(closed: ClosedAddress) -> list[str]:
    ports = ",".join(map(str, closed.tcp_ports))
    only = f"-p tcp -m multiport --dports {ports} " if ports else ""
    # in table mangle, which comes before filter's FORWARD, where kube-proxy and flannel insert rules at the head
    return [_once("mangle", "I", f"FORWARD -d {closed.address}/32 {only}-j DROP")]


def _masquerade(network: Network) -> list[str]:
    """Return the rules that translate pods' traffic to the node's address, except between pods, as kubenet does.

    Traffic within the cloud's network is translated too: its name server may refuse addresses outside the network.
    """
    inside = [f"-d {each}" for each in (network.pods, "224.0.0.0/4")]
    chain = [f"ExecStart=-{IPTABLES} -t nat -N {_CHAIN}"]
    chain += [_once("nat", "A", f"{_CHAIN} {each} -j RETURN") for each in inside]
    chain += [_once("nat", "A", f"{_CHAIN} -j MASQUERADE")]
    return [*chain, _once("nat", "A", f"POSTROUTING -s {network.pods} -j {_CHAIN}")]


IPTABLES = "/usr/sbin/iptables -w"


def _once(table: str, how: str, rule: str) -> str:
    """Return a command that adds a rule if it is missing, without a moment in which it is not there."""
    test, add = (f"{IPTABLES} -t {table} -{each} {rule}" for each in ("C", how))
    return f'ExecStart=/bin/sh -c "{test} 2>/dev/null || {add}"'
