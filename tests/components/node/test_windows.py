"""Plan of a Windows worker, mostly with containerd and overlay."""

from typing import Any

import pytest

from components import releases
from components.node.kinds import ref
from components.node.plan import NodePlan
from tests.existing_networks import EXISTING
from tools.golden.samples import PATCHES, content, one, plan, position

WINDOWS = ("windows-2019", "windows-2022", "windows-2025")


def _flag(command: list[Any], name: str) -> Any:
    return command[command.index(name) + 1]


def test_os_05_and_os_06_the_build_is_checked_before_anything_else(windows: NodePlan) -> None:
    first = next(phase for phase in windows.phases if phase.name != "evidence").steps[0]
    assert first.kind == "build"
    assert first.fields["build"] == "10.0.17763"
    assert "minimum_ubr" not in one(plan("windows-2022"), "build").fields


def test_fln_04_one_network_name_in_all_places(windows: NodePlan) -> None:
    names = {
        content(windows, "cni-config")["name"],
        content(windows, "kube-proxy-config")["winkernel"]["networkName"],
        one(windows, "source-vip").fields["network"],
        f"flannel.{content(windows, 'net-conf')['Backend']['VNI']}",
    }
    assert names == {"flannel.4096"}


def test_fln_04_the_name_follows_the_vni() -> None:
    node_plan = plan("windows-2019", network={"vni": 5000})
    assert content(node_plan, "cni-config")["name"] == one(node_plan, "source-vip").fields["network"] == "flannel.5000"


def test_srv_12_kubelet_kube_proxy_and_flanneld_have_one_node_name(windows: NodePlan) -> None:
    kubelet = one(windows, "kubelet").fields["command"]
    assert _flag(kubelet, "--hostname-override") == ref("machine.name")
    assert content(windows, "kube-proxy-config")["hostnameOverride"] == ref("machine.name")
    assert one(windows, "flanneld").fields["environment"] == {"NODE_NAME": ref("machine.name")}
    assert one(windows, "hostname").fields["value"] == ref("machine.name")


