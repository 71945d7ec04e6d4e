"""The plans of Linux workers and of the control plane, and the add-ons it applies."""

import json
from typing import Any

import pytest

from components import releases
from components.node.kinds import ref
from components.node.plan import NodePlan, references
from components.plan import plan_cluster
from tools.golden.samples import PATCHES, content, one, plan, position, spec


def _documents(made: NodePlan) -> dict[str, Any]:
    return {each["kind"]: each for each in content(made, "init-config")}


def _manifests(made: NodePlan, name: str) -> list[dict[str, Any]]:
    return content(made, f"addon-{name}")["items"]


def test_cp_03_bridged_traffic_passes_iptables_with_the_module_loaded_first(linux: NodePlan) -> None:
    assert one(linux, "net.bridge.bridge-nf-call-iptables").fields["value"] == "1"
    assert position(linux, "module-br_netfilter") < position(linux, "net.bridge.bridge-nf-call-iptables")
    assert any(each.kind == "swap" for each in linux.steps)


def test_a_worker_joins_once_with_the_known_ca_and_the_token_on_standard_input(linux: NodePlan) -> None:
    join = one(linux, "kubeadm-join")
    document = join.fields["input"]
    assert join.fields["done"].startswith("/var/lib/mullion/"), "not a file that a join cut short has made already"
    assert document["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert document["discovery"]["tlsBootstrapToken"] == ref("node.bootstrap_token")
    assert document["discovery"]["file"]["kubeConfigPath"] == one(linux, "discovery").fields["path"]
    assert "controlPlane" not in document
    authority = one(linux, "cluster-ca").fields
    assert authority["hash"] == ref("facts.ca_hash")
    cluster = content(linux, "discovery")["clusters"][0]["cluster"]
    assert cluster == {"server": ref("facts.api_url"), "certificate-authority": authority["path"]}


def test_kubelet_settings_reach_kubeadm_as_a_patch(linux: NodePlan) -> None:
    directory = one(linux, "kubeadm-join").fields["input"]["patches"]["directory"]
    assert one(linux, "kubelet-patch").fields["path"] == f"{directory}/kubeletconfiguration+merge.json"
    assert content(linux, "kubelet-patch")["maxPods"] == 110


@pytest.mark.parametrize(("kubernetes", "ignored"), [("1.31.14", ["FileExisting-conntrack"]), ("1.32.13", [])])
def test_preflight_ignores_what_the_release_does_not_need_and_what_the_user_says(
    kubernetes: str, ignored: list[str]
) -> None:
    made = plan("ubuntu-22.04", kubernetes=kubernetes, kubeadm={"ignore_preflight": ["NumCPU"]})
    registration = one(made, "kubeadm-join").fields["input"]["nodeRegistration"]
    assert registration["ignorePreflightErrors"] == [*ignored, "NumCPU"]


@pytest.mark.parametrize("os", [None, "ubuntu-24.04"])
def test_metadata_is_closed_to_pods_before_the_kubelet_starts(os: str | None) -> None:
    made = plan(os)
    unit = content(made, "closed-to-pods-unit")
    assert "Before=kubelet.service" in unit
    drop = "FORWARD -d 169.254.169.254/32 -j DROP"
    assert f"iptables -w -t mangle -I {drop}" in unit, "no rule of kube-proxy or flannel comes before it there"
    assert f"ExecStart=-/usr/sbin/iptables -w -t mangle -D {drop}" in unit, "a second start leaves one rule"
    assert position(made, "closed-to-pods") < position(made, "kubelet")


@pytest.mark.parametrize(
    ("cloud", "server", "ports"), [("azure", "168.63.129.16", "80,32526"), ("gcp", "169.254.169.254", "80,443")]
)
def test_where_the_clouds_own_service_is_the_name_server_too_that_stays_open_to_pods(
    cloud: str, server: str, ports: str
) -> None:
    unit = content(plan("ubuntu-22.04", cloud=cloud), "closed-to-pods-unit")
    assert f"FORWARD -d {server}/32 -p tcp -m multiport --dports {ports} -j DROP" in unit
    assert f"{server}/32 -j DROP" not in unit, "CoreDNS asks it"


@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_cp_02_kubeadm_gets_the_ip_plan_and_known_fields_only(kubernetes: str) -> None:
    documents = _documents(plan(None, kubernetes=kubernetes))
    cluster = documents["ClusterConfiguration"]
    assert cluster["networking"] == {
        "podSubnet": "10.244.0.0/16",
        "serviceSubnet": "10.96.0.0/12",
        "dnsDomain": "cluster.local",
    }
    assert cluster["kubernetesVersion"] == f"v{kubernetes}"
    for kind in ("ClusterConfiguration", "InitConfiguration"):
        assert set(documents[kind]) - {"apiVersion", "kind"} <= releases.top_fields(kind, kubernetes)
    arguments = cluster["controllerManager"]["extraArgs"]
    if isinstance(arguments, list):
        arguments = {each["name"]: each["value"] for each in arguments}
    assert arguments["node-cidr-mask-size"] == "24", "IPP-02"


@pytest.mark.parametrize(
    ("access", "names"),
    [
        ({"access": "private"}, ["facts.api_host"]),
        ({"access": "public", "allow": ["203.0.113.0/24"]}, ["facts.api_host", "facts.api_public_host"]),
    ],
)
def test_the_certificate_has_the_endpoints_name_and_the_public_one_where_there_is_one(
    access: dict[str, Any], names: list[str]
) -> None:
    cluster = _documents(plan(None, api=access))["ClusterConfiguration"]
    assert cluster["controlPlaneEndpoint"] == ref("facts.api_host")
    assert references(cluster["apiServer"]["certSANs"]) == names


def test_all_machines_have_one_plan_and_a_log_of_records_decides_who_founds(control_plane: NodePlan) -> None:
    claim, founded = one(control_plane, "found-or-join").fields, one(control_plane, "founded").fields
    init, join = one(control_plane, "kubeadm-init").fields, one(control_plane, "kubeadm-join").fields
    assert (init["requires"], join["requires"]) == (claim["founder"], claim["member"])
    assert {name: founded[name] for name in ("store", "log", "cluster", "founder")} == {
        name: claim[name] for name in ("store", "log", "cluster", "founder")
    }
    assert claim["cluster"] == ref("facts.ca_hash"), "a cluster is what its authority is"
    order = ["found-or-join", "endpoint", "kubeadm-init", "founded", "kubeadm-join", "own-api", "endpoint-own"]
    assert [position(control_plane, each) for each in order] == sorted(position(control_plane, each) for each in order)
    assert position(control_plane, "endpoint-own") < position(control_plane, "apply-addons")
    assert "--skip-token-print" in init["argv"]
    assert join["input"]["controlPlane"]["localAPIEndpoint"]["advertiseAddress"] == ref("machine.address")


def test_nobody_has_a_token_before_the_founding_is_over(control_plane: NodePlan) -> None:
    publishes = [each.name for each in control_plane.steps if each.kind == "bootstrap-token"]
    assert all(position(control_plane, each) > position(control_plane, "founded") for each in publishes)


def test_a_control_plane_reaches_its_peers_at_their_addresses_and_itself_once_it_has_an_api() -> None:
    made = plan(None, control_plane={"count": 3}, network={"zones": 3})
    before, after = one(made, "endpoint").fields, one(made, "endpoint-own").fields
    assert before == after
    planned = plan_cluster("dev", spec(None, control_plane={"count": 3}, network={"zones": 3})).control_plane.machines
    assert before["peers"] == [str(each.address) for each in planned]
    assert before["founder"] == one(made, "found-or-join").fields["founder"]
    assert before["joined"] == one(made, "kubeadm-join").fields["done"] == one(made, "kubeadm-init").fields["done"]


def test_what_kubeadm_begins_anew_on_is_all_that_it_makes_and_nothing_that_it_is_given() -> None:
    for made in (plan(None), plan("ubuntu-24.04")):
        given = {each.fields["path"] for each in made.steps if each.kind in ("file", "secret", "directory")}
        for each in (each for each in made.steps if each.kind == "kubeadm"):
            assert not given & set(each.fields["clears"])
            assert not [path for path in each.fields["clears"] if "/var/lib/etcd" in path], "a member keeps its memory"
            assert "/etc/kubernetes/kubelet.conf" in each.fields["clears"]
            assert ("data" in each.fields) == (each.name == "kubeadm-init"), "a founder's etcd alone is empty still"
    made = plan(None)
    assert one(made, "kubeadm-init").fields["snapshot"] == one(made, "etcd-restored").fields["done"]


def test_a_newer_pool_waits_for_the_control_plane_to_have_its_version(linux: NodePlan) -> None:
    waits = one(linux, "api-version").fields
    assert (waits["version"], waits["ca"]) == ("1.32.13", one(linux, "cluster-ca").fields["path"])
    assert position(linux, "api-version") < position(linux, "kubeadm-join")


@pytest.mark.parametrize(
    ("kubernetes", "config", "judged"),
    [
        ("1.36.4", {}, True),
        ("1.36.4", {"failCgroupV1": False}, False),
        ("1.36.4", {"failCgroupV1": True}, True),
        ("1.24.17", {}, False),
    ],
    ids=["default", "allowed", "refused", "kubelet-without-the-field"],
)
def test_control_groups_of_version_1_are_refused_before_the_kubelet_would(
    kubernetes: str, config: dict[str, Any], judged: bool
) -> None:
    made = plan("ubuntu-24.04", {"kubelet": {"config": config}}, kubernetes=kubernetes)
    probes = [each.fields["expect"] for each in made.steps if each.name == "cgroups"]
    assert probes == (["cgroup2fs"] if judged else [])


@pytest.mark.parametrize(("os", "packages"), [("ubuntu-22.04", []), ("debian-12", ["/usr/sbin/iptables"])])
def test_what_an_image_lacks_comes_from_the_distributions_own_archive(os: str, packages: list[str]) -> None:
    made = plan(os)
    found = [each for each in made.steps if each.name.startswith("package-")]
    assert [each.fields["creates"] for each in found] == packages
    assert all(position(made, each.name) < position(made, "closed-to-pods") for each in found)


def test_containerd_may_open_and_start_as_much_as_its_pods_need(linux: NodePlan) -> None:
    limits = one(linux, "containerd").fields["limits"]
    assert (limits["TasksMax"], limits["OOMScoreAdjust"]) == ("infinity", "-999")


def test_the_clock_follows_the_clouds_own_time(linux: NodePlan) -> None:
    assert one(linux, "time-source").fields["server"] == "169.254.169.123"


def test_keys_come_from_the_secret_store_and_are_there_before_kubeadm(control_plane: NodePlan) -> None:
    secrets = {each.fields["member"]: each for each in control_plane.steps if each.kind == "secret"}
    assert set(secrets) == {
        "ca.crt",
        "ca.key",
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "etcd/ca.crt",
        "etcd/ca.key",
    }
    for member, each in secrets.items():
        assert each.fields["path"] == f"/etc/kubernetes/pki/{member}"
        assert position(control_plane, each.name) < position(control_plane, "kubeadm-init")
    signers = one(control_plane, "service-account")
    names = [signers.fields[each] for each in ("private", "public")]
    assert names == ["/etc/kubernetes/pki/sa.key", "/etc/kubernetes/pki/sa.pub"], "kubeadm's"
    assert position(control_plane, signers.name) < position(control_plane, "kubeadm-init")


def test_secrets_are_encrypted_and_requests_audited_with_files_the_api_server_mounts(control_plane: NodePlan) -> None:
    server = _documents(control_plane)["ClusterConfiguration"]["apiServer"]
    arguments = {each["name"]: each["value"] for each in server["extraArgs"]}
    mounted = tuple(each["mountPath"] + "/" for each in server["extraVolumes"])
    encryption = one(control_plane, "encryption").fields
    assert arguments["encryption-provider-config"] == encryption["path"]
    assert (encryption["member"], encryption["resources"]) == ("encryption-keys", ["secrets"])
    assert arguments["audit-policy-file"] == one(control_plane, "audit-policy").fields["path"]
    for name in ("encryption-provider-config", "audit-policy-file", "audit-log-path"):
        assert arguments[name].startswith(mounted), name


def test_fln_01_linux_and_windows_have_the_same_net_conf() -> None:
    network = {"pods": "10.128.0.0/14", "vni": 5000}
    (settings,) = [each for each in _manifests(plan(None, network=network), "flannel") if each["kind"] == "ConfigMap"]
    windows = content(plan("windows-2022", network=network), "net-conf")
    assert json.loads(settings["data"]["net-conf.json"]) == windows
    assert windows == {"Network": "10.128.0.0/14", "Backend": {"Type": "vxlan", "VNI": 5000, "Port": 4789}}


def test_the_manifest_as_it_lies_there_is_that_of_the_default_network(control_plane: NodePlan) -> None:
    from components.node import addons

    (read,) = [each for each in addons._read("flannel.yaml") if each["kind"] == "ConfigMap"]
    (made,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "ConfigMap"]
    assert {k: json.loads(v) for k, v in read["data"].items()} == {k: json.loads(v) for k, v in made["data"].items()}


def test_fln_05_flannels_daemon_set_selects_linux(control_plane: NodePlan) -> None:
    (daemons,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "DaemonSet"]
    pod = daemons["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    images = {each["image"] for each in (*pod["initContainers"], *pod["containers"])}
    assert images == {
        f"ghcr.io/flannel-io/flannel:v{releases.FLANNEL}",
        f"ghcr.io/flannel-io/flannel-cni-plugin:v{releases.FLANNEL_CNI}",
    }, "the manifest and Windows have one version"


def test_fln_03_linux_cni_file_bridges_hairpins_and_maps_ports(control_plane: NodePlan) -> None:
    (settings,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "ConfigMap"]
    flannel, portmap = json.loads(settings["data"]["cni-conf.json"])["plugins"]
    assert flannel["delegate"] == {"hairpinMode": True, "isDefaultGateway": True}
    assert portmap["capabilities"] == {"portMappings": True}


def test_sch_05_each_build_in_the_cluster_has_a_runtime_class() -> None:
    pools = {
        "web": {"os": "windows-2019"},
        "api": {"os": "windows-2019", "taints": ["os=windows:NoSchedule", "gpu=yes:NoExecute"]},
        "new": {"os": "windows-2025", "taints": []},
    }
    old, new = _manifests(plan(None, pools=pools), "runtime-classes")
    assert (old["metadata"]["name"], new["metadata"]["name"]) == ("windows-2019", "windows-2025")
    assert old["handler"] == "runhcs-wcow-process"
    assert old["scheduling"]["nodeSelector"]["node.kubernetes.io/windows-build"] == "10.0.17763"
    assert [each["key"] for each in old["scheduling"]["tolerations"]] == ["gpu", "os"]
    assert new["scheduling"]["tolerations"] == []


def test_windows_nodes_may_read_nodes_and_nothing_more_for_flannel(control_plane: NodePlan) -> None:
    made = _manifests(control_plane, "windows-nodes")
    (role,) = [each for each in made if each["kind"] == "ClusterRole"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    subjects = [each["subjects"] for each in made if each["kind"] == "ClusterRoleBinding"]
    assert all(
        each == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}]
        for each in subjects
    )


def test_addons_are_applied_after_the_cluster_is_there_and_replace_no_machine(control_plane: NodePlan) -> None:
    files = [each.fields["path"] for each in control_plane.steps if each.name.startswith("addon-")]
    apply = one(control_plane, "apply-addons")
    assert apply.fields["files"] == files
    assert position(control_plane, "apply-addons") > position(control_plane, "endpoint-own")
    (phase,) = [each for each in control_plane.phases if each.name == "addons"]
    assert [each.name for each in phase.steps if each.replacing() is not None] == []


def test_metrics_server_is_chosen_in_the_spec_and_trusts_kubelets_by_the_clusters_authority() -> None:
    assert "addon-metrics-server" not in {each.name for each in plan(None).steps}
    for kubernetes, version in (("1.24.17", "0.5.2"), ("1.30.14", "0.7.2"), ("1.36.4", "0.8.1")):
        made = plan(None, kubernetes=kubernetes, addons={"metrics_server": True})
        (deployment,) = [each for each in _manifests(made, "metrics-server") if each["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}, "CP-04"
        (container,) = pod["containers"]
        assert container["image"].endswith(f":v{version}")
        assert not [each for each in container["args"] if "insecure" in each]
        assert [each for each in container["args"] if each.startswith("--kubelet-certificate-authority=/var/run/")]
        assert one(made, "addon-metrics-server").fields["path"] in one(made, "apply-addons").fields["files"]


def test_pods_of_users_are_warned_beyond_the_baseline_and_the_clusters_own_are_privileged(
    control_plane: NodePlan,
) -> None:
    found = {each["metadata"]["name"]: each for each in _manifests(control_plane, "pod-security")}
    (own,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "Namespace"]
    found |= {own["metadata"]["name"]: own}
    said = {
        name: {key.rpartition("/")[2]: level for key, level in each["metadata"]["labels"].items()}
        for name, each in found.items()
    }
    assert said == {
        "default": {"audit": "baseline", "warn": "baseline"},
        "kube-system": {"enforce": "privileged"},
        "kube-flannel": {"enforce": "privileged"},
    }


def test_cp_04_every_pod_of_ours_selects_linux() -> None:
    made = plan(None, pools={"web": {"os": "windows-2019"}}, addons={"metrics_server": True})
    (files,) = [each.fields["files"] for each in made.steps if each.kind == "addons"]
    names = [path.rpartition("/")[2].removesuffix(".json") for path in files]
    pods = [
        each["spec"]["template"]["spec"]
        for name in names
        for each in _manifests(made, name)
        if "template" in each.get("spec", {})
    ]
    assert len(pods) == 2
    assert all(each["nodeSelector"]["kubernetes.io/os"] == "linux" for each in pods)


def test_net_05_where_the_cloud_routes_pods_linux_has_a_bridge_with_the_planned_range_and_no_flannel() -> None:
    routed = {"network": {"mode": "l2bridge"}}
    for made in (plan("ubuntu-24.04", **routed), plan(None, **routed)):
        bridge, portmap = content(made, "cni-config")["plugins"]
        assert (bridge["type"], portmap["type"]) == ("bridge", "portmap")
        assert bridge["ipam"]["ranges"] == [[{"subnet": ref("machine.pod_cidr")}]]
        assert "ipMasq" not in bridge, "it would hide pods from pods of other nodes"
        unit = content(made, "closed-to-pods-unit")
        returned = [line.split()[-3] for line in unit.splitlines() if line.endswith("-j RETURN")]
        assert returned == ["10.244.0.0/14", "224.0.0.0/4"], "the cloud's name server is asked by the node's address"
        assert position(made, "cni-config") < position(made, "kubelet")
    assert not [each for each in plan("ubuntu-24.04").steps if each.name == "cni-config"], "flannel brings its own"


def test_fln_05_flannel_is_no_add_on_where_the_cloud_routes_pods() -> None:
    names = {each.name for each in plan(None, network={"mode": "l2bridge"}).steps}
    assert "addon-flannel" not in names
    assert "addon-windows-nodes" in names
    arguments = _documents(plan(None, network={"mode": "l2bridge"}))["ClusterConfiguration"]["controllerManager"]
    assert {"name": "allocate-node-cidrs", "value": "false"} in arguments["extraArgs"]
