"""Rules about the network of an existing cluster: flannel, ranges of pods and Services, DNS, kube-proxy."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Any

from components.checks.addresses import MAX_PODS, NODE_ADDRESSES
from components.lint.conditions import items
from components.lint.conditions import read as at
from components.spec.models import Pool
from operations.joining.reading import SYSTEM, Existing, Flannel
from operations.joining.row import Command, Row, State, ok, patch, refused, unknown

VNI, PORT = 4096, 4789
"""Smallest VXLAN network identifier, and the only UDP port, of flannel on Windows (pkg/backend/vxlan/vxlan_windows.go
of flannel 0.28.10). Defaults of flannel on Linux: 1 and 8472 (pkg/backend/vxlan/vxlan.go)."""
LINUX_VNI, LINUX_PORT = 1, 8472
REFUSED_ON_WINDOWS = ("DirectRouting", "GBP")
"""Settings of the backend that flannel on Windows refuses (same file)."""
OTHER_NETWORKS = {
    "calico-node": "Calico",
    "cilium": "Cilium",
    "antrea-agent": "Antrea",
    "ovnkube-node": "OVN",
    "weave-net": "Weave Net",
    "kindnet": "kindnet",
}
"""DaemonSets of other pod networks."""


def flannel(cluster: Existing) -> Iterator[Row]:
    """Judge the pod network: flannel with VXLAN, with settings that Windows can use too."""
    check, found = "flannel", cluster.flannel
    if found is None:
        names = [OTHER_NETWORKS.get(each["metadata"]["name"], "") for each in cluster.workloads]
        other = next(filter(None, names), "no pod network that Mullion knows")
        yield refused(
            check,
            f"{other}, and no DaemonSet mounts flannel's net-conf.json. Mullion's Windows "
            "nodes run flanneld and need flannel on the Linux nodes; other networks bring their own",
        )
        return
    where = f"ConfigMap {found.namespace}/{found.config_map}"
    backend: dict[str, Any] = found.settings.get("Backend") or {}
    kind = str(backend.get("Type", "")).lower()
    if kind != "vxlan":
        yield refused(
            check,
            f"{where}: backend {kind or 'without a type'}. Windows nodes join VXLAN "
            "networks only; a change of the backend moves all pods, so it is not a patch",
        )
        return
    if found.settings.get("EnableIPv4") is False or found.settings.get("EnableIPv6"):
        yield refused(
            "flannel-families",
            f"{where} sets EnableIPv6, or EnableIPv4 to false. Overlay networks of Windows carry IPv4 only",
        )
    wrong = _wrong(backend)
    if not wrong:
        yield ok(check, f"{where}: vxlan, VNI {_vni(backend)}, port {PORT}")
        return
    yield Row(
        check,
        State.MEND,
        f"{where}: {', '.join(wrong)}. flanneld on Windows refuses it. The change interrupts traffic between nodes "
        f"until all pods of flannel have restarted; first open UDP {PORT} between the nodes",
        _mended(found, backend),
    )


def _vni(backend: dict[str, Any]) -> Any:
    return backend.get("VNI") or LINUX_VNI


def _wrong(backend: dict[str, Any]) -> list[str]:
    vni, port = _vni(backend), backend.get("Port") or LINUX_PORT
    wrong = [] if isinstance(vni, int) and vni >= VNI else [f"VNI {vni}, which must be {VNI} or more"]
    wrong += [] if port == PORT else [f"port {port}, which must be {PORT}"]
    return wrong + [f"{name}, which must not be set" for name in REFUSED_ON_WINDOWS if backend.get(name)]


def _mended(found: Flannel, backend: dict[str, Any]) -> tuple[Command, ...]:
    kept = {name: value for name, value in backend.items() if name not in REFUSED_ON_WINDOWS}
    vni = _vni(backend)
    kept |= {"VNI": vni if isinstance(vni, int) and vni >= VNI else VNI, "Port": PORT}
    text = json.dumps({**found.settings, "Backend": kept})
    return (
        patch("configmap", found.namespace, found.config_map, {"data": {"net-conf.json": text}}, "merge"),
        Command(("rollout", "restart", f"daemonset/{found.daemon_set}", "--namespace", found.namespace)),
    )


def pod_ranges(cluster: Existing) -> Iterator[Row]:
    """Judge the ranges of pods: each Node has one, and all are in flannel's network."""
    check = "pod-ranges"
    lacking = [each["metadata"]["name"] for each in cluster.nodes if not at(each, "spec.podCIDR")]
    if lacking:
        yield refused(
            check,
            f"{', '.join(lacking)}: no podCIDR. flannel takes it from the Node: set "
            "--allocate-node-cidrs and --cluster-cidr of kube-controller-manager (kubeadm: "
            "networking.podSubnet)",
        )
        return
    network, ranges = pods(cluster), [_network(at(each, "spec.podCIDR")) for each in cluster.nodes]
    if network is None:
        return  # no flannel, which has its own row
    outside = [str(each) for each in ranges if each is None or not each.subnet_of(network)]
    if outside:
        yield refused(
            check,
            f"{', '.join(outside)} is outside flannel's network {network}. Write the range "
            "of --cluster-cidr as Network of net-conf.json, and restart flannel",
        )
        return
    most = most_pods(cluster)
    if most == 0:
        yield refused(
            check,
            "a Node's range holds no pod of Windows, which takes four addresses itself. Set "
            "--node-cidr-mask-size of kube-controller-manager to 28 or less; Nodes that exist keep their range",
        )
        return
    small = f"; a Node's range holds {most} pods, so pools need max_pods: {most} or less" if is_small(most) else ""
    yield ok(check, f"{network}, with {len(ranges)} Nodes{small}")


