"""Add-ons that the control plane applies, and the pod network of Linux nodes."""

import json
from typing import Any

import pytest

from components import releases
from components.catalogue.artifacts import versions
from components.node.kinds import ref
from components.node.plan import NodePlan
from tools.golden.samples import content, init_documents, one, plan, position


def _manifests(node_plan: NodePlan, name: str) -> list[dict[str, Any]]:
    return content(node_plan, f"addon-{name}")["items"]


def test_fln_01_linux_and_windows_have_the_same_net_conf() -> None:
    network = {"pods": "10.128.0.0/14", "vni": 5000}
    (settings,) = [each for each in _manifests(plan(None, network=network), "flannel") if each["kind"] == "ConfigMap"]
    windows = content(plan("windows-2022", network=network), "net-conf")
    assert json.loads(settings["data"]["net-conf.json"]) == windows
    backend = {"Type": "vxlan", "VNI": 5000, "Port": 4789, "MTU": 1500}
    assert windows == {"Network": "10.128.0.0/14", "Backend": backend}


@pytest.mark.parametrize(("cloud", "packet"), [("aws", 1500), ("azure", 1400), ("gcp", 1500)])
def test_flannel_on_linux_sends_no_packet_that_the_cloud_cuts_before_windows_nodes(cloud: str, packet: int) -> None:
    (settings,) = [each for each in _manifests(plan(None, cloud=cloud), "flannel") if each["kind"] == "ConfigMap"]
    assert json.loads(settings["data"]["net-conf.json"])["Backend"]["MTU"] == packet


def test_changed_settings_restart_flannels_pods() -> None:
    def pods(**network: Any) -> Any:
        manifests = _manifests(plan(None, network=network), "flannel")
        return next(each for each in manifests if each["kind"] == "DaemonSet")["spec"]["template"]["metadata"]

    assert pods() == pods()
    assert pods()["annotations"] != pods(vni=5000)["annotations"]


def test_the_manifest_file_of_flannel_has_the_default_network(control_plane: NodePlan) -> None:
    from components.node import manifests

    (read,) = [each for each in manifests.read("flannel.yaml") if each["kind"] == "ConfigMap"]
    (node_plan,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "ConfigMap"]
    assert {k: json.loads(v) for k, v in read["data"].items()} == {
        k: json.loads(v) for k, v in node_plan["data"].items()
    }


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


def test_flannel_runs_on_nodes_with_any_taint(control_plane: NodePlan) -> None:
    """A pool with a NoExecute taint has no pod network without it, and its Nodes are never Ready."""
    (daemons,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "DaemonSet"]
    assert daemons["spec"]["template"]["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_windows_nodes_may_read_nodes_and_nothing_more_for_flannel(control_plane: NodePlan) -> None:
    manifests = _manifests(control_plane, "windows-nodes")
    (role,) = [each for each in manifests if each["kind"] == "ClusterRole"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    subjects = [each["subjects"] for each in manifests if each["kind"] == "ClusterRoleBinding"]
    assert all(
        subject == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}]
        for subject in subjects
    )


def test_addons_are_applied_after_the_api_is_reachable_and_replace_no_machine(control_plane: NodePlan) -> None:
    files = [each.fields["path"] for each in control_plane.steps if each.name.startswith("addon-")]
    apply = one(control_plane, "apply-addons")
    assert apply.fields["files"] == files
    assert position(control_plane, "apply-addons") > position(control_plane, "endpoint-own")
    (phase,) = [each for each in control_plane.phases if each.name == "addons"]
    assert [each.name for each in phase.steps if each.replacing() is not None] == []


