"""Pod network of a Windows worker: access lists, address translation, load balancing."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from components.node import plan_node
from components.node.kinds.check import references
from components.node.plan import NodePlan
from components.topology.addressing import network_plan
from tools.golden.samples import content, one, plan, position, spec

WINDOWS = ("windows-2019", "windows-2022", "windows-2025")


@pytest.mark.parametrize(("dsr", "revision"), [(True, 1935), (False, 379)])
def test_svc_03_direct_server_return_needs_a_later_update_of_windows_2019(dsr: bool, revision: int) -> None:
    node_plan = plan("windows-2019", {"kube_proxy": {"dsr": dsr}})
    assert one(node_plan, "build").fields["minimum_ubr"] == revision


@pytest.mark.parametrize("os", WINDOWS)
def test_svc_03_direct_server_return_is_on_unless_the_stack_file_turns_it_off(os: str) -> None:
    configuration = content(plan(os, kubernetes="1.33.13"), "kube-proxy-config")
    assert configuration["winkernel"]["enableDSR"] is True
    off = content(plan(os, {"kube_proxy": {"dsr": False}}, kubernetes="1.33.13"), "kube-proxy-config")
    assert off["winkernel"]["enableDSR"] is False


@pytest.mark.parametrize(("kubernetes", "gates"), [("1.32.13", {"WinDSR": True}), ("1.33.13", None), ("1.37.0", None)])
def test_svc_03_the_feature_gate_is_set_only_while_its_default_is_off(
    kubernetes: str, gates: dict[str, bool] | None
) -> None:
    node_plan = plan("windows-2022", {"kube_proxy": {"dsr": True}}, kubernetes=kubernetes)
    configuration = content(node_plan, "kube-proxy-config")
    assert configuration["winkernel"]["enableDSR"] is True
    assert configuration.get("featureGates") == gates


def _access_lists(node_plan: NodePlan) -> list[dict[str, Any]]:
    (plugin,) = content(node_plan, "cni-config")["plugins"]
    policies = [each["value"] for each in plugin.get("delegate", plugin)["policies"]]
    return [each.get("Settings", each) for each in policies if each["Type"] == "ACL"]


def test_cni_policies_close_metadata_to_pods_and_leave_all_else_open(windows: NodePlan) -> None:
    switch = [each for each in _access_lists(windows) if each["RuleType"] == "Switch"]
    block, *opens = sorted(switch, key=lambda each: each["Priority"])
    assert (block["Action"], block["Direction"], block["RemoteAddresses"]) == ("Block", "Out", "169.254.169.254/32")
    assert {(each["Action"], each["Direction"]) for each in opens} == {("Allow", "In"), ("Allow", "Out")}


@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_cni_policies_open_the_host_firewall_which_a_list_closes(mode: str) -> None:
    host = [each for each in _access_lists(plan("windows-2022", network={"mode": mode})) if each["RuleType"] == "Host"]
    # as Calico's NewHostRule (felix/dataplane/windows/policysets): no priority, no addresses
    assert host == [
        {"Direction": direction, "Action": "Allow", "RuleType": "Host", "Protocols": "256"}
        for direction in ("In", "Out")
    ]


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_cni_policies_name_the_protocol_in_the_form_of_the_api(cloud: str) -> None:
    hcn = _access_lists(plan("windows-2022", cloud=cloud))
    hns = _access_lists(plan("windows-2022", {"runtime": "docker"}, cloud=cloud))
    assert [int(each["Protocols"]) for each in hcn] == [each["Protocol"] for each in hns]
    assert {each["Protocols"] for each in hcn} <= {"6", "256"}
    assert [each["Protocols"] == "6" for each in hcn] == ["RemotePorts" in each for each in hcn]


@pytest.mark.parametrize("runtime", ["containerd", "docker"])
def test_only_the_cni_file_translates_addresses(runtime: str) -> None:
    node_plan = plan("windows-2022", {"runtime": runtime})
    (plugin,) = content(node_plan, "cni-config")["plugins"]
    types = [each["value"]["Type"] for each in plugin["delegate"]["policies"]]
    assert types.count("OutBoundNAT") == 1
    assert "--ip-masq" not in one(node_plan, "flanneld").fields["command"], "flannel's plug-in would add another"


@pytest.mark.parametrize("runtime", ["containerd", "docker"])
@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_cni_policies_let_pods_reach_their_own_services_with_direct_server_return(mode: str, runtime: str) -> None:
    (plugin,) = content(plan("windows-2022", {"runtime": runtime}, network={"mode": mode}), "cni-config")["plugins"]
    assert plugin.get("delegate", plugin)["loopbackDSR"] is True


@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_the_kubelet_starts_after_state_of_the_last_boot_is_removed(mode: str) -> None:
    node_plan = plan("windows-2022", network={"mode": mode})
    cleaning = next(each for each in node_plan.steps if each.kind == "stale-network")
    assert position(node_plan, cleaning.name) < position(node_plan, "kubelet")
    assert cleaning.fields["services"][-1] == "kubelet", "after those that depend on it"
    assert cleaning.fields["cni_file"] == one(node_plan, "cni-config").fields["path"]
    assert position(node_plan, "kubelet") < position(node_plan, "cni-config") < position(node_plan, "kube-proxy")
    assert one(node_plan, "kubelet").fields["demand"], "Windows does not start it at boot"


@pytest.mark.parametrize("os", ["ubuntu-24.04", *WINDOWS])
@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_net_11_pods_reach_ranges_outside_by_their_nodes_address_because_nothing_there_routes_to_pods(
    mode: str, os: str
) -> None:
    near, far = (plan(os, network={"mode": mode, "outside": outside}) for outside in ([], ["192.168.0.0/16"]))
    assert near.document() == far.document()


def test_with_l2bridge_the_network_exists_before_the_kubelet_and_has_a_usable_address() -> None:
    node_plan = plan("windows-2022", network={"mode": "l2bridge"})
    order = ["stale-network", "node-address", "hns-network", "metadata-route", "kubelet", "cni-config"]
    assert [position(node_plan, each) for each in order] == sorted(position(node_plan, each) for each in order)


@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_metadata_routes_are_watched_until_hns_has_settled_and_after_all_services_run(mode: str) -> None:
    node_plan = plan("windows-2022", network={"mode": mode})
    held = one(node_plan, "metadata-route-holds")
    assert held.fields["addresses"] == one(node_plan, "metadata-route").fields["addresses"]
    assert held.fields["hold_seconds"] >= 45, "kube-up for GCE waits 45 s for HNS to remove the route"
    assert position(node_plan, "kube-proxy") < position(node_plan, held.name) < position(node_plan, "kubelet-runs")


@pytest.mark.parametrize("mode", ["overlay", "l2bridge"])
def test_a_run_after_a_lost_metadata_route_sets_it_before_it_asks_the_service(mode: str) -> None:
    node_plan = plan("windows-2022", network={"mode": mode})
    asking = {"node.provider_id", "facts.join_secret"}
    asks = [each.name for each in node_plan.steps if asking & set(references(each.fields))]
    assert "kubelet-config" in asks
    route = next(each.name for each in node_plan.steps if each.kind == "metadata-route")
    assert position(node_plan, route) < min(position(node_plan, each) for each in asks)


@pytest.mark.parametrize(("runtime", "names"), [("containerd", []), ("docker", ["nat"])])
def test_net_02_only_nat_networks_of_the_nodes_runtime_are_removed(runtime: str, names: list[str]) -> None:
    node_plan = plan("windows-2022", {"runtime": runtime})
    steps = [each for each in node_plan.steps if each.kind == "stale-network"]
    assert [each.fields["runtime_networks"] for each in steps] == [names, names]


@pytest.mark.parametrize("cloud", ["aws", "azure"])
def test_net_10_pods_ask_private_endpoints_with_their_nodes_address(cloud: str) -> None:
    cluster = spec("windows-2022", cloud=cloud, network={"mode": "l2bridge", "egress": "none"})
    (plugin,) = content(plan_node("dev", cluster, "pool"), "cni-config")["plugins"]
    translation = plugin["policies"][0]["value"]
    assert translation["Type"] == "OutBoundNAT"
    inside = [IPv4Network(each) for each in translation["Settings"]["Exceptions"]]
    planned = network_plan(cluster.network, cluster.api.access, cluster.cloud)
    assert planned.endpoints and planned.machines
    assert not [each for each in planned.endpoints if any(map(each.cidr.overlaps, inside))]
    assert all(any(map(each.cidr.subnet_of, inside)) for each in planned.machines)