def most_pods(cluster: Existing) -> int | None:
    """Return how many pods of Windows the smallest range of a Node holds; None without ranges.

    A new Node gets a range of the same size, unless --node-cidr-mask-size has changed.
    """
    found = [_network(at(each, "spec.podCIDR")) for each in cluster.nodes]
    sizes = [each.num_addresses for each in found if each]
    return max(min(sizes) - NODE_ADDRESSES + MAX_PODS, 0) if sizes else None


def is_small(most: int | None) -> bool:
    """Return whether a Node's range holds fewer pods than a pool may have by default."""
    return most is not None and most < Pool.model_fields["max_pods"].default


def pods(cluster: Existing) -> IPv4Network | None:
    """Return flannel's network; None without flannel, or if it is no IPv4 range."""
    return _network(cluster.flannel.settings.get("Network")) if cluster.flannel else None


def services(cluster: Existing) -> IPv4Network | None:
    """Return the IPv4 range of Services: the API server's answer, else kubeadm's configuration; None if unknown."""
    said = re.search(r"valid IPs is ([\d./]+)", cluster.service_answer)
    text = said[1] if said else at(cluster.kubeadm, "networking.serviceSubnet")
    return _network(str(text or "").partition(",")[0])


def service_range(cluster: Existing) -> Iterator[Row]:
    """Judge the range of Services: known, and apart from pods."""
    check, found, network = "service-range", services(cluster), pods(cluster)
    if found is None:
        yield unknown(
            check,
            "neither the API server nor kubeadm's configuration names an IPv4 range; read "
            "--service-cluster-ip-range of kube-apiserver",
        )
        return
    if network and network.overlaps(found):
        yield refused(
            check,
            f"{found} overlaps the pods' network {network}: Windows nodes would send pods' "
            "traffic to kube-proxy. The cluster must be made again with other ranges",
        )
        return
    told = _network(str(at(cluster.kubeadm, "networking.serviceSubnet") or "").partition(",")[0])
    if told and told != found:
        yield refused(
            check,
            f"the API server has {found}, but ConfigMap {SYSTEM}/kubeadm-config says "
            f"{told}. Correct networking.serviceSubnet there; `kubeadm upgrade` would use it",
        )
        return
    yield ok(check, str(found))


def dns(cluster: Existing) -> Iterator[Row]:
    """Judge the DNS Service: it exists, answers, and kubeadm gives new kubelets its address."""
    check, service, found = "dns", cluster.dns_service, services(cluster)
    if service is None:
        yield refused(check, f"no Service {SYSTEM}/kube-dns. Install CoreDNS: kubeadm init phase addon coredns")
        return
    address = str(at(service, "spec.clusterIP"))
    with suppress(ValueError):
        if found and ip_address(address) not in found:
            yield refused(
                check,
                f"{address} of {SYSTEM}/kube-dns is outside {found}. Delete the Service and "
                "run: kubeadm init phase addon coredns",
            )
            return
    told = [str(each) for each in items(cluster.kubelet.get("clusterDNS"))]
    local = [each for each in told if _is_link_local(each)]
    if told and address not in told and not local:
        yield refused(
            check,
            f"kube-dns has {address}, but kubelet-config gives {', '.join(told)} to new "
            "nodes. Correct clusterDNS in that ConfigMap: kubectl edit configmap kubelet-config "
            f"--namespace {SYSTEM}",
        )
        return
    if not cluster.dns_endpoints:
        yield refused(
            check,
            f"{address} has no ready endpoint. Pods of CoreDNS must be Ready first: kubectl "
            f"get pods --namespace {SYSTEM} --selector k8s-app=kube-dns",
        )
        return
    beside = f"; Linux nodes ask NodeLocal DNSCache ({', '.join(local)}), Windows nodes kube-dns" if local else ""
    yield ok(check, f"{address}, {domain(cluster)}, {cluster.dns_endpoints} endpoints{beside}")


def _is_link_local(text: str) -> bool:
    """Return whether an address exists on its own node alone, as that of NodeLocal DNSCache does."""
    with suppress(ValueError):
        return ip_address(text).is_link_local
    return False


def domain(cluster: Existing) -> str:
    """Return the DNS domain that kubeadm gives new kubelets; cluster.local without one."""
    return str(cluster.kubelet.get("clusterDomain") or "cluster.local")


def kube_proxy(cluster: Existing) -> Iterator[Row]:
    """Judge kube-proxy on Linux nodes: its rules must lead their pods to Services of Windows pods."""
    check = "kube-proxy"
    running = [each for each in cluster.workloads if (each["kind"], each["metadata"]["name"]) == ("DaemonSet", check)]
    if not running:
        yield unknown(
            check,
            f"no DaemonSet {SYSTEM}/kube-proxy: something else handles Services on Linux "
            "nodes. Windows nodes run kube-proxy of their own all the same",
        )
        return
    given = _yaml_field(cluster.config.get(check, {}).get("config.conf", ""), "clusterCIDR")
    network = pods(cluster)
    if given and network and _network(given.partition(",")[0]) != network:
        yield refused(
            check,
            f"clusterCIDR {given} in ConfigMap {SYSTEM}/kube-proxy is not flannel's network "
            f"{network}. Correct it: kubectl edit configmap kube-proxy --namespace {SYSTEM}",
        )
        return
    yield ok(check, f"clusterCIDR {given or 'not set'}")


def _yaml_field(text: str, name: str) -> str:
    found = re.search(rf"(?m)^{name}: *\"?([^\"\n]*)", text)
    return found[1].strip() if found else ""


def _network(text: Any) -> IPv4Network | None:
    with suppress(ValueError):
        found = ip_network(str(text))
        return found if isinstance(found, IPv4Network) else None
    return None