def test_metrics_server_is_optional_and_verifies_kubelets_with_the_clusters_authority() -> None:
    assert "addon-metrics-server" not in {each.name for each in plan(None).steps}
    for kubernetes, version in (("1.24.17", "0.5.2"), ("1.30.14", "0.7.2"), ("1.36.4", "0.8.1")):
        node_plan = plan(None, kubernetes=kubernetes, addons={"metrics_server": True})
        (deployment,) = [each for each in _manifests(node_plan, "metrics-server") if each["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}, "CP-04"
        (container,) = pod["containers"]
        assert container["image"].endswith(f":v{version}")
        assert not [each for each in container["args"] if "insecure" in each]
        assert [each for each in container["args"] if each.startswith("--kubelet-certificate-authority=/var/run/")]
        assert one(node_plan, "addon-metrics-server").fields["path"] in one(node_plan, "apply-addons").fields["files"]


@pytest.mark.parametrize(
    ("control_planes", "workers", "replicas"), [(1, {}, 1), (1, {"linux": 1}, 2), (3, {}, 2), (3, {"linux": 9}, 2)]
)
def test_metrics_server_has_a_second_pod_if_there_is_a_machine_for_it(
    control_planes: int, workers: dict[str, int], replicas: int
) -> None:
    pools: dict[str, Any] = {name: {"os": "ubuntu-24.04", "count": count} for name, count in workers.items()}
    pools["web"] = {"os": "windows-2022", "count": 3}
    node_plan = plan(None, control_plane={"count": control_planes}, pools=pools, addons={"metrics_server": True})
    (deployment,) = [each for each in _manifests(node_plan, "metrics-server") if each["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == replicas
    apart = deployment["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    (term,) = [each["podAffinityTerm"] for each in apart["preferredDuringSchedulingIgnoredDuringExecution"]]
    assert term["topologyKey"] == "kubernetes.io/hostname", "preferred, so it does not wait for a second machine"
    assert term["labelSelector"] == deployment["spec"]["selector"]


@pytest.mark.parametrize(("kubernetes", "budgets"), [("1.26.15", 0), ("1.27.16", 1), ("1.37.1", 1)])
def test_a_drain_evicts_one_pod_of_metrics_server_at_a_time(kubernetes: str, budgets: int) -> None:
    manifests = _manifests(plan(None, kubernetes=kubernetes, addons={"metrics_server": True}), "metrics-server")
    (deployment,) = [each for each in manifests if each["kind"] == "Deployment"]
    found = [each["spec"] for each in manifests if each["kind"] == "PodDisruptionBudget"]
    selector = deployment["spec"]["selector"]
    wanted = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": selector}
    assert found == [wanted] * budgets


@pytest.mark.parametrize("minor", [each for each in releases.supported_minors() if releases.has_aws_controller(each)])
def test_svc_01_the_cloud_controller_is_of_the_clusters_minor_and_runs_on_untouched_control_planes(minor: str) -> None:
    kubernetes = releases.in_order(each for each in versions("kubernetes-node") if releases.minor(each) == minor)[-1]
    node_plan = plan(None, kubernetes=kubernetes, cloud_controller="external")
    (daemons,) = [each for each in _manifests(node_plan, "cloud-controller") if each["kind"] == "DaemonSet"]
    pod = daemons["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"].partition("@")[0].rpartition(":")[2].startswith(f"v{minor}.")
    assert "--cluster-name=dev" in container["args"]
    assert "kubernetes.io/os" in pod["nodeSelector"], "CP-04"
    assert "node.cloudprovider.kubernetes.io/uninitialized" in {each["key"] for each in pod["tolerations"]}
    assert pod["hostNetwork"], "the metadata service answers to no other pod"


def test_the_cloud_controllers_image_takes_the_stacks_digest_before_the_known_one() -> None:
    def image(**artifacts: Any) -> str:
        node_plan = plan(None, kubernetes="1.30.14", cloud_controller="external", artifacts=artifacts)
        (daemons,) = [each for each in _manifests(node_plan, "cloud-controller") if each["kind"] == "DaemonSet"]
        return str(daemons["spec"]["template"]["spec"]["containers"][0]["image"])

    name, digest = image().split("@")
    own = f"sha256:{64 * '1'}"
    assert digest != own
    assert image(images={name: own}) == f"{name}@{own}"


@pytest.mark.parametrize("kubernetes", ["1.24.17", "1.30.14", "1.37.1"])
@pytest.mark.parametrize("pool", [None, "windows-2022", "ubuntu-24.04"])
def test_every_kubelet_waits_for_the_cloud_controller_if_there_is_one(pool: str | None, kubernetes: str) -> None:
    def waits(**options: Any) -> bool:
        steps = plan(pool, kubernetes=kubernetes, **options).steps
        return any("--cloud-provider=external" in json.dumps(each.fields) for each in steps)

    assert waits(cloud_controller="external")
    assert not waits()
    system = "windows" if pool == "windows-2022" else "linux"
    assert "cloud-provider" in releases.flags("kubelet", kubernetes, system)


@pytest.mark.parametrize("kubernetes", ["1.24.17", "1.37.1"])
def test_the_cloud_controller_tolerates_every_taint_that_a_new_control_plane_has(kubernetes: str) -> None:
    """kubeadm 1.24 adds the taint `master`, unless its configuration names the taints."""
    node_plan = plan(None, kubernetes=kubernetes, cloud_controller="external")
    registration = init_documents(node_plan)["InitConfiguration"]["nodeRegistration"]
    assert registration["taints"] == ref("registration.taints")
    taints = {each["key"] for each in node_plan.registration["taints"]}
    (daemons,) = [each for each in _manifests(node_plan, "cloud-controller") if each["kind"] == "DaemonSet"]
    tolerated = {each["key"] for each in daemons["spec"]["template"]["spec"]["tolerations"]}
    first = {"node.cloudprovider.kubernetes.io/uninitialized", "node.kubernetes.io/not-ready"}
    assert tolerated == first | taints


def test_pod_security_warns_beyond_baseline_and_lets_system_namespaces_be_privileged(
    control_plane: NodePlan,
) -> None:
    namespaces = {each["metadata"]["name"]: each for each in _manifests(control_plane, "pod-security")}
    (own,) = [each for each in _manifests(control_plane, "flannel") if each["kind"] == "Namespace"]
    namespaces |= {own["metadata"]["name"]: own}
    levels = {
        name: {key.rpartition("/")[2]: level for key, level in namespace["metadata"]["labels"].items()}
        for name, namespace in namespaces.items()
    }
    assert levels == {
        "default": {"audit": "baseline", "warn": "baseline"},
        "kube-system": {"enforce": "privileged"},
        "kube-flannel": {"enforce": "privileged"},
    }


def test_cp_04_pods_of_all_addons_select_linux() -> None:
    node_plan = plan(None, pools={"web": {"os": "windows-2019"}}, addons={"metrics_server": True})
    (files,) = [each.fields["files"] for each in node_plan.steps if each.kind == "addons"]
    names = [path.rpartition("/")[2].removesuffix(".json") for path in files]
    pods = [
        manifest["spec"]["template"]["spec"]
        for name in names
        for manifest in _manifests(node_plan, name)
        if "template" in manifest.get("spec", {})
    ]
    assert len(pods) == 2
    assert all(each["nodeSelector"]["kubernetes.io/os"] == "linux" for each in pods)


def test_net_05_with_l2bridge_linux_has_a_bridge_with_the_planned_range_and_no_flannel() -> None:
    routed = {"network": {"mode": "l2bridge"}}
    for node_plan in (plan("ubuntu-24.04", **routed), plan(None, **routed)):
        bridge, portmap = content(node_plan, "cni-config")["plugins"]
        assert (bridge["type"], portmap["type"]) == ("bridge", "portmap")
        assert bridge["ipam"]["ranges"] == [[{"subnet": ref("machine.pod_cidr")}]]
        assert "ipMasq" not in bridge, "it would hide pods from pods of other nodes"
        unit = content(node_plan, "closed-to-pods-unit")
        returned = [line.split()[-3] for line in unit.splitlines() if line.endswith('-j RETURN"')]
        assert returned == ["10.244.0.0/14", "224.0.0.0/4"], "the cloud's name server is asked by the node's address"
        assert position(node_plan, "cni-config") < position(node_plan, "kubelet")
    assert not [each for each in plan("ubuntu-24.04").steps if each.name == "cni-config"], "flannel brings its own"


def test_fln_05_flannel_is_not_applied_with_l2bridge() -> None:
    names = {each.name for each in plan(None, network={"mode": "l2bridge"}).steps}
    assert "addon-flannel" not in names
    assert "addon-windows-nodes" in names
    arguments = init_documents(plan(None, network={"mode": "l2bridge"}))["ClusterConfiguration"]["controllerManager"]
    assert {"name": "allocate-node-cidrs", "value": "false"} in arguments["extraArgs"]
