"""lab.yaml merged over stacks: valid specs, and plans that differ only as lab.yaml says."""

import json
from typing import Any

import pytest
import yaml

from components.catalogue import artifacts
from components.node.role import role
from components.node.runtime import configuration
from components.plan import plan_cluster
from components.stack_files.stack import read_stack
from operations.stacks.paths import REPOSITORY
from sandbox.boot.overlay import bootable
from sandbox.boot.windows.server import CRI

STACKS = ("aws-ci", "aws-dev", "aws-prod")


def config(name: str, kubernetes: str) -> dict[str, Any]:
    whole = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))["config"]
    return {**whole, "mullion:cluster": {**whole["mullion:cluster"], "kubernetes": kubernetes, "acknowledge": {}}}


@pytest.mark.parametrize("kubernetes", ["1.37.1", "1.31.14", "1.24.17"])
@pytest.mark.parametrize("name", STACKS)
def test_the_overlay_of_every_stack_is_a_valid_spec(
    name: str, kubernetes: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = tmp_path_factory.mktemp("lab") / "artifacts.json"
    entries.write_text("[]")
    plain = config(name, kubernetes)
    made = bootable(plain["mullion:cluster"], str(entries))
    spec = read_stack(name, {**plain, "mullion:cluster": made}).spec
    assert spec.artifacts.mirror == "http://mirror.sandbox.internal:8080"
    for pool in (None, *(each for each, pool in spec.pools.items() if not pool.os.is_windows)):
        machines = role(name, spec, pool)
        text = str(configuration(machines))
        assert ("'SystemdCgroup': False" in text, "'SystemdCgroup': True" in text) == (True, False)
        assert machines.kubelet.config["cgroupDriver"] == "cgroupfs"
        assert ("failCgroupV1" in machines.kubelet.config) == (kubernetes != "1.24.17"), "if the version has it"


@pytest.mark.parametrize("kubernetes", ["1.37.1", "1.24.17"])
def test_a_docker_pool_with_cri_dockerd_gets_the_runtime_endpoint_by_field_or_flag(
    kubernetes: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = tmp_path_factory.mktemp("lab") / "artifacts.json"
    found = artifacts.find("cri-dockerd", "0.4.3", "windows")
    digest = {"sha256": 64 * "0", "source": "the lab"}
    entries.write_text(
        json.dumps([{"name": found.name, "version": found.version, "os": "windows", "url": found.url, **digest}])
    )
    plain = config("aws-docker", kubernetes)
    made = bootable(plain["mullion:cluster"], str(entries))
    plan = plan_cluster("lab", read_stack("lab", {**plain, "mullion:cluster": made}).spec)
    (legacy,) = (each for each in plan.pools if each.name == "legacy")
    text = json.dumps(legacy.node_plan.document())
    assert f"tcp://{CRI}" in text
    assert (f'"--container-runtime-endpoint", "tcp://{CRI}"' in text) == (kubernetes == "1.24.17")


def test_the_overlay_changes_only_the_runtime_of_windows_pools() -> None:
    plain = config("aws-dev", "1.37.1")["mullion:cluster"]
    made = bootable(plain, "lab.json")
    runtime = {"kubelet": {"config": {"containerRuntimeEndpoint": f"tcp://{CRI}"}}, "rollout": {"gate": "registered"}}
    assert made["pools"]["web"] == {**plain["pools"]["web"], **runtime}
    touched = {"acknowledge", "artifacts", "control_plane", "kubeadm", "pools"}
    assert {name: made[name] for name in plain.keys() - touched} == {
        name: plain[name] for name in plain.keys() - touched
    }


GONE = {"cgroups", "node-ready"}
"""Steps of Ubuntu alone, which has control groups v2, and of pools with gate `ready`."""
COME = {"package-iptables", "package-conntrack", "package-ethtool", "package-socat", "package-nftables", "mirrors-*"}
"""Steps of Debian alone, for packages that its image lacks, and the source of images."""
TOUCHED = {
    "containerd-config": {"content"},
    "kubelet-patch": {"content"},
    "init-config": {"content"},
    "agent-config": {"content"},
    "kubeadm-join": {"input"},
    "kubeadm-init": {"input"},
    "kubelet-config": {"content"},
}
"""Fields of steps that lab.yaml changes, besides URLs of downloads."""
IN_THE_PATCH = {
    *("cgroupDriver", "evictionHard", "failCgroupV1", "failSwapOn", "imageGCHighThresholdPercent", "resolvConf")
}
IN_WINDOWS = {"containerRuntimeEndpoint"}


def steps(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for phase in document["phases"] for step in phase["steps"]}


@pytest.mark.parametrize("name", STACKS)
def test_the_overlay_changes_only_these_fields_of_each_machines_plan(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = tmp_path_factory.mktemp("lab") / "artifacts.json"
    entries.write_text("[]")
    whole = yaml.safe_load((REPOSITORY / "stacks" / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))["config"]
    lab = {**whole, "mullion:cluster": bootable(whole["mullion:cluster"], str(entries))}
    plain, made = (plan_cluster(name, read_stack(name, each).spec) for each in (whole, lab))
    assert [each.machines for each in made.machine_groups] == [each.machines for each in plain.machine_groups]
    assert (made.rules, made.endpoint, made.network) == (plain.rules, plain.endpoint, plain.network)
    for ours, theirs in zip(made.machine_groups, plain.machine_groups, strict=True):
        now, before = steps(ours.node_plan.document()), steps(theirs.node_plan.document())
        new, gone = now.keys() - before.keys(), before.keys() - now.keys()
        assert (gone <= GONE, new <= COME) == (True, True), (gone, new)
        for step in now.keys() & before.keys():
            fields = {key for key in now[step] | before[step] if now[step].get(key) != before[step].get(key)}
            allowed = {"url", "fallbacks"} if step.startswith("download-") else TOUCHED.get(step, set())
            assert fields <= allowed, f"{ours.name}: {step}"
            if "url" in fields and step.startswith("download-"):
                host = before[step]["url"].partition("://")[2]
                assert now[step]["url"] == f"http://mirror.sandbox.internal:8080/{host}"
        for step, keys in (("kubelet-patch", IN_THE_PATCH), ("kubelet-config", IN_WINDOWS)):
            settings, known = (each.get(step, {}).get("content", {}) for each in (now, before))
            assert {key for key in settings if settings[key] != known.get(key)} <= keys


def test_a_booted_control_plane_has_no_disk_for_etcd() -> None:
    plain = config("aws-prod", "1.37.1")["mullion:cluster"]
    asked = {**plain, "control_plane": {**plain["control_plane"], "etcd_disk": {}}}
    assert bootable(asked, "lab.json") == bootable(plain, "lab.json")
