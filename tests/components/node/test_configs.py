"""Rendered documents and command lines contain only fields and flags of their minor, with values of the right type."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from components import releases
from components.checks.config_types import FITS
from components.node import plan_node
from components.node.kinds import ref
from tools.golden import configs
from tools.golden.samples import PATCHES, content, one, plan, spec

KUBERNETES = pytest.mark.parametrize("kubernetes", PATCHES.values())

TYPED = {
    "kubelet-linux": "kubelet",
    "kubelet-windows": "kubelet",
    "kubelet-windows-docker": "kubelet",
    "kube-proxy-linux": "kube-proxy",
    "kube-proxy-windows": "kube-proxy",
    "kube-proxy-windows-l2bridge": "kube-proxy",
    "kubeadm-join-control-plane": "JoinConfiguration",
    "kubeadm-join-worker": "JoinConfiguration",
}
"""Table of fields by rendered document."""

COMMANDS = {
    "kubelet-linux-flags": ("kubelet", "linux"),
    "kubelet-windows-command": ("kubelet", "windows"),
    "kubelet-windows-docker-command": ("kubelet", "windows"),
    "kube-proxy-windows-command": ("kube-proxy", "windows"),
}


def _wrong(document: Mapping[str, Any], fields: Mapping[str, str], above: str = "") -> Iterator[str]:
    """Yield the fields that the table lacks, or whose value has another type."""
    for key, value in document.items():
        name = above + key
        kind = fields.get(name)
        if kind is None:
            yield f"{name} is unknown"
        elif isinstance(value, dict) and set(value) == {"ref"}:
            # registration.taints is a list, every other reference a text
            wanted = "list" if value == ref("registration.taints") else "text"
            if kind != wanted:
                yield f"{name} takes {kind}, not a reference to a {wanted}"
        elif kind == "object":
            yield from _wrong(value, fields, f"{name}.")
        elif kind not in ("texts", "list") and not FITS[kind][0](value):
            yield f"{name} takes {kind}, not {value!r}"
        elif kind in ("texts", "list") and not isinstance(value, list):
            yield f"{name} takes a list, not {value!r}"


def _without_head(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}


@KUBERNETES
@pytest.mark.parametrize("name", TYPED)
def test_srv_13_every_rendered_field_is_known_to_the_minor_and_has_its_type(name: str, kubernetes: str) -> None:
    document = _without_head(configs.DOCUMENTS[name](kubernetes))
    assert not list(_wrong(document, releases.fields(TYPED[name], kubernetes)))


@KUBERNETES
def test_every_field_that_kubeadm_init_gets_is_known_to_the_minor(kubernetes: str) -> None:
    init, cluster, proxy = configs.DOCUMENTS["kubeadm-init"](kubernetes)
    for document, table in ((init, "InitConfiguration"), (cluster, "ClusterConfiguration"), (proxy, "kube-proxy")):
        assert not list(_wrong(_without_head(document), releases.fields(table, kubernetes))), table


def test_wrong_finds_unknown_fields_and_values_of_another_type() -> None:
    fields = releases.fields("kubelet", "1.36")
    assert list(_wrong({"maxpods": 1}, fields)) == ["maxpods is unknown"]
    assert list(_wrong({"maxPods": "1"}, fields)) == ["maxPods takes count, not '1'"]
    assert list(_wrong({"authentication": {"x": {}}}, fields)) == ["authentication.x is unknown"]
    assert list(_wrong({"maxPods": ref("node.address")}, fields)) == ["maxPods takes count, not a reference to a text"]


@KUBERNETES
@pytest.mark.parametrize("name", COMMANDS)
def test_srv_13_every_flag_is_known_to_the_minor(name: str, kubernetes: str) -> None:
    program, system = COMMANDS[name]
    words = [each for each in configs.DOCUMENTS[name](kubernetes) if isinstance(each, str)]
    runs = [place for place, each in enumerate(words) if each.endswith(f"{program}.exe")]
    given = {each[2:].partition("=")[0] for each in words[runs[0] if runs else 0 :] if each.startswith("--")}
    assert "config" in given
    assert given <= releases.flags(program, kubernetes, system)


@KUBERNETES
def test_every_argument_of_the_control_plane_is_known_to_the_minor(kubernetes: str) -> None:
    _, cluster, _ = configs.DOCUMENTS["kubeadm-init"](kubernetes)
    for component in ("apiServer", "controllerManager", "scheduler"):
        given = cluster[component]["extraArgs"]
        names = given.keys() if isinstance(given, dict) else {each["name"] for each in given}
        assert names
        assert names <= releases.control_plane_flags(kubernetes), component


@KUBERNETES
@pytest.mark.parametrize("runtime", ["containerd", "docker"])
def test_the_kubelet_gets_its_runtime_endpoint_exactly_once(kubernetes: str, runtime: str) -> None:
    node_plan = plan("windows-2022", {"runtime": runtime}, kubernetes=kubernetes)
    command, field = one(node_plan, "kubelet").fields["command"], "containerRuntimeEndpoint"
    endpoints = [*(each for each in command if isinstance(each, str) and each.startswith("npipe:"))]
    endpoints += [content(node_plan, "kubelet-config")[field]] if field in content(node_plan, "kubelet-config") else []
    shim = releases.release(kubernetes).dockershim
    expected = {"containerd": ["npipe:////./pipe/containerd-containerd"], "docker": ["npipe:////./pipe/cri-dockerd"]}
    assert endpoints == ([] if shim and runtime == "docker" else expected[runtime])
    assert ("--container-runtime=remote" in command) == (shim and runtime == "containerd")
    assert ("--network-plugin=cni" in command) == (shim and runtime == "docker"), "SRV-09"


@KUBERNETES
@pytest.mark.parametrize("os", [None, "ubuntu-22.04", "windows-2022"])
def test_sch_02_taints_reach_the_kubelet_exactly_once(kubernetes: str, os: str | None) -> None:
    node_plan = plan(os, kubernetes=kubernetes)
    names = {each.name for each in node_plan.steps}
    document = content(node_plan, "kubelet-patch" if "kubelet-patch" in names else "kubelet-config")
    flag = "--register-with-taints" in one(node_plan, "kubelet").fields["command"]
    assert flag != ("registerWithTaints" in document)
    assert (
        node_plan.registration["taint_text"]
        == {
            None: "node-role.kubernetes.io/control-plane:NoSchedule",
            "ubuntu-22.04": "",
            "windows-2022": "os=windows:NoSchedule",
        }[os]
    )


@KUBERNETES
def test_the_kubelet_reads_mullions_whole_file_if_kubeadm_takes_no_patch(kubernetes: str) -> None:
    node_plan = plan("ubuntu-22.04", kubernetes=kubernetes)
    command = one(node_plan, "kubelet").fields["command"]
    read = command[command.index("--config") + 1]
    if releases.release(kubernetes).kubelet_patch:
        assert read == "/var/lib/kubelet/config.yaml"
        assert (
            one(node_plan, "kubeadm-join").fields["input"]["patches"]["directory"]
            in one(node_plan, "kubelet-patch").fields["path"]
        )
    else:
        assert one(node_plan, "kubelet-config").fields["path"] == read
        assert "patches" not in one(node_plan, "kubeadm-join").fields["input"]
        assert content(node_plan, "kubelet-config")["staticPodPath"] == "/etc/kubernetes/manifests"


@pytest.mark.parametrize("minor", ["1.20", "1.21"])
def test_no_image_comes_from_the_frozen_registry(minor: str) -> None:
    _, cluster, _ = configs.DOCUMENTS["kubeadm-init"](PATCHES[minor])
    assert cluster["imageRepository"] == "registry.k8s.io"


@KUBERNETES
def test_run_03_the_kubelet_uses_either_dockershim_or_cri_dockerd(kubernetes: str) -> None:
    node_plan = plan("windows-2022", {"runtime": "docker"}, kubernetes=kubernetes)
    services = [each.fields["service"] for each in node_plan.steps if each.kind == "service"]
    shim = releases.release(kubernetes).dockershim
    runtime = ["docker"] if shim else ["docker", "cri-dockerd"]
    assert services == [*runtime, "kubelet", "flanneld", "kube-proxy"], "SRV-07"
    assert one(node_plan, "kubelet").fields["depends"] == [runtime[-1]]
    waited = [each.fields["condition"].get("service") for each in node_plan.steps if each.kind == "wait"]
    assert [each for each in waited if each] == services, "OPS-01"
    assert not [each for each in node_plan.steps if "containerd" in each.name]
    archives = {each.name for each in node_plan.steps if each.kind == "archive"}
    assert ("unpack-cri-dockerd" in archives) != shim
    assert "unpack-docker" in archives, "RUN-05"


def test_net_09_hns_and_hcn_cni_files_contain_the_same_policies() -> None:
    def values(name: str) -> list[dict[str, Any]]:
        plugin = configs.DOCUMENTS[name]("1.30.14")["plugins"][0]
        return [each["value"] for each in plugin.get("delegate", plugin)["policies"]]

    for mode, inside in (("overlay", 2), ("l2bridge", 3)):
        old, new = values(f"cni-windows-{mode}-docker"), values(f"cni-windows-{mode}-containerd")
        nat = (old[0]["ExceptionList"], new[0]["Settings"]["Exceptions"])
        assert nat[0] == nat[1]
        assert len(nat[0]) == inside, "NET-10: the node range too, where nothing is encapsulated"
        assert (old[1]["Type"], new[1]["Type"]) == ("ROUTE", "SDNRoute")
        assert old[1]["DestinationPrefix"] == new[1]["Settings"]["DestinationPrefix"]
        lists = [each for each in old if each["Type"] == "ACL"], [each for each in new if each["Type"] == "ACL"]
        in_hns = [{**each, "Protocol": str(each["Protocol"])} for each in lists[0]]
        in_hcn = [
            {"Type": "ACL", "Protocol": each["Settings"].pop("Protocols"), **each["Settings"]} for each in lists[1]
        ]
        assert in_hns == in_hcn
        assert any(each.get("RemoteAddresses") == "169.254.169.254/32" for each in in_hns)


def test_fln_04_all_files_of_a_mode_have_the_same_network_name() -> None:
    for mode, name in (("overlay", "flannel.4096"), ("l2bridge", "cbr0")):
        assert configs.DOCUMENTS[f"cni-windows-{mode}-containerd"]("1.36.4")["name"] == name
    assert configs.DOCUMENTS["kube-proxy-windows"]("1.36.4")["winkernel"]["networkName"] == "flannel.4096"
    bridged = configs.DOCUMENTS["kube-proxy-windows-l2bridge"]("1.36.4")["winkernel"]
    endpoint = {"rootHnsEndpointName": "cbr0_ep"}
    assert bridged == {"networkName": "cbr0", **endpoint, "enableDSR": True}, "SRV-10: no source VIP"
    assert endpoint.keys().isdisjoint(configs.DOCUMENTS["kube-proxy-windows-l2bridge"]("1.23.17")["winkernel"])


@pytest.mark.parametrize(("version", "line"), [("1.7.25", 2), ("2.1.4", 3), ("2.2.7", 3)])
def test_run_06_containerds_configuration_has_the_form_of_the_version_in_the_spec(version: str, line: int) -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")
    pool = {"containerd": {"version": version}}
    node_plan = plan("windows-2022", pool, kubernetes="1.31.14")
    assert tomllib.loads(content(node_plan, "containerd-config"))["version"] == line
    assert f"containerd-{version}-windows" in one(node_plan, "download-containerd").fields["url"]


def test_a_runtime_class_names_the_handler_of_its_pools_runtime() -> None:
    pools = {"old": {"os": "windows-2019", "runtime": "docker"}, "new": {"os": "windows-2022"}}
    node_plan = plan_node("dev", spec(pools=pools), None)
    items = one(node_plan, "addon-runtime-classes").fields["content"]["items"]
    handlers = {each["metadata"]["name"]: each["handler"] for each in items}
    assert handlers == {"windows-2019": "docker", "windows-2022": "runhcs-wcow-process"}
