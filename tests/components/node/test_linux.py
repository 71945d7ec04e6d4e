"""Plans of Linux workers and of the control plane."""

from typing import Any

import pytest

from components import releases
from components.node.kinds import ref
from components.node.plan import NodePlan
from components.plan import plan_cluster
from tools.golden.samples import PATCHES, content, init_documents, one, plan, position, spec


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
def test_preflight_ignores_the_errors_of_the_release_and_of_the_spec(kubernetes: str, ignored: list[str]) -> None:
    node_plan = plan("ubuntu-22.04", kubernetes=kubernetes, kubeadm={"ignore_preflight": ["NumCPU"]})
    registration = one(node_plan, "kubeadm-join").fields["input"]["nodeRegistration"]
    assert registration["ignorePreflightErrors"] == [*ignored, "NumCPU"]


@pytest.mark.parametrize("os", [None, "ubuntu-24.04"])
def test_metadata_is_closed_to_pods_before_the_kubelet_starts(os: str | None) -> None:
    node_plan = plan(os)
    unit = content(node_plan, "closed-to-pods-unit")
    assert "Before=kubelet.service" in unit
    drop = "-d 169.254.169.254/32 -j DROP"
    assert f"iptables -w -t mangle -I FORWARD {drop}" in unit, "no rule of kube-proxy or flannel comes before it there"
    assert f"iptables -w -t mangle -C FORWARD {drop}" in unit, "a second start leaves one rule"
    assert "RequiredBy=kubelet.service" in unit, "no kubelet, so no pod, without the rules"
    assert position(node_plan, "closed-to-pods") < position(node_plan, "kubelet")


@pytest.mark.parametrize(
    ("cloud", "server", "ports"), [("azure", "168.63.129.16", "80,32526"), ("gcp", "169.254.169.254", "80,443")]
)
def test_dns_of_the_clouds_closed_address_stays_open_to_pods(cloud: str, server: str, ports: str) -> None:
    unit = content(plan("ubuntu-22.04", cloud=cloud), "closed-to-pods-unit")
    assert f"FORWARD -d {server}/32 -p tcp -m multiport --dports {ports} -j DROP" in unit
    assert f"{server}/32 -j DROP" not in unit, "CoreDNS asks it"


@pytest.mark.parametrize("kubernetes", PATCHES.values())
def test_cp_02_kubeadm_gets_the_ip_plan_and_known_fields_only(kubernetes: str) -> None:
    documents = init_documents(plan(None, kubernetes=kubernetes))
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


def test_the_configuration_of_a_cluster_that_becomes_public_needs_no_fact_that_its_machines_lack() -> None:
    private, public = (
        init_documents(plan(None, api=access))["ClusterConfiguration"]
        for access in ({"access": "private"}, {"access": "public", "allow": ["203.0.113.0/24"]})
    )
    assert private["controlPlaneEndpoint"] == ref("facts.api_host")
    assert private["apiServer"]["certSANs"] == [ref("facts.api_host")]
    assert public == private, "kubeconfigs name the endpoint in tls-server-name"


def test_all_control_plane_machines_have_one_plan_and_a_log_decides_who_founds(control_plane: NodePlan) -> None:
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


def test_the_bootstrap_token_is_created_after_the_cluster_is_founded(control_plane: NodePlan) -> None:
    publishes = [each.name for each in control_plane.steps if each.kind == "bootstrap-token"]
    assert all(position(control_plane, each) > position(control_plane, "founded") for each in publishes)


def test_a_control_plane_reaches_its_peers_at_their_addresses_and_itself_once_it_has_an_api() -> None:
    node_plan = plan(None, control_plane={"count": 3}, network={"zones": 3})
    before, after = one(node_plan, "endpoint").fields, one(node_plan, "endpoint-own").fields
    assert before == after
    planned = plan_cluster("dev", spec(None, control_plane={"count": 3}, network={"zones": 3})).control_plane.machines
    assert before["peers"] == [str(each.address) for each in planned]
    assert before["founder"] == one(node_plan, "found-or-join").fields["founder"]
    assert (
        before["joined"]
        == one(node_plan, "kubeadm-join").fields["done"]
        == one(node_plan, "kubeadm-init").fields["done"]
    )