def test_net_09_the_cni_file_is_hcn_v2_with_the_cluster_ranges(windows: NodePlan) -> None:
    (plugin,) = content(windows, "cni-config")["plugins"]
    delegate = plugin["delegate"]
    assert (plugin["type"], delegate["type"], delegate["apiVersion"]) == ("flannel", "win-overlay", 2)
    assert plugin["capabilities"] == {"portMappings": True, "dns": True}
    policies = {each["value"]["Type"]: each["value"]["Settings"] for each in delegate["policies"]}
    assert policies["OutBoundNAT"] == {"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]}
    assert policies["SDNRoute"] == {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}
    assert policies["ProviderAddress"] == {"ProviderAddress": ref("node.address")}


def test_net_13_the_firewall_opens_vxlan_and_the_kubelet_to_nodes_only(windows: NodePlan) -> None:
    rules = {each.fields["rule"]: each.fields for each in windows.steps if each.kind == "firewall-rule"}
    assert (rules["mullion-vxlan"]["protocol"], rules["mullion-vxlan"]["ports"]) == ("udp", ["4789"])
    assert rules["mullion-kubelet"]["ports"] == ["10250"]
    for each in ("mullion-vxlan", "mullion-kubelet", "mullion-kube-proxy-health"):
        assert rules[each]["sources"] == ["10.20.0.0/16"]


@pytest.mark.parametrize(
    ("fields", "sources"),
    [
        ({}, ["10.20.0.0/16"]),
        ({"cloud": "azure"}, ["10.20.0.0/16", "168.63.129.16/32"]),
        ({"network": {"existing": EXISTING["aws"]}}, None),
    ],
    ids=["AWS", "Azure", "existing VPC of AWS"],
)
def test_health_checks_of_load_balancers_pass_the_firewall(fields: dict[str, Any], sources: list[str] | None) -> None:
    step = one(plan("windows-2022", **fields), "firewall-kube-proxy-health")
    assert step.fields.get("sources") == sources


def test_dynamic_ports_do_not_overlap_node_ports(windows: NodePlan) -> None:
    ports = one(windows, "dynamic-ports").fields
    assert ports["start"] > 32767
    assert ports["start"] + ports["count"] == 65536


def test_on_azure_no_udp_packet_has_the_source_port_that_the_host_drops() -> None:
    """Azure/AKS#2988: questions to DNS from this port get no answer."""
    on_azure, elsewhere = plan("windows-2022", cloud="azure"), plan("windows-2022")
    ports = one(on_azure, "dynamic-udp-ports").fields
    assert ports == {"protocol": "udp", "start": 49152, "count": 65330 - 49152}
    assert not any(each.name == "dynamic-udp-ports" for each in elsewhere.steps)
    assert one(on_azure, "dynamic-udp-ports").replacing() is None, "existing machines stay"


def test_srv_07_order_is_runtime_kubelet_flanneld_source_vip_cni_kube_proxy(windows: NodePlan) -> None:
    order = ["containerd", "kubelet", "node-certificate", "pod-range", "stale-network", "node-address", "flanneld"]
    order += ["overlay-network", "metadata-route", "source-vip", "cni-config-folder", "cni-config"]
    order += ["kube-proxy-config", "kube-proxy"]
    assert [position(windows, each) for each in order] == sorted(position(windows, each) for each in order)
    depends = {
        each.fields["service"]: each.fields.get("depends", []) for each in windows.steps if each.kind == "service"
    }
    assert depends == {
        "containerd": [],
        "kubelet": ["containerd"],
        "flanneld": ["kubelet"],
        "kube-proxy": ["kubelet", "flanneld"],
    }


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("network", [{}, {"network": {"mode": "l2bridge"}}], ids=["overlay", "l2bridge"])
def test_metadata_routes_are_restored_after_the_virtual_switch_moved_the_address(
    cloud: str, network: dict[str, Any]
) -> None:
    node_plan = plan("windows-2022", cloud=cloud, **network)
    switch = next(each for each in ("overlay-network", "hns-network") if each in {one.name for one in node_plan.steps})
    assert position(node_plan, switch) < position(node_plan, "metadata-route") < position(node_plan, "kube-proxy")
    assert "169.254.169.254" in one(node_plan, "metadata-route").fields["addresses"]


def test_ops_04_services_on_the_network_start_after_stale_state_is_removed_at_each_boot(
    windows: NodePlan,
) -> None:
    demanded = {each.name for each in windows.steps if each.kind == "service" and each.fields.get("demand")}
    assert demanded == {"kubelet", "flanneld", "kube-proxy"}
    stale = one(windows, "stale-network").fields
    assert set(one(windows, "last-boot").fields["services"]) == demanded
    assert set(stale["services"]) == demanded - {"kubelet"}
    assert stale["subnet"] == ref("node.pod_subnet"), "the Node object's, not what flanneld once wrote"
    assert stale["data_directory"] == one(windows, "source-vip").fields["data_directory"]


def test_ops_06_and_ops_07_the_network_is_checked_before_any_service_uses_it(windows: NodePlan) -> None:
    gate = one(windows, "overlay-network").fields
    assert (gate["pods"], gate["subnet"]) == ("10.244.0.0/16", ref("node.pod_subnet"))
    command = one(windows, "flanneld").fields["command"]
    assert gate["subnet_file"] == _flag(command, "--subnet-file")
    assert gate["address"] == _flag(command, "--iface"), "by address, at each start (FLN-07)"


def test_net_02_other_cni_files_are_deleted(windows: NodePlan) -> None:
    folder, file = one(windows, "cni-config-folder").fields, one(windows, "cni-config").fields
    assert [f"{folder['path']}\\{each}" for each in folder["only"]] == [file["path"]]


def test_res_03_kube_proxy_has_the_kubelets_priority_though_it_has_no_flag_for_it() -> None:
    node_plan = plan("windows-2019", {"kubelet": {"priority_class": "HIGH_PRIORITY_CLASS"}})
    priority = one(node_plan, "kube-proxy-priority").fields
    assert priority["key"].endswith(r"\Image File Execution Options\kube-proxy.exe\PerfOptions")
    assert (priority["value"], priority["data"]) == ("CpuPriorityClass", 3)
    assert one(plan("windows-2019"), "kube-proxy-priority").fields["data"] == 6
    assert not [each for each in one(node_plan, "kube-proxy").fields["command"] if "priorityclass" in str(each)]


def test_net_05_with_l2bridge_windows_has_the_planned_range_and_no_flanneld() -> None:
    node_plan = plan("windows-2022", network={"mode": "l2bridge"})
    assert "flanneld" not in {each.name for each in node_plan.steps if each.kind == "service"}
    bridge = one(node_plan, "hns-network").fields
    assert (bridge["network"], bridge["endpoint"]) == ("cbr0", "cbr0_ep"), "FLN-04"
    (plugin,) = content(node_plan, "cni-config")["plugins"]
    pods = {"subnet": ref("machine.pod_cidr"), "rangeStart": ref("machine.pod_start")}
    assert plugin["ipam"]["ranges"] == [[pods]], "the host's endpoint has the address before it"
    assert bridge["subnet"] == one(node_plan, "stale-network").fields["subnet"] == ref("machine.pod_cidr")
    proxied = {"networkName": "cbr0", "rootHnsEndpointName": bridge["endpoint"], "enableDSR": True}
    assert content(node_plan, "kube-proxy-config")["winkernel"] == proxied, "SRV-10"
    assert one(node_plan, "kube-proxy").fields["depends"] == ["kubelet"]
    routes = [each["value"]["Settings"] for each in plugin["policies"] if each["value"]["Type"] == "SDNRoute"]
    assert [each["DestinationPrefix"] for each in routes] == ["10.96.0.0/12", ref("node.address_range")]


def test_srv_03_only_flanneld_needs_a_wrapper(windows: NodePlan) -> None:
    services = [each.fields for each in windows.steps if each.kind == "service"]
    assert [each["service"] for each in services if "wrapper" in each] == ["flanneld"]
    for service in services:
        if service["service"] in ("kubelet", "kube-proxy"):
            assert "--windows-service" in service["command"]
        assert service["restart_seconds"] == 10, "SRV-06"


def test_srv_08_the_kubelet_has_its_own_kubeconfigs_address_and_labels(windows: NodePlan) -> None:
    command = one(windows, "kubelet").fields["command"]
    assert command[0].endswith("kube-log-runner.exe")
    assert _flag(command, "--bootstrap-kubeconfig") == r"C:\k\bootstrap-kubelet.conf"
    assert _flag(command, "--kubeconfig") == r"C:\k\kubelet.conf"
    assert _flag(command, "--config") == one(windows, "kubelet-config").fields["path"]
    assert _flag(command, "--node-ip") == ref("node.address")
    assert _flag(command, "--node-labels") == ref("registration.labels")


@pytest.mark.parametrize(
    ("mode", "runtime", "kubernetes"),
    [
        ("overlay", "containerd", "1.32.13"),
        ("l2bridge", "containerd", "1.32.13"),
        ("l2bridge", "docker", "1.23.17"),
        ("l2bridge", "docker", "1.32.13"),
    ],
)
def test_only_machines_that_run_a_wrapped_program_download_the_wrapper(
    mode: str, runtime: str, kubernetes: str
) -> None:
    made = plan("windows-2019", {"runtime": runtime}, kubernetes=kubernetes, network={"mode": mode})
    names = {each.name for each in made.steps}
    wrapped = any("wrapper" in each.fields for each in made.steps)
    assert ("download-nssm" in names) is wrapped
    assert ("download-flanneld" in names) is ("flanneld" in names)


@pytest.mark.parametrize(("kubernetes", "rotates"), [("1.33.13", False), ("1.34.11", True)])
def test_ops_03_kube_log_runner_rotates_logs_if_the_minors_can(kubernetes: str, rotates: bool) -> None:
    command = one(plan("windows-2022", kubernetes=kubernetes), "kubelet").fields["command"]
    assert ("--log-file-size=50Mi" in command) is rotates


@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_res_04_the_kubelet_has_explicit_empty_enforcement_fields(kubernetes: str) -> None:
    configuration = content(plan("windows-2019", kubernetes=kubernetes), "kubelet-config")
    assert configuration["cgroupsPerQOS"] is False
    assert configuration["enforceNodeAllocatable"] == []
    command = one(plan("windows-2019", kubernetes=kubernetes), "kubelet").fields["command"]
    assert configuration.get("resolvConf") == "" or "--resolv-conf=" in command, "NET-12"
    assert set(configuration) - {"apiVersion", "kind"} <= releases.top_fields("kubelet", kubernetes)


def test_the_kubelet_trusts_the_cluster_and_keeps_its_certificates_fresh(windows: NodePlan) -> None:
    configuration = content(windows, "kubelet-config")
    assert configuration["authentication"]["anonymous"] == {"enabled": False}
    assert configuration["authentication"]["x509"]["clientCAFile"] == one(windows, "cluster-ca").fields["path"]
    assert configuration["authorization"] == {"mode": "Webhook"}
    assert configuration["rotateCertificates"] is configuration["serverTLSBootstrap"] is True
    assert configuration["providerID"] == ref("node.provider_id")
    assert configuration["registerWithTaints"] == ref("registration.taints"), "SCH-02"


@pytest.mark.parametrize(
    ("size", "cpu"),
    [
        ("m6i.large", "500m"),
        ("m6i.xlarge", "500m"),
        ("m6i.2xlarge", "800m"),
        ("m6i.8xlarge", "3200m"),
        ("odd.size", "500m"),
    ],
)
def test_res_01_and_res_02_reserves_are_two_gib_and_a_tenth_of_the_cores(size: str, cpu: str) -> None:
    node_plan = plan("windows-2019", {"size": size})
    assert content(node_plan, "kubelet-config")["systemReserved"] == {"memory": "2Gi", "cpu": cpu}


def test_res_01_reserves_in_the_spec_are_used_unchanged_and_thresholds_over_the_kubelets_defaults() -> None:
    kubelet = {
        "system_reserved": {"cpu": "250m", "memory": "4Gi", "ephemeral_storage": "1Gi"},
        "kube_reserved": {"memory": "512Mi"},
        "eviction_hard": {"memory.available": "700Mi"},
    }
    configuration = content(plan("windows-2019", {"kubelet": kubelet}), "kubelet-config")
    assert configuration["systemReserved"] == {"cpu": "250m", "memory": "4Gi", "ephemeral-storage": "1Gi"}
    assert configuration["kubeReserved"] == {"memory": "512Mi"}
    assert configuration["evictionHard"] == {
        "memory.available": "700Mi",
        "nodefs.available": "10%",
        "imagefs.available": "15%",
    }, "the kubelet drops its defaults once one signal is written"
    assert "evictionHard" not in content(plan("windows-2019", {}), "kubelet-config")


@pytest.mark.parametrize("chosen", [None, "HIGH_PRIORITY_CLASS"])
def test_res_03_the_kubelet_runs_above_normal_priority(chosen: str | None) -> None:
    node_plan = plan("windows-2019", {"kubelet": {"priority_class": chosen}} if chosen else None)
    command = one(node_plan, "kubelet").fields["command"]
    assert f"--windows-priorityclass={chosen or 'ABOVE_NORMAL_PRIORITY_CLASS'}" in command


def test_flanneld_and_kube_proxy_use_the_nodes_own_certificate(windows: NodePlan) -> None:
    user = content(windows, "node-kubeconfig")["users"][0]["user"]
    assert (
        user["client-certificate"] == user["client-key"] == one(windows, "node-certificate").fields["condition"]["file"]
    )
    kubeconfig = one(windows, "node-kubeconfig").fields["path"]
    assert _flag(one(windows, "flanneld").fields["command"], "--kubeconfig-file") == kubeconfig
    assert content(windows, "kube-proxy-config")["clientConnection"] == {"kubeconfig": kubeconfig}


@pytest.mark.parametrize(("kubernetes", "version"), [("1.31.14", 2), ("1.34.11", 3), ("1.35.8", 3), ("1.36.4", 4)])
def test_run_06_containerds_config_has_the_version_handler_pause_and_cni_folders(kubernetes: str, version: int) -> None:
    text = content(plan("windows-2019", kubernetes=kubernetes), "containerd-config")
    assert text.startswith(f"version = {version}\n")
    assert 'default_runtime_name = "runhcs-wcow-process"' in text
    assert "options]\nScrubLogs = true" in text
    assert r'"C:\\k\\cni"' in text
    assert r'conf_dir = "C:\\k\\cni\\config"' in text
    assert f'"{releases.pause_image(kubernetes, "windows-2019")}"' in text
