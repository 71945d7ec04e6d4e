"""Checks of an existing cluster: each fault gives its row, and nothing else."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from components.rollout.kubernetes_api import Refused
from operations.joining.judge import as_json, as_text, failing, judge, values
from operations.joining.reading import ASKED, Existing, Flannel, _version
from operations.joining.row import Row, State

Change = Callable[[Existing], Existing]
ANSWER = "422: spec.clusterIPs: Invalid value: the provided IP is not in the valid range. The range of valid IPs is {}"
SETTINGS: dict[str, Any] = {"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}


def workload(kind: str, name: str, **pod: Any) -> dict[str, Any]:
    containers = [{"name": "a", "image": "example.com/a:1"}]
    template = {"spec": {"containers": containers, **pod}}
    return {"kind": kind, "metadata": {"name": name, "namespace": "kube-system"}, "spec": {"template": template}}


def pod(program: str, image: str, *flags: str) -> dict[str, Any]:
    container = {"image": image, "command": [program, *flags]}
    return {"metadata": {"labels": {"component": program}}, "spec": {"containers": [container]}}


def api_server(version: str, *flags: str) -> dict[str, Any]:
    return pod("kube-apiserver", f"registry.example/kube-apiserver:v{version}", *flags)


TOKENS = "--enable-bootstrap-token-auth=true"
CONTROLLERS = pod("kube-controller-manager", "kcm:v1.36.2", "--controllers=*,bootstrapsigner,tokencleaner")
PROXY = workload("DaemonSet", "kube-proxy", nodeSelector={"kubernetes.io/os": "linux"})
ENDPOINT = {"server": "https://10.0.0.1:6443", "certificate-authority-data": "Q0E="}


def config(subnet: str = "10.96.0.0/12", proxy: str = "10.244.0.0/16", **kubelet: Any) -> dict[str, dict[str, str]]:
    """Return the ConfigMaps that kubeadm writes."""
    kubelet = {"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local", **kubelet}
    return {
        "kubeadm-config": {"ClusterConfiguration": yaml.safe_dump({"networking": {"serviceSubnet": subnet}})},
        "kubelet-config": {"kubelet": yaml.safe_dump(kubelet)},
        "kube-proxy": {"config.conf": yaml.safe_dump({"clusterCIDR": proxy})},
        "cluster-info": {"kubeconfig": yaml.safe_dump({"clusters": [{"cluster": ENDPOINT}]})},
    }


GOOD = Existing(
    version="1.36.2",
    nodes=({"metadata": {"name": "cp-0"}, "spec": {"podCIDR": "10.244.0.0/24"}},),
    workloads=(PROXY,),
    config=config(),
    flannel=Flannel("kube-flannel", "kube-flannel-ds", "kube-flannel-cfg", SETTINGS),
    control_plane=(api_server("1.36.2", TOKENS), CONTROLLERS),
    dns_service={"spec": {"clusterIP": "10.96.0.10"}},
    dns_endpoints=2,
    service_answer=ANSWER.format("10.96.0.0/12"),
    rights={(who, right): True for who, rights in ASKED.items() for right in rights},
)


def flannel(**settings: Any) -> Change:
    assert GOOD.flannel
    found = replace(GOOD.flannel, settings={**SETTINGS, **settings})
    return lambda cluster: replace(cluster, flannel=found)


def backend(**settings: Any) -> Change:
    return flannel(Backend={**SETTINGS["Backend"], **settings})


def having(**fields: Any) -> Change:
    return lambda cluster: replace(cluster, **fields)


EVERYTHING: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]}
FAULTS: dict[str, tuple[Change, str, State, str]] = {
    "no flannel": (having(flannel=None, workloads=(PROXY, workload("DaemonSet", "cilium"))), "flannel",
                   State.REFUSED, "Cilium"),
    "host-gw": (flannel(Backend={"Type": "host-gw"}), "flannel", State.REFUSED, "backend host-gw"),
    "a small VNI": (backend(VNI=1), "flannel", State.MEND, "VNI 1,"),
    "no port": (flannel(Backend={"Type": "vxlan", "VNI": 5000}), "flannel", State.MEND, "port 8472,"),
    "direct routing": (backend(DirectRouting=True), "flannel", State.MEND, "DirectRouting"),
    "IPv6": (flannel(EnableIPv6=True), "flannel-families", State.REFUSED, "IPv4 only"),
    "a Node without a range": (having(nodes=({"metadata": {"name": "cp-0"}, "spec": {}},)), "pod-ranges",
                               State.REFUSED, "cp-0: no podCIDR"),
    "a Node outside": (having(nodes=({"metadata": {"name": "a"}, "spec": {"podCIDR": "10.9.0.0/24"}},)),
                       "pod-ranges", State.REFUSED, "10.9.0.0/24 is outside"),
    "ranges without room": (having(nodes=({"metadata": {"name": "a"}, "spec": {"podCIDR": "10.244.0.0/30"}},)),
                            "pod-ranges", State.REFUSED, "takes four addresses itself"),
    "overlapping Services": (lambda cluster: replace(
        flannel(Network="10.100.0.0/16")(cluster),
        nodes=({"metadata": {"name": "a"}, "spec": {"podCIDR": "10.100.0.0/24"}},),
        config=config(proxy="10.100.0.0/16"),
    ), "service-range", State.REFUSED, "overlaps"),
    "two ranges of Services": (having(config=config(subnet="10.97.0.0/16")), "service-range", State.REFUSED,
                               "kubeadm-config says 10.97.0.0/16"),
    "no DNS": (having(dns_service=None), "dns", State.REFUSED, "no Service kube-system/kube-dns"),
    "DNS elsewhere": (having(dns_service={"spec": {"clusterIP": "10.200.0.10"}}), "dns", State.REFUSED, "outside"),
    "another DNS for kubelets": (having(config=config(clusterDNS=["10.96.0.53"])), "dns", State.REFUSED,
                                 "kubelet-config gives 10.96.0.53"),
    "DNS that is not ready": (having(dns_endpoints=0), "dns", State.REFUSED, "no ready endpoint"),
    "kube-proxy of other pods": (having(config=config(proxy="10.9.0.0/16")), "kube-proxy", State.REFUSED,
                                 "clusterCIDR 10.9.0.0/16"),
    "a DaemonSet": (having(workloads=(PROXY, workload("DaemonSet", "x", **EVERYTHING))), "workloads", State.MEND,
                    "DaemonSet kube-system/x"),
    "a Deployment": (having(workloads=(PROXY, workload("Deployment", "x", **EVERYTHING))), "workloads", State.MEND,
                     "Deployment kube-system/x"),
    "no endpoint": (having(config={**config(), "cluster-info": {}}), "endpoint", State.REFUSED, "cluster-info"),
    "no tokens": (having(control_plane=(api_server("1.36.2"), CONTROLLERS)), "bootstrap-tokens", State.REFUSED,
                  "not set"),
    "tokens on one of two": (having(control_plane=(api_server("1.36.2", TOKENS), api_server("1.36.2"), CONTROLLERS)),
                             "bootstrap-tokens", State.REFUSED, "true, not set"),
    "no approver": (having(control_plane=(api_server("1.36.2", TOKENS), pod("kube-controller-manager", "kcm",
                                                                          "--controllers=*,-csrapproving"))),
                    "certificates", State.REFUSED, "runs without csrapproving"),
    "an older API server": (having(control_plane=(api_server("1.35.4", TOKENS), CONTROLLERS)), "version",
                            State.REFUSED, "newer than an API server of 1.35.4"),
}  # fmt: skip


def states(rows: list[Row]) -> dict[str, State]:
    return {row.check: row.state for row in rows if row.state is not State.OK}


def test_a_cluster_as_windows_nodes_need_it_has_no_fault() -> None:
    rows = judge(GOOD, "1.36.2")
    assert states(rows) == {}
    assert {command for row in rows for command in row.commands} == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_gives_its_row_and_no_other(fault: str) -> None:
    change, check, state, said = FAULTS[fault]
    rows = judge(change(GOOD), "1.36.2")
    assert states(rows) == {check: state}
    (row,) = failing(rows)
    assert said in row.found
    assert bool(row.commands) == (state is State.MEND)


def test_each_missing_right_has_a_command_that_gives_it() -> None:
    for who, right in GOOD.rights:
        (row,) = failing(judge(replace(GOOD, rights={**GOOD.rights, (who, right): False}), "1.36.2"))
        assert str(right) in row.found
        assert row.commands


@pytest.mark.parametrize(
    ("server", "nodes", "said"),
    [
        ("1.36.2", "1.36.3", "newer than"),
        ("1.36.2", "1.33.0", ""),
        ("1.36.2", "1.32.0", "4 minors older"),
        ("1.27.4", "1.25.0", ""),
        ("1.27.4", "1.24.0", "3 minors older"),
        ("1.36.2", "1.12.0", "Mullion builds"),
    ],
)
def test_versions_of_nodes_follow_the_skew_policy(server: str, nodes: str, said: str) -> None:
    cluster = replace(GOOD, version=server, control_plane=(api_server(server, TOKENS), CONTROLLERS))
    found = [row.found for row in failing(judge(cluster, nodes))]
    assert [said in each for each in found] == ([True] if said else [])


def test_the_default_version_is_not_newer_than_the_oldest_api_server() -> None:
    cluster = replace(GOOD, version="1.36.4", control_plane=(api_server("1.35.1", TOKENS), CONTROLLERS))
    assert states(judge(cluster)) == {}
    assert values(cluster)["kubernetes"].startswith("1.35.")


@pytest.mark.parametrize("version", ["1.2.²", f"{5000 * '9'}.0.0", "1.36", "\x1b[2J"])
def test_a_pod_that_a_stolen_worker_labels_as_an_api_server_gives_no_version(version: str) -> None:
    pods = (api_server("1.36.2", TOKENS), api_server(version, TOKENS), CONTROLLERS)
    assert failing(judge(replace(GOOD, control_plane=pods), "1.36.2")) == []


@pytest.mark.parametrize(
    ("said", "version"), [("v1.36.2", "1.36.2"), ("v1.36.2-eks-1a2b3c4", "1.36.2"), ("v1.36.2+k3s1", "1.36.2")]
)
def test_the_version_of_a_server_has_no_suffix(said: str, version: str) -> None:
    api: Any = SimpleNamespace(ask=lambda method, path: {"gitVersion": said})
    assert _version(api) == version


@pytest.mark.parametrize("said", ["v1.x", "", None, 7, "\x1b[2J"])
def test_a_server_without_a_version_is_refused(said: Any) -> None:
    api: Any = SimpleNamespace(ask=lambda method, path: {"gitVersion": said})
    with pytest.raises(Refused, match="is not a version of Kubernetes"):
        _version(api)


def test_a_control_plane_that_no_kubelet_runs_leaves_its_flags_unknown() -> None:
    rows = judge(replace(GOOD, control_plane=()), "1.36.2")
    assert states(rows) == {"bootstrap-tokens": State.UNKNOWN, "certificates": State.UNKNOWN}
    assert failing(rows) == []


def test_serving_certificates_need_an_approver() -> None:
    rows = judge(replace(GOOD, config=config(serverTLSBootstrap=True)), "1.36.2")
    assert states(rows) == {"serving-certificates": State.UNKNOWN}


def test_an_api_server_that_verifies_kubelets_needs_their_certificates_signed_by_the_cluster() -> None:
    words = ["kube-apiserver", "--enable-bootstrap-token-auth=true", "--kubelet-certificate-authority=/etc/ca.crt"]
    container = {"image": "registry.k8s.io/kube-apiserver:v1.36.2", "command": words}
    pod = {"metadata": {"labels": {"component": "kube-apiserver"}}, "spec": {"containers": [container]}}
    others = [each for each in GOOD.control_plane if each["metadata"]["labels"]["component"] != "kube-apiserver"]
    strict = replace(GOOD, control_plane=(pod, *others))
    assert states(judge(strict, "1.36.2")) == {"serving-certificates": State.REFUSED}
    approved = replace(strict, config=config(serverTLSBootstrap=True))
    assert states(judge(approved, "1.36.2")) == {"serving-certificates": State.UNKNOWN}


def test_the_text_has_each_row_then_the_commands_then_the_values() -> None:
    cluster = backend(VNI=1)(replace(GOOD, rights={}))
    rows, taken = judge(cluster, "1.36.2"), values(cluster, "1.36.2")
    found, commands, taken_line = as_text(rows, taken).split("\n\n")
    assert len(found.splitlines()) == len(rows)
    assert "  flannel               mend  ConfigMap kube-flannel/kube-flannel-cfg: VNI 1, which" in found
    heading, patch, restart, *_ = commands.splitlines()
    assert heading == "Commands that mend the cluster:"
    words = shlex.split(patch)
    assert words[:4] == ["kubectl", "patch", "configmap", "kube-flannel-cfg"]
    assert json.loads(json.loads(words[-1])["data"]["net-conf.json"]) == SETTINGS
    assert restart == "kubectl rollout restart daemonset/kube-flannel-ds --namespace kube-flannel"
    assert json.loads(taken_line.partition(": ")[2]) == taken == json.loads(as_json(rows, taken))["values"]


def test_text_of_the_cluster_cannot_control_the_terminal() -> None:
    named = workload("DaemonSet", "x\x1b[31m", **EVERYTHING)
    text = as_text(judge(replace(GOOD, workloads=(PROXY, named)), "1.36.2"), {})
    assert "\x1b" not in text


@pytest.mark.parametrize(("prefix", "said"), [(24, ""), (25, ""), (26, "max_pods: 60 or less"), (29, "max_pods: 4 or")])
def test_small_ranges_of_nodes_limit_the_pods_of_a_pool(prefix: int, said: str) -> None:
    node = {"metadata": {"name": "a"}, "spec": {"podCIDR": f"10.244.0.0/{prefix}"}}
    [row] = [each for each in judge(replace(GOOD, nodes=(*GOOD.nodes, node)), "1.36.2") if each.check == "pod-ranges"]
    assert row.state is State.OK
    assert said in row.found if said else "max_pods" not in row.found


def test_kubelets_that_ask_a_cache_on_their_own_node_do_not_change_the_address_for_windows() -> None:
    cluster = replace(GOOD, config=config(clusterDNS=["169.254.20.10"]))
    [row] = [each for each in judge(cluster, "1.36.2") if each.check == "dns"]
    assert (row.state, "NodeLocal DNSCache (169.254.20.10)" in row.found) == (State.OK, True)
    network: Any = values(cluster, "1.36.2")["network"]
    assert network["dns"] == "10.96.0.10"