def test_another_attempt_of_kubeadm_removes_only_files_that_kubeadm_creates() -> None:
    for node_plan in (plan(None), plan("ubuntu-24.04")):
        given = {each.fields["path"] for each in node_plan.steps if each.kind in ("file", "secret", "directory")}
        for step in (each for each in node_plan.steps if each.kind == "kubeadm"):
            assert not given & set(step.fields["clears"])
            assert not [path for path in step.fields["clears"] if "/var/lib/etcd" in path], "a member keeps its memory"
            assert "/etc/kubernetes/kubelet.conf" in step.fields["clears"]
            assert ("data" in step.fields) == (step.name == "kubeadm-init"), "a founder's etcd alone is empty still"
    node_plan = plan(None)
    assert one(node_plan, "kubeadm-init").fields["snapshot"] == one(node_plan, "etcd-restored").fields["done"]


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
def test_cgroups_v1_are_refused_before_the_kubelet_starts(
    kubernetes: str, config: dict[str, Any], judged: bool
) -> None:
    node_plan = plan("ubuntu-24.04", {"kubelet": {"config": config}}, kubernetes=kubernetes)
    probes = [each.fields["expect"] for each in node_plan.steps if each.name == "cgroups"]
    assert probes == (["cgroup2fs"] if judged else [])


@pytest.mark.parametrize(("os", "packages"), [("ubuntu-22.04", []), ("debian-12", ["/usr/sbin/iptables"])])
def test_programs_missing_in_the_image_come_from_the_distributions_archive(os: str, packages: list[str]) -> None:
    node_plan = plan(os)
    steps = [each for each in node_plan.steps if each.name.startswith("package-")]
    assert [each.fields["creates"] for each in steps] == packages
    assert all(position(node_plan, each.name) < position(node_plan, "closed-to-pods") for each in steps)


def test_containerd_has_no_limits_that_its_pods_would_reach(linux: NodePlan) -> None:
    limits = one(linux, "containerd").fields["limits"]
    assert (limits["TasksMax"], limits["OOMScoreAdjust"]) == ("infinity", "-999")


def test_the_clock_follows_the_clouds_time_server(linux: NodePlan) -> None:
    assert one(linux, "time-source").fields["server"] == "169.254.169.123"


def test_keys_are_read_from_the_secret_store_before_kubeadm_runs(control_plane: NodePlan) -> None:
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
    server = init_documents(control_plane)["ClusterConfiguration"]["apiServer"]
    arguments = {each["name"]: each["value"] for each in server["extraArgs"]}
    mounted = tuple(each["mountPath"] + "/" for each in server["extraVolumes"])
    encryption = one(control_plane, "encryption").fields
    assert arguments["encryption-provider-config"] == encryption["path"]
    assert (encryption["member"], encryption["resources"]) == ("encryption-keys", ["secrets"])
    assert arguments["audit-policy-file"] == one(control_plane, "audit-policy").fields["path"]
    for name in ("encryption-provider-config", "audit-policy-file", "audit-log-path"):
        assert arguments[name].startswith(mounted), name


@pytest.mark.parametrize("kubernetes", ["1.32.13", "1.24.17"], ids=["patched-by-kubeadm", "whole-file"])
@pytest.mark.parametrize("os", [None, "ubuntu-22.04"])
def test_the_kubelets_configuration_is_private_by_one_step(os: str | None, kubernetes: str) -> None:
    node_plan = plan(os, kubernetes=kubernetes)
    command = one(node_plan, "kubelet").fields["command"]
    path = command[command.index("--config") + 1]
    rights = [each.fields.get("access", "public") for each in node_plan.steps if each.fields.get("path") == path]
    assert rights == ["private"], "two steps with other rights would both set something in every run"


def test_a_worker_with_the_gate_ready_waits_for_its_node_also_while_the_node_is_missing(linux: NodePlan) -> None:
    ready = linux.steps[-1]
    assert (ready.kind, ready.fields["state"]) == ("node-object", "ready")
    assert ready.fields["kubeconfig"] == "/etc/kubernetes/kubelet.conf"
